//! Files of a mounted volume by path, and the names in a directory.
//!
//! P1. A path never leaves the volume: symbolic links are followed within it, and `..` stops at its root.
//! P2. A lookup is undone when its [`Held`] is dropped.

use ordo_vfs::{Attr, Entry, FileSystem, Kind, Name, NodeId, Refusal, Result};
use std::rc::Rc;

/// The most symbolic links in one path.
const MAX_LINKS: usize = 40;

/// A node that stays looked up until this is dropped.
pub struct Held<F: FileSystem> {
    fs: Rc<F>,
    pub(crate) entry: Entry,
    /// False for the root, which needs no lookup.
    counted: bool,
}

impl<F: FileSystem> Held<F> {
    /// Takes over the lookup that came with `entry`.
    pub fn new(fs: &Rc<F>, entry: Entry) -> Held<F> {
        Held { fs: fs.clone(), entry, counted: true }
    }

    /// The root directory.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn root(fs: &Rc<F>) -> Result<Held<F>> {
        let node = fs.root();
        Ok(Held { fs: fs.clone(), entry: Entry { node, attr: fs.getattr(node).await? }, counted: false })
    }

    /// The file system.
    pub fn fs(&self) -> &Rc<F> {
        &self.fs
    }

    /// The node; valid as long as `self` lives.
    pub fn node(&self) -> NodeId {
        self.entry.node
    }

    /// The attributes at the time of the lookup.
    pub fn attr(&self) -> &Attr {
        &self.entry.attr
    }

    /// `true` for a directory.
    pub fn is_dir(&self) -> bool {
        self.attr().kind == Kind::Directory
    }

    /// Looks up `name` in this directory.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`, `Invalid` for an invalid name, `Io`, `Corrupt`.
    pub async fn lookup(&self, name: &[u8]) -> Result<Held<F>> {
        Ok(Held::new(&self.fs, self.fs.lookup(self.node(), Name::new(name)?).await?))
    }

    /// The same; `None` if the name does not exist.
    ///
    /// # Errors
    /// As [`Held::lookup`].
    pub async fn find(&self, name: &[u8]) -> Result<Option<Held<F>>> {
        match self.lookup(name).await {
            Ok(held) => Ok(Some(held)),
            Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names in this directory in order, without `.` and `..`; and the error that cut the list short, if it is
    /// damaged.
    pub async fn names(&self) -> (Vec<Vec<u8>>, Result<()>) {
        let mut names = Vec::new();
        let mut take = |entry: ordo_vfs::DirEntry<'_>| {
            if entry.name != b"." && entry.name != b".." {
                names.push(entry.name.to_vec());
            }
            true
        };
        let outcome = self.fs.readdir(self.node(), 0, &mut take).await;
        names.sort_unstable();
        (names, outcome)
    }
}

impl<F: FileSystem> Drop for Held<F> {
    fn drop(&mut self) {
        if self.counted {
            self.fs.forget(self.entry.node, 1);
        }
    }
}

/// Walks a path from the root; if `follow`, a last symbolic link is followed.
///
/// # Errors
/// `NotFound`, `NotDirectory`, `Io`, `Corrupt`; `Loop` for too many links.
pub async fn resolve<F: FileSystem>(fs: &Rc<F>, path: &[u8], follow: bool) -> Result<Held<F>> {
    let mut todo = components(path);
    let mut trail = vec![Held::root(fs).await?];
    let mut links = 0;
    while let Some(name) = todo.pop() {
        // OK to expect: the trail never loses the root.
        let dir = trail.last().expect("the trail starts at the root");
        match &name[..] {
            b"." if dir.is_dir() => continue,
            b".." if dir.is_dir() => {
                trail.truncate(trail.len().saturating_sub(1).max(1));
                continue;
            }
            _ => {}
        }
        let next = dir.lookup(&name).await?;
        if next.attr().kind != Kind::Symlink || (todo.is_empty() && !follow) {
            trail.push(next);
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Refusal::Loop.into());
        }
        let target = fs.readlink(next.node()).await?;
        if target.first() == Some(&b'/') {
            trail.truncate(1);
        }
        todo.extend(components(&target));
    }
    // OK to expect: as above.
    Ok(trail.pop().expect("the trail starts at the root"))
}

/// The directory above the last name of a path, and that name.
///
/// # Errors
/// `Invalid` if there is no last name; otherwise as [`resolve`].
pub async fn parent<'p, F: FileSystem>(fs: &Rc<F>, path: &'p [u8]) -> Result<(Held<F>, Name<'p>)> {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |at| at + 1);
    let start = path[..end].iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    let name = Name::new(&path[start..end])?;
    if name.is_dot_or_dotdot() {
        return Err(Refusal::Invalid.into());
    }
    Ok((resolve(fs, &path[..start], true).await?, name))
}

/// The names of a path, last first.
pub(crate) fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&b| b == b'/').filter(|name| !name.is_empty()).rev().map(<[u8]>::to_vec).collect()
}
