//! An mtree manifest, applied to a tree as makefs applies the one of its `-F`.
//!
//! M1. What the manifest names and the tree has gets the attributes that the manifest says, and keeps the others. A
//!     kind that differs is an error.
//! M2. What the manifest names and the tree lacks is made: an empty file, a directory, a link, a device. Its kind,
//!     mode, owner and group must be known, and the target of a link or the number of a device.
//!     `optional` leaves it out.
//! M3. What the tree has and the manifest does not name stays as it is in the tree.
//! M4. Keywords that say what a file contains (sizes, sums) are ignored, and so are unknown ones.

mod parse;
pub(super) mod users;
mod vis;

use super::planned::{Content, Tree};
use super::walk;
use crate::archive::Meta;
use crate::text;
use anyhow::{Context, anyhow, bail};
use ordo_vfs::{Kind, Stamp};
use std::fs::File;
use std::path::{Path, PathBuf};
use users::Users;

/// What a line says about a file.
#[derive(Debug, Clone, Default)]
struct Said {
    kind: Option<Kind>,
    mode: Option<u16>,
    uid: Option<u32>,
    gid: Option<u32>,
    time: Option<Stamp>,
    flags: Option<u32>,
    rdev: Option<u64>,
    link: Option<Vec<u8>>,
    contents: Option<PathBuf>,
    optional: bool,
}

/// Applies the manifest in a file to `tree`. `now` is the time of what the tree lacks and the manifest gives no time.
///
/// # Errors
/// When a line is wrong, or does not fit the tree; the error names file, line and entry.
pub(super) fn apply(file: &Path, users: &Users, tree: &mut Tree, now: Stamp) -> anyhow::Result<()> {
    let shown = || text::one_line(&file.display().to_string());
    let bytes = std::fs::read(file).with_context(shown)?;
    for line in parse::lines(&bytes, users) {
        let (number, path, said) = line.with_context(shown)?;
        let names: Vec<&[u8]> = path.iter().map(|name| &name[..]).collect();
        let entry = || format!("{}, line {number}: {}", shown(), text::escape(&names.join(&b'/')));
        one(&names, &said, tree, now).with_context(entry)?;
    }
    Ok(())
}

fn one(path: &[&[u8]], said: &Said, tree: &mut Tree, now: Stamp) -> anyhow::Result<()> {
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
            if let (Kind::Regular, Some(content)) = (node.meta.kind, content) {
                node.content = content;
            }
            Ok(())
        }
        None if said.optional => Ok(()),
        None => missing(path, said, content, tree, now),
    }
}

/// Makes what the tree lacks (M2).
fn missing(path: &[&[u8]], said: &Said, content: Option<Content>, tree: &mut Tree, now: Stamp) -> anyhow::Result<()> {
    let lacks = |what: &str| anyhow!("is not in the tree, and has no {what} here");
    let kind = said.kind.ok_or_else(|| lacks("type"))?;
    let mode = said.mode.ok_or_else(|| lacks("mode"))?;
    said.uid.ok_or_else(|| lacks("uid or uname"))?;
    said.gid.ok_or_else(|| lacks("gid or gname"))?;
    let mut meta = Meta::new(kind, mode, now);
    set(said, &mut meta);
    let content = match kind {
        Kind::Symlink => Content::Target(said.link.clone().ok_or_else(|| lacks("link"))?),
        Kind::CharDevice | Kind::BlockDevice if said.rdev.is_none() => return Err(lacks("device")),
        Kind::Regular => content.unwrap_or(Content::Nothing),
        _ => Content::Nothing,
    };
    let (name, above) = path.split_last().context("the root is always there")?;
    let dir = match tree.find(above) {
        Some(dir) if tree.node(dir).meta.kind == Kind::Directory => dir,
        Some(_) => bail!("what is above it is not a directory"),
        None => bail!("the directory above it is neither in the tree nor named before"),
    };
    tree.put(dir, name, meta, content)?;
    Ok(())
}

fn set(said: &Said, meta: &mut Meta) {
    meta.mode = said.mode.unwrap_or(meta.mode);
    (meta.uid, meta.gid) = (said.uid.unwrap_or(meta.uid), said.gid.unwrap_or(meta.gid));
    meta.mtime = said.time.unwrap_or(meta.mtime);
    meta.flags = said.flags.unwrap_or(meta.flags);
    if meta.kind.is_device() {
        meta.rdev = said.rdev.unwrap_or(meta.rdev);
    }
}

/// The contents of a file that `contents=` names.
fn named(path: &Path) -> anyhow::Result<Content> {
    let shown = || text::one_line(&path.display().to_string());
    let file = File::open(path).with_context(shown)?;
    let size = file.metadata().with_context(shown)?.len();
    let extents = walk::extents(&file, size).with_context(shown)?;
    Ok(Content::Named { path: path.to_owned(), size, extents })
}
