//! A block journal: a circular journal of transactions of whole blocks, independent of any file system.
//!
//! The journal does not interpret the blocks. A file system hands over a transaction (blocks and their home locations)
//! and learns when it is durable. It writes the blocks in place in its own time and reports that
//! ([`Journal::checkpoint`]). After a crash it receives every committed transaction from the tail on, in order
//! ([`Journal::open`]). The form is that of ext3's jbd: descriptor blocks, the blocks, revoke blocks, a commit block.
//! `docs/format/block-journal.md` describes the format on the disk.
//!
//! It lies on an [`ordo_ring`]: `ring-1` to `ring-7` hold for its superblocks, its room, its openings, its witnesses
//! and its failures, where an entry is a transaction and an epoch is the sequence of a superblock. The rules below
//! are those of the block journal alone. Each names the crash, or the damage, that it protects against.
//!
//! K1. A transaction is *durable* when all its writes are, as [`ordo_disk::queue`] defines it: its last one was forced,
//!     or a flush began after they were complete. Otherwise a power cut loses what was acknowledged.
//! K2. A transaction counts only whole: each block of the journal carries a checksum, a descriptor block also those of
//!     the blocks it describes, and the commit block one over all of these. The commit block may therefore be written
//!     together with the body: if a disk reorders and keeps it without part of the body, the transaction does not
//!     count. With [`Commit::AfterFlush`] it is written when the body, and all else that was complete, is durable.
//! K3. Transactions are numbered without a gap, and one counts only directly after the one before it. Each block of the
//!     journal names its number and its place in the line. Without them the remains of an earlier lap would be taken
//!     for the next transaction (ring-7). The salt of the journal is in each checksum, so that blocks of an earlier
//!     journal in the same place are not accepted.
//! K4. An opening's superblock says which number comes first, and each block of the journal names the newest superblock
//!     that was durable when its transaction began. A transaction of that number, or a later one, that names an older
//!     superblock does not count (ring-3).
//! K5. A block that begins with the journal's magic is *escaped*: stored without it, and marked. Otherwise a block of
//!     the caller would be taken for the journal's own in the search for damage (ring-4).
//! K6. A revoke outlives the blocks that it is for: a copy that is older than a revoke of its place is not replayed.
//!     Otherwise a block that was freed, and now holds a file's data, would be overwritten with its old contents.
//!
//! Nothing is committed either after the future of a commit was dropped: as after a failure (ring-6), how much of that
//! transaction is on the disk is unknown.
#![forbid(unsafe_code)]

mod area;
mod blocks;
mod checkpoint;
mod commit;
mod error;
#[cfg(feature = "planted")]
pub mod forged;
mod hole;
mod journal;
mod reader;
mod recover;
mod replay;
mod seq;
mod superblock;
mod transaction;

pub use error::{Damage, Error, Witness};
pub use journal::{Commit, Counters, Inspected, Journal, Options};
#[cfg(feature = "planted")]
pub use ordo_ring::planted;
pub use ordo_ring::{ErrorKind, Place};
pub use replay::{Found, Recovered};
pub use seq::Seq;
pub use transaction::Transaction;
