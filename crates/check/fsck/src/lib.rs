//! Checks and repairs UFS volumes and BSD's log-structured ones (`lfs`): an independent check of all other code that
//! writes them.
//!
//! With the file systems that it checks it shares `ondisk`, `disk` and `rt`. With a mount it shares `recover`:
//!
//! - the replay of the logs, which reads them with the schemes' own crates (`wafs`, `blockjournal`, `active`). A
//!   journal of `active` is replayed through the active disk, and a volume whose map counts is read through it, as a
//!   mount reads it;
//! - what a replay and a check both need: the choice of a UFS superblock, the image of a volume's bytes, the walk over
//!   the pointers of an inode, and the type of errors.
//!
//! All that finds damage behind the superblock is here alone. Neither crate has any of `buf`, `ufs`, `ffs`, `lfs` and
//! `schemes`. The rules are numbered in `docs/fsck.md`; each is a variant of [`Finding`], of [`LfsFinding`], or of
//! [`ordo_recover::SuperblockDamage`].
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
mod dups;
mod finding;
mod groups;
mod inodes;
mod lfs;
mod lost;
mod names;
mod quota;
mod refs;
mod report;
mod rule;
mod run;
mod shape;
mod snapshots;
mod volume;

pub use finding::Finding;
pub use lfs::{LfsFinding, is_log_structured};
pub use ordo_recover::Error;
pub use report::{FINDINGS_MAX, Found, Journal, Report, Usage};
pub use rule::Severity;
pub use run::check;

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
