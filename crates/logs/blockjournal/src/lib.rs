//! A block journal: a circular journal of transactions of whole blocks, independent of any file system.
//!
//! The journal does not interpret the blocks. A file system hands over a transaction (blocks and their home locations)
//! and learns when it is durable. It writes the blocks in place in its own time and reports that
//! ([`Journal::checkpoint`]). After a crash it receives every committed transaction from the tail on, in order
//! ([`Journal::open`]). The form is that of ext3's jbd: descriptor blocks, the blocks, revoke blocks, a commit block.
//! `docs/format/block-journal.md` describes the format on the disk.
//!
//! Each rule names the crash, or the damage, that it protects against.
//!
//! K1. A transaction is *durable* when all its writes are, as [`ordo_disk::queue`] defines it: its last one was forced,
//!     or a flush began after they were complete. Otherwise a power cut loses what was acknowledged.
//! K2. A transaction counts only whole: each block of the journal carries a checksum, a descriptor block also those of
//!     the blocks it describes, and the commit block one over all of these. The commit block may therefore be written
//!     together with the body: if a disk reorders and keeps it without part of the body, the transaction does not
//!     count. With [`Commit::AfterFlush`] it is written when the body, and all else that was complete, is durable.
//! K3. Transactions are numbered without a gap, and one counts only directly after the one before it. Each block of the
//!     journal names its number and its place in an unbounded line that is mapped onto the circle. Without them the
//!     remains of an earlier lap would be taken for the next transaction. The salt of the journal is in each checksum,
//!     so that blocks of an earlier journal in the same place are not accepted.
//! K4. Each opening for writing has a superblock of its own, durable before its first transaction. It says which number
//!     comes first, and each block of the journal names the newest superblock that was durable when its transaction
//!     began. A transaction of that number, or a later one, that names an older superblock does not count. Otherwise a
//!     transaction that a crash had torn would become valid when an identical block is written in the place of the lost
//!     one.
//! K5. A block that begins with the journal's magic is *escaped*: stored without it, and marked. Otherwise a block of
//!     the caller would be taken for the journal's own in the search for damage (K8).
//! K6. Room is used again only when a durable superblock starts the journal after it. Otherwise recovery would start in
//!     a later lap, and blocks would be missing at their home locations.
//! K7. Superblocks are written in turn to two slots, one at a time. A torn one leaves the one before.
//! K8. Each block of the journal, and each superblock, names the newest transaction that was durable when it was made.
//!     If that transaction is not found, the journal has not ended there: it is damaged, and not opened for writing. A
//!     torn tail has no such witness. A lost superblock is detected the same way: a block names it (K4).
//! K9. What recovery has found is flushed before a superblock relies on it: the writes of a killed program may still be
//!     only in the operating system's memory, and the next power cut would make a hole of them.
//! K10. A revoke outlives the blocks that it is for: a copy that is older than a revoke of its place is not replayed.
//!     Otherwise a block that was freed, and now holds a file's data, would be overwritten with its old contents.
//! K11. After a write or a flush has failed, or the future of a commit was dropped, nothing is committed: how much of
//!     that transaction is on the disk is unknown.
//! K12. No value that was read is trusted: numbers must fit their place, and no length exceeds the journal.
#![forbid(unsafe_code)]

mod area;
mod blocks;
mod checkpoint;
mod commit;
mod error;
mod hole;
mod journal;
mod place;
#[cfg(feature = "planted")]
pub mod planted;
mod reader;
mod recover;
mod replay;
mod seq;
mod superblock;
mod transaction;

pub use error::{Damage, Error, ErrorKind, Witness};
pub use journal::{Commit, Counters, Inspected, Journal, Options};
pub use place::Place;
pub use replay::{Found, Recovered};
pub use seq::Seq;
pub use transaction::Transaction;
