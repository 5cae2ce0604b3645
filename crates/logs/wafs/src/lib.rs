//! WAFS, the write-ahead file system: a circular log of records, independent of any file system.
//!
//! The log does not interpret the records. A file system, a key-value store or a queue appends bytes, receives a log
//! sequence number ([`Lsn`]) at once, learns when the record is durable, and after a crash reads from the last
//! checkpoint on. `docs/wafs.md` describes its promises and costs, `docs/format/wafs.md` the format on the disk. The
//! idea is from Seltzer, Ganger, McKusick, Smith, Soules and Stein ("Journaling versus Soft Updates", USENIX 2000,
//! section 3.2); this implementation adds group commit, which they left out.
//!
//! Each rule names the crash, or the damage, that it protects against.
//!
//! W1. A record is *durable* when its write, and every write before it, is durable as [`ordo_disk::queue`] defines it:
//!     a cache was flushed, or the write was forced. Otherwise a power cut loses what was acknowledged, or leaves it
//!     after a hole.
//! W2. A record carries a checksum of its header, its bytes and the log's id. A torn write is therefore not a record,
//!     nor are the remains of another log in the same place.
//! W3. A record names the one before it, and counts only if that one counts. A disk that reorders may keep a later
//!     write and lose an earlier one; without the chain the log would continue after the hole.
//! W4. Each mount for writing has an epoch, durable before its first record; epochs never decrease along the log.
//!     Without it a record that an earlier crash left after a hole would become valid as soon as new records fill the
//!     hole. An empty log has no record to compare with: its superblock says which mounts may begin it.
//! W5. Room is used again only when a durable superblock starts the log after it. Otherwise recovery would start in a
//!     later lap. A superblock reclaims nothing that was not durable: after a crash its numbers may be assigned again.
//! W6. Superblocks are written in turn to two slots, one at a time. A torn one leaves the one before.
//! W7. A write begins in a unit of its own: a unit that holds a durable record is not written again before it is
//!     reclaimed. A sector that is torn, or unreadable after a power cut, loses only records that were not
//!     acknowledged.
//! W8. Each record, and each superblock, names the last record that was durable when it was made. If that record is not
//!     found, the log has not ended there: it is damaged, and not opened for writing. A torn tail has no such witness.
//! W9. What recovery has found is flushed before a superblock relies on it: the writes of a killed program may still be
//!     only in the operating system's memory, and the next power cut would make a hole of them.
//! W10. A record's number is its byte in an unbounded line that is mapped onto a circle, so that a record of an earlier
//!     lap identifies itself. No value that was read is trusted: lengths are bounded, numbers must fit their place.
//! W11. After a write or a flush has failed, nothing is appended: it would lie after a hole.
#![forbid(unsafe_code)]

mod area;
mod commit;
mod error;
mod file;
mod log;
mod lsn;
mod marks;
#[cfg(feature = "planted")]
pub mod planted;
mod read;
mod reclaim;
mod record;
mod recover;
mod scan;
pub mod service;
mod shared;
mod superblock;
mod walk;

pub use area::{Place, Record};
pub use error::{Damage, Error, ErrorKind, Witness};
pub use file::FileError;
pub use log::{Log, MakeOptions, Mode, MountOptions, Space};
pub use lsn::Lsn;
pub use recover::Recovery;
pub use scan::{Scan, ScanBack};
pub use shared::SharedLog;
