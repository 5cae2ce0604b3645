//! The worker: its steps, and its end.

use crate::names::Names;
use crate::scan::Scan;
use crate::{Phase, Progress};
use ordo_buf::{CallKind, Freed, TicketEvent};
use ordo_ffs::Ffs;
use ordo_ondisk::{Cgx, Ino};
use ordo_rt::sync::Notify;
use ordo_ufs::{Access, EntryAt, Layout, Observer, Then, Ufs, Worker, Working};
use ordo_vfs::{Error, Result};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Where the scan continues.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    Survey(Cgx, u32),
    Walk,
    SecondNames,
    Verdict { dirs: bool, c: Cgx, from: u32 },
    Directories,
    Blocks(Cgx),
}

/// The reclaim of a volume.
pub struct Reclaimer {
    scan: RefCell<Option<Scan>>,
    pub(crate) next: Cell<Option<Next>>,
    progress: RefCell<Progress>,
    over: Notify,
}

impl Reclaimer {
    /// Attaches a reclaimer to the file system, if a crash of soft updates has left the volume. To be called before the
    /// first call on it; [`Ufs::run_worker`] does the work.
    pub fn attach(fs: &Rc<Ufs<Ffs>>) -> Option<Rc<Reclaimer>> {
        let groups = fs.layout().take_used_inodes()?;
        let names = Names::new(fs.layout().geometry().ipg, groups);
        let progress = Progress { phase: Phase::Inodes, of: names.suspects(), ..Progress::default() };
        let reclaimer = Rc::new(Reclaimer {
            scan: RefCell::new(Some(Scan::new(names))),
            next: Cell::new(Some(Next::Survey(Cgx(0), 0))),
            progress: RefCell::new(progress),
            over: Notify::new(),
        });
        fs.watch_names(Some(reclaimer.clone()));
        // Weak: the file system has the ledger.
        let (weak, notified) = (Rc::downgrade(fs), Rc::downgrade(&reclaimer));
        let watch = move |event: TicketEvent<'_>| {
            let (Some(fs), Some(reclaimer)) = (weak.upgrade(), notified.upgrade()) else { return };
            reclaimer.scan(|scan| scan.ticket(event));
            if let TicketEvent::Issued(Freed::Blocks { runs, .. }) = event {
                fs.layout().released(runs);
            }
        };
        fs.layout().cache().ledger().watch(Some(Rc::new(watch)));
        fs.attach_worker(reclaimer.clone());
        Some(reclaimer)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Waits until it has ended.
    pub async fn ended(&self) -> Progress {
        while self.next.get().is_some() {
            self.over.notified().await;
        }
        self.progress()
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.borrow_mut());
    }

    pub(crate) fn scan<R>(&self, look: impl FnOnce(&mut Scan) -> R) -> Option<R> {
        self.scan.borrow_mut().as_mut().map(look)
    }

    pub(crate) fn phase(&self, phase: Phase, next: Next) {
        self.count(|progress| progress.phase = phase);
        self.next.set(Some(next));
    }

    /// Ends the scan; it gets no more notifications.
    fn end(&self, fs: Access<'_, Ufs<Ffs>>, phase: Phase, failure: Option<String>) {
        fs.ufs().watch_names(None);
        fs.layout().cache().ledger().watch(None);
        self.next.set(None);
        *self.scan.borrow_mut() = None;
        self.count(|progress| {
            progress.phase = phase;
            progress.failure = failure;
        });
        self.over.notify_all();
    }
}

impl Worker<Ufs<Ffs>> for Reclaimer {
    fn step<'a>(&'a self, fs: Access<'a, Ufs<Ffs>>) -> Working<'a> {
        Box::pin(async move {
            if let Err(error) = (Pass { reclaimer: self, fs }).step().await {
                if matches!(error, Error::Corrupt(_)) {
                    fs.layout().damaged();
                }
                self.end(fs, Phase::Failed, Some(error.to_string()));
            }
            if self.next.get().is_some() { Then::Again } else { Then::Over }
        })
    }

    fn stopped(&self, fs: Access<'_, Ufs<Ffs>>) {
        self.end(fs, Phase::Stopped, None);
    }
}

impl Observer for Reclaimer {
    fn entered(&self, entry: EntryAt, directory: bool, new: bool) {
        self.scan(|scan| scan.entered(entry, directory, new));
    }

    fn redirected(&self, was: Ino, now: EntryAt, directory: bool, freed: &Freed) {
        self.scan(|scan| {
            scan.left(EntryAt { ino: was, ..now }, freed);
            scan.entered(now, directory, false);
        });
    }

    fn cleared(&self, entry: EntryAt, freed: &Freed) {
        self.scan(|scan| scan.left(entry, freed));
    }
}

/// A step at work: the reclaimer, and the inside of its file system.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) reclaimer: &'a Reclaimer,
    pub(crate) fs: Access<'a, Ufs<Ffs>>,
}

impl<'a> Pass<'a> {
    pub(crate) fn layout(self) -> &'a Ffs {
        self.fs.layout()
    }

    async fn step(self) -> Result<()> {
        match self.reclaimer.next.get() {
            None => Ok(()),
            Some(Next::Survey(c, from)) => self.survey_step(c, from).await,
            Some(Next::Walk) => self.walk_step().await,
            Some(Next::SecondNames) => self.second_name_step().await,
            Some(Next::Verdict { dirs, c, from }) => self.verdict_step(dirs, c, from).await,
            Some(Next::Directories) => self.directories_step().await,
            Some(Next::Blocks(c)) => self.blocks_step(c).await,
        }
    }

    /// Frees everything that no inode points to, a bounded number of fragments at a time.
    async fn blocks_step(self, c: Cgx) -> Result<()> {
        let free = async |_| self.layout().free_leaked(c).await;
        let (frags, more) = self.fs.call(CallKind::Reclaim, free).await?;
        self.reclaimer.count(|progress| progress.frags_freed += frags);
        let next = if more { c } else { Cgx(c.0 + 1) };
        if next.0 < self.layout().geometry().ncg {
            self.reclaimer.next.set(Some(Next::Blocks(next)));
            return Ok(());
        }
        self.layout().recovered();
        self.reclaimer.end(self.fs, Phase::Done, None);
        Ok(())
    }
}

/// Damage that stops the scan (reclaim-4).
#[cold]
pub(crate) fn damage(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{what}, which no crash of soft updates leaves; `ordo fsck` repairs it"))
}
