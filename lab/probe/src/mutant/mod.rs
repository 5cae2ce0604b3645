//! Seeded bugs: a wrapper that makes a scheme break a promise at one kind of step, or at fsync or sync. A crash
//! explorer must detect each of them.
//!
//! mutant-1. A mutant declares what it does not keep: name, promises and rules are those of the scheme behind it.
//! mutant-2. A wait counts as an occurrence of its step only if there is something to wait for. A demand for a buf
//!     that is already durable is passed on: omitting it changes nothing.
//! mutant-3. Every ticket is returned with the answer to its own step, so that a mutant frees too early and never
//!     twice.

mod list;
mod spec;
#[cfg(test)]
mod tests;

pub use list::mutants;
pub use spec::MutantSpec;

use spec::{AtFsync, AtSync, Deed, Site, StepKind};

use ordo_buf::{Answer, BufRef, Cache, Key, Landing, Must, Op, Scheme, Step, Wrapper};
use ordo_ondisk::{Ino, Lbn};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A scheme with a seeded bug.
pub struct Mutant {
    inner: Rc<dyn Scheme>,
    spec: MutantSpec,
    met: Cell<u64>,
    changed: Cell<u64>,
    /// Delayed demands, by call.
    held: RefCell<BTreeMap<u64, Vec<Must>>>,
}

impl Mutant {
    /// `inner`, with this bug.
    pub fn new(inner: Rc<dyn Scheme>, spec: MutantSpec) -> Rc<Mutant> {
        Rc::new(Mutant { inner, spec, met: Cell::new(0), changed: Cell::new(0), held: RefCell::default() })
    }

    /// How often it did something else than the scheme behind it. While this is 0, the bug cannot be detected.
    pub fn changed(&self) -> u64 {
        self.changed.get()
    }

    /// Counts an occurrence; returns whether to spoil it.
    fn spoils(&self) -> bool {
        self.met.set(self.met.get() + 1);
        let spoils = self.spec.when.means(self.met.get());
        self.count_changed(spoils);
        spoils
    }

    fn count_changed(&self, changed: bool) {
        self.changed.set(self.changed.get() + u64::from(changed));
    }

    fn hold(&self, op: Op, must: Must) {
        self.held.borrow_mut().entry(op.id).or_default().push(must);
    }

    fn take_held(&self, op: Op) -> Vec<Must> {
        self.held.borrow_mut().remove(&op.id).unwrap_or_default()
    }

    fn spoil_step(&self, cache: &Rc<Cache>, op: Op, place: Option<StepKind>, answer: Answer) -> Answer {
        let Answer { must, ripe } = answer;
        if !waits(&must) {
            return Answer { must, ripe };
        }
        let here = |site: Site| place == Some(site.place) && (site.calls.is_empty() || site.calls.contains(&op.kind));
        let must = match self.spec.deed {
            Deed::Forget(site) if here(site) && self.spoils() => Must::Nothing,
            Deed::Late(site) if here(site) && self.spoils() => {
                self.hold(op, must);
                Must::Nothing
            }
            Deed::Swap(site) => match self.take_held(op) {
                held if !held.is_empty() => one_by_one(cache, std::iter::once(must).chain(held).collect()),
                _ if here(site) && self.spoils() => {
                    self.hold(op, must);
                    Must::Nothing
                }
                _ => must,
            },
            _ => must,
        };
        Answer { must, ripe }
    }

    fn spoil_fsync(&self, deed: AtFsync, cache: &Rc<Cache>, ino: Ino, inode: &BufRef) -> Must {
        let mut bufs = cache.unsettled_of(ino);
        let undurable = |bufs: &[BufRef]| bufs.iter().filter(|buf| !buf.is_durable()).count();
        let whole = undurable(&bufs) + undurable(std::slice::from_ref(inode));
        let number = |buf: &BufRef| match buf.key() {
            Key::File(_, lbn) => lbn,
            Key::Device(_) | Key::Inode(_) => Lbn(0),
        };
        match deed {
            AtFsync::Nothing | AtFsync::WithoutData => bufs.clear(),
            AtFsync::WithoutIndirect => bufs.retain(|buf| number(buf).0 >= 0),
            AtFsync::WithoutLast => {
                let last = bufs.iter().map(number).max();
                bufs.retain(|buf| Some(number(buf)) != last);
            }
            AtFsync::WithoutInode | AtFsync::WithoutWaiting => {}
        }
        if !matches!(deed, AtFsync::Nothing | AtFsync::WithoutInode) {
            bufs.push(inode.clone());
        }
        if deed == AtFsync::WithoutWaiting {
            self.count_changed(whole > 0);
            cache.write_soon(&bufs);
            return Must::Nothing;
        }
        self.count_changed(undurable(&bufs) < whole);
        let cache = cache.clone();
        Must::Wait(Box::pin(async move { cache.write_all(bufs).await }))
    }

    fn spoil_sync(&self, deed: AtSync, cache: &Rc<Cache>) -> Must {
        if deed == AtSync::WithoutWaiting {
            let (cache, must) = (cache.clone(), self.inner.sync(cache));
            let rt = cache.rt().clone();
            // OK to ignore: no call waits for it, which is the bug.
            rt.spawn(async move { drop(cache.obey(must).await) });
        }
        Must::Nothing
    }
}

/// Something is not durable yet (mutant-2).
fn waits(must: &Must) -> bool {
    match must {
        Must::Nothing => false,
        Must::Durable(buf) => !buf.is_durable(),
        Must::InOrder(bufs) => bufs.iter().any(|buf| !buf.is_durable()),
        Must::Sent(_) | Must::Wait(_) => true,
    }
}

fn one_by_one(cache: &Rc<Cache>, musts: Vec<Must>) -> Must {
    let cache = cache.clone();
    Must::Wait(Box::pin(async move {
        for must in musts {
            cache.obey(must).await?;
        }
        Ok(())
    }))
}

impl Wrapper for Mutant {
    type Inner = dyn Scheme;

    fn inner(&self) -> &Rc<dyn Scheme> {
        &self.inner
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.end(cache, op);
        let mut held = self.take_held(op);
        if held.is_empty() {
            return must;
        }
        held.push(must);
        one_by_one(cache, held)
    }

    fn cancelled(&self, cache: &Rc<Cache>, op: Op) {
        drop(self.take_held(op));
        self.inner.cancelled(cache, op);
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let place = StepKind::of(&step);
        let answer = self.inner.step(cache, op, step);
        self.spoil_step(cache, op, place, answer)
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        match self.spec.deed {
            Deed::Fsync(deed) => self.spoil_fsync(deed, cache, ino, inode),
            _ => self.inner.fsync(cache, ino, inode, news),
        }
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        match self.spec.deed {
            Deed::Sync(deed) if self.spoils() => self.spoil_sync(deed, cache),
            _ => self.inner.sync(cache),
        }
    }
}
