//! A directory of the host as a tree.
//!
//! W1. Each file is reached from the descriptor of the tree's root, in pieces that the system accepts: a path may be
//!     longer than the longest that a call takes.
//!     No symbolic link is followed on the way, and none leads out.
//! W2. What is opened is what was looked at: device and number are compared, and the open does not wait. The owner of a
//!     part of the tree may swap names while it is read: a directory for a link to a secret, a file for a pipe.
//! W3. The walk keeps its own stack: a tree may be deeper than the program's stack.

use super::planned::{Content, Id, Key, Tree};
use crate::archive::extended::{SELINUX, is_kept};
use crate::archive::{Extent, Meta};
use crate::{acl, interrupt, text};
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{Kind, Stamp};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{self as host, AtFlags, Dir, FileType, OFlags, ResolveFlags, SeekFrom, Statx, StatxFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// The longest path of one call, below the system's 4096.
const PIECE: usize = 2048;

/// The tree below `dir`; `image` is left out, if it lies there.
///
/// # Errors
/// When a file cannot be read; the error names it.
pub(super) fn walk(dir: &Path, image: Option<Key>) -> anyhow::Result<Tree> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = host::open(dir, flags, host::Mode::empty())?;
    let stat = stat(&root, b"")?;
    let mut tree = Tree::new(meta(&stat)?);
    let mut lost = 0;
    tree.node_mut(Id::ROOT).meta.xattrs = xattrs(&root, b".", &mut lost)?;
    let mut several = HashMap::new();
    let mut todo = vec![(Id::ROOT, Vec::new(), key(&stat))];
    while let Some((id, path, seen)) = todo.pop() {
        let shown = || text::escape(if path.is_empty() { b"." } else { &path });
        let opened = open(&root, &path, OFlags::RDONLY | OFlags::DIRECTORY).with_context(shown)?;
        same(&self::stat(&opened, b"")?, seen).with_context(shown)?;
        for name in listed(&opened).with_context(shown)? {
            interrupt::check()?;
            let below = if path.is_empty() { name.clone() } else { [&path[..], b"/", &name].concat() };
            let mut one = || one(&opened, &name, &below, image, &mut lost);
            let Some((key, links, meta, content)) = one().with_context(|| text::escape(&below))? else { continue };
            if let Some(&first) = several.get(&key) {
                tree.link(id, &name, first)?;
                continue;
            }
            let kind = meta.kind;
            let made = tree.put(id, &name, meta, content).with_context(|| text::escape(&below))?;
            if kind == Kind::Directory {
                todo.push((made, below, key));
            } else if links > 1 {
                several.insert(key, made);
            }
        }
    }
    tree.root = Some(root);
    if lost > 0 {
        let shown = text::one_line(&dir.display().to_string());
        tree.lost.push(format!("{shown}: {lost} extended attributes are left out: no volume has a form for them"));
    }
    Ok(tree)
}

/// The names of a directory in order (planned-1).
fn listed(dir: &OwnedFd) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

type Found = (Key, u32, Meta, Content);

/// A file of a directory; `None` for the image itself. Attributes that no volume has are counted in `lost`.
fn one(dir: &OwnedFd, name: &[u8], path: &[u8], image: Option<Key>, lost: &mut u64) -> anyhow::Result<Option<Found>> {
    let found = stat(dir, name)?;
    let key = key(&found);
    if Some(key) == image {
        return Ok(None);
    }
    let mut meta = meta(&found)?;
    let content = match meta.kind {
        Kind::Symlink => Content::Target(host::readlinkat(dir, name, Vec::new())?.into_bytes()),
        Kind::Regular if found.stx_size > 0 => {
            let size = found.stx_size;
            let whole = [Extent { at: 0, from: 0, len: size }].to_vec();
            let extents = match found.stx_blocks.saturating_mul(512) < size {
                true => extents(&regular(dir, name, key)?, size)?,
                false => whole,
            };
            Content::Host { path: path.to_vec(), key, size, extents }
        }
        _ => Content::Nothing,
    };
    meta.xattrs = xattrs(dir, name, lost)?;
    Ok(Some((key, found.stx_nlink, meta, content)))
}

/// Whether a file is still the one that was looked at (W2).
fn same(found: &Statx, seen: Key) -> anyhow::Result<()> {
    if key(found) != seen {
        bail!("was replaced by another file while the tree was read");
    }
    Ok(())
}

/// Opens a regular file below `root` to read it, if it is the one that was looked at (W2).
///
/// # Errors
/// Those of the system; when it is another one.
pub(super) fn regular(root: &OwnedFd, path: &[u8], seen: Key) -> anyhow::Result<File> {
    let file = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let found = stat(&file, b"")?;
    same(&found, seen)?;
    // The number of a file that is gone may be given to a pipe.
    if FileType::from_raw_mode(found.stx_mode.into()) != FileType::RegularFile {
        bail!("was replaced by something else while the tree was read");
    }
    Ok(File::from(file))
}

/// The key of a file that exists.
pub(super) fn key_of(path: &Path) -> Option<Key> {
    let found = host::statx(host::CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).ok()?;
    Some(key(&found))
}

fn key(found: &Statx) -> Key {
    (host::makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino)
}

fn stat(dir: &OwnedFd, name: &[u8]) -> anyhow::Result<Statx> {
    Ok(host::statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?)
}

fn meta(found: &Statx) -> anyhow::Result<Meta> {
    let kind = ordo_hostdir::kind_of_host(FileType::from_raw_mode(found.stx_mode.into()))
        .ok_or_else(|| anyhow!("the system does not say what kind of file it is"))?;
    let mtime = Stamp { secs: found.stx_mtime.tv_sec, nanos: found.stx_mtime.tv_nsec };
    let rdev = if kind.is_device() { host::makedev(found.stx_rdev_major, found.stx_rdev_minor) } else { 0 };
    Ok(Meta { uid: found.stx_uid, gid: found.stx_gid, rdev, ..Meta::new(kind, found.stx_mode, mtime) })
}

/// The attributes that a volume can have; others of files, but for a label of SELinux, are counted in `lost`.
fn xattrs(dir: &OwnedFd, name: &[u8], lost: &mut u64) -> anyhow::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    // Most files have none: a large buffer would be cleared for each of them.
    let (mut few, mut many) = ([0; 256], Vec::new());
    let mut list = &mut few[..];
    let mut found = host::llistxattr(&path[..], &mut *list);
    if found == Err(Errno::RANGE) {
        many.resize(1 << 16, 0);
        list = &mut many[..];
        found = host::llistxattr(&path[..], &mut *list);
    }
    let len = match found {
        Ok(len) => len,
        Err(Errno::OPNOTSUPP | Errno::NOENT | Errno::ACCESS | Errno::PERM) => return Ok(Vec::new()),
        Err(error) => return Err(error).context("its extended attributes"),
    };
    let mut all = Vec::new();
    for name in list[..len].split(|&b| b == 0).filter(|name| !name.is_empty() && *name != SELINUX) {
        if !is_kept(name) && name != acl::ACCESS && name != acl::DEFAULT {
            *lost += 1;
            continue;
        }
        let mut value = vec![0; 1 << 16];
        let len = host::lgetxattr(&path[..], name, &mut value[..]).context("its extended attributes")?;
        value.truncate(len);
        all.push((name.to_vec(), value));
    }
    all.sort_unstable();
    Ok(all)
}

/// Opens a file below `root` (W1).
///
/// # Errors
/// Those of the system; `LOOP` for a symbolic link on the way.
pub(super) fn open(root: &OwnedFd, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (mut dir, mut rest): (Option<OwnedFd>, &[u8]) = (None, path);
    while rest.len() > PIECE {
        let Some(end) = rest[..PIECE].iter().rposition(|&b| b == b'/') else { break };
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        dir = Some(beneath(dir.as_ref().unwrap_or(root), &rest[..end], step)?);
        rest = &rest[end + 1..];
    }
    let rest = if rest.is_empty() { b"." } else { rest };
    beneath(dir.as_ref().unwrap_or(root), rest, flags)
}

fn beneath(dir: &OwnedFd, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mode = host::Mode::empty();
    let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match host::openat2(dir, path, flags, mode, rules) {
        // Before Linux 5.6, and where a sandbox does not know it: name by name.
        Err(Errno::NOSYS | Errno::PERM) => {
            let (above, last) =
                path.iter().rposition(|&b| b == b'/').map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
            let mut at: Option<OwnedFd> = None;
            for name in above.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                at = Some(host::openat(at.as_ref().unwrap_or(dir), name, step, mode)?);
            }
            host::openat(at.as_ref().unwrap_or(dir), last, flags, mode)
        }
        opened => opened,
    }
}

/// The stored ranges of a file.
///
/// # Errors
/// Those of the system.
pub(super) fn extents(file: &File, size: u64) -> anyhow::Result<Vec<Extent>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < size {
        let data = match host::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => break,
            // A file system that does not report holes has none.
            Err(_) => at,
        };
        let hole = host::seek(file, SeekFrom::Hole(data)).unwrap_or(size).min(size);
        if hole <= data {
            break;
        }
        all.push(Extent { at: data, from: data, len: hole - data });
        at = hole;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// What [`walk`] has seen is what is read: a name that leads elsewhere by then is an error, and nothing waits.
    #[test]
    fn what_was_swapped_after_the_walk_is_neither_followed_nor_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir_all(at("tree/d")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("tree/d/f"), "contents").unwrap();
        fs::hard_link(at("tree/d/f"), at("outside/f")).unwrap();
        let tree = walk(&at("tree"), None).unwrap();
        let file = tree.node(tree.find(&[b"d", b"f"]).unwrap());
        let Content::Host { path, key, .. } = &file.content else { panic!("it has contents") };
        let root = tree.root.as_ref().unwrap();
        let read = |path: &[u8], key| regular(root, path, key);
        assert!(read(path, *key).is_ok());
        fs::rename(at("tree/d"), at("tree/e")).unwrap();
        symlink(at("outside"), at("tree/d")).unwrap();
        assert!(read(path, *key).is_err(), "it is the same file, but outside of the tree");
        assert!(open(root, b"d", OFlags::RDONLY | OFlags::DIRECTORY).is_err());
        fs::write(at("tree/e/new"), "contents").unwrap();
        fs::rename(at("tree/e/new"), at("tree/e/f")).unwrap();
        assert!(read(b"e/f", *key).is_err(), "another file");
        let pipe = at("tree/pipe");
        host::mknodat(host::CWD, &pipe, FileType::Fifo, host::Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(read(b"pipe", key_of(&pipe).unwrap()).is_err(), "not even one with the number of the file");
    }
}
