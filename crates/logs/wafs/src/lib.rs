//! WAFS, the write-ahead file system: a circular log of records, independent of any file system.
//!
//! The log does not interpret the records. A file system, a key-value store or a queue appends bytes, receives a log
//! sequence number ([`Lsn`]) at once, learns when the record is durable, and after a crash reads from the last
//! checkpoint on. `docs/wafs.md` describes its promises and costs, `docs/format/wafs.md` the format on the disk. The
//! idea is from Seltzer, Ganger, McKusick, Smith, Soules and Stein ("Journaling versus Soft Updates", USENIX 2000,
//! section 3.2); this implementation adds group commit, which they left out.
//!
//! It lies on an [`ordo_ring`]: `ring-1` to `ring-7` hold for its superblocks, its room, its mounts, its witnesses and
//! its failures, where an entry is a record and an epoch is the number of a mount. The rules below are its own. Each
//! names the crash, or the damage, that it protects against.
//!
//! W1. A record is *durable* when its write, and every write before it, is durable as [`ordo_disk::queue`] defines it:
//!     a cache was flushed, or the write was forced. Otherwise a power cut loses what was acknowledged, or leaves it
//!     after a hole.
//! W2. A record carries a checksum of its header, its bytes and the log's id. A torn write is therefore not a record,
//!     nor are the remains of another log in the same place.
//! W3. A record names the one before it, and counts only if that one counts. A disk that reorders may keep a later
//!     write and lose an earlier one; without the chain the log would continue after the hole.
//! W4. Epochs never decrease along the log (ring-3). An empty log has no record to compare with: its superblock says
//!     which mounts may begin it.
//! W5. A write begins in a unit of its own: a unit that holds a durable record is not written again before it is
//!     reclaimed. A sector that is torn, or unreadable after a power cut, loses only records that were not
//!     acknowledged.
//! W6. A superblock reclaims nothing that was not durable: after a crash its numbers may be assigned again, and the new
//!     records would count as reclaimed.
//! W7. A record's number is its byte in the line. A record of an earlier lap, or one that lies anywhere else, therefore
//!     does not count (ring-7).
#![forbid(unsafe_code)]

mod commit;
mod either;
mod error;
mod file;
mod geometry;
mod log;
mod lsn;
mod marks;
mod read;
mod reclaim;
mod record;
mod recover;
mod scan;
pub mod service;
mod shared;
mod state;
pub mod stream;
mod superblock;
mod walk;

pub use either::{AnyLog, AnyScan};
pub use error::{Damage, Error, Witness};
pub use file::FileError;
pub use log::{MakeOptions, MountOptions};
pub use lsn::Lsn;
#[cfg(feature = "planted")]
pub use ordo_ring::planted;
pub use ordo_ring::{ErrorKind, Place};
pub use scan::{Record, Scan, ScanBack};
pub use shared::SharedLog;
pub use state::{Log, Mode, Recovery, Space};
