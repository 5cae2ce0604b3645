//! Where a recovery writes to: a new directory of the host.
//!
//! H1. Nothing outside of it is written. Every directory on the way to a file is opened by itself, from the one above,
//!     without following a symbolic link, and a name that is `.`, `..` or has a slash is refused.
//! H2. Nothing in it is overwritten: a file is made, or the name is taken.

use ordo_ondisk::Dinode;
use rustix::fs::{self, AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// See the module's invariants. Paths are relative to the directory, without a leading slash.
pub(super) struct Host {
    root: OwnedFd,
    /// The directory that was opened last, and its path.
    last: Option<(Vec<u8>, OwnedFd)>,
    privileged: bool,
}

/// A path as its directory and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// A name that stays in its directory (H1).
fn checked(name: &[u8]) -> io::Result<&[u8]> {
    let leads_away = name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0);
    if leads_away { Err(io::ErrorKind::InvalidFilename.into()) } else { Ok(name) }
}

impl Host {
    /// Makes the directory, or takes an empty one.
    pub(super) fn new(path: &Path) -> anyhow::Result<Host> {
        use anyhow::Context;
        let shown = || path.display().to_string();
        match std::fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut names = std::fs::read_dir(path).with_context(shown)?;
                anyhow::ensure!(names.next().is_none(), "{}: it is not empty; name a new directory", shown());
            }
            made => made.with_context(shown)?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty()).map_err(io::Error::from).with_context(shown)?;
        Ok(Host { root, last: None, privileged: rustix::process::geteuid().is_root() })
    }

    /// Opens a directory, name by name.
    fn dir(&mut self, path: &[u8]) -> io::Result<OwnedFd> {
        if let Some((_, dir)) = self.last.as_ref().filter(|(last, _)| last == path) {
            return dir.try_clone();
        }
        let mut dir = self.root.try_clone()?;
        for name in path.split(|&b| b == b'/').filter(|_| !path.is_empty()) {
            dir = fs::openat(&dir, checked(name)?, DIRECTORY, Mode::empty())?;
        }
        self.last = Some((path.to_vec(), dir.try_clone()?));
        Ok(dir)
    }

    fn place<'a>(&mut self, path: &'a [u8]) -> io::Result<(OwnedFd, &'a [u8])> {
        let (above, name) = split(path);
        Ok((self.dir(above)?, checked(name)?))
    }

    /// Makes a directory that only its owner can use, until [`Host::finish_dir`]. One that is there is taken.
    pub(super) fn make_dir(&mut self, path: &[u8]) -> io::Result<()> {
        let (above, name) = self.place(path)?;
        match fs::mkdirat(&above, name, Mode::RWXU) {
            Err(Errno::EXIST) => {
                fs::openat(&above, name, DIRECTORY, Mode::empty())?;
                Ok(())
            }
            made => Ok(made?),
        }
    }

    /// Makes a file.
    pub(super) fn create(&mut self, path: &[u8]) -> io::Result<File> {
        let (above, name) = self.place(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(&above, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Another name of a file that was made.
    pub(super) fn link(&mut self, old: &[u8], new: &[u8]) -> io::Result<()> {
        let (from, old) = self.place(old)?;
        let (to, new) = self.place(new)?;
        Ok(fs::linkat(&from, old, &to, new, AtFlags::empty())?)
    }

    /// A symbolic link, which nothing here follows.
    pub(super) fn symlink(&mut self, path: &[u8], target: &[u8], of: &Dinode) -> io::Result<()> {
        let (above, name) = self.place(path)?;
        fs::symlinkat(target, &above, name)?;
        self.owner(&above, name, of)?;
        self.times(&above, name, of)
    }

    /// A pipe.
    pub(super) fn pipe(&mut self, path: &[u8], of: &Dinode) -> io::Result<()> {
        let (above, name) = self.place(path)?;
        fs::mknodat(&above, name, FileType::Fifo, mode_of(of), 0)?;
        self.owner(&above, name, of)?;
        self.times(&above, name, of)
    }

    /// Owner, mode and times of a file whose contents are written.
    pub(super) fn finish(&mut self, path: &[u8], file: &File, of: &Dinode) -> io::Result<()> {
        let (above, name) = self.place(path)?;
        self.owner(&above, name, of)?;
        fs::fchmod(file, mode_of(of))?;
        self.times(&above, name, of)
    }

    /// Gives a file or a directory extended attributes of users. `false` if the host keeps one not, because it keeps
    /// none, or none that is so large: ext4 says then that its disk is full.
    pub(super) fn attributes(&mut self, path: &[u8], of: &Dinode, all: &[(Vec<u8>, Vec<u8>)]) -> io::Result<bool> {
        let (above, name) = self.place(path)?;
        let kind = if of.is_dir() { OFlags::DIRECTORY } else { OFlags::empty() };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | kind;
        let file = fs::openat(&above, name, flags, Mode::empty())?;
        let mut kept = true;
        for (name, value) in all {
            let name = [b"user.", &name[..]].concat();
            match fs::fsetxattr(&file, &name[..], value, fs::XattrFlags::empty()) {
                Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::TOOBIG | Errno::RANGE) => kept = false,
                set => set?,
            }
        }
        Ok(kept)
    }

    /// Owner, mode and times of a directory, after all in it was made.
    pub(super) fn finish_dir(&mut self, path: &[u8], of: &Dinode) -> io::Result<()> {
        let (above, name) = self.place(path)?;
        let dir = fs::openat(&above, name, DIRECTORY, Mode::empty())?;
        self.owner(&above, name, of)?;
        fs::fchmod(&dir, mode_of(of))?;
        self.times(&above, name, of)
    }

    /// Only root may give files away.
    fn owner(&self, above: impl AsFd, name: &[u8], of: &Dinode) -> io::Result<()> {
        if !self.privileged || of.uid == u32::MAX || of.gid == u32::MAX {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(of.uid), Gid::from_raw(of.gid));
        Ok(fs::chownat(above, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn times(&self, above: impl AsFd, name: &[u8], of: &Dinode) -> io::Result<()> {
        let time = |at: ordo_ondisk::dinode::Timestamp| Timespec { tv_sec: at.sec, tv_nsec: at.nsec.into() };
        let times = Timestamps { last_access: time(of.atime), last_modification: time(of.mtime) };
        match fs::utimensat(above, name, &times, AtFlags::SYMLINK_NOFOLLOW) {
            // A damaged time that the host cannot store.
            Err(Errno::INVAL | Errno::OVERFLOW) => Ok(()),
            done => Ok(done?),
        }
    }

    /// The first of `base`, `base.2`, ... that is free at the top.
    pub(super) fn free_name(&self, base: &str) -> String {
        let is_free = |name: &String| fs::statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
        let mut names = std::iter::once(base.to_owned()).chain((2u64..).map(|n| format!("{base}.{n}")));
        // There is always another number.
        names.find(is_free).unwrap_or_default()
    }
}

/// The permissions. Set-user-id and set-group-id are dropped: the image may be a stranger's.
fn mode_of(of: &Dinode) -> Mode {
    Mode::from_raw_mode(u32::from(of.mode) & if of.is_dir() { 0o1777 } else { 0o777 })
}

/// Writes bytes of a file at their place.
pub(super) fn write(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, at)
}
