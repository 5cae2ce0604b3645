//! The power-cut explorer: proves that a scheme keeps order, or convicts it.
//!
//! A script runs on the real engine, in virtual time, on a disk that keeps a record ([`Device`]). Then the power is cut at
//! every moment of that record: every set of undurable writes that the device may lose is lost, the image is recovered as
//! the scheme declares, and the oracles compare what is there with what was promised. `docs/crash-model.md` states the
//! model; the method is that of CrashMonkey (Mohan et al., OSDI 2018) with the reorderings of ALICE (Pillai et al., OSDI
//! 2014), inside one process.
//!
//! X1. The explorer holds a scheme to what it declares (`buf::Promises`), no stricter and no looser. Only a scheme that
//!     declares nothing about its structure is held to the least that any file system must keep, and the violation says so.
//! X2. The same plan explores the same states in the same order and says the same of them, on any machine and with any
//!     number of threads. An id names one state for ever.
//! X3. An image is recovered and checked once, however many crashes leave it. What was promised is asked for each crash.
//! X4. Parts of an exploration are disjoint, and together they are the whole: an image belongs to one by its fingerprint.
#![forbid(unsafe_code)]

#[cfg(test)]
mod bounded;
mod cut;
mod device;
mod disks;
mod endurance;
mod error;
mod explore;
mod fate;
pub mod faults;
pub mod features;
mod fingerprint;
mod id;
#[cfg(test)]
mod log_by_itself;
mod one_cut;
mod oracle;
mod plan;
mod promise;
mod question;
mod record;
mod recover;
mod recovery;
mod report;
#[cfg(test)]
mod separate;
mod shrink;
mod steer;
mod story;
mod structure;
mod sweep;
#[cfg(test)]
mod sync_ends;
pub mod trace;
mod tree;
mod verdict;
mod volume;
mod works;

pub use device::{DEFAULT_DEVICE, DEVICES, Device, Torn};
pub use endurance::{Endurance, Endured, endure};
pub use error::Error;
pub use explore::{Counters, explore, explore_with};
pub use fate::{Fate, Fates};
pub use id::Id;
pub use oracle::Oracle;
pub use plan::{Mutilate, Plan, Shape, Shard};
pub use question::Question;
pub use report::{Report, Violation};
pub use shrink::shrink;
pub use structure::Class;
pub use sweep::{Case, explore_on, sweep};
pub use verdict::Memory;
