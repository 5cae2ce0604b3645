//! A directory of the host as a file system: what copies between a volume and the host takes both alike, and the
//! laboratory's programs run on any mounted file system.
//!
//! Costs are realistic: a call of the trait is one system call where the host has one, plus what the trait requires
//! (the attributes of a file that is created or opened are read as well; a descriptor is closed when its node is
//! forgotten).
//!
//! No other process may change names below the directory meanwhile. New files belong to the process and get its umask:
//! of a [`Caller`] only the umask is used, and only where the directory has no default ACL.
#![forbid(unsafe_code)]

mod convert;
mod table;

use bytes::Bytes;
pub use convert::kind as kind_of_host;
use convert::refusal;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result,
    Segments, SetAttr, SetTime, Stamp, StatFs, Whence, XattrMode,
};
use rustix::fd::OwnedFd;
use rustix::fs::{self as host, AtFlags, FallocateFlags, OFlags, RenameFlags, SeekFrom, Timespec, XattrFlags};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
pub use table::MAX_OPEN;
use table::{Access, At, Table};

/// A directory of the host behind the trait of all file systems. Not thread-safe.
#[derive(Debug)]
pub struct HostDir {
    table: RefCell<Table>,
}

/// Most bytes of one read, so that a large request for a small file does not allocate much memory.
const READ: usize = 1 << 20;

const EMPTY: AtFlags = AtFlags::EMPTY_PATH;
const NOFOLLOW: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

impl HostDir {
    /// Nodes that a caller has not forgotten, the root among them.
    pub fn held(&self) -> usize {
        self.table.borrow().len()
    }

    /// The directory at `path`, which becomes the root.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory` and other errors of opening it.
    pub fn open(path: &Path) -> Result<HostDir> {
        let root = table::open_root(path)?;
        let (key, _) = convert::stat(&root, b"", EMPTY)?;
        Ok(HostDir { table: RefCell::new(Table::new(root, key)) })
    }

    /// Descriptor of a node, open for `access`.
    fn fd(&self, id: NodeId, access: Access) -> Result<Rc<OwnedFd>> {
        self.table.borrow_mut().open(id, access)
    }

    fn at(&self, id: NodeId) -> Result<At> {
        self.table.borrow_mut().kind(id)?;
        self.table.borrow_mut().at(id)
    }

    /// Descriptor of the directory `id`, for calls on names in it.
    fn dir(&self, id: NodeId) -> Result<Rc<OwnedFd>> {
        self.table.borrow().kind(id)?;
        self.fd(id, Access::Path)
    }

    /// Descriptor of a regular file, open for `access`.
    fn file(&self, id: NodeId, access: Access) -> Result<Rc<OwnedFd>> {
        match self.table.borrow().kind(id)? {
            Kind::Regular => {}
            Kind::Directory => return Err(Refusal::IsDirectory.into()),
            _ => return Err(Refusal::Invalid.into()),
        }
        self.fd(id, access)
    }

    /// Like [`HostDir::file`] for writing; if only appending is allowed, a descriptor for appending.
    fn writable(&self, id: NodeId, appends: bool) -> Result<Rc<OwnedFd>> {
        match self.file(id, Access::Write) {
            Err(ordo_vfs::Error::Refused(Refusal::NotPermitted)) if appends => {
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
                Ok(Rc::new(self.table.borrow_mut().open_anew(id, flags)?))
            }
            other => other,
        }
    }

    /// Looks up a name, and counts the lookup.
    fn entry(&self, dir: NodeId, dir_fd: &OwnedFd, name: Name<'_>) -> Result<Entry> {
        let (key, attr) = convert::stat(dir_fd, name.bytes(), NOFOLLOW)?;
        let node = self.table.borrow_mut().found(key, attr.kind, Some((dir, name.bytes())));
        Ok(Entry { node, attr })
    }

    /// Counts a lookup of a file that has just been opened.
    fn opened(&self, fd: OwnedFd, place: Option<(NodeId, &[u8])>) -> Result<Entry> {
        let (key, attr) = convert::stat(&fd, b"", EMPTY)?;
        let mut table = self.table.borrow_mut();
        let node = table.found(key, attr.kind, place);
        table.remember(node, Rc::new(fd), Access::Write);
        Ok(Entry { node, attr })
    }

    fn set_times(&self, at: &At, set: &SetAttr) -> Result<()> {
        let time = |time: Option<SetTime>| match time {
            Some(SetTime::At(Stamp { secs, nanos })) => Timespec { tv_sec: secs, tv_nsec: nanos.into() },
            Some(SetTime::Now) => Timespec { tv_sec: 0, tv_nsec: host::UTIME_NOW },
            None => Timespec { tv_sec: 0, tv_nsec: host::UTIME_OMIT },
        };
        let times = host::Timestamps { last_access: time(set.atime), last_modification: time(set.mtime) };
        host::utimensat(&at.dir, &at.path, &times, follow(at)).map_err(refusal)
    }

    fn set_flags(&self, id: NodeId, flags: u32) -> Result<()> {
        if !matches!(self.table.borrow().kind(id)?, Kind::Regular | Kind::Directory) {
            return Err(Refusal::NotSupported.into());
        }
        let fd = self.fd(id, Access::Read)?;
        let old = host::ioctl_getflags(&fd).map_err(refusal)?;
        host::ioctl_setflags(&fd, convert::flags(old, flags)?).map_err(refusal)?;
        // A descriptor that is open for writing stays so when the file becomes immutable.
        self.table.borrow_mut().reopen_later(id)
    }

    /// A path for the calls that take no descriptor, and whether its last part must be followed.
    fn path(&self, id: NodeId) -> Result<(Vec<u8>, bool)> {
        let at = self.at(id)?;
        if at.magic {
            return Ok((at.path, true));
        }
        let mut path = convert::magic(&at.dir);
        path.push(b'/');
        path.extend_from_slice(&at.path);
        Ok((path, false))
    }
}

/// Whether the name of a node must be followed.
fn follow(at: &At) -> AtFlags {
    if at.magic { AtFlags::empty() } else { NOFOLLOW }
}

fn permissions(mode: Mode, who: &Caller) -> host::Mode {
    host::Mode::from_raw_mode(u32::from(mode.bits() & !(who.umask & 0o777)))
}

/// Attributes that the trait defines; a host may have more.
fn is_ours(name: &[u8]) -> bool {
    [b"user.".as_slice(), b"trusted.", b"system.posix_acl_"].iter().any(|space| name.starts_with(space))
}

impl FileSystem for HostDir {
    fn root(&self) -> NodeId {
        NodeId(table::ROOT)
    }

    fn read_only(&self) -> bool {
        false
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        let fd = self.dir(dir)?;
        let found = match name.bytes() {
            b"." if self.table.borrow().kind(dir)? == Kind::Directory => dir,
            b".." if self.table.borrow().kind(dir)? == Kind::Directory => self.table.borrow().parent(dir)?,
            _ => return self.entry(dir, &fd, name),
        };
        let fd = self.fd(found, Access::Path)?;
        let (key, attr) = convert::stat(&fd, b"", EMPTY)?;
        Ok(Entry { node: self.table.borrow_mut().found(key, attr.kind, None), attr })
    }

    fn forget(&self, node: NodeId, lookups: u64) {
        self.table.borrow_mut().forget(node, lookups);
    }

    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        self.table.borrow().kind(node)?;
        let opened = self.table.borrow().opened(node);
        if let Some(fd) = opened {
            return Ok(convert::stat(&fd, b"", EMPTY)?.1);
        }
        let at = self.at(node)?;
        Ok(convert::stat(&at.dir, &at.path, follow(&at))?.1)
    }

    /// Not atomic: the host has one call for each attribute. The birth time cannot be set.
    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        if let Some(seen) = set.if_ctime
            && self.getattr(node).await?.ctime != seen
        {
            return Err(Refusal::Changed.into());
        }
        if let Some(size) = set.size {
            host::ftruncate(self.file(node, Access::Write)?, size).map_err(refusal)?;
        }
        let at = self.at(node)?;
        if let Some(mode) = set.mode {
            if self.table.borrow().kind(node)? == Kind::Symlink {
                return Err(Refusal::NotSupported.into());
            }
            let mode = host::Mode::from_raw_mode(mode.bits().into());
            host::chmodat(&at.dir, &at.path, mode, AtFlags::empty()).map_err(refusal)?;
        }
        if set.uid.is_some() || set.gid.is_some() {
            let (uid, gid) = (set.uid.map(host::Uid::from_raw), set.gid.map(host::Gid::from_raw));
            host::chownat(&at.dir, &at.path, uid, gid, follow(&at)).map_err(refusal)?;
        }
        if set.atime.is_some() || set.mtime.is_some() {
            self.set_times(&at, set)?;
        }
        if let Some(flags) = set.flags {
            self.set_flags(node, flags)?;
        }
        self.getattr(node).await
    }

    async fn readlink(&self, node: NodeId) -> Result<Bytes> {
        if self.table.borrow().kind(node)? != Kind::Symlink {
            return Err(Refusal::Invalid.into());
        }
        let at = self.at(node)?;
        // The magic link of a symbolic link leads to its target, so the symbolic link itself is read by its descriptor.
        let path = if at.magic { &[] } else { at.path.as_slice() };
        Ok(host::readlinkat(&at.dir, path, Vec::new()).map_err(refusal)?.into_bytes().into())
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
        let fd = self.dir(dir)?;
        let mode = permissions(mode, who);
        if kind == Kind::Regular {
            let flags = Access::Write.flags() | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let made = host::openat(&fd, name.bytes(), flags, mode).map_err(refusal)?;
            return self.opened(made, Some((dir, name.bytes())));
        }
        let special = convert::special(kind).ok_or(Refusal::Invalid)?;
        host::mknodat(&fd, name.bytes(), special, mode, if kind.is_device() { rdev } else { 0 }).map_err(refusal)?;
        self.entry(dir, &fd, name)
    }

    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        let fd = self.dir(dir)?;
        host::mkdirat(&fd, name.bytes(), permissions(mode, who)).map_err(refusal)?;
        self.entry(dir, &fd, name)
    }

    async fn symlink(&self, _who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        let fd = self.dir(dir)?;
        host::symlinkat(target, &fd, name.bytes()).map_err(refusal)?;
        self.entry(dir, &fd, name)
    }

    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        let flags = Access::Write.flags() | OFlags::TMPFILE;
        self.opened(host::openat(self.dir(dir)?, ".", flags, permissions(mode, who)).map_err(refusal)?, None)
    }

    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        let at = self.at(node)?;
        let fd = self.dir(dir)?;
        let flags = if at.magic { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
        host::linkat(&at.dir, &at.path, &fd, name.bytes(), flags).map_err(refusal)?;
        self.entry(dir, &fd, name)
    }

    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        let fd = self.dir(dir)?;
        self.table.borrow_mut().keep(dir, name.bytes())?;
        host::unlinkat(&fd, name.bytes(), AtFlags::empty()).map_err(refusal)?;
        self.table.borrow_mut().unplace(dir, name.bytes());
        Ok(())
    }

    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        let fd = self.dir(dir)?;
        self.table.borrow_mut().keep(dir, name.bytes())?;
        host::unlinkat(&fd, name.bytes(), AtFlags::REMOVEDIR).map_err(refusal)?;
        self.table.borrow_mut().unplace(dir, name.bytes());
        Ok(())
    }

    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        let (from, to) = (self.dir(dir)?, self.dir(to_dir)?);
        let (name, to_name) = (name.bytes(), to_name.bytes());
        self.table.borrow_mut().keep(dir, name)?;
        self.table.borrow_mut().keep(to_dir, to_name)?;
        let flags = match mode {
            RenameMode::Replace => RenameFlags::empty(),
            RenameMode::NoReplace => RenameFlags::NOREPLACE,
            RenameMode::Exchange => RenameFlags::EXCHANGE,
        };
        host::renameat_with(&from, name, &to, to_name, flags).map_err(refusal)?;
        let mut table = self.table.borrow_mut();
        // Also correct if both names are the same file and the host did nothing: either name is a place of it.
        let (source, target) = (table.unplace(dir, name), table.unplace(to_dir, to_name));
        table.place(source, to_dir, to_name);
        table.place(target.filter(|_| mode == RenameMode::Exchange), dir, name);
        Ok(())
    }

    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments> {
        let fd = self.file(node, Access::Read)?;
        let (mut at, mut left) = (offset, len as usize);
        let mut pieces = Segments::new();
        while left > 0 {
            let mut piece = Vec::with_capacity(left.min(READ));
            let count = rustix::io::pread(&fd, rustix::buffer::spare_capacity(&mut piece), at).map_err(refusal)?;
            if count == 0 {
                break;
            }
            let end = count < left.min(READ);
            pieces.push(piece.into());
            at += count as u64;
            left -= count.min(left);
            if end {
                break;
            }
        }
        Ok(pieces)
    }

    async fn write(&self, _who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        let fd = match self.file(node, Access::Write) {
            Err(ordo_vfs::Error::Refused(Refusal::NotPermitted)) => {
                let appends = self.getattr(node).await?.size == offset;
                self.writable(node, appends)?
            }
            other => other?,
        };
        Ok(rustix::io::pwrite(&fd, data, offset).map_err(refusal)? as u32)
    }

    async fn fallocate(&self, _who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()> {
        let keep = |keep_size| if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
        let (flags, appends) = match mode {
            FallocMode::Allocate { keep_size } => (keep(keep_size), true),
            FallocMode::PunchHole => (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, false),
            FallocMode::ZeroRange { keep_size } => (FallocateFlags::ZERO_RANGE | keep(keep_size), false),
        };
        host::fallocate(self.writable(node, appends)?, flags, offset, len).map_err(refusal)
    }

    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        let to = match whence {
            Whence::Data => SeekFrom::Data(offset),
            Whence::Hole => SeekFrom::Hole(offset),
        };
        host::seek(self.file(node, Access::Read)?, to).map_err(refusal)
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        if self.table.borrow().kind(node)? != Kind::Directory {
            return Err(Refusal::NotDirectory.into());
        }
        let fd = self.fd(node, Access::Read)?;
        host::seek(&fd, SeekFrom::Start(cookie)).map_err(refusal)?;
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut entries = host::RawDir::new(&fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(refusal)?;
            let kind = convert::kind(entry.file_type()).map_or(0, |kind| kind as u8);
            let name = entry.file_name().to_bytes();
            if !take(DirEntry { ino: entry.ino(), kind, next: entry.next_entry_cookie(), name }) {
                break;
            }
        }
        Ok(())
    }

    async fn fsync(&self, node: NodeId, data_only: bool) -> Result<()> {
        if !matches!(self.table.borrow().kind(node)?, Kind::Regular | Kind::Directory) {
            return Ok(());
        }
        let fd = self.fd(node, Access::Read)?;
        if data_only { host::fdatasync(fd) } else { host::fsync(fd) }.map_err(refusal)
    }

    async fn syncfs(&self) -> Result<()> {
        host::syncfs(self.fd(self.root(), Access::Read)?).map_err(refusal)
    }

    async fn statfs(&self) -> Result<StatFs> {
        let stat = host::fstatvfs(self.dir(self.root())?).map_err(refusal)?;
        Ok(StatFs {
            frag_size: stat.f_frsize as u32,
            block_size: stat.f_bsize as u32,
            frags: stat.f_blocks,
            free_frags: stat.f_bfree,
            avail_frags: stat.f_bavail,
            inodes: stat.f_files,
            free_inodes: stat.f_ffree,
            name_max: stat.f_namemax as u32,
        })
    }

    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes> {
        let (path, follow) = self.path(node)?;
        let mut value = Vec::with_capacity(65536);
        let room = rustix::buffer::spare_capacity(&mut value);
        if follow { host::getxattr(path, name, room) } else { host::lgetxattr(path, name, room) }.map_err(refusal)?;
        Ok(value.into())
    }

    async fn setxattr(&self, _who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let (path, follow) = self.path(node)?;
        let flags = match mode {
            XattrMode::Set => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        let set =
            if follow { host::setxattr(path, name, value, flags) } else { host::lsetxattr(path, name, value, flags) };
        set.map_err(refusal)
    }

    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>> {
        let (path, follow) = self.path(node)?;
        let mut list = Vec::with_capacity(65536);
        let room = rustix::buffer::spare_capacity(&mut list);
        if follow { host::listxattr(path, room) } else { host::llistxattr(path, room) }.map_err(refusal)?;
        let names = list.split(|byte| *byte == 0).filter(|name| is_ours(name));
        Ok(names.map(<[u8]>::to_vec).collect())
    }

    async fn removexattr(&self, node: NodeId, name: &[u8]) -> Result<()> {
        let (path, follow) = self.path(node)?;
        if follow { host::removexattr(path, name) } else { host::lremovexattr(path, name) }.map_err(refusal)
    }
}
