//! An mtree manifest, applied to a tree as makefs applies the one of its `-F`.
//!
//! M1. What the manifest names and the tree has gets the attributes that the manifest says, and keeps the others. A
//!     kind that differs is an error.
//! M2. What the manifest names and the tree lacks is made: an empty file, a directory, a link, a device. Its kind,
//!     mode, owner and group must be known, and the target of a link or the number of a device.
//!     `optional` leaves it out. If `contents=` of several names leads to one file of the host that has several names,
//!     and the attributes are the same, these names become links of one file, as makefs makes them.
//! M3. What the tree has and the manifest does not name stays as it is in the tree.
//! M4. Keywords that say what a file contains (sizes, sums) are ignored, and so are unknown ones.
//! M5. `contents=` is read from regular files only, the same that were looked at: a pipe would be waited for, a device
//!     has no end. The command says how many files lie outside the tree: whoever runs it may not have written
//!     the manifest.

mod parse;
mod said;
pub(super) mod users;
mod vis;

use super::planned::{Content, Id, Key, Tree};
use super::walk;
use crate::acl;
use crate::archive::Meta;
use crate::text;
use anyhow::{Context, anyhow, bail};
use ordo_ondisk::acl::Acl;
use ordo_vfs::{Kind, Stamp};
use said::Said;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use users::Users;

/// Applies the manifest in a file to `tree`, which was read from `top`. `now` is the time of what the tree lacks and
/// the manifest gives no time. Returns a line about files from outside the tree, if it takes some (M5).
///
/// # Errors
/// When a line is wrong, or does not fit the tree; the error names file, line and entry.
pub(super) fn apply(
    file: &Path,
    users: &Users,
    tree: &mut Tree,
    now: Stamp,
    top: &Path,
) -> anyhow::Result<Option<String>> {
    let shown = || text::one_line(&file.display().to_string());
    let bytes = std::fs::read(file).with_context(shown)?;
    let top = top.canonicalize().ok();
    let (mut several, mut outside, mut first) = (HashMap::new(), 0u64, None);
    for line in parse::lines(&bytes, users) {
        let (number, path, said) = line.with_context(shown)?;
        let names: Vec<&[u8]> = path.iter().map(|name| &name[..]).collect();
        let entry = || format!("{}, line {number}: {}", shown(), text::escape(&names.join(&b'/')));
        one(&names, &said, tree, now, &mut several).with_context(entry)?;
        if let Some(from) = said.contents.as_deref().and_then(|from| from.canonicalize().ok())
            && top.as_ref().is_none_or(|top| !from.starts_with(top))
        {
            outside += 1;
            first.get_or_insert((number, from));
        }
    }
    Ok(first.map(|(number, from)| {
        let (files, from) = (if outside == 1 { "file" } else { "files" }, text::one_line(&from.display().to_string()));
        format!("{}: takes {outside} {files} from outside the tree (contents=), first {from} in line {number}", shown())
    }))
}

/// Reads the lines of a manifest, with the users of the host, as far as they are right.
pub(crate) fn read(bytes: &[u8]) {
    if let Ok(users) = Users::read(None) {
        parse::lines(bytes, &users).for_each(drop);
    }
}

/// Files of the host with several names, and what they became.
type Several = HashMap<Key, Id>;

fn one(path: &[&[u8]], said: &Said, tree: &mut Tree, now: Stamp, several: &mut Several) -> anyhow::Result<()> {
    let content = said.contents.as_deref().map(named).transpose()?;
    match tree.find(path) {
        Some(id) => {
            let node = tree.node_mut(id);
            if let Some(kind) = said.kind.filter(|&kind| kind != node.meta.kind) {
                bail!("is a {} here and a {} in the tree", parse::name(kind), parse::name(node.meta.kind));
            }
            set(said, &mut node.meta);
            if let (Kind::Symlink, Some(target)) = (node.meta.kind, &said.link) {
                node.content = Content::Target(target.clone());
            }
            if let (Kind::Regular, Some((content, _))) = (node.meta.kind, content) {
                node.content = content;
            }
            Ok(())
        }
        None if said.optional => Ok(()),
        None => missing(path, said, content, tree, now, several),
    }
}

/// Makes what the tree lacks (M2).
fn missing(
    path: &[&[u8]],
    said: &Said,
    content: Option<(Content, u64)>,
    tree: &mut Tree,
    now: Stamp,
    several: &mut Several,
) -> anyhow::Result<()> {
    let lacks = |what: &str| anyhow!("is not in the tree, and has no {what} here");
    let kind = said.kind.ok_or_else(|| lacks("type"))?;
    let mode = said.mode.ok_or_else(|| lacks("mode"))?;
    said.uid.ok_or_else(|| lacks("uid or uname"))?;
    said.gid.ok_or_else(|| lacks("gid or gname"))?;
    let mut meta = Meta::new(kind, mode, now);
    set(said, &mut meta);
    let links = content.as_ref().map_or(1, |(_, links)| *links);
    let content = match kind {
        Kind::Symlink => Content::Target(said.link.clone().ok_or_else(|| lacks("link"))?),
        Kind::CharDevice | Kind::BlockDevice if said.rdev.is_none() => return Err(lacks("device")),
        Kind::Regular => content.map_or(Content::Nothing, |(content, _)| content),
        _ => Content::Nothing,
    };
    let (name, above) = path.split_last().context("the root is always there")?;
    let dir = match tree.find(above) {
        Some(dir) if tree.node(dir).meta.kind == Kind::Directory => dir,
        Some(_) => bail!("what is above it is not a directory"),
        None => bail!("the directory above it is neither in the tree nor named before"),
    };
    let key = match content {
        Content::Named { key, .. } if links > 1 => Some(key),
        _ => None,
    };
    if let Some(&first) = key.and_then(|key| several.get(&key))
        && tree.node(first).meta == meta
    {
        return tree.link(dir, name, first);
    }
    let made = tree.put(dir, name, meta, content)?;
    if let Some(key) = key {
        several.entry(key).or_insert(made);
    }
    Ok(())
}

fn set(said: &Said, meta: &mut Meta) {
    if let Some(mode) = said.mode {
        meta.mode = mode;
        // As chmod(1) on a file with a list: the group's place is the mask's.
        for (_, value) in meta.xattrs.iter_mut().filter(|(name, _)| name == acl::ACCESS) {
            if let Some(mut list) = Acl::from_linux(value) {
                list.set_mode_bits(mode);
                *value = list.to_linux();
            }
        }
    }
    (meta.uid, meta.gid) = (said.uid.unwrap_or(meta.uid), said.gid.unwrap_or(meta.gid));
    meta.mtime = said.time.unwrap_or(meta.mtime);
    meta.flags = said.flags.unwrap_or(meta.flags);
    if meta.kind.is_device() {
        meta.rdev = said.rdev.unwrap_or(meta.rdev);
    }
}

/// The contents of a file that `contents=` names, and how many names it has.
fn named(path: &Path) -> anyhow::Result<(Content, u64)> {
    let file = opened(path, None)?;
    let shown = || text::one_line(&path.display().to_string());
    let found = file.metadata().with_context(shown)?;
    let size = found.len();
    if size == 0 && file.read_at(&mut [0], 0).with_context(shown)? > 0 {
        bail!("{}: is made when it is read, and its size is not known before; copy it, and name the copy", shown());
    }
    let extents = walk::extents(&file, size).with_context(shown)?;
    Ok((Content::Named { path: path.to_owned(), key: (found.dev(), found.ino()), size, extents }, found.nlink()))
}

/// Opens a regular file of the host to read it; `seen` is the one that it must be (M5).
///
/// # Errors
/// When it cannot be opened, is no regular file, or is another one.
pub(super) fn opened(path: &Path, seen: Option<Key>) -> anyhow::Result<File> {
    let shown = || text::one_line(&path.display().to_string());
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = options.read(true).custom_flags(flags).open(path).with_context(shown)?;
    let found = file.metadata().with_context(shown)?;
    if !found.is_file() {
        bail!("{}: is no regular file, and contents= takes no other", shown());
    }
    if seen.is_some_and(|seen| seen != (found.dev(), found.ino())) {
        bail!("{}: was replaced by another file after the manifest was read", shown());
    }
    Ok(file)
}
