//! WAFS, the write-ahead file system: a circular log of records, by itself.
//!
//! It knows nothing of what the records mean. A file system, a key-value store or a queue appends bytes, gets a log
//! sequence number ([`Lsn`]) at once, learns when the record is durable, and after a crash reads from the last
//! checkpoint on. `docs/wafs.md` tells what it promises and costs, `docs/format/wafs.md` what lies on the disk. The idea
//! is Seltzer, Ganger, McKusick, Smith, Soules and Stein's ("Journaling versus Soft Updates", USENIX 2000, section 3.2);
//! group commit, which they left out, is here.
//!
//! Each rule names the crash, or the damage, that it is for.
//!
//! W1. A record is *durable* when its write, and every write before it, is durable by the book of [`disk::queue`]: a cache
//!     was flushed, or the write was forced. Else a power cut takes what was acknowledged, or leaves it behind a hole.
//! W2. A record carries a checksum of its header, its bytes and the log's id. A torn write is therefore no record, nor is
//!     what another log has left in the same place.
//! W3. A record names the one before it, and counts only if that one counts. A disk that reorders may keep a later write
//!     and lose an earlier one; without the chain the log would go on behind the hole.
//! W4. Each mount for writing has an epoch, durable before its first record; epochs never fall along the log. Without it
//!     a record that an earlier crash left behind a hole would come back to life as soon as new records fill the hole. An
//!     empty log has no record to compare with: its superblock says which mounts may begin it.
//! W5. Room is used again only when a durable superblock starts the log behind it. Else recovery would start where a
//!     later lap lies. A superblock reclaims nothing that was not durable: its numbers may be given again after a crash.
//! W6. Superblocks are written in turn to two slots, one at a time. A torn one leaves the one before.
//! W7. A write begins in a unit of its own: a unit that holds a durable record is not written again before it is
//!     reclaimed. A sector that is torn, or cannot be read after a power cut, takes only what nobody was promised.
//! W8. Each record, and each superblock, names the last record that was durable when it was made. If that one is not
//!     found, the log has not ended there: it is damaged, and not opened for writing. A torn tail has no such witness.
//! W9. What recovery has found is flushed before a superblock counts on it: after a killed program it may be no farther
//!     than the system's memory, and the next power cut would make a hole of it.
//! W10. A record's number is its byte in an endless line that is laid round in a circle: one of an earlier lap says so
//!     itself. Nothing is trusted that was read: lengths are bounded, numbers must fit their place.
//! W11. After a write or a flush has failed, nothing is appended: it would lie behind a hole.
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
