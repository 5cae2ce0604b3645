//! The shortest way from a program to the disk: an in-memory tree whose written bytes also go to a file with `pwrite`,
//! and whose fsync is an `fdatasync` of that file, both on the thread of the server. No server on the same transport
//! can make an overwrite durable in less time, so it is the ceiling of `benches/overwrites.sh`.
//!
//! `cargo run --release -p ordo-fuse --example bare -- DIR FILE`
use bytes::Bytes;
use ordo_fuse::{MountOptions, ServeOptions, mount, serve};
use ordo_model::{MemFs, Options};
use ordo_rt::Rt;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, RenameMode, Result,
    Segments, SetAttr, StatFs, Whence, XattrMode,
};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, file] = &args[..] else { return Err("usage: bare DIR FILE".into()) };
    let disk = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(file)?;
    let rt = Rt::real_time();
    let clock = rt.clone();
    let now = move || {
        let (secs, nanos) = clock.wall();
        ordo_vfs::Stamp { secs, nanos }
    };
    let tree = MemFs::new(Options { noatime: true, block_size: 32768, ..Options::default() }, now);
    let fs = Rc::new(Bare { tree, disk, places: RefCell::default() });
    let session = mount(Path::new(dir), &MountOptions::new("bare"))?;
    let opts = ServeOptions {
        xattrs: false,
        complain: Box::new(|error| eprintln!("bare: {error}")),
        ..ServeOptions::default()
    };
    let ended = rt.block_on(serve(&rt, fs, session, opts))?;
    eprintln!("bare: {:?}", ended.reason);
    Ok(())
}

/// Bytes of the file for each node of the tree.
const ROOM: u64 = 64 << 20;

struct Bare {
    tree: MemFs,
    disk: File,
    /// The nodes that were written, in the order of their places in the file.
    places: RefCell<Vec<NodeId>>,
}

impl Bare {
    fn place(&self, node: NodeId) -> u64 {
        let mut places = self.places.borrow_mut();
        let at = places.iter().position(|one| *one == node).unwrap_or_else(|| {
            places.push(node);
            places.len() - 1
        });
        at as u64 * ROOM
    }
}

impl FileSystem for Bare {
    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        self.disk.write_all_at(data, self.place(node) + offset % ROOM).map_err(Error::io)?;
        self.tree.write(who, node, offset, data).await
    }

    async fn fsync(&self, _: NodeId, _: bool) -> Result<()> {
        self.disk.sync_data().map_err(Error::io)
    }

    async fn syncfs(&self) -> Result<()> {
        self.disk.sync_data().map_err(Error::io)
    }

    fn root(&self) -> NodeId {
        self.tree.root()
    }

    fn read_only(&self) -> bool {
        false
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.tree.lookup(dir, name).await
    }

    fn forget(&self, node: NodeId, lookups: u64) {
        self.tree.forget(node, lookups);
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        self.tree.getattr(node).await
    }

    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        self.tree.setattr(node, set).await
    }

    async fn readlink(&self, node: NodeId) -> Result<Bytes> {
        self.tree.readlink(node).await
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
        self.tree.mknod(who, dir, name, kind, mode, rdev).await
    }

    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        self.tree.mkdir(who, dir, name, mode).await
    }

    async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        self.tree.symlink(who, dir, name, target).await
    }

    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        self.tree.tmpfile(who, dir, mode).await
    }

    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.tree.link(node, dir, name).await
    }

    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.tree.unlink(dir, name).await
    }

    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.tree.rmdir(dir, name).await
    }

    async fn rename(&self, dir: NodeId, name: Name<'_>, to: NodeId, to_name: Name<'_>, mode: RenameMode) -> Result<()> {
        self.tree.rename(dir, name, to, to_name, mode).await
    }

    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments> {
        self.tree.read(node, offset, len).await
    }

    async fn fallocate(&self, who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()> {
        self.tree.fallocate(who, node, offset, len, mode).await
    }

    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        self.tree.seek(node, offset, whence).await
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.tree.readdir(node, cookie, take).await
    }

    async fn statfs(&self) -> Result<StatFs> {
        self.tree.statfs().await
    }

    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes> {
        self.tree.getxattr(node, name).await
    }

    async fn setxattr(&self, who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.tree.setxattr(who, node, name, value, mode).await
    }

    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>> {
        self.tree.listxattr(node).await
    }

    async fn removexattr(&self, node: NodeId, name: &[u8]) -> Result<()> {
        self.tree.removexattr(node, name).await
    }
}
