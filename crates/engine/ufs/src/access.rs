//! How a file system runs its worker, and what of the file system the worker may use.

use crate::directory::Found;
use crate::worker::{Attached, Worker};
use crate::{Access, Inode, Layout, Then, Ufs};
use ordo_buf::{BufRef, CallKind, Fields, Freed, Op};
use ordo_ondisk::Ino;
use ordo_rt::sync::{Notify, RwLock};
use ordo_vfs::Result;
use std::cell::Cell;
use std::rc::{Rc, Weak};

impl<L: Layout> Ufs<L> {
    /// Attaches the worker (ufs-worker-1); [`Ufs::run_worker`] runs it.
    pub fn attach_worker(&self, worker: Rc<dyn Worker<Ufs<L>>>) {
        let (stepping, stop, over) = (Cell::default(), Cell::default(), Cell::default());
        let attached = Attached { worker, gate: RwLock::new(()), stepping, stop, over, ended: Notify::new() };
        let first = self.worker.set(attached).is_ok();
        debug_assert!(first, "a file system has one worker");
    }

    /// Runs the worker's steps until it is over, or the file system is gone.
    pub async fn run_worker(fs: Weak<Ufs<L>>) {
        while let Some(strong) = fs.upgrade() {
            if strong.work().await == Then::Over {
                return;
            }
            let rt = strong.cache().rt().clone();
            drop(strong);
            rt.yield_now().await;
        }
    }

    async fn work(&self) -> Then {
        let Some(attached) = self.worker.get().filter(|attached| !attached.over.get()) else { return Then::Over };
        attached.stepping.set(true);
        let then = attached.worker.step(Access(self)).await;
        attached.stepping.set(false);
        if then == Then::Again && !attached.stop.get() {
            return Then::Again;
        }
        if then == Then::Again {
            attached.worker.stopped(Access(self));
        }
        attached.end();
        Then::Over
    }

    /// Ends the worker, after its step if one is running (ufs-worker-3).
    pub(crate) async fn stop_worker(&self) {
        let Some(attached) = self.worker.get().filter(|attached| !attached.over.get()) else { return };
        attached.stop.set(true);
        if !attached.stepping.get() {
            attached.worker.stopped(Access(self));
            attached.end();
        }
        while !attached.over.get() {
            attached.ended.notified().await;
        }
    }
}

impl<'a, L: Layout> Access<'a, Ufs<L>> {
    /// The file system, as its callers see it.
    pub fn ufs(self) -> &'a Ufs<L> {
        self.0
    }

    /// The layout.
    pub fn layout(self) -> &'a L {
        &self.0.layout
    }

    /// The inode with this number if it is in memory. A call that is changing an inode has it in memory, and locked.
    pub fn in_memory(self, ino: Ino) -> Option<Rc<Inode>> {
        self.0.table.get(ino)
    }

    /// The inode with this number, read if it is not in memory.
    ///
    /// # Errors
    /// `Stale` for a free inode; `Corrupt`; `Io`.
    pub async fn inode(self, ino: Ino) -> Result<Rc<Inode>> {
        self.0.inode(ino).await
    }

    /// A caller has looked it up and not forgotten it: when its last name goes it is freed by its last user.
    pub fn is_looked_up(self, ino: Ino) -> bool {
        self.0.table.is_looked_up(ino)
    }

    /// Runs `work` as a call that changes the volume, beside other calls. Not within another one.
    ///
    /// # Errors
    /// `ReadOnly` when nothing can be changed; else the error of `work` or of the scheme's waits.
    pub async fn call<T>(self, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        self.0.call(kind, work).await
    }

    /// The same, while no call that changes links runs (ufs-worker-1).
    ///
    /// # Errors
    /// See [`Access::call`].
    pub async fn call_alone<T>(self, kind: CallKind, work: impl AsyncFnOnce(Op) -> Result<T>) -> Result<T> {
        let alone = async |op| {
            // Without a worker there is no gate; but an `Access` is only given to one.
            let _alone = match self.0.worker.get() {
                Some(attached) => Some(attached.gate.write().await),
                None => None,
            };
            work(op).await
        };
        self.0.cache().call(kind, alone).await
    }

    /// Stores the dinode of a locked inode, and reports the change to the scheme.
    ///
    /// # Errors
    /// `Io` when the inode's block must be read again and cannot.
    pub async fn changed(self, op: Op, inode: &Inode, fields: Fields) -> Result<()> {
        self.0.changed(op, inode, fields).await.map(drop)
    }

    /// The block of a locked directory that holds the byte at `offset`, and the byte's offset in it.
    ///
    /// # Errors
    /// `Corrupt` when the directory has a hole there; `Io`.
    pub async fn dir_block(self, dir: &Inode, offset: u64) -> Result<(BufRef, usize)> {
        self.0.dir_block(dir, offset).await
    }

    /// What `..` names in this directory. Needs no lock.
    ///
    /// # Errors
    /// `Corrupt` when it has none; `Io`.
    pub async fn parent_of(self, dir: &Rc<Inode>) -> Result<Ino> {
        self.0.parent_of(dir).await
    }

    /// Removes one of several names of `inode`, the entry at `offset` of `dir`, and drops its link as a call would.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn remove_name(self, op: Op, dir: &Rc<Inode>, offset: u64, name: &[u8], inode: &Rc<Inode>) -> Result<()> {
        let (fs, ino, now) = (self.0, inode.ino(), self.0.now());
        let ripe = {
            let _dir = dir.lock.write().await;
            inode.links_leave(1);
            let ticket = fs.cache().ledger().issue(Freed::DropLink { ino, links: 1, parent: None });
            fs.clear(op, dir, name, Found { offset, ino }, ticket, now).await?
        };
        fs.redeem(op, ripe, now).await
    }

    /// Frees an inode without names and users, whose link count is 0.
    ///
    /// # Errors
    /// `Io`, `Corrupt`; the volume is not marked clean then.
    pub async fn release(self, op: Op, inode: &Rc<Inode>) -> Result<()> {
        self.0.release(op, inode).await
    }
}
