//! A block journal: a circular journal of transactions of whole blocks, by itself.
//!
//! It knows nothing of what the blocks mean. A file system hands over a transaction, blocks with the places where they
//! belong, and learns when it is durable; it writes the blocks home in its own time and says so ([`Journal::checkpoint`]);
//! after a crash it is given every committed transaction from the tail on, in order ([`Journal::open`]). The form is that
//! of ext3's jbd: descriptor blocks, the blocks, revoke blocks, a commit block. `docs/format/block-journal.md` is what
//! lies on the disk.
//!
//! Each rule names the crash, or the damage, that it is for.
//!
//! K1. A transaction is *durable* when all its writes are, by the book of [`disk::queue`]: its last one was forced, or a
//!     flush began after they were complete. Else a power cut takes what was acknowledged.
//! K2. A transaction counts only whole: each block of the journal carries a checksum, a descriptor block those of the blocks
//!     it describes, and the commit block one over all of these. The commit block may therefore leave together with the
//!     body; a disk that reorders, and keeps it without a part of the body, leaves no transaction. With
//!     [`Commit::AfterFlush`] it leaves when the body, and all else that was complete, is durable.
//! K3. Transactions are numbered without a gap, and one counts only right behind the one before it. Each block of the
//!     journal names its number and its place in an endless line that is laid round in a circle. Without them what an earlier
//!     lap has left would be taken for the next transaction. The salt of the journal is in each checksum: what an
//!     earlier journal left in the same place is none of ours.
//! K4. Each opening for writing has a superblock of its own, durable before its first transaction; it says which number
//!     comes first, and each block of the journal names the newest superblock that was durable when its transaction began.
//!     A transaction of that number, or a later one, that names an older superblock does not count. Else one that a crash
//!     had torn would come back to life when the same block is written again in the place of the one that was lost.
//! K5. A block that begins with the journal's magic is *escaped*: written without it, and marked. Else a block of the
//!     caller would be taken for the journal's own in the search for damage (K8).
//! K6. Room is used again only when a durable superblock starts the journal behind it. Else recovery would start where a
//!     later lap lies, with blocks missing at home.
//! K7. Superblocks are written in turn to two slots, one at a time. A torn one leaves the one before.
//! K8. Each block of the journal, and each superblock, names the newest transaction that was durable when it was made. If
//!     that one is not found, the journal has not ended there: it is damaged, and not opened for writing. A torn tail has
//!     no such witness. A superblock that is lost is missed likewise: a block names it (K4).
//! K9. What recovery has found is flushed before a superblock counts on it: after a killed program it may be no farther
//!     than the system's memory, and the next power cut would make a hole of it.
//! K10. A revoke outlives the blocks that it is for: a copy that is older than a revoke of its place is not replayed. Else
//!     a block that was freed, and holds a file's data by now, would be written over with what it was before.
//! K11. After a write or a flush has failed, or a commit was dropped half-way, nothing is committed: nobody knows what of
//!     that number is on the disk.
//! K12. Nothing is trusted that was read: numbers must fit their place, and nothing is longer than the journal.
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
