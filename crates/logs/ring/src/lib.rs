//! What a circular log on a disk needs, whatever it logs: the extents where it lies, the circle onto which its
//! unbounded line is mapped, and the superblock in two slots that says where reading starts.
//!
//! `ordo-wafs` logs records, `ordo-blockjournal` transactions of whole blocks. What they log, and how one of these
//! counts, is theirs; what follows holds for both, and is cited by these names. An *entry* is a record or a
//! transaction.
//!
//! Each rule names the crash, or the damage, that it protects against.
//!
//! ring-1. Superblocks are written in turn to two slots, one at a time. A torn one leaves the one before; the newer of
//!     two valid ones counts. One of a later version is never passed over: the older one beside it would reuse room
//!     that the newer program needs.
//! ring-2. Room is used again only when a durable superblock starts the log after it. Otherwise recovery would start
//!     in a later lap, and entries would be missing that were needed.
//! ring-3. Each opening for writing has a superblock of its own, durable before its first entry, and each entry names
//!     its *epoch*: the opening, or the superblock, that it follows. One whose epoch does not fit its place does not
//!     count. Otherwise an entry that a crash had torn, or left after a hole, would become valid when a later opening
//!     writes the missing bytes.
//! ring-4. Each entry, and each superblock, names the newest entry that was durable when it was made: it is a *witness*
//!     for that one. If that one is not found, the log has not ended there: it is damaged, and not opened for writing.
//!     A torn tail has no such witness. A lost superblock is detected the same way, by the epoch (ring-3).
//! ring-5. What recovery has found is flushed before a superblock relies on it: the writes of a killed program may
//!     still be only in the operating system's memory, and the next power cut would make a hole of them.
//! ring-6. After a write or a flush has failed, nothing is logged: it is unknown how much of that is on the disk, and
//!     what follows may lie after a hole.
//! ring-7. No value that was read is trusted: an entry names its place in the unbounded line, so that the remains of an
//!     earlier lap identify themselves; numbers must fit their place, and no length exceeds the log. What the disk
//!     reports as lost is read as zeros, which are no entry.
//!
//! This crate keeps ring-1, ring-5 and its part of ring-7. The others depend on the form of an entry: each log keeps
//! them where it makes and reads its own.
#![forbid(unsafe_code)]

mod circle;
mod error;
mod place;
#[cfg(feature = "planted")]
pub mod planted;
mod superblock;
#[cfg(feature = "testing")]
pub mod testing;

pub use circle::{Circle, UNIT_LEAST, UNIT_MOST, UNITS_LEAST, can_be_unit};
pub use error::{Damage, Entry, Error, ErrorKind, Witness};
pub use place::Place;
pub use superblock::{Envelope, FIRST, Field, SLOT, SUPERBLOCK, Superblock};
