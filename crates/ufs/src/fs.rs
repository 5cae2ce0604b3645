//! The file system: a layout, the inodes in memory, and what every call needs.

use crate::leaks::Leaks;
use crate::table::Table;
use crate::{Inode, Layout};
use buf::{BufRef, Cache, CallKind, Fields, Op, Step};
use ondisk::Ino;
use rt::sync::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use vfs::{Error, NodeId, Refusal, Result, Stamp};

/// When reading a file changes its time of last access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Atime {
    /// When it would otherwise be older than the last change, or a day old: what Linux does.
    #[default]
    Relative,
    /// Never (`noatime`).
    Never,
}

/// What the user may set about it.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When reading changes the time of last access.
    pub atime: Atime,
    /// How far a sequential reader is read ahead of, in bytes.
    pub read_ahead: u64,
    /// What a sequential writer fills before it leaves, in bytes, unless the volume says more (`maxcontig`). Zero: contents
    /// leave with the syncer, as everything else.
    pub cluster: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { atime: Atime::default(), read_ahead: 1 << 20, cluster: 128 << 10 }
    }
}

/// A Berkeley file system with layout `L`.
pub struct Ufs<L> {
    pub(crate) layout: L,
    pub(crate) table: Table,
    /// Held while a name moves between directories, so that the tree does not change its shape under another move (U3).
    pub(crate) moves: Mutex<()>,
    pub(crate) options: Options,
    /// Files without names whose last user has gone.
    pub(crate) orphans: RefCell<VecDeque<Ino>>,
    /// The search for what a crash has left in use.
    pub(crate) leaks: Leaks,
}

impl<L: Layout> Ufs<L> {
    /// On a layout that is mounted.
    pub fn new(layout: L, options: Options) -> Ufs<L> {
        let (table, orphans, leaks) = (Table::default(), RefCell::default(), Leaks::default());
        Ufs { layout, table, moves: Mutex::new(()), options, orphans, leaks }
    }

    /// The layout.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    pub(crate) fn cache(&self) -> &Rc<Cache> {
        self.layout.cache()
    }

    /// The wall clock.
    pub(crate) fn now(&self) -> Stamp {
        let (secs, nanos) = self.cache().rt().wall();
        Stamp { secs, nanos }
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

    /// Stores the dinode, and tells the scheme what changed in it.
    pub(crate) async fn changed(&self, op: Op, inode: &Inode, fields: Fields) -> Result<BufRef> {
        let buf = self.layout.store(inode).await?;
        self.tell_changed(op, inode, &buf, fields).await?;
        Ok(buf)
    }

    /// Tells the scheme what changed in a dinode that is stored already.
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

    /// Tells the scheme the links of an inode, and how many they were before.
    pub(crate) async fn tell_links(&self, op: Op, inode: &Inode, before: u16) -> Result<()> {
        let (ino, after, mode) = (inode.ino(), inode.dinode().nlink, inode.dinode().mode);
        let none = self.cache().step(op, Step::Links { ino, before, after, mode, dotdot: None }).await?;
        debug_assert!(none.is_none());
        Ok(())
    }

    /// Links of an inode will go with a name that is about to go: callers do not see them any more.
    pub(crate) async fn links_leave(&self, op: Op, inode: &Inode, links: u32) -> Result<()> {
        let before = inode.dinode().nlink;
        self.tell_links(op, inode, before).await?;
        inode.links_leave(links);
        Ok(())
    }

    /// A call that changes the volume: begun, done, ended.
    pub(crate) async fn call<T>(&self, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        if !matches!(kind, CallKind::Reclaim | CallKind::Upkeep) && self.cache().scheme().wants_sync() {
            self.empty_log().await?;
        }
        let work = async |op| {
            let _shared = if changes_links(kind) { Some(self.leaks.gate.read().await) } else { None };
            work(op).await
        };
        self.cache().call(kind, work).await
    }

    /// A call that takes space. Where there is none it is made once more after a sync: space that only waits to be freed
    /// must not be missing.
    pub(crate) async fn call_with_room<T>(&self, kind: CallKind, work: impl AsyncFn(Op) -> Result<T>) -> Result<T> {
        let outcome = self.call(kind, &work).await;
        if !matches!(outcome, Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes))) || !self.has_reclaimable() {
            return outcome;
        }
        self.sync_all().await?;
        self.call(kind, &work).await
    }

    /// A call that does nothing and answers `false` where it meets a directory that is on its way ([`Ufs::is_moving`]): it is
    /// made again after a sync.
    ///
    /// # Errors
    /// `Busy` when others go on moving it.
    pub(crate) async fn call_at_rest(&self, kind: CallKind, work: impl AsyncFn(Op) -> Result<bool>) -> Result<()> {
        for _ in 0..SYNCS {
            if self.call_with_room(kind, &work).await? {
                return Ok(());
            }
            self.sync_all().await?;
        }
        Err(Refusal::Busy.into())
    }

    /// A directory that has moved, and may not be there on the disk.
    pub(crate) fn is_moving(&self, inode: &Inode) -> bool {
        inode.is_dir() && self.cache().scheme().is_moving(inode.ino())
    }

    /// Something is on its way to be free.
    fn has_reclaimable(&self) -> bool {
        !self.orphans.borrow().is_empty() || self.cache().ledger().outstanding() > 0
    }
}

impl<L: Layout> Ufs<L> {
    /// Syncs until the scheme's log is empty. Others may still change something meanwhile, but nobody begins to.
    async fn empty_log(&self) -> Result<()> {
        for _ in 0..EMPTY_ROUNDS {
            if !self.cache().scheme().wants_sync() {
                break;
            }
            self.cache().health().writable()?;
            // Boxed: a sync gives tickets back, and each is a call.
            Box::pin(self.sync_all()).await?;
            if self.cache().scheme().wants_sync() {
                self.cache().rt().sleep(EMPTY_NAP).await;
            }
        }
        Ok(())
    }
}

/// Syncs that a call makes for directories that others go on moving.
const SYNCS: u32 = 64;

/// Rounds of syncing in one wait. More are needed only if nothing helps, and then a caller that goes on is better than
/// one that hangs.
const EMPTY_ROUNDS: u32 = 1000;
const EMPTY_NAP: std::time::Duration = std::time::Duration::from_millis(1);

/// Calls of this kind change names or link counts, or free inodes: link counts and names must not be compared meanwhile.
fn changes_links(kind: CallKind) -> bool {
    use CallKind::{Create, Link, Mkdir, Reclaim, Rename, Rmdir, Symlink, Tmpfile, Unlink};
    matches!(kind, Create | Mkdir | Symlink | Tmpfile | Link | Unlink | Rmdir | Rename | Reclaim)
}
