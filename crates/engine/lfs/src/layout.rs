//! [`ordo_ufs::Layout`] for the log. Each method is in the room of its name.

use crate::Lfs;
use ordo_buf::{BufRef, Cache, Freed, Op, Promises, Scheme};
use ordo_ondisk::{Ino, Lbn};
use ordo_ufs::{Fill, Inode, Layout, Mapped, NewInode, Shape};
use ordo_vfs::{Caller, Error, Kind, Refusal, Result, StatFs};
use std::rc::Rc;

impl Layout for Lfs {
    fn cache(&self) -> &Rc<Cache> {
        &self.cache
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    async fn begin(&self, op: Op) -> Result<()> {
        self.log.keep_map_near(op.kind).await?;
        loop {
            let room = self.log.make_room(op.kind).await;
            self.log.gate.enter().await;
            let short = self.log.is_short(&self.cache, op.kind);
            if !short {
                return Ok(());
            }
            self.log.gate.leave();
            room?;
        }
    }

    fn end(&self, _: Op) {
        self.log.gate.leave();
    }

    fn promises(_: &dyn Scheme) -> Promises {
        crate::promises()
    }

    async fn load(&self, ino: Ino) -> Result<Inode> {
        self.load(ino).await
    }

    async fn may_load(&self, ino: Ino) -> Result<bool> {
        Ok(self.log.may_load(ino))
    }

    async fn store(&self, inode: &Inode) -> Result<BufRef> {
        self.store(inode).await
    }

    async fn block_of(&self, inode: &Inode) -> Result<BufRef> {
        self.block_of(inode).await
    }

    async fn alloc_inode(&self, _: Op, _: &Inode, _: Kind) -> Result<NewInode> {
        // An inode takes little; the reserve is for contents, whose writer is known.
        self.log.may_take(u64::from(self.log.g.version.dinode_size()), true)?;
        let found = self.log.ifile.borrow_mut().alloc().map_err(Error::corrupt)?;
        let (ino, generation) = found.ok_or(Refusal::NoInodes)?;
        self.log.changed.set(true);
        match self.log.fresh_dinode(ino).await {
            Ok(_) => Ok(NewInode { ino, generation, map: None }),
            Err(error) => {
                self.log.ifile.borrow_mut().unalloc(ino);
                Err(error)
            }
        }
    }

    async fn unalloc_inode(&self, new: NewInode, _: Kind) {
        self.log.ifile.borrow_mut().unalloc(new.ino);
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

    async fn punch(&self, _: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        self.punch(inode, from, to).await
    }

    /// The log writes a file in one piece anyway.
    async fn gather_cluster(&self, _: Op, _: &Inode, _: Lbn, _: Lbn) {}

    async fn attributes(&self, _: &Inode) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    async fn set_attributes(&self, _: Op, _: &Caller, _: &Inode, _: &[u8], _: Option<u16>) -> Result<()> {
        Err(Refusal::NotSupported.into())
    }

    async fn release(&self, _: Op, inode: &Inode) -> Result<()> {
        self.release(inode).await
    }

    /// No step gives a ticket.
    async fn free(&self, _: Freed) -> Result<()> {
        Ok(())
    }

    async fn find_room(&self, again: bool) -> Result<bool> {
        self.log.find_room(again).await
    }

    fn statfs(&self) -> StatFs {
        self.log.statfs()
    }

    async fn gather(&self) -> Result<()> {
        Ok(())
    }

    async fn unmount(&self) -> Result<()> {
        self.log.unmount().await
    }
}
