//! What happens when a ticket is returned, and when the last user of a file without names is gone.

use crate::{Inode, Layout, Ufs, attr};
use ordo_buf::{CallKind, Fields, Freed, Op, Ticket};
use ordo_ondisk::Ino;
use ordo_vfs::{Result, Stamp};
use std::cell::Cell;
use std::rc::{Rc, Weak};

/// An orphan or a ripe ticket that the upkeep has taken. The call that frees it may be refused, or cancelled at its
/// door; what it did not begin is put back then. A lost orphan would keep its space on a volume that is marked clean.
struct Taken<'a, L: Layout> {
    fs: &'a Ufs<L>,
    orphan: Cell<Option<Ino>>,
    ticket: Cell<Option<Ticket>>,
}

impl<'a, L: Layout> Taken<'a, L> {
    fn next(fs: &'a Ufs<L>) -> Option<Self> {
        let orphan = fs.orphans.borrow_mut().pop_front();
        let ticket = if orphan.is_none() { fs.cache().take_ripe() } else { None };
        let any = orphan.is_some() || ticket.is_some();
        any.then(|| Taken { fs, orphan: Cell::new(orphan), ticket: Cell::new(ticket) })
    }
}

impl<L: Layout> Drop for Taken<'_, L> {
    fn drop(&mut self) {
        if let Some(ino) = self.orphan.take() {
            self.fs.orphans.borrow_mut().push_front(ino);
        }
        if let Some(ticket) = self.ticket.take() {
            self.fs.cache().put_back(ticket);
        }
    }
}

impl<L: Layout> Ufs<L> {
    /// Redeems a ripe ticket.
    pub(crate) async fn redeem(&self, op: Op, ripe: Option<Ticket>, now: Stamp) -> Result<()> {
        match ripe.map(Ticket::redeem) {
            None => Ok(()),
            Some(Freed::DropLink { ino, links, parent }) => self.drop_link(op, ino, links, parent, now).await,
            Some(freed) => self.layout.free(freed).await,
        }
    }

    /// Drops the link of a removed name, after the scheme has made the removal durable as far as it promises. For a
    /// removed directory also its `.`, and the link that its `..` was for its parent. If other tickets still wait to
    /// drop links of it, those stay: its number must not be free before. A parent that was itself removed for good, and
    /// waited for this, is an orphan then.
    async fn drop_link(&self, op: Op, ino: Ino, links: u32, parent: Option<Ino>, now: Stamp) -> Result<()> {
        if let Some(parent) = parent {
            let parent = self.inode(parent).await?;
            parent.links_left(1);
            {
                let mut dinode = parent.dinode_mut();
                dinode.nlink = dinode.nlink.saturating_sub(1);
            }
            self.changed(op, &parent, Fields::LinksDown).await?;
            if parent.dinode().nlink == 0 && !self.table.is_looked_up(parent.ino()) {
                self.orphan(parent.ino());
            }
        }
        let inode = self.inode(ino).await?;
        let left = {
            let mut dinode = inode.dinode_mut();
            inode.links_left(links);
            dinode.nlink = dinode.nlink.saturating_sub(u16::try_from(links).unwrap_or(u16::MAX));
            attr::set_times(&mut dinode, None, None, Some(now));
            dinode.nlink
        };
        if left == 0 && !self.table.is_looked_up(ino) {
            return self.release(op, &inode).await;
        }
        self.changed(op, &inode, Fields::LinksDown).await?;
        if left == 0 && inode.is_dir() { self.empty(op, &inode).await } else { Ok(()) }
    }

    /// A removed directory that is still in use loses its contents, as in the BSD kernels. Its `..` is no link of its
    /// parent any more; a replay that finds it, after the records of the removal were dropped, would count it.
    async fn empty(&self, op: Op, inode: &Rc<Inode>) -> Result<()> {
        let _alone = inode.lock.write().await;
        inode.names.borrow_mut().take();
        self.resize(op, inode, 0).await
    }

    /// Frees a file without names and users.
    pub(crate) async fn release(&self, op: Op, inode: &Rc<Inode>) -> Result<()> {
        let _alone = inode.lock.write().await;
        // The upkeep and an unmount can meet here. If both freed the inode, its number would be given to two files.
        if !self.table.get(inode.ino()).is_some_and(|there| Rc::ptr_eq(&there, inode)) {
            return Ok(());
        }
        let released = self.layout.release(op, inode).await;
        if released.is_err() && inode.kind().is_some() {
            // It stays as a file without names, which fsck frees. Its ticket stays outstanding forever, so that the
            // volume is not marked clean before.
            let (ino, directory) = (inode.ino(), inode.is_dir());
            self.cache().keep_stuck(self.cache().ledger().issue(Freed::Inode { ino, directory }));
            // OK to ignore: the first failure is the one reported.
            let _ = self.changed(op, inode, Fields::LinksDown).await;
        }
        self.table.remove(inode.ino());
        inode.names.borrow_mut().take();
        released
    }

    /// Takes back lookups of a node; the upkeep frees a file without names and without lookups.
    pub(crate) fn forget(&self, ino: Ino, lookups: u64) {
        if !self.table.forget(ino, lookups) {
            return;
        }
        let orphan = self.table.get(ino).is_some_and(|inode| inode.dinode().nlink == 0);
        if orphan {
            self.orphan(ino);
        }
    }

    /// The upkeep frees a file without names and users.
    fn orphan(&self, ino: Ino) {
        self.orphans.borrow_mut().push_back(ino);
        self.cache().upkeep_wanted().notify_all();
    }

    /// Frees files that have lost their last user, and redeems ripe tickets. `true` when there was something.
    ///
    /// # Errors
    /// `Io`; the volume is read-only then, and fsck finds what was not freed.
    pub async fn reclaim(&self) -> Result<bool> {
        let mut found = false;
        loop {
            let Some(taken) = Taken::next(self) else { return Ok(found) };
            found = true;
            let _begun = self.freeing.begin();
            self.call(CallKind::Reclaim, async |op| {
                self.redeem(op, taken.ticket.take(), self.now()).await?;
                match taken.orphan.take().and_then(|ino| self.table.get(ino)) {
                    Some(inode) if inode.dinode().nlink == 0 && !self.table.is_looked_up(inode.ino()) => {
                        self.release(op, &inode).await
                    }
                    _ => Ok(()),
                }
            })
            .await?;
        }
    }

    /// Reclaims whenever there is work, until the file system is gone.
    pub async fn run_upkeep(fs: Weak<Ufs<L>>) {
        while let Some(strong) = fs.upgrade() {
            // A failure has made the volume read-only; the next sync reports it, and nothing more can be freed.
            let failed = strong.reclaim().await.is_err();
            if failed && strong.cache().health().is_read_only() {
                return;
            }
            let wanted = strong.cache().upkeep_wanted();
            drop(strong);
            wanted.notified().await;
        }
    }

    /// Frees everything that waits to be freed: for unmount, and before a call fails for lack of space.
    pub(crate) async fn reclaim_all(&self) -> Result<()> {
        while self.reclaim().await? {}
        Ok(())
    }
}
