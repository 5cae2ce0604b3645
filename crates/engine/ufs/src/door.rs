//! [`ordo_vfs::FileSystem`] for a Berkeley file system. Each call finds its inode and goes to its module, where it has
//! the same name: an inherent method is preferred to the trait's.

use crate::{Layout, Ufs};
use bytes::Bytes;
use ordo_ondisk::Ino;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, FallocMode, FileSystem, Kind, Mode, Name, NodeId, RenameMode, Result, Segments,
    SetAttr, StatFs, Whence, XattrMode,
};

impl<L: Layout> FileSystem for Ufs<L> {
    fn root(&self) -> NodeId {
        NodeId(u64::from(Ino::ROOT.0))
    }

    fn read_only(&self) -> bool {
        self.cache().health().is_read_only()
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        let dir = self.directory(dir).await?;
        let found = {
            let _shared = dir.lock.read().await;
            self.must_find(&dir, name.bytes()).await?
        };
        let inode = self.inode(found.ino).await?;
        let attr = self.attr(&inode)?;
        self.table.reserve()?;
        self.table.look_up(found.ino);
        Ok(Entry { node: NodeId(u64::from(found.ino.0)), attr })
    }

    async fn by_number(&self, ino: u64, generation: u32) -> Result<Entry> {
        self.by_number(ino, generation).await
    }

    fn forget(&self, node: NodeId, lookups: u64) {
        if let Ok(ino) = u32::try_from(node.0) {
            self.forget(Ino(ino), lookups);
        }
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        self.attr(&*self.node(node).await?)
    }

    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        let inode = self.node(node).await?;
        self.setattr(&inode, set).await
    }

    async fn readlink(&self, node: NodeId) -> Result<Bytes> {
        let inode = self.node(node).await?;
        self.readlink(&inode).await
    }

    async fn mknod(
        &self,
        who: &Caller,
        dir: NodeId,
        name: Name<'_>,
        kind: Kind,
        mode: Mode,
        rdev: u64,
    ) -> Result<Entry> {
        self.mknod(who, dir, name, kind, mode, rdev).await
    }

    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        self.mkdir(who, dir, name, mode).await
    }

    async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        self.symlink(who, dir, name, target).await
    }

    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        self.tmpfile(who, dir, mode).await
    }

    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.link(node, dir, name).await
    }

    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.unlink(dir, name).await
    }

    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.rmdir(dir, name).await
    }

    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        self.rename(dir, name, to_dir, to_name, mode).await
    }

    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments> {
        let inode = self.node(node).await?;
        self.read(&inode, offset, len).await
    }

    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        let inode = self.node(node).await?;
        self.write(who, &inode, offset, data).await
    }

    async fn fallocate(&self, who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()> {
        let inode = self.node(node).await?;
        self.fallocate(who, &inode, offset, len, mode).await
    }

    async fn copy_range(&self, who: &Caller, from: NodeId, offset: u64, to: NodeId, at: u64, len: u64) -> Result<u64> {
        let (source, target) = (self.node(from).await?, self.node(to).await?);
        self.copy_range(who, &source, offset, &target, at, len).await
    }

    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        let inode = self.node(node).await?;
        self.seek(&inode, offset, whence).await
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let dir = self.directory(node).await?;
        {
            let _shared = dir.lock.read().await;
            self.readdir(&dir, cookie, take).await?;
        }
        self.accessed(&dir).await
    }

    async fn fsync(&self, node: NodeId, data_only: bool) -> Result<()> {
        let inode = self.node(node).await?;
        self.fsync(&inode, data_only).await
    }

    async fn syncfs(&self) -> Result<()> {
        self.syncfs().await
    }

    async fn statfs(&self) -> Result<StatFs> {
        Ok(self.layout.statfs())
    }

    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes> {
        let inode = self.node(node).await?;
        self.getxattr(&inode, name).await
    }

    async fn setxattr(&self, who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let inode = self.node(node).await?;
        self.setxattr(who, &inode, name, value, mode).await
    }

    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>> {
        let inode = self.node(node).await?;
        self.listxattr(&inode).await
    }

    async fn removexattr(&self, node: NodeId, name: &[u8]) -> Result<()> {
        let inode = self.node(node).await?;
        self.removexattr(&inode, name).await
    }
}
