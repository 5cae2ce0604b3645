//! A file system that counts and records the calls on it, for tests.

use bytes::Bytes;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, FallocMode, FileSystem, Kind, Mode, Name, NodeId, RenameMode, Result, Segments,
    SetAttr, StatFs, Whence, XattrMode,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The wrapper.
pub(crate) struct Calls<F> {
    pub(crate) fs: F,
    counts: RefCell<BTreeMap<&'static str, u64>>,
    hash: Cell<u64>,
}

impl<F> Calls<F> {
    pub(crate) fn of(fs: F) -> Calls<F> {
        Calls { fs, counts: RefCell::default(), hash: Cell::new(0) }
    }

    /// Resets counts and record.
    pub(crate) fn reset(&self) {
        self.counts.borrow_mut().clear();
        self.hash.set(0);
    }

    pub(crate) fn count(&self, call: &str) -> u64 {
        self.counts.borrow().get(call).copied().unwrap_or_default()
    }

    /// A hash of all calls with their arguments, in order.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.get()
    }

    fn saw(&self, call: &'static str, what: impl Hash) {
        *self.counts.borrow_mut().entry(call).or_default() += 1;
        let mut hasher = rustc_hash::FxHasher::default();
        (self.hash.get(), call, what).hash(&mut hasher);
        self.hash.set(hasher.finish());
    }
}

impl<F: FileSystem> FileSystem for Calls<F> {
    fn root(&self) -> NodeId {
        self.fs.root()
    }

    fn read_only(&self) -> bool {
        self.fs.read_only()
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.saw("lookup", name.bytes());
        self.fs.lookup(dir, name).await
    }

    fn forget(&self, node: NodeId, lookups: u64) {
        self.fs.forget(node, lookups);
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        self.saw("getattr", ());
        self.fs.getattr(node).await
    }

    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        self.saw("setattr", set.size);
        self.fs.setattr(node, set).await
    }

    async fn readlink(&self, node: NodeId) -> Result<Bytes> {
        self.saw("readlink", ());
        self.fs.readlink(node).await
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
        self.saw("mknod", name.bytes());
        self.fs.mknod(who, dir, name, kind, mode, rdev).await
    }

    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        self.saw("mkdir", name.bytes());
        self.fs.mkdir(who, dir, name, mode).await
    }

    async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        self.saw("symlink", name.bytes());
        self.fs.symlink(who, dir, name, target).await
    }

    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        self.saw("tmpfile", ());
        self.fs.tmpfile(who, dir, mode).await
    }

    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.saw("link", name.bytes());
        self.fs.link(node, dir, name).await
    }

    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.saw("unlink", name.bytes());
        self.fs.unlink(dir, name).await
    }

    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.saw("rmdir", name.bytes());
        self.fs.rmdir(dir, name).await
    }

    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        self.saw("rename", (name.bytes(), to_name.bytes()));
        self.fs.rename(dir, name, to_dir, to_name, mode).await
    }

    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments> {
        self.saw("read", (offset, len));
        self.fs.read(node, offset, len).await
    }

    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        self.saw("write", (offset, data));
        self.fs.write(who, node, offset, data).await
    }

    async fn fallocate(&self, who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()> {
        self.saw("fallocate", (offset, len));
        self.fs.fallocate(who, node, offset, len, mode).await
    }

    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        self.saw("seek", offset);
        self.fs.seek(node, offset, whence).await
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.saw("readdir", ());
        self.fs.readdir(node, cookie, take).await
    }

    async fn fsync(&self, node: NodeId, data_only: bool) -> Result<()> {
        self.saw("fsync", data_only);
        self.fs.fsync(node, data_only).await
    }

    async fn syncfs(&self) -> Result<()> {
        self.saw("syncfs", ());
        self.fs.syncfs().await
    }

    async fn statfs(&self) -> Result<StatFs> {
        self.saw("statfs", ());
        self.fs.statfs().await
    }

    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes> {
        self.saw("getxattr", name);
        self.fs.getxattr(node, name).await
    }

    async fn setxattr(&self, who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.saw("setxattr", (name, value));
        self.fs.setxattr(who, node, name, value, mode).await
    }

    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>> {
        self.saw("listxattr", ());
        self.fs.listxattr(node).await
    }

    async fn removexattr(&self, node: NodeId, name: &[u8]) -> Result<()> {
        self.saw("removexattr", name);
        self.fs.removexattr(node, name).await
    }
}
