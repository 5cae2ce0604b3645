//! [`ordo_vfs::FileSystem`] for a Berkeley file system. Each call finds its inode and goes to its module, where it has
//! the same name: an inherent method is preferred to the trait's.

use crate::{Layout, Ufs};
use ordo_ondisk::Ino;
use ordo_vfs::{Attr, Caller, DirEntry, Entry, FileSystem, Name, NodeId, Result, StatFs};

macro_rules! as_it_is {
    ($ufs:ident, $($call:tt)*) => { $ufs.$($call)* };
}

macro_rules! of_inode {
    ($ufs:ident, $call:ident($node:ident $(, $arg:ident)*).await) => {{
        let inode = $ufs.node($node).await?;
        $ufs.$call(&inode $(, $arg)*).await
    }};
}

macro_rules! of_inode_for {
    ($ufs:ident, $call:ident($who:ident, $node:ident $(, $arg:ident)*).await) => {{
        let inode = $ufs.node($node).await?;
        $ufs.$call($who, &inode $(, $arg)*).await
    }};
}

impl<L: Layout> FileSystem for Ufs<L> {
    ordo_vfs::forward! { as_it_is: by_number mknod mkdir symlink tmpfile link unlink rmdir rename syncfs }
    ordo_vfs::forward! { of_inode: setattr readlink read seek fsync getxattr listxattr removexattr }
    ordo_vfs::forward! { of_inode_for: write fallocate setxattr }

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

    fn forget(&self, node: NodeId, lookups: u64) {
        if let Ok(ino) = u32::try_from(node.0) {
            self.forget(Ino(ino), lookups);
        }
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        self.attr(&*self.node(node).await?)
    }

    async fn copy_range(&self, who: &Caller, from: NodeId, offset: u64, to: NodeId, at: u64, len: u64) -> Result<u64> {
        let (source, target) = (self.node(from).await?, self.node(to).await?);
        self.copy_range(who, &source, offset, &target, at, len).await
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let dir = self.directory(node).await?;
        {
            let _shared = dir.lock.read().await;
            self.readdir(&dir, cookie, take).await?;
        }
        self.accessed(&dir).await
    }

    async fn statfs(&self) -> Result<StatFs> {
        Ok(self.layout.statfs())
    }
}
