//! Writes a tree into a mounted volume.
//!
//! The copier of `ordo cp` goes from file system to file system and leaves out what it cannot copy. This goes from a
//! tree that is known as a whole, with attributes that no source has, and stops at the first failure: an image that
//! lacks a file is no image.
//!
//! F1. Files are made in the order of the tree, and nothing else decides where they lie: the same tree gives the same
//!     image.
//! F2. Attributes come last, in one call: a change of contents would change the times, and a flag forbids all changes.
//!     Those of a directory come after its contents.

use super::planned::{Content, Id, Tree};
use super::{manifest, walk};
use crate::archive::{Extent, Meta};
use crate::attached::Attacher;
use crate::progress::{self, Unit};
use crate::{image, interrupt, text};
use anyhow::{Context, anyhow};
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, SetAttr, SetTime};
use ordofs::path::Held;
use ordofs::{Fs, Mounted};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Bytes of one read.
const PIECE: u64 = 1 << 20;

/// A directory that is being filled.
struct Frame<'t> {
    id: Id,
    to: Held<Fs>,
    names: std::collections::btree_map::Iter<'t, Vec<u8>, Id>,
    path: Vec<u8>,
}

/// Writes a tree into an empty volume.
pub(super) struct Filler<'t> {
    tree: &'t Tree,
    fs: Rc<Fs>,
    who: Caller,
    /// Files with several names that were made already.
    made: HashMap<Id, Held<Fs>>,
    attacher: Attacher,
}

impl<'t> Filler<'t> {
    pub(super) fn new(tree: &'t Tree, mounted: &Mounted) -> Filler<'t> {
        let (fs, attacher) = (mounted.fs().clone(), Attacher::new(mounted));
        Filler { tree, fs, who: image::owner(), made: HashMap::new(), attacher }
    }

    /// What the volume has no place for, in words.
    pub(super) fn lost(&self) -> Option<String> {
        self.attacher.lost()
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// When a file cannot be read or written; the error names it.
    pub(super) async fn fill(&mut self) -> anyhow::Result<()> {
        let bytes = self.tree.nodes().flat_map(|node| node.content.extents()).map(|extent| extent.len);
        progress::begin(Unit::Bytes, bytes.sum());
        let root = Held::root(&self.fs).await?;
        let names = self.tree.node(Id::ROOT).children.iter();
        let mut stack = vec![Frame { id: Id::ROOT, to: root, names, path: Vec::new() }];
        while let Some(frame) = stack.last_mut() {
            interrupt::check()?;
            let Some((name, &id)) = frame.names.next() else {
                if let Some(done) = stack.pop() {
                    let shown = || text::escape(if done.path.is_empty() { b"." } else { &done.path });
                    self.attributes(done.id, &done.to).await.with_context(shown)?;
                }
                continue;
            };
            let path = match frame.path.is_empty() {
                true => name.clone(),
                false => [&frame.path[..], b"/", name].concat(),
            };
            let node = self.tree.node(id);
            let shown = || text::escape(&path);
            if node.meta.kind == Kind::Directory {
                let to = self.directory(&frame.to, name).await.with_context(shown)?;
                stack.push(Frame { id, to, names: node.children.iter(), path });
            } else {
                self.file(id, &frame.to, name).await.with_context(shown)?;
            }
        }
        Ok(())
    }

    async fn directory(&self, dir: &Held<Fs>, name: &[u8]) -> anyhow::Result<Held<Fs>> {
        // A new volume of FreeBSD has `.snap` already.
        if let Some(there) = dir.find(name).await? {
            return Ok(there);
        }
        let made = self.fs.mkdir(&self.who, dir.node(), Name::new(name)?, Mode::new(0o700)).await?;
        Ok(Held::new(&self.fs, made))
    }

    async fn file(&mut self, id: Id, dir: &Held<Fs>, name: &[u8]) -> anyhow::Result<()> {
        let name = Name::new(name)?;
        if let Some(first) = self.made.get(&id) {
            drop(Held::new(&self.fs, self.fs.link(first.node(), dir.node(), name).await?));
            // A new name changes the time of the last change of anything.
            return self.times_of_link(id, first).await;
        }
        let node = self.tree.node(id);
        let entry = match &node.content {
            Content::Target(target) => self.fs.symlink(&self.who, dir.node(), name, target).await?,
            _ => {
                let Meta { kind, rdev, .. } = node.meta;
                self.fs.mknod(&self.who, dir.node(), name, kind, Mode::new(0o600), rdev).await?
            }
        };
        let to = Held::new(&self.fs, entry);
        self.contents(&node.content, &to).await?;
        if node.names > 1 {
            // Its flags must not forbid the other names.
            self.set(&Meta { flags: 0, ..node.meta.clone() }, &to).await?;
            self.made.insert(id, to);
            return Ok(());
        }
        self.attributes(id, &to).await
    }

    async fn times_of_link(&self, id: Id, to: &Held<Fs>) -> anyhow::Result<()> {
        let meta = &self.tree.node(id).meta;
        let set = SetAttr { ctime: Some(SetTime::At(meta.mtime)), ..SetAttr::default() };
        to.fs().setattr(to.node(), &set).await?;
        Ok(())
    }

    async fn contents(&self, content: &Content, to: &Held<Fs>) -> anyhow::Result<()> {
        let (own, extents): (Option<File>, Vec<Extent>) = match content {
            Content::Nothing | Content::Target(_) => return Ok(()),
            Content::Archive { extents, .. } => (None, extents.clone()),
            Content::Host { path, key, size, extents } => {
                let root = self.tree.root.as_ref().context("a tree without its root")?;
                let file = walk::regular(root, path, *key)?;
                // Holes may have moved since. A file that had none is read whole: most have none, and to ask costs two
                // calls each.
                let whole = matches!(extents[..], [Extent { at: 0, len, .. }] if len == *size);
                let extents = if whole { extents.clone() } else { walk::extents(&file, *size)? };
                (Some(file), extents)
            }
            Content::Named { path, key, size, .. } => {
                let file = manifest::opened(path, Some(*key))?;
                let extents = walk::extents(&file, *size)?;
                (Some(file), extents)
            }
        };
        let from = own.as_ref().or(self.tree.archive.as_ref()).context("contents without a source")?;
        let mut end = 0;
        for extent in extents {
            self.range(from, extent, to).await?;
            end = extent.at + extent.len;
        }
        if end < content.size() {
            let set = SetAttr { size: Some(content.size()), ..SetAttr::default() };
            self.fs.setattr(to.node(), &set).await?;
        }
        Ok(())
    }

    async fn range(&self, from: &File, extent: Extent, to: &Held<Fs>) -> anyhow::Result<()> {
        let mut piece = vec![0; extent.len.min(PIECE) as usize];
        let mut done = 0;
        while done < extent.len {
            interrupt::check()?;
            let len = (extent.len - done).min(PIECE) as usize;
            let read = from.read_exact_at(&mut piece[..len], extent.from + done);
            read.map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => anyhow!("became shorter while it was read"),
                _ => error.into(),
            })?;
            let mut rest = &piece[..len];
            while !rest.is_empty() {
                let written = self.fs.write(&self.who, to.node(), extent.at + done, rest).await?;
                progress::add(written.into());
                rest = rest.get(written as usize..).unwrap_or_default();
                done += u64::from(written);
            }
        }
        Ok(())
    }

    /// All attributes of a file or a directory that gets no further change (F2).
    async fn attributes(&mut self, id: Id, to: &Held<Fs>) -> anyhow::Result<()> {
        let tree = self.tree;
        self.set(&tree.node(id).meta, to).await
    }

    async fn set(&mut self, meta: &Meta, to: &Held<Fs>) -> anyhow::Result<()> {
        let mode = self.attacher.put(to, meta).await?;
        self.attacher.put_default(to, meta).await?;
        let time = Some(SetTime::At(meta.mtime));
        let set = SetAttr {
            mode: Some(Mode::new(mode.into())),
            uid: Some(meta.uid),
            gid: Some(meta.gid),
            atime: time,
            mtime: time,
            ctime: time,
            birth: to.attr().birth.is_some().then_some(meta.mtime),
            flags: (meta.flags != 0).then_some(meta.flags),
            ..SetAttr::default()
        };
        self.fs.setattr(to.node(), &set).await?;
        Ok(())
    }

    /// Sets the flags that were left off while files got their names, and forgets the files.
    ///
    /// # Errors
    /// When they cannot be set.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        let made = std::mem::take(&mut self.made);
        let mut made: Vec<_> = made.into_iter().filter(|(id, _)| self.tree.node(*id).meta.flags != 0).collect();
        made.sort_unstable_by_key(|(_, to)| to.node());
        for (id, to) in &made {
            let meta = &self.tree.node(*id).meta;
            let ctime = Some(SetTime::At(meta.mtime));
            let set = SetAttr { flags: Some(meta.flags), ctime, ..SetAttr::default() };
            self.fs.setattr(to.node(), &set).await?;
        }
        Ok(())
    }
}
