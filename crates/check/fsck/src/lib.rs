//! Checks and repairs UFS volumes and BSD's log-structured ones (`lfs`): an independent check of all other code that
//! writes them.
//!
//! With the file system that it checks it shares `ondisk`, `disk`, the readers of the logs (`wafs`, `blockjournal`),
//! and `active`, through whose disk it replays a journal of that kind; what it checks then are home locations. Its
//! rules are numbered in `docs/fsck.md`; each is a variant of [`Finding`] or [`LogFinding`].
//!
//! K1. With [`Mode::Check`] nothing is written, whatever is found.
//! K2. After [`Mode::Repair`] has ended without an error, [`Mode::Check`] finds nothing: the phases run on the repaired
//!     image, in memory, until they find nothing more, and only then is anything written.
//! K3. No volume causes a panic, an endless loop or unbounded memory. Tables are sized by the disk, never by a number
//!     stored on it; no walk is recursive; a pointer is followed only once.
//! K4. A readable file is never made unreadable. What two owners share is copied for the second.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod alloc;
mod bits;
mod connect;
mod dirblock;
mod dirty;
mod dups;
mod finding;
mod groups;
mod image;
mod inodes;
mod lfs;
mod lost;
mod names;
mod quota;
mod redo;
mod refs;
mod report;
mod run;
mod setup;
mod shape;
mod snapshots;
mod suj;
mod volume;
mod waiting;
mod walk;
mod wapbl;

pub use finding::{Finding, Severity};
pub use lfs::{LogFinding, is_log_structured};
pub use redo::{
    FileBlock, FileShape, Followed, Follower, LogPlace, NotFollowed, active_disk, is_due as log_is_due, place_of_log,
    replay_log, shape_of_file,
};
pub use report::{FINDINGS_MAX, Found, Journal, Report, Usage};
pub use run::check;
pub use suj::{NotReplayed, Replayed, Session, begin_session, replay};
pub use waiting::{Seen, Waiting, replay_waiting, see_replayed};
pub use wapbl::replay_wapbl;

/// How to handle findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `-n`: report, write nothing.
    Check,
    /// `-p`: repair what a crash leaves; leave real damage to the user.
    Preen,
    /// `-y`: repair everything.
    Repair,
}

/// The part of a check that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// 1: inodes and their blocks.
    Inodes,
    /// 2: names.
    Names,
    /// 3: reachability from the root.
    Connectivity,
    /// 4: link counts.
    Links,
    /// 5: the bitmaps of the groups.
    Groups,
}

/// Called with the phase, the number of finished groups or directories, and their total.
pub type Progress = Option<Box<dyn FnMut(Phase, u64, u64)>>;

/// Options of a check.
pub struct Options {
    /// How to handle findings.
    pub mode: Mode,
    /// The progress callback.
    pub progress: Progress,
    /// Where the volume's log is, if it is not a file of the volume.
    pub log: Option<ordo_disk::LogHome>,
    /// A check that repairs nothing looks at the volume as it will be after its log was replayed, as a reader sees it;
    /// `false`: as it lies on the disk.
    pub through_log: bool,
}

impl Options {
    /// In this mode, without a progress callback, and with the log on the volume itself.
    pub fn new(mode: Mode) -> Options {
        Options { mode, progress: None, log: None, through_log: true }
    }
}

/// Why a check could not run. The exit status is 8.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ordo_disk::DiskError),
    /// Neither the superblock nor a backup of it is usable.
    #[error("no superblock that can be used, and no copy of one: {why}")]
    NoSuperblock {
        /// What is wrong with the first one.
        why: String,
    },
    /// The volume is longer than the disk.
    #[error("the volume has {volume} bytes, the disk only {disk}: the rest of the volume is missing")]
    TooShort {
        /// Bytes of the volume.
        volume: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// The phases accessed an impossible place: a bug in this program.
    #[error("byte {at} is beyond the volume's end at {end}")]
    Beyond {
        /// The place.
        at: u64,
        /// Bytes of the volume.
        end: u64,
    },
    /// A structure that the phases had repaired is invalid: a bug in this program.
    #[error(transparent)]
    Corrupt(#[from] ordo_ondisk::Corrupt),
}
