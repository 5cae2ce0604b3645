//! Reclaiming what a crash of soft updates has left in use, while the volume is mounted and at work (McKusick 2002,
//! "Running fsck in the background", without a snapshot: the scan looks at the live volume, and is told what changes).
//!
//! Something has leaked if it was marked as used when the volume was mounted, nothing refers to it, and nobody has
//! touched it since. The scan goes through the inodes (what do they point to, how many links do they claim?), then
//! through the tree (how many names has each?), then it frees what was not referred to, inodes first.
//!
//! R1. A live change makes nothing look leaked. For blocks that is the layout's rule ([`Recover`]). For inodes: what was
//!     allocated since the mount is no suspect, and what was freed since is none any more.
//! R2. The names that are counted are at any time exactly the entries in the part of the tree that was scanned: whoever
//!     enters, redirects or clears one tells it, while he has the directory alone. The scan reads a block of a directory
//!     while it has that directory shared. An entry never moves (`dirhash`, D2), so "scanned" is a byte of a directory.
//! R3. A count is compared with names, links that wait to be dropped included, while no call that changes names runs
//!     ([`Leaks::gate`]). Within such a call a count is ahead of its names (U1), and would be lowered below them.
//! R4. A count is lowered, never raised, and what it claims too many of were names that a crash has not left. One that is
//!     too low, a name that leads nowhere, a wild pointer: soft updates leave none of these. The scan stops then, frees
//!     nothing more, and the volume needs fsck. It looks for them before it frees anything.
//! R5. Directories without names go first, each durably before what it names: freed later, one could be found by the next crash while an entry in
//!     it names an inode that is somebody else's by then.
//! R6. Each step is bounded, and between two others may run. An unmount stops the scan after its step; the volume is then
//!     as the crash left it, less what was freed, and the next mount begins anew.

mod names;
mod recover;
mod survey;
mod told;
mod verdict;
mod walk;

pub use recover::{Extent, Piece, Recover, UsedInodes};
pub(crate) use told::Entry;

use crate::Ufs;
use names::Names;
use ondisk::Cgx;
use rt::sync::{Notify, RwLock};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use told::Scan;
use vfs::{Error, Result};

/// What the scan does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// There is nothing to be done: the volume was clean.
    #[default]
    Idle,
    /// It goes through the inodes.
    Inodes,
    /// It goes through the tree.
    Names,
    /// It frees inodes, and lowers link counts.
    FreeInodes,
    /// It frees blocks.
    FreeBlocks,
    /// All that had leaked is free.
    Done,
    /// It was stopped by an unmount.
    Stopped,
    /// It found damage, or could not go on.
    Failed,
}

impl Phase {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Inodes => "inodes",
            Phase::Names => "names",
            Phase::FreeInodes => "free-inodes",
            Phase::FreeBlocks => "free-blocks",
            Phase::Done => "done",
            Phase::Stopped => "stopped",
            Phase::Failed => "failed",
        }
    }

    /// Nothing more will happen.
    pub fn is_over(self) -> bool {
        matches!(self, Phase::Idle | Phase::Done | Phase::Stopped | Phase::Failed)
    }
}

/// How far the scan is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it does now.
    pub phase: Phase,
    /// Inodes that it has seen.
    pub inodes: u64,
    /// Inodes that there are to see: those in use when the volume was mounted.
    pub of: u64,
    /// Directories that it has scanned.
    pub directories: u64,
    /// Inodes that it has freed.
    pub inodes_freed: u64,
    /// Link counts that it has lowered.
    pub links_lowered: u64,
    /// Names of directories that had a second one.
    pub names_removed: u64,
    /// Inodes whose size or count of blocks it has mended.
    pub inodes_mended: u64,
    /// Fragments that it has freed, without those of inodes that it has freed.
    pub frags_freed: u64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// Where the scan goes on.
#[derive(Debug, Clone, Copy)]
enum Next {
    Survey(Cgx, u32),
    Walk,
    SecondNames,
    Verdict { dirs: bool, c: Cgx, from: u32 },
    Directories,
    Blocks(Cgx),
}

/// The scan of a volume, and what it has to be told.
pub(crate) struct Leaks {
    scan: RefCell<Option<Scan>>,
    next: Cell<Option<Next>>,
    progress: RefCell<Progress>,
    /// Shared by calls that change names or free inodes; alone while counts and names are compared (R3).
    pub(crate) gate: RwLock<()>,
    /// A step is under way.
    stepping: Cell<bool>,
    stop: Cell<bool>,
    over: Notify,
}

impl Default for Leaks {
    fn default() -> Leaks {
        Leaks {
            scan: RefCell::default(),
            next: Cell::default(),
            progress: RefCell::default(),
            gate: RwLock::new(()),
            stepping: Cell::default(),
            stop: Cell::default(),
            over: Notify::new(),
        }
    }
}

impl Leaks {
    pub(crate) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    fn count(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.borrow_mut());
    }

    fn scan<R>(&self, look: impl FnOnce(&mut Scan) -> R) -> Option<R> {
        self.scan.borrow_mut().as_mut().map(look)
    }

    fn phase(&self, phase: Phase, next: Next) {
        self.count(|progress| progress.phase = phase);
        self.next.set(Some(next));
    }

    /// The scan is over; nobody tells it anything any more.
    fn end(&self, phase: Phase, failure: Option<String>) {
        self.next.set(None);
        *self.scan.borrow_mut() = None;
        self.count(|progress| {
            progress.phase = phase;
            progress.failure = failure;
        });
        self.over.notify_all();
    }

    /// The scan ends, after its step if one is under way.
    pub(crate) async fn stop(&self) {
        self.stop.set(true);
        if self.stepping.get() {
            self.ended().await;
        } else if self.next.get().is_some() {
            self.end(Phase::Stopped, None);
        }
    }

    async fn ended(&self) {
        while self.next.get().is_some() {
            self.over.notified().await;
        }
    }
}

/// Damage that stops the scan (R4).
#[cold]
fn damage(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format_args!("{what}, which no crash of soft updates leaves; `ordo fsck` repairs it"))
}

impl<L: Recover> Ufs<L> {
    /// Begins to look for leaks, if a crash of soft updates has left the volume. To be called before the first call on
    /// the file system; [`Ufs::run_leaks`] does the work.
    pub fn begin_leaks(fs: &Rc<Ufs<L>>) {
        let Some(groups) = fs.layout.take_used_inodes() else { return };
        let names = Names::new(fs.layout.geometry().ipg, groups);
        let of = names.suspects();
        fs.leaks.count(|progress| progress.of = of);
        *fs.leaks.scan.borrow_mut() = Some(Scan::new(names));
        fs.leaks.phase(Phase::Inodes, Next::Survey(Cgx(0), 0));
        let weak = Rc::downgrade(fs);
        let watch = move |told: buf::Told<'_>| {
            let Some(fs) = weak.upgrade() else { return };
            fs.leaks.ticket(told);
            if let buf::Told::Issued(buf::Freed::Blocks { runs, .. }) = told {
                fs.layout.released(runs);
            }
        };
        fs.cache().ledger().watch(Some(Rc::new(watch)));
    }

    /// Reclaims what has leaked, step by step, until that is done, or the file system is gone.
    pub async fn run_leaks(fs: Weak<Ufs<L>>) {
        while let Some(strong) = fs.upgrade() {
            if !strong.leaks_step().await {
                return;
            }
            let rt = strong.cache().rt().clone();
            drop(strong);
            rt.yield_now().await;
        }
    }

    /// How far the reclaim of leaks is.
    pub fn leaks_progress(&self) -> Progress {
        self.leaks.progress()
    }

    /// Waits until the reclaim of leaks is over.
    pub async fn leaks_ended(&self) -> Progress {
        self.leaks.ended().await;
        self.leaks.progress()
    }

    /// One step. `false` when there is none left.
    async fn leaks_step(&self) -> bool {
        let Some(next) = self.leaks.next.get() else { return false };
        self.leaks.stepping.set(true);
        let done = match next {
            Next::Survey(c, from) => self.survey_step(c, from).await,
            Next::Walk => self.walk_step().await,
            Next::SecondNames => self.second_name_step().await,
            Next::Verdict { dirs, c, from } => self.verdict_step(dirs, c, from).await,
            Next::Directories => self.directories_step().await,
            Next::Blocks(c) => self.blocks_step(c).await,
        };
        if let Err(error) = done {
            if matches!(error, Error::Corrupt(_)) {
                self.layout.damaged();
            }
            self.leave_leaks(Phase::Failed, Some(error.to_string()));
        } else if self.leaks.stop.get() && self.leaks.next.get().is_some() {
            self.leave_leaks(Phase::Stopped, None);
        }
        self.leaks.stepping.set(false);
        self.leaks.next.get().is_some()
    }

    fn leave_leaks(&self, phase: Phase, failure: Option<String>) {
        self.cache().ledger().watch(None);
        self.leaks.end(phase, failure);
    }

    /// All that no inode points to is freed, a bounded number of fragments at a time.
    async fn blocks_step(&self, c: Cgx) -> Result<()> {
        let (frags, more) = self.call(buf::CallKind::Reclaim, async |_| self.layout.free_leaked(c).await).await?;
        self.leaks.count(|progress| progress.frags_freed += frags);
        let next = if more { c } else { Cgx(c.0 + 1) };
        if next.0 < self.layout.geometry().ncg {
            self.leaks.next.set(Some(Next::Blocks(next)));
            return Ok(());
        }
        self.layout.recovered();
        self.leave_leaks(Phase::Done, None);
        Ok(())
    }
}
