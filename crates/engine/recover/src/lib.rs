//! Recovery: what is done to a UFS volume after a crash, before it is used.
//!
//! A crash may leave a log: a transaction log of ours (`redo`), FreeBSD's journal of soft updates (`suj`), or NetBSD's
//! write-ahead log (`wapbl`). Each is a [`Recover`]. A mount and fsck ask [`due`] which one waits, and call it. A
//! log-structured volume recovers by itself (`ordo_lfs`).
//!
//! Below the replays is what they read and write a volume with: its superblock (`setup`), its bytes with the changes
//! so far (`image`), and the pointers of an inode (`walk`). Fsck works with the same three.
//!
//! V1. Nothing of the engine is in here: neither `buf`, `ufs`, `ffs` nor `schemes`. Recovery reads what they wrote by
//!     the format alone, so a mistake of theirs is not repeated where it is judged.
//! V2. A replay that cannot be done has written nothing, unless a disk failed. The volume is then still what the crash
//!     left, for a check or for another program.
//! V3. A replay that is cut can be begun again, and ends in the same volume.
//! V4. No log causes a panic, an endless loop or unbounded memory: a mount and a boot depend on it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod damage;
mod dirty;
mod error;
mod image;
mod log;
mod outcome;
mod redo;
mod setup;
mod suj;
mod waiting;
mod walk;
mod wapbl;

pub use damage::SuperblockDamage;
pub use dirty::Order;
pub use error::Error;
pub use image::{Bytes, Image};
pub use log::{Crashed, Recover, Recovering, Seen, Waiting};
pub use ordo_active::{NowhereRight, Verified};
pub use outcome::{NotReplayed, Replayed};
pub use redo::{
    FileBlock, FileShape, Followed, Follower, LogPlace, NotFollowed, active_disk, heal, is_due as log_is_due,
    may_be_due as log_may_be_due, names_of_directory, place_of_log, replay_log, shape_of_file, verified,
};
pub use setup::Opened;
pub use suj::{Session, begin_session, later, replay_suj};
pub use waiting::{due, replay_waiting, see_replayed};
pub use walk::{Pointer, Slot, Walk, is_snapshot};
