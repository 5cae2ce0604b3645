//! The shortest way from a program to the disk: an in-memory tree whose written bytes also go to a file with `pwrite`,
//! and whose fsync is an `fdatasync` of that file, both on the thread of the server. No server on the same transport
//! can make an overwrite durable in less time, so it is the ceiling of `benches/overwrites.sh`.
//!
//! `cargo run --release -p ordo-model --example bare -- DIR FILE`
use ordo_fuse::{MountOptions, ServeOptions, mount, serve};
use ordo_model::{MemFs, Options};
use ordo_rt::Rt;
use ordo_vfs::{Caller, Error, FileSystem, NodeId, Result};
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

macro_rules! tree {
    ($bare:ident, $($call:tt)*) => { $bare.tree.$($call)* };
}

impl FileSystem for Bare {
    ordo_vfs::forward! { tree:
        root forget lookup getattr setattr readlink mknod mkdir symlink tmpfile link unlink rmdir rename
        read fallocate seek readdir statfs getxattr setxattr listxattr removexattr
    }

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

    fn read_only(&self) -> bool {
        false
    }
}
