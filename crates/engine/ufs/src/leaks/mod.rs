//! Reclaiming what a crash of soft updates has leaked, while the volume is mounted and in use (McKusick 2002, "Running
//! fsck in the background", without a snapshot: the scan reads the live volume, and is notified of changes).
//!
//! Something has leaked if it was marked used at the mount, nothing refers to it, and no call has touched it since. The
//! scan goes through the inodes (what do they point to, which link counts do they have?), then through the tree (how
//! many names has each?), then it frees what was not referred to, inodes first.
//!
//! R1. A live change makes nothing look leaked. For blocks that is the layout's rule ([`Recover`]). For inodes: what
//!     was allocated since the mount is not a suspect, and what was freed since is not one any more.
//! R2. The counted names are at any time exactly the entries in the scanned part of the tree: a call that enters,
//!     redirects or clears a name notifies the scan while it holds the directory exclusively. The scan reads a block of
//!     a directory while it holds that directory shared. An entry never moves (dirhash-2), so the scanned part of a
//!     directory ends at a byte.
//! R3. A count is compared with names, links that wait to be dropped included, while no call that changes names runs
//!     (`Leaks::gate`). Within such a call a count is ahead of its names (ufs-1), and would be lowered below them.
//! R4. A count is lowered, never raised; the surplus are names that the crash lost. Soft updates never leaves a count
//!     that is too low, a name that leads nowhere, or a wild pointer. If the scan finds one, it stops, frees nothing
//!     more, and the volume needs fsck. It looks for them before it frees anything.
//! R5. Directories without names are freed first, each durably before what it names. Otherwise the next crash could
//!     find a directory in which an entry names an inode that another file owns by then.
//! R6. Each step is bounded, and calls may run between two steps. An unmount stops the scan after its current step. The
//!     volume is then as the crash left it, less what was freed, and the next mount begins anew.

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
use ordo_ondisk::Cgx;
use ordo_rt::sync::{Notify, RwLock};
use ordo_vfs::{Error, Result};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use told::Scan;

/// The present phase of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// There is nothing to do: the volume was clean.
    #[default]
    Idle,
    /// It scans the inodes.
    Inodes,
    /// It scans the tree.
    Names,
    /// It frees inodes, and lowers link counts.
    FreeInodes,
    /// It frees blocks.
    FreeBlocks,
    /// Everything that had leaked is free.
    Done,
    /// It was stopped by an unmount.
    Stopped,
    /// It found damage, or could not go on.
    Failed,
}

impl Phase {
    /// Its name, one word.
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

    /// The scan has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Phase::Idle | Phase::Done | Phase::Stopped | Phase::Failed)
    }
}

/// The progress of the scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The present phase.
    pub phase: Phase,
    /// Inodes seen so far.
    pub inodes: u64,
    /// Inodes to see: those in use at the mount.
    pub of: u64,
    /// Directories scanned so far.
    pub directories: u64,
    /// Inodes freed.
    pub inodes_freed: u64,
    /// Link counts lowered.
    pub links_lowered: u64,
    /// Removed names of directories that had a second one.
    pub names_removed: u64,
    /// Inodes whose size or count of blocks was repaired.
    pub inodes_mended: u64,
    /// Fragments freed, except those of inodes that were freed.
    pub frags_freed: u64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// Where the scan continues.
#[derive(Debug, Clone, Copy)]
enum Next {
    Survey(Cgx, u32),
    Walk,
    SecondNames,
    Verdict { dirs: bool, c: Cgx, from: u32 },
    Directories,
    Blocks(Cgx),
}

/// The scan of a volume, and the notifications that it needs.
pub(crate) struct Leaks {
    scan: RefCell<Option<Scan>>,
    next: Cell<Option<Next>>,
    progress: RefCell<Progress>,
    /// Shared by calls that change names or free inodes; exclusive while counts and names are compared (R3).
    pub(crate) gate: RwLock<()>,
    /// A step is running.
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

    /// Ends the scan; it gets no more notifications.
    fn end(&self, phase: Phase, failure: Option<String>) {
        self.next.set(None);
        *self.scan.borrow_mut() = None;
        self.count(|progress| {
            progress.phase = phase;
            progress.failure = failure;
        });
        self.over.notify_all();
    }

    /// Stops the scan, after its step if one is running.
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
    Error::corrupt(format!("{what}, which no crash of soft updates leaves; `ordo fsck` repairs it"))
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
        let watch = move |told: ordo_buf::Told<'_>| {
            let Some(fs) = weak.upgrade() else { return };
            fs.leaks.ticket(told);
            if let ordo_buf::Told::Issued(ordo_buf::Freed::Blocks { runs, .. }) = told {
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

    /// The progress of the scan.
    pub fn leaks_progress(&self) -> Progress {
        self.leaks.progress()
    }

    /// Waits until the scan has ended.
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

    /// Frees everything that no inode points to, a bounded number of fragments at a time.
    async fn blocks_step(&self, c: Cgx) -> Result<()> {
        let (frags, more) = self.call(ordo_buf::CallKind::Reclaim, async |_| self.layout.free_leaked(c).await).await?;
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
