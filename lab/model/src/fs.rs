//! The file system's interface: one borrow of the tree per call.

use crate::arena::Body;
use crate::contents::Contents;
use crate::create::New;
use crate::ino::ROOT;
use crate::options::Options;
use crate::state::State;
use bytes::Bytes;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result,
    Stamp, StatFs, Whence, XattrMode,
};
use std::cell::RefCell;

/// An in-memory tree behind the trait of all file systems. Not thread-safe.
pub struct MemFs {
    state: RefCell<State>,
    clock: Box<dyn Fn() -> Stamp>,
}

impl MemFs {
    /// An empty tree whose times come from `clock`.
    ///
    /// # Panics
    /// If `options.block_size` is zero or not a multiple of 512.
    pub fn new(options: Options, clock: impl Fn() -> Stamp + 'static) -> MemFs {
        assert!(options.block_size > 0 && options.block_size.is_multiple_of(512), "block size {}", options.block_size);
        let state = RefCell::new(State::new(options, clock()));
        MemFs { state, clock: Box::new(clock) }
    }

    /// An empty tree with the default limits, whose clock always shows the start of 1970.
    pub fn timeless() -> MemFs {
        MemFs::new(Options::default(), Stamp::default)
    }

    /// Lookups that were not forgotten yet. Zero after a program that forgets everything it looked up.
    pub fn lookups(&self) -> u64 {
        self.state.borrow().arena.lookups()
    }

    fn now(&self) -> Stamp {
        (self.clock)()
    }
}

/// A call that changes the tree, and has the time.
macro_rules! dated {
    ($fs:ident, $call:ident($($arg:ident),*).await) => {
        $fs.state.borrow_mut().$call($($arg),*, $fs.now())
    };
}

impl FileSystem for MemFs {
    ordo_vfs::forward! { dated: setattr mkdir symlink tmpfile link unlink rmdir read removexattr }

    fn root(&self) -> NodeId {
        self.state.borrow().arena.id(ROOT)
    }

    fn read_only(&self) -> bool {
        false
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.state.borrow_mut().lookup(dir, name)
    }

    async fn by_number(&self, ino: u64, generation: u32) -> Result<Entry> {
        let arena = &mut self.state.borrow_mut().arena;
        let ino = arena.numbered(ino, generation)?;
        let node = arena.at_mut(ino);
        node.lookups += 1;
        let attr = node.attr;
        Ok(Entry { node: arena.id(ino), attr })
    }

    fn forget(&self, node: NodeId, lookups: u64) {
        self.state.borrow_mut().forget(node, lookups);
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        Ok(self.state.borrow().node(node)?.attr)
    }

    async fn readlink(&self, node: NodeId) -> Result<Bytes> {
        match &self.state.borrow().node(node)?.body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => Err(Refusal::Invalid.into()),
        }
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
        let mut state = self.state.borrow_mut();
        let body = match kind {
            Kind::Directory | Kind::Symlink => return Err(Refusal::Invalid.into()),
            Kind::Regular => Body::File(Contents::new(state.options.block_size)),
            Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => Body::Special,
        };
        let rdev = if kind.is_device() { rdev } else { 0 };
        state.make(who, dir, name, New { kind, mode, rdev, body }, self.now())
    }

    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        self.state.borrow_mut().rename((dir, name), (to_dir, to_name), mode, self.now())
    }

    async fn write(&self, _who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        self.state.borrow_mut().write(node, offset, data, self.now())
    }

    async fn fallocate(&self, _who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()> {
        self.state.borrow_mut().fallocate(node, offset, len, mode, self.now())
    }

    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        self.state.borrow().seek(node, offset, whence)
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.state.borrow_mut().readdir(node, cookie, self.now(), take)
    }

    async fn fsync(&self, node: NodeId, _data_only: bool) -> Result<()> {
        self.state.borrow().node(node).map(|_| ())
    }

    async fn syncfs(&self) -> Result<()> {
        Ok(())
    }

    async fn statfs(&self) -> Result<StatFs> {
        Ok(self.state.borrow().statfs())
    }

    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes> {
        self.state.borrow().getxattr(node, name)
    }

    async fn setxattr(&self, _who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.state.borrow_mut().setxattr(node, name, value, mode, self.now())
    }

    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>> {
        self.state.borrow().listxattr(node)
    }
}
