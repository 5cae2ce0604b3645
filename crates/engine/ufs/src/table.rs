//! The inodes in memory, and the lookups of each.

use crate::Inode;
use ordo_ondisk::Ino;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

/// Unused inodes that are kept.
const IDLE: usize = 8192;
/// Memory for the indexes of all directories together, in bytes. One directory in use may exceed it alone.
const INDEXES: usize = 64 << 20;

/// The inodes in memory. An unused one can be dropped at any time, since its buf holds the same (rule ufs-inode-1).
/// Lookups are counted apart, so that a kernel that knows a million names does not keep a million inodes here.
#[derive(Default)]
pub(crate) struct Table(RefCell<Inner>);

#[derive(Default)]
struct Inner {
    live: FxHashMap<Ino, Rc<Inode>>,
    lookups: FxHashMap<Ino, u64>,
    sweep_at: usize,
    indexed: VecDeque<(Weak<Inode>, usize)>,
    index_bytes: usize,
}

impl Table {
    /// The inode, if it is in memory.
    #[inline]
    pub(crate) fn get(&self, ino: Ino) -> Option<Rc<Inode>> {
        self.0.borrow().live.get(&ino).cloned()
    }

    /// Puts an inode in, unless another task was faster: then returns that task's.
    pub(crate) fn insert(&self, inode: Inode) -> Rc<Inode> {
        let mut inner = self.0.borrow_mut();
        if let Some(there) = inner.live.get(&inode.ino()) {
            return there.clone();
        }
        if inner.live.len() >= inner.sweep_at.max(IDLE) {
            inner.sweep();
        }
        let inode = Rc::new(inode);
        inner.live.insert(inode.ino(), inode.clone());
        inode
    }

    /// The inode was freed.
    pub(crate) fn remove(&self, ino: Ino) {
        self.0.borrow_mut().live.remove(&ino);
    }

    /// Makes sure that there is memory for one more inode and lookup, before a call changes anything.
    ///
    /// # Errors
    /// `NoMemory`.
    pub(crate) fn reserve(&self) -> ordo_vfs::Result<()> {
        let inner = &mut *self.0.borrow_mut();
        let reserved = inner.live.try_reserve(1).and(inner.lookups.try_reserve(1));
        reserved.map_err(|_| ordo_vfs::Refusal::NoMemory.into())
    }

    /// Counts a lookup.
    #[inline]
    pub(crate) fn look_up(&self, ino: Ino) {
        *self.0.borrow_mut().lookups.entry(ino).or_insert(0) += 1;
    }

    /// Takes back `count` lookups. `true` when those were the last.
    pub(crate) fn forget(&self, ino: Ino, count: u64) -> bool {
        let mut inner = self.0.borrow_mut();
        let Some(lookups) = inner.lookups.get_mut(&ino) else { return false };
        *lookups = lookups.saturating_sub(count);
        let last = *lookups == 0;
        if last {
            inner.lookups.remove(&ino);
        }
        last
    }

    /// Lookups of it are outstanding.
    pub(crate) fn is_looked_up(&self, ino: Ino) -> bool {
        self.0.borrow().lookups.contains_key(&ino)
    }

    /// Drops all lookups: the volume is being unmounted. Returns the files without names.
    pub(crate) fn close(&self) -> Vec<Ino> {
        let mut inner = self.0.borrow_mut();
        inner.lookups.clear();
        let mut orphans: Vec<Ino> =
            inner.live.values().filter(|inode| inode.dinode().nlink == 0).map(|inode| inode.ino()).collect();
        orphans.sort_unstable();
        orphans
    }

    /// A directory got an index of `bytes`. Older indexes are dropped when all together are too large.
    pub(crate) fn indexed(&self, inode: &Rc<Inode>, bytes: usize) {
        let mut inner = self.0.borrow_mut();
        inner.index_bytes += bytes;
        inner.indexed.push_back((Rc::downgrade(inode), bytes));
        while inner.index_bytes > INDEXES && inner.indexed.len() > 1 {
            let Some((old, bytes)) = inner.indexed.pop_front() else { break };
            inner.index_bytes -= bytes;
            if let Some(old) = old.upgrade()
                && !Rc::ptr_eq(&old, inode)
            {
                old.names.borrow_mut().take();
            }
        }
    }
}

impl Inner {
    /// Drops unused inodes. One without names stays: its last user frees it.
    fn sweep(&mut self) {
        self.live.retain(|_, inode| Rc::strong_count(inode) > 1 || inode.links_seen() == 0);
        self.sweep_at = self.live.len() * 2;
        let live = &self.live;
        let mut bytes = 0;
        self.indexed.retain(|(inode, size)| {
            let keep = inode.upgrade().is_some_and(|inode| live.contains_key(&inode.ino()));
            bytes += if keep { *size } else { 0 };
            keep
        });
        self.index_bytes = bytes;
    }
}
