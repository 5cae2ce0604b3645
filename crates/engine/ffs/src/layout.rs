//! The fast file system as a [`Layout`].

use crate::Ffs;
use ordo_buf::{BufRef, Cache, Freed, Op};
use ordo_ondisk::{Dinode, Ino, Lbn};
use ordo_ufs::{Fill, Inode, Layout, Mapped, NewInode, Quotas, Shape};
use ordo_vfs::{Caller, Error, Kind, Result, StatFs};
use std::rc::Rc;

impl Ffs {
    /// Frees in the maps what a ticket named.
    pub(crate) async fn free(&self, freed: Freed) -> Result<()> {
        match freed {
            Freed::Inode { ino, directory } => self.free_inode(ino, directory).await,
            Freed::Blocks { runs, .. } => {
                // One damaged group must not prevent freeing the blocks of the others.
                let mut outcome = Ok(());
                for (at, frags) in runs {
                    outcome = outcome.and(self.free_run(at, frags).await);
                }
                outcome
            }
            Freed::DropLink { ino, .. } => Err(Error::bug(format!("a layout was to free a link of inode {}", ino.0))),
        }
    }
}

impl Layout for Ffs {
    fn cache(&self) -> &Rc<Cache> {
        &self.cache
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn quotas(&self) -> Option<&Quotas> {
        Some(&self.quotas)
    }

    fn quota_tables(&self) -> [Option<Ino>; 2] {
        let tables = self.superblock.borrow().quota2().unwrap_or_default();
        [tables.users, tables.groups]
    }

    async fn each_dinode(&self, show: &mut dyn FnMut(Ino, &Dinode)) -> Result<()> {
        self.each_dinode(show).await
    }

    async fn begin(&self, _op: Op) -> Result<()> {
        self.running.set(self.running.get() + 1);
        Ok(())
    }

    fn end(&self, _op: Op) {
        self.running.set(self.running.get() - 1);
    }

    fn is_tight(&self) -> bool {
        self.is_tight()
    }

    fn most_at_once(&self) -> usize {
        if self.copies.is_some() { crate::snapshot::MOST_AT_ONCE } else { usize::MAX }
    }

    async fn load(&self, ino: Ino) -> Result<Inode> {
        self.load(ino).await
    }

    async fn may_load(&self, ino: Ino) -> Result<bool> {
        self.may_load(ino).await
    }

    async fn store(&self, inode: &Inode) -> Result<BufRef> {
        self.store(inode).await
    }

    async fn block_of(&self, inode: &Inode) -> Result<BufRef> {
        self.block_of(inode).await
    }

    async fn alloc_inode(&self, op: Op, parent: &Inode, kind: Kind) -> Result<NewInode> {
        self.alloc_inode(op, parent, kind).await
    }

    async fn unalloc_inode(&self, new: NewInode, kind: Kind) {
        // A failure has marked the group bad, and the number stays allocated until fsck.
        let _ = self.free_inode(new.ino, kind == Kind::Directory).await;
    }

    async fn read_ahead(&self, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        self.read_ahead(inode, from, to).await
    }

    async fn map(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Mapped> {
        self.map(inode, lbn, count).await
    }

    async fn block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>> {
        self.block(inode, lbn).await
    }

    async fn write_block(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        lbn: Lbn,
        from: usize,
        to: usize,
        fill: Fill<'_>,
    ) -> Result<BufRef> {
        self.write_block(op, who, inode, lbn, from, to, fill).await
    }

    async fn truncate(&self, op: Op, who: &Caller, inode: &Inode, size: u64) -> Result<()> {
        self.truncate(op, who, inode, size).await
    }

    async fn punch(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        self.punch(op, inode, from, to).await
    }

    async fn gather_cluster(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) {
        // The blocks stay where they are if they cannot be moved.
        let _ = self.gather_cluster(op, inode, from, to).await;
    }

    async fn attributes(&self, inode: &Inode) -> Result<Vec<u8>> {
        self.attributes(inode).await
    }

    async fn set_attributes(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        area: &[u8],
        rights: Option<u16>,
    ) -> Result<()> {
        self.set_attributes(op, who, inode, area, rights).await
    }

    fn can_be_released(&self, inode: &Inode) -> Result<()> {
        self.can_be_released(inode)
    }

    async fn release(&self, op: Op, inode: &Inode) -> Result<()> {
        self.release(op, inode).await
    }

    async fn free(&self, freed: Freed) -> Result<()> {
        self.free(freed).await
    }

    fn statfs(&self) -> StatFs {
        let ledger = self.cache.ledger();
        let positive = |n: i64| u64::try_from(n).unwrap_or(0);
        let promised = ledger.frags() as i64;
        StatFs {
            frag_size: self.g.fsize,
            block_size: self.g.bsize,
            frags: self.g.dsize,
            free_frags: positive(self.free_space(true) + promised),
            avail_frags: positive(self.free_space(false) + promised),
            inodes: self.g.inodes() - 2,
            free_inodes: positive(self.summary.total().nifree) + ledger.inodes(),
            name_max: ordo_vfs::MAX_NAME as u32,
        }
    }

    async fn gather(&self) -> Result<()> {
        self.gather().await
    }

    async fn unmount(&self) -> Result<()> {
        self.unmount().await
    }
}
