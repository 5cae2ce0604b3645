//! A disk drive in virtual time: computes how long a real mechanical drive would take for a request, without waiting.
//!
//! A [`Profile`] is the data of one drive; those of DiskSim 4.0 and some derived ones are built in. A [`Drive`] takes
//! requests, each with its arrival time, and returns when it completes, how the time was spent, and when each block is
//! on the medium. [`validate`] compares it with traces of the real drives.
//!
//! ```
//! use ordo_drive::{Drive, Lbn, Ms, Profile, Request};
//!
//! let mut drive = Drive::new(Profile::named("hp_c2447")?);
//! let first = drive.submit(Ms::ZERO, Request::write(Lbn(500_000), 16))?;
//! let second = drive.submit(first.at, Request::read(Lbn(16), 16))?;
//! assert!(second.at > first.at);
//! assert_eq!(drive.flush(second.at)?, second.at, "the drive writes through: nothing is dirty");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! V1. Nothing here does I/O, reads a clock, draws a random number or starts a thread. The same requests at the same
//!     times give the same results, to the last bit, on every machine.
//! V2. No step depends on the number of sectors that pass: a request costs the same to compute, whether the drive reads
//!     ahead eight blocks or eight thousand.
//! V3. The rules are those of DiskSim's disk model, described in the modules; where a rule is a quirk of the simulator
//!     and not of a drive, a switch in [`Options`] turns it off.
#![forbid(unsafe_code)]

mod buffer;
mod disk;
mod drive;
mod error;
mod geometry;
mod mechanism;
pub mod profile;
mod request;
mod seek;
mod ssd;
mod units;
pub mod validate;

pub use drive::{Drive, Written};
pub use error::{ProfileError, RequestError, TraceError, ValidateError};
pub use geometry::{Geometry, Location};
pub use profile::{DiskProfile, Kind, Profile, SsdProfile, names};
pub use request::{Completion, Op, Options, Phases, Request};
pub use seek::SeekCurve;
pub use units::{Lbn, Ms};
