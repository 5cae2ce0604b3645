//! The trait itself, and the small types of its calls.

use crate::{Attr, Mode, Refusal, Result, SetAttr, StatFs};
use bytes::Bytes;

/// Longest name in bytes.
pub const MAX_NAME: usize = 255;

/// A file, valid while it is looked up (vfs-2). The root has a fixed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

/// A name in a directory: 1 to 255 bytes, any but NUL and `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks that `bytes` are a name.
    ///
    /// # Errors
    /// `NameTooLong` beyond 255 bytes; `Invalid` for no bytes, or with a NUL or a slash among them.
    pub fn new(bytes: &'a [u8]) -> Result<Name<'a>> {
        if bytes.len() > MAX_NAME {
            return Err(Refusal::NameTooLong.into());
        }
        if bytes.is_empty() || bytes.iter().any(|&b| b == 0 || b == b'/') {
            return Err(Refusal::Invalid.into());
        }
        Ok(Name(bytes))
    }

    /// The bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// `.` or `..`, which every directory has and no call may make or remove.
    pub fn is_dot_or_dotdot(self) -> bool {
        self.0 == b"." || self.0 == b".."
    }
}

/// The caller that makes something new, and becomes its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// Owner of new files.
    pub uid: u32,
    /// Group of new files, unless the directory's set-group-id bit says otherwise.
    pub gid: u32,
    /// Permission bits that the caller wants masked out; a default ACL of the directory replaces it.
    pub umask: u16,
    /// May use the reserve that `minfree` keeps.
    pub privileged: bool,
}

/// A node that was looked up or made, with its attributes. Counts as one lookup (vfs-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The node.
    pub node: NodeId,
    /// Its attributes.
    pub attr: Attr,
}

/// An entry as `readdir` passes it on.
#[derive(Debug, Clone, Copy)]
pub struct DirEntry<'a> {
    /// Number of the file.
    pub ino: u64,
    /// Kind, in the numbers of [`crate::Kind`]; 0 where the format does not store it.
    pub kind: u8,
    /// The cookie to continue after this entry. Stays valid whatever is made or removed meanwhile.
    pub next: u64,
    /// The name.
    pub name: &'a [u8],
}

/// What a rename does where the new name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// The new name then names the old file; what it named before loses a link.
    Replace,
    /// Fails with `Exists`.
    NoReplace,
    /// The two names are exchanged.
    Exchange,
}

/// What `fallocate` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallocMode {
    /// Allocates blocks in the range; grows the file to its end unless `keep_size`.
    Allocate {
        /// Leave the size as it is.
        keep_size: bool,
    },
    /// Frees whole blocks in the range and zeroes the edges; the size stays.
    PunchHole,
    /// The range reads as zeroes afterwards; grows the file unless `keep_size`.
    ZeroRange {
        /// Leave the size as it is.
        keep_size: bool,
    },
}

/// What `lseek` looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whence {
    /// The next byte that is stored.
    Data,
    /// The next byte that is not, or the end.
    Hole,
}

/// How `setxattr` treats an attribute that exists, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XattrMode {
    /// Make or replace.
    Set,
    /// Make; `Exists` if it is there.
    Create,
    /// Replace; `NoAttribute` if it is not there.
    Replace,
}

/// What was read: consecutive pieces that share their owner (the buffer cache), so that nothing is copied.
pub type Segments = Vec<Bytes>;

/// A file system. Every call is polled on the thread of its engine, and waits only for the disk, for a lock of its own,
/// or for the clock.
///
/// Calls on a directory or file that is not looked up return `Stale`.
#[allow(async_fn_in_trait)]
pub trait FileSystem {
    /// The root directory; always looked up.
    fn root(&self) -> NodeId;

    /// `true` when nothing can be changed.
    fn read_only(&self) -> bool;

    /// The file that `name` names in `dir`. `.` and `..` are valid names here.
    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry>;

    /// The file with this inode number and generation, as [`Attr`] has them: a handle that was given out before,
    /// perhaps by another process, finds its file again. The numbers may be anybody's guess. Counts as one lookup.
    ///
    /// # Errors
    /// `Stale` if that file is gone, has no name any more, or never was; `NotSupported` by a file system that cannot
    /// find a file without its name.
    async fn by_number(&self, ino: u64, generation: u32) -> Result<Entry> {
        let _ = (ino, generation);
        Err(Refusal::NotSupported.into())
    }

    /// Takes back `lookups` of `node`. A file without names is freed in the background when the last one is taken back.
    fn forget(&self, node: NodeId, lookups: u64);

    /// Attributes of `node`.
    async fn getattr(&self, node: NodeId) -> Result<Attr>;

    /// Changes attributes; a size grows (a hole) or cuts a regular file. Returns them all as they are then.
    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr>;

    /// The target of a symbolic link.
    async fn readlink(&self, node: NodeId) -> Result<Bytes>;

    /// Makes a file of any kind but directory and symbolic link. `rdev` is in Linux's encoding.
    async fn mknod(
        &self,
        who: &Caller,
        dir: NodeId,
        name: Name<'_>,
        kind: crate::Kind,
        mode: Mode,
        rdev: u64,
    ) -> Result<Entry>;

    /// Makes a directory.
    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry>;

    /// Makes a symbolic link to `target`, 1 to 1023 bytes.
    async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry>;

    /// Makes a regular file without a name, on the file system of `dir`; [`FileSystem::link`] may give it one.
    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry>;

    /// Gives `node` (not a directory) another name.
    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry>;

    /// Removes a name that is not a directory's.
    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()>;

    /// Removes an empty directory.
    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()>;

    /// Moves a name. One file under both names: nothing happens.
    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()>;

    /// Up to `len` bytes from `offset`; fewer at the end of the file only.
    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments>;

    /// Writes all of `data` at `offset`, or nothing beyond the count returned, which is at least one.
    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32>;

    /// Allocates or frees space within a file.
    async fn fallocate(&self, who: &Caller, node: NodeId, offset: u64, len: u64, mode: FallocMode) -> Result<()>;

    /// Copies up to `len` bytes from one file to another, or within one, without passing them through the caller.
    /// Returns how many, at least one before the end of the source. Holes and zeroes may become holes.
    async fn copy_range(&self, who: &Caller, from: NodeId, offset: u64, to: NodeId, at: u64, len: u64) -> Result<u64> {
        let piece = self.read(from, offset, len.min(1 << 20) as u32).await?.concat();
        if piece.is_empty() {
            return Ok(0);
        }
        Ok(u64::from(self.write(who, to, at, &piece).await?))
    }

    /// The next stored byte, or the next hole, at or after `offset`.
    async fn seek(&self, node: NodeId, offset: u64, whence: Whence) -> Result<u64>;

    /// Passes entries from `cookie` on (0: the first) to `take` until it returns `false` (that entry was not consumed).
    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()>;

    /// Makes the contents of the file durable; with `data_only` not the times.
    async fn fsync(&self, node: NodeId, data_only: bool) -> Result<()>;

    /// Makes everything durable.
    async fn syncfs(&self) -> Result<()>;

    /// The space of the volume.
    async fn statfs(&self) -> Result<StatFs>;

    /// The value of an attribute; names carry Linux's prefixes (`user.`, `trusted.`, `system.posix_acl_access`).
    async fn getxattr(&self, node: NodeId, name: &[u8]) -> Result<Bytes>;

    /// Sets an attribute.
    async fn setxattr(&self, who: &Caller, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()>;

    /// The names of all attributes, with their prefixes.
    async fn listxattr(&self, node: NodeId) -> Result<Vec<Vec<u8>>>;

    /// Removes an attribute.
    async fn removexattr(&self, node: NodeId, name: &[u8]) -> Result<()>;
}
