//! The file system: a layout, the inodes in memory, and helpers of all calls.

use crate::freeing::Freeing;
use crate::observer::{Observed, Observer};
use crate::table::Table;
use crate::worker::Attached;
use crate::{Inode, Layout};
use ordo_buf::{BufRef, Cache, CallKind, Fields, Op, Policy, Step};
use ordo_ondisk::Ino;
use ordo_rt::sync::Mutex;
use ordo_vfs::{Error, NodeId, Refusal, Result, Stamp};
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// When reading a file updates its time of last access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Atime {
    /// When it is older than the last change, or a day old, as Linux does.
    #[default]
    Relative,
    /// Never (`noatime`).
    Never,
}

/// A Berkeley file system with layout `L`.
pub struct Ufs<L> {
    pub(crate) layout: L,
    pub(crate) table: Table,
    /// Held while a name moves between directories, so that no other move changes the tree meanwhile (ufs-3).
    pub(crate) moves: Mutex<()>,
    pub(crate) atime: Atime,
    /// Files without names whose last user has gone.
    pub(crate) orphans: RefCell<VecDeque<Ino>>,
    /// What frees files and redeems tickets at this moment.
    pub(crate) freeing: Freeing,
    /// The observer of names.
    pub(crate) observed: Observed,
    /// The worker in the background.
    pub(crate) worker: OnceCell<Attached<Ufs<L>>>,
}

impl<L: Layout> Ufs<L> {
    /// On a mounted layout.
    pub fn new(layout: L, atime: Atime) -> Ufs<L> {
        let (table, orphans, observed) = (Table::default(), RefCell::default(), Observed::default());
        let (freeing, worker) = (Default::default(), OnceCell::new());
        Ufs { layout, table, moves: Mutex::new(()), atime, orphans, freeing, observed, worker }
    }

    /// The layout.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    pub(crate) fn cache(&self) -> &Rc<Cache> {
        self.layout.cache()
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.cache().policy()
    }

    /// The wall clock, as a dinode can hold it.
    pub(crate) fn now(&self) -> Stamp {
        let (secs, nanos) = self.cache().rt().wall();
        self.layout.shape().held(Stamp { secs, nanos })
    }

    /// The inode of a node.
    #[inline]
    pub(crate) async fn node(&self, node: NodeId) -> Result<Rc<Inode>> {
        let ino = u32::try_from(node.0).map_err(|_| Error::from(Refusal::Stale))?;
        self.inode(Ino(ino)).await
    }

    /// The inode with this number.
    #[inline]
    pub(crate) async fn inode(&self, ino: Ino) -> Result<Rc<Inode>> {
        match self.table.get(ino) {
            Some(inode) => Ok(inode),
            None => Ok(self.table.insert(self.layout.load(ino).await?)),
        }
    }

    /// The inode of a node that must be a directory with a name.
    pub(crate) async fn directory(&self, node: NodeId) -> Result<Rc<Inode>> {
        let inode = self.node(node).await?;
        if !inode.is_dir() {
            return Err(Refusal::NotDirectory.into());
        }
        Ok(inode)
    }

    /// Stores the dinode, and reports the change to the scheme.
    pub(crate) async fn changed(&self, op: Op, inode: &Inode, fields: Fields) -> Result<BufRef> {
        let buf = self.layout.store(inode).await?;
        self.tell_changed(op, inode, &buf, fields).await?;
        Ok(buf)
    }

    /// Reports a change of a dinode that is already stored to the scheme.
    pub(crate) async fn tell_changed(&self, op: Op, inode: &Inode, buf: &BufRef, fields: Fields) -> Result<()> {
        let after = inode.dinode().nlink;
        match fields {
            Fields::LinksUp => self.tell_links(op, inode, after.saturating_sub(1)).await?,
            Fields::LinksDown => self.tell_links(op, inode, after).await?,
            _ => {}
        }
        let none = self.cache().step(op, Step::InodeChanged { ino: inode.ino(), inode: buf, fields }).await?;
        debug_assert!(none.is_none());
        Ok(())
    }

    /// Reports the link count of an inode, and the count before, to the scheme.
    pub(crate) async fn tell_links(&self, op: Op, inode: &Inode, before: u16) -> Result<()> {
        let (ino, after, mode) = (inode.ino(), inode.dinode().nlink, inode.dinode().mode);
        let none = self.cache().step(op, Step::Links { ino, before, after, mode, dotdot: None }).await?;
        debug_assert!(none.is_none());
        Ok(())
    }

    /// Links of an inode will be dropped with a name about to be removed: callers do not see them any more.
    pub(crate) async fn links_leave(&self, op: Op, inode: &Inode, links: u32) -> Result<()> {
        let before = inode.dinode().nlink;
        self.tell_links(op, inode, before).await?;
        inode.links_leave(links);
        Ok(())
    }

    /// Runs a call that changes the volume: begin, `work`, end.
    pub(crate) async fn call<T>(&self, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        if !matches!(kind, CallKind::Reclaim | CallKind::Upkeep) && self.cache().capabilities().wants_sync() {
            self.empty_log().await?;
        }
        if !matches!(kind, CallKind::Reclaim | CallKind::Upkeep) && self.layout.is_tight() {
            Box::pin(self.syncfs()).await?;
            if self.layout.is_tight() {
                return Err(Refusal::NoSpace.into());
            }
        }
        let work = async |op| {
            let _shared = match self.worker.get().and_then(Attached::gate) {
                Some(gate) if changes_links(kind) => Some(gate.read().await),
                _ => None,
            };
            self.layout.begin(op).await?;
            let _ends = Ends { layout: &self.layout, op };
            work(op).await
        };
        self.cache().call(kind, work).await
    }

    /// Runs a call that takes space. On `NoSpace` it runs once more after a sync, so that space that only waits to be
    /// freed is used, and as long as the layout finds room for it.
    pub(crate) async fn call_with_room<T>(&self, kind: CallKind, work: impl AsyncFn(Op) -> Result<T>) -> Result<T> {
        let is_short = |outcome: &Result<T>| {
            matches!(outcome, Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes | Refusal::Quota)))
        };
        let mut outcome = self.call(kind, &work).await;
        if is_short(&outcome) && self.has_reclaimable() {
            Box::pin(self.syncfs()).await?;
            outcome = self.call(kind, &work).await;
        }
        for attempt in 0..ROOMS {
            if !is_short(&outcome) || !self.layout.find_room(attempt > 0).await? {
                break;
            }
            outcome = self.call(kind, &work).await;
        }
        outcome
    }

    /// Runs a call that does nothing and answers `false` if it meets a directory that is moving ([`Ufs::is_moving`]):
    /// the call is repeated after a sync.
    ///
    /// # Errors
    /// `Busy` when other calls keep moving it.
    pub(crate) async fn call_at_rest(&self, kind: CallKind, work: impl AsyncFn(Op) -> Result<bool>) -> Result<()> {
        for _ in 0..SYNCS {
            if self.call_with_room(kind, &work).await? {
                return Ok(());
            }
            self.syncfs().await?;
        }
        Err(Refusal::Busy.into())
    }

    /// The directory has moved, and the disk may still have it at its old place.
    pub(crate) fn is_moving(&self, inode: &Inode) -> bool {
        inode.is_dir() && self.cache().capabilities().is_moving(inode.ino())
    }

    /// Something waits to be freed.
    fn has_reclaimable(&self) -> bool {
        !self.orphans.borrow().is_empty() || self.cache().ledger().outstanding() > 0
    }
}

impl<L: Layout> Ufs<L> {
    /// Syncs until the scheme's log is empty. Running calls may still change something meanwhile, but no new call
    /// begins.
    async fn empty_log(&self) -> Result<()> {
        for _ in 0..EMPTY_ROUNDS {
            if !self.cache().capabilities().wants_sync() {
                break;
            }
            self.cache().health().writable()?;
            // Boxed: a sync returns tickets, and each is a call.
            Box::pin(self.syncfs()).await?;
            if self.cache().capabilities().wants_sync() {
                self.cache().rt().sleep(EMPTY_NAP).await;
            }
        }
        Ok(())
    }
}

impl<L> Ufs<L> {
    /// Notifies `observer` of names from now on. There is room for one; `None` ends that.
    pub fn watch_names(&self, observer: Option<Rc<dyn Observer>>) {
        self.observed.watch(observer);
    }
}

/// How often room is found for one call: other calls may take it, and one that takes much needs several times.
const ROOMS: u32 = 32;

/// Syncs that a call makes for directories that other calls keep moving.
const SYNCS: u32 = 64;

/// Rounds of syncing in one wait. More are needed only if no progress is possible; then going on is better for the
/// caller than hanging.
const EMPTY_ROUNDS: u32 = 1000;
const EMPTY_NAP: std::time::Duration = std::time::Duration::from_millis(1);

/// Ends a call for the layout, also one that is cancelled.
struct Ends<'a, L: Layout> {
    layout: &'a L,
    op: Op,
}

impl<L: Layout> Drop for Ends<'_, L> {
    fn drop(&mut self) {
        self.layout.end(self.op);
    }
}

/// Calls of this kind change names or link counts, or free inodes: a worker must not compare links and names meanwhile
/// (ufs-worker-1).
fn changes_links(kind: CallKind) -> bool {
    use CallKind::{Create, Link, Mkdir, Reclaim, Rename, Rmdir, Symlink, Tmpfile, Unlink};
    matches!(kind, Create | Mkdir | Symlink | Tmpfile | Link | Unlink | Rmdir | Rename | Reclaim)
}
