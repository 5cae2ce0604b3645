//! The power-cut explorer: checks that a scheme keeps its promises across power cuts, and reports each one that it
//! breaks.
//!
//! A script runs on the real engine, in virtual time, on a disk that records every request ([`Device`]). Then the power
//! is cut at every moment of that record: every set of undurable writes that the device may lose is lost, the image is
//! recovered as the scheme declares, and the oracles compare the result with what was promised. `docs/crash-model.md`
//! states the model; the method is that of CrashMonkey (Mohan et al., OSDI 2018) with the reorderings of ALICE (Pillai
//! et al., OSDI 2014), inside one process.
//!
//! | word | meaning |
//! | --- | --- |
//! | *moment* | one event at the disks: a write was issued or completed, a flush began or ended (`record`) |
//! | *cut* | the power goes after so many moments |
//! | *place* | a cut worth trying: since the last one, what the disk may hold or what is promised changed |
//! | *epoch* | of a place: the last moment that changed what the disk may hold; of a recovery: flushes so far |
//! | *unit* | what the device writes wholly or not at all; a write has one unit or several (`fate`) |
//! | *side* | which disk a write went to: the volume's, or that of a separate log (`disks`) |
//! | *fate* | what becomes of one undurable write: kept, lost, or torn between its units (`fate`) |
//! | *future* | one fate for each undurable write of a cut |
//! | *state* | a cut and a future; an [`Id`] names it |
//! | *image* | the bytes on the disks in a state; states with equal images have equal fingerprints (`fingerprint`) |
//! | *verdict* | what the recovery of an image results in (`verdict`) |
//! | *floor* | the call after which the state of a name or file is promised (`promise`) |
//! | *breach* | a promise that an image breaks; with its id and story it is a [`Violation`] |
//!
//! X1. The explorer checks a scheme against what it declares (`ordo_buf::Promises`), no stricter and no looser. Only a
//!     scheme that declares nothing about its structure is checked against the least that any file system must keep,
//!     and the violation says so.
//! X2. The same plan explores the same states in the same order with the same results, on any machine and with any
//!     number of threads. An id always names the same state.
//! X3. An image is recovered and checked once, however many crashes leave it. The promises are checked for each crash.
//! X4. The parts of an exploration are disjoint and together they are the whole: an image's fingerprint decides its
//!     part.
#![forbid(unsafe_code)]

mod arrivals;
mod bed;
mod cut;
pub mod damage;
mod device;
mod disks;
mod endurance;
mod error;
mod explore;
mod fate;
pub mod faults;
pub mod features;
mod fingerprint;
pub mod flushes;
mod guard;
mod id;
mod judge;
mod mount;
mod older;
mod one_cut;
mod oracle;
mod order;
mod peer;
mod plan;
mod promise;
mod question;
mod record;
mod recover;
mod recovery;
mod report;
mod shape;
mod shrink;
mod steer;
mod story;
mod structure;
mod subject;
mod sweep;
#[cfg(test)]
mod tests;
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
pub use one_cut::replay;
pub use oracle::Oracle;
pub use plan::{Budget, Case, Plan, Shard};
pub use question::Question;
pub use report::{Report, Violation};
pub use shape::{LogShape, Shape};
pub use shrink::shrink;
pub use structure::Class;
pub use subject::{Mutilate, Subject};
pub use sweep::{Explored, explore_on, part, row, row_length, sweep};
pub use verdict::Memory;
