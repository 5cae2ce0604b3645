//! The contents of a volume that is about to be built: names, attributes, and where the bytes of each file are.
//!
//! T1. The names of a directory are in the order of their bytes, whatever order the source has: the same tree gives the
//!     same image.
//! T2. A path stays below the root. It is no absolute one, has no `..`, and no symbolic link is followed on its way: an
//!     archive cannot put a file where its name does not say.

use super::manifest::users::Users;
use crate::archive::{self, Entry, Extent, Meta, Reader};
use crate::{interrupt, text};
use anyhow::{Context, bail};
use ordo_vfs::{Kind, Name, Stamp};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file of the host: its device and its number.
pub(super) type Key = (u64, u64);

/// Bytes of a path. No call of Linux takes more than 4,096.
const LONGEST_PATH: usize = 1 << 14;

/// A file of the tree, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Id(usize);

impl Id {
    pub(super) const ROOT: Id = Id(0);
}

/// All files.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The directory of the host whose files are [`Content::Host`].
    pub(super) root: Option<OwnedFd>,
    /// The archive whose parts are [`Content::Archive`].
    pub(super) archive: Option<File>,
    /// What is left out of it, a line each.
    pub(super) lost: Vec<String>,
}

/// A file, with as many names as lead to it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) meta: Meta,
    pub(super) content: Content,
    pub(super) names: u32,
    /// Of a directory (T1).
    pub(super) children: BTreeMap<Vec<u8>, Id>,
}

/// What a file contains, and where that is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Nothing: a directory, a device, an empty file.
    Nothing,
    /// The target of a symbolic link.
    Target(Vec<u8>),
    /// A file below the root of the host's directory.
    Host { path: Vec<u8>, key: Key, size: u64, extents: Vec<Extent> },
    /// A file anywhere on the host, which a manifest names.
    Named { path: PathBuf, key: Key, size: u64, extents: Vec<Extent> },
    /// Parts of the archive.
    Archive { size: u64, extents: Vec<Extent> },
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        match self {
            Content::Nothing => 0,
            Content::Target(target) => target.len() as u64,
            Content::Host { size, .. } | Content::Named { size, .. } | Content::Archive { size, .. } => *size,
        }
    }

    /// The stored ranges.
    pub(super) fn extents(&self) -> &[Extent] {
        match self {
            Content::Host { extents, .. } | Content::Named { extents, .. } | Content::Archive { extents, .. } => {
                extents
            }
            Content::Nothing | Content::Target(_) => &[],
        }
    }
}

/// The tree of an archive; `-` is standard input. `now` is the time of directories that the archive does not have.
/// `users` knows the names in access control lists.
///
/// # Errors
/// When it cannot be read, is cut, or has an entry that cannot be in a volume.
pub(super) fn of_archive(from: &Path, now: Stamp, users: &Users) -> anyhow::Result<Tree> {
    let mut reader = Reader::new(archive::seekable(from)?);
    let missing = Meta::new(Kind::Directory, 0o755, now);
    let mut tree = Tree::new(missing.clone());
    while let Some(found) = reader.next()? {
        interrupt::check()?;
        let mut entry = found.map_err(|(path, error)| error.context(text::escape(&path)))?;
        entry.take_lists(|name| users.uid(name.as_bytes()).ok(), |name| users.gid(name.as_bytes()).ok());
        let shown = text::escape(&entry.path);
        tree.lost.extend(entry.lost.iter().map(|what| format!("{shown}: {what}")));
        tree.take(&entry, &missing).with_context(|| text::escape(&entry.path))?;
    }
    tree.archive = Some(reader.into_source());
    Ok(tree)
}

impl Tree {
    fn take(&mut self, entry: &Entry, missing: &Meta) -> anyhow::Result<()> {
        let path = names(&entry.path)?;
        let Some(name) = path.last() else {
            if entry.meta.kind != Kind::Directory {
                bail!("the root is a directory");
            }
            self.node_mut(Id::ROOT).meta = entry.meta.clone();
            return Ok(());
        };
        let dir = self.above(&path, missing)?;
        if entry.is_link {
            let shown = || text::escape(&entry.target);
            let to = names(&entry.target).with_context(|| format!("a link to {}", shown()))?;
            let first =
                self.find(&to).with_context(|| format!("a link to {}, which is not in the archive", shown()))?;
            if self.node(first).meta.kind == Kind::Directory {
                bail!("a link to {}, which is a directory", shown());
            }
            if path != to {
                self.link(dir, name, first)?;
            }
            return Ok(());
        }
        let content = match entry.meta.kind {
            Kind::Symlink => Content::Target(entry.target.clone()),
            Kind::Regular if entry.size > 0 => Content::Archive { size: entry.size, extents: entry.extents.clone() },
            _ => Content::Nothing,
        };
        self.put(dir, name, entry.meta.clone(), content)?;
        Ok(())
    }

    /// A root directory without names.
    pub(super) fn new(root: Meta) -> Tree {
        let root = Node { meta: root, content: Content::Nothing, names: 1, children: BTreeMap::new() };
        Tree { nodes: vec![root], root: None, archive: None, lost: Vec::new() }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0]
    }

    pub(super) fn node_mut(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id.0]
    }

    /// Files that have a name.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.names > 0)
    }

    pub(super) fn metas_mut(&mut self) -> impl Iterator<Item = &mut Meta> {
        self.nodes.iter_mut().map(|node| &mut node.meta)
    }

    /// The file that a path names; links are not followed.
    pub(super) fn find(&self, path: &[&[u8]]) -> Option<Id> {
        path.iter().try_fold(Id::ROOT, |dir, name| self.node(dir).children.get(*name).copied())
    }

    /// The directory above the last name of a path. Directories that are missing on the way are made.
    ///
    /// # Errors
    /// When something on the way is not a directory (T2).
    pub(super) fn above(&mut self, path: &[&[u8]], missing: &Meta) -> anyhow::Result<Id> {
        let mut dir = Id::ROOT;
        for name in path.split_last().map_or(&[][..], |(_, above)| above) {
            dir = match self.node(dir).children.get(*name) {
                Some(&next) if self.node(next).meta.kind == Kind::Directory => next,
                Some(_) => bail!("it is below {}, which is not a directory", text::escape(name)),
                None => self.put(dir, name, missing.clone(), Content::Nothing)?,
            };
        }
        Ok(dir)
    }

    /// Names a new file. What had the name before is replaced; a directory keeps its contents, and gets the attributes.
    ///
    /// # Errors
    /// When the name is impossible, or a directory would be replaced by something else.
    pub(super) fn put(&mut self, dir: Id, name: &[u8], meta: Meta, content: Content) -> anyhow::Result<Id> {
        if let Some(&old) = self.node(dir).children.get(name) {
            match (self.node(old).meta.kind, meta.kind) {
                (Kind::Directory, Kind::Directory) => {
                    self.node_mut(old).meta = meta;
                    return Ok(old);
                }
                (Kind::Directory, _) => bail!("there is a directory of this name already"),
                _ => {}
            }
        }
        let id = Id(self.nodes.len());
        self.nodes.push(Node { meta, content, names: 0, children: BTreeMap::new() });
        self.link(dir, name, id)?;
        Ok(id)
    }

    /// Gives a file a name.
    ///
    /// # Errors
    /// When the name is impossible.
    pub(super) fn link(&mut self, dir: Id, name: &[u8], to: Id) -> anyhow::Result<()> {
        if Name::new(name)?.is_dot_or_dotdot() {
            bail!("a name that leads to another directory");
        }
        self.node_mut(to).names += 1;
        if let Some(old) = self.node_mut(dir).children.insert(name.to_vec(), to) {
            self.node_mut(old).names -= 1;
        }
        Ok(())
    }
}

/// The names of a path below the root (T2); none for the root itself.
///
/// # Errors
/// When it leads elsewhere.
pub(super) fn names(path: &[u8]) -> anyhow::Result<Vec<&[u8]>> {
    if path.first() == Some(&b'/') {
        bail!("an absolute name; only names below the root can be taken");
    }
    // Each directory of a walk keeps its path: memory grows with the square of the depth.
    if path.len() > LONGEST_PATH {
        bail!("a path of {} bytes; at most {LONGEST_PATH} are taken", path.len());
    }
    let names: Vec<&[u8]> = path.split(|&b| b == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    for name in &names {
        if *name == b".." {
            bail!("a name with \"..\", which leads to another directory");
        }
        Name::new(name).with_context(|| format!("a name of {} bytes", name.len()))?;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_root() {
        let deep = b"d/".repeat(LONGEST_PATH);
        for path in [&b"/etc/passwd"[..], b"../x", b"a/../../x", b"a/..", b"..", &deep] {
            assert!(names(path).is_err(), "{path:?}");
        }
        assert_eq!(names(b"./a//b/").unwrap(), [b"a", b"b"]);
        assert!(names(b"./").unwrap().is_empty());
        let mut tree = Tree::new(Meta::new(Kind::Directory, 0o755, Stamp::default()));
        let dir = Meta::new(Kind::Directory, 0o755, Stamp::default());
        let link = Meta::new(Kind::Symlink, 0o777, Stamp::default());
        tree.put(Id::ROOT, b"out", link, Content::Target(b"/".to_vec())).unwrap();
        let said = tree.above(&[b"out", b"x"], &dir).unwrap_err();
        assert!(said.to_string().contains("not a directory"), "{said}");
    }
}
