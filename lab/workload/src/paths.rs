//! Paths on a trait that has only nodes and names.
//!
//! A node that is looked up is a [`Held`], which forgets its lookup when it is dropped (workload-2). Symbolic links are
//! not followed: programs and tests name their files directly.

use crate::compute::Compute;
use crate::contents;
use crate::own_log::OwnLog;
use ordo_vfs::{Attr, Caller, Entry, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, Result, SetAttr};
use std::collections::BTreeSet;
use std::time::Duration;

/// A node with one lookup.
pub struct Held<'a, F: FileSystem> {
    fs: &'a F,
    node: NodeId,
    /// Attributes at the time of the lookup.
    pub attr: Attr,
    lookups: u64,
}

impl<'a, F: FileSystem> Held<'a, F> {
    /// Takes over the lookup of `entry`.
    pub fn new(fs: &'a F, entry: Entry) -> Held<'a, F> {
        Held { fs, node: entry.node, attr: entry.attr, lookups: 1 }
    }

    /// The node, valid as long as this lives.
    pub fn node(&self) -> NodeId {
        self.node
    }
}

impl<F: FileSystem> Drop for Held<'_, F> {
    fn drop(&mut self) {
        if self.lookups > 0 {
            self.fs.forget(self.node, self.lookups);
        }
    }
}

/// Most bytes moved by one call.
const TRANSFER: u64 = 4 << 20;

/// A caller that works on a file system.
pub struct Session<'a, F: FileSystem> {
    /// The file system.
    pub fs: &'a F,
    /// The caller's identity.
    pub who: Caller,
    compute: Option<&'a dyn Compute>,
    own_log: Option<&'a dyn OwnLog>,
}

impl<'a, F: FileSystem> Session<'a, F> {
    /// A session of root, who may use reserved space. A program's own computing takes no time.
    pub fn new(fs: &'a F) -> Session<'a, F> {
        Session { fs, who: Caller { privileged: true, ..Caller::default() }, compute: None, own_log: None }
    }

    /// A session of users without privilege, who cannot have the reserved space.
    pub fn for_users(fs: &'a F) -> Session<'a, F> {
        Session { who: Caller::default(), ..Session::new(fs) }
    }

    /// Like [`Session::new`], but `compute` performs the programs' own computing.
    pub fn with_compute(fs: &'a F, compute: &'a dyn Compute) -> Session<'a, F> {
        Session { compute: Some(compute), ..Session::new(fs) }
    }

    /// A program that keeps a log of its own has it on this disk.
    pub fn with_own_log(self, log: &'a dyn OwnLog) -> Session<'a, F> {
        Session { own_log: Some(log), ..self }
    }

    /// The disk for a program's own log, if there is one.
    pub(crate) fn own_log(&self) -> Option<&'a dyn OwnLog> {
        self.own_log
    }

    /// Computes for `work`, in the session's way.
    pub async fn compute(&self, work: Duration) {
        if let Some(compute) = self.compute.filter(|_| !work.is_zero()) {
            compute.compute(work).await;
        }
    }

    /// The root directory.
    pub async fn root(&self) -> Result<Held<'a, F>> {
        let node = self.fs.root();
        Ok(Held { fs: self.fs, node, attr: self.fs.getattr(node).await?, lookups: 0 })
    }

    /// Looks `name` up in `dir`.
    pub async fn lookup(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Held<'a, F>> {
        Ok(Held::new(self.fs, self.fs.lookup(dir.node, name).await?))
    }

    /// Looks `path` up from `start`. Empty parts of the path are skipped.
    pub async fn walk_from(&self, start: Held<'a, F>, path: &str) -> Result<Held<'a, F>> {
        let mut at = start;
        for part in parts(path) {
            at = self.lookup(&at, Name::new(part.as_bytes())?).await?;
        }
        Ok(at)
    }

    /// Looks `path` up from the root.
    pub async fn resolve(&self, path: &str) -> Result<Held<'a, F>> {
        self.walk_from(self.root().await?, path).await
    }

    /// The directory of the last name in `path`, and that name.
    ///
    /// # Errors
    /// `Invalid` if there is no name; otherwise those of a lookup.
    pub async fn parent<'p>(&self, path: &'p str) -> Result<(Held<'a, F>, Name<'p>)> {
        let (dir, name) = split(path)?;
        Ok((self.resolve(dir).await?, name))
    }

    /// Makes the missing directories of `path`, and looks the last one up.
    pub async fn mkdir_all(&self, path: &str) -> Result<Held<'a, F>> {
        let mut at = self.root().await?;
        for part in parts(path) {
            let name = Name::new(part.as_bytes())?;
            at = match self.mkdir(&at, name).await {
                Err(ordo_vfs::Error::Refused(Refusal::Exists)) => self.lookup(&at, name).await?,
                other => other?,
            };
        }
        Ok(at)
    }

    /// Makes a directory.
    pub async fn mkdir(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Held<'a, F>> {
        Ok(Held::new(self.fs, self.fs.mkdir(&self.who, dir.node, name, Mode::new(0o755)).await?))
    }

    /// Makes an empty regular file.
    pub async fn create(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Held<'a, F>> {
        let entry = self.fs.mknod(&self.who, dir.node, name, Kind::Regular, Mode::new(0o644), 0).await?;
        Ok(Held::new(self.fs, entry))
    }

    /// Writes all of `data` at `offset`.
    pub async fn write_at(&self, file: &Held<'_, F>, offset: u64, data: &[u8]) -> Result<()> {
        let mut written = 0;
        while written < data.len() {
            let rest = &data[written..data.len().min(written + TRANSFER as usize)];
            let count = self.fs.write(&self.who, file.node, offset + written as u64, rest).await?;
            if count == 0 {
                return Err(ordo_vfs::Error::io("a write stored nothing and gave no reason"));
            }
            written += count as usize;
        }
        Ok(())
    }

    /// The bytes of a range, fewer at the end of the file.
    pub async fn read_at(&self, file: &Held<'_, F>, offset: u64, len: u32) -> Result<Vec<u8>> {
        Ok(self.fs.read(file.node, offset, len).await?.concat())
    }

    /// Replaces the contents of the regular file `path`, which is created if it is missing.
    pub async fn write_file(&self, path: &str, data: &[u8]) -> Result<()> {
        let (dir, name) = self.parent(path).await?;
        let file = match self.create(&dir, name).await {
            Err(ordo_vfs::Error::Refused(Refusal::Exists)) => {
                let file = self.lookup(&dir, name).await?;
                self.fs.setattr(file.node, &SetAttr { size: Some(0), ..SetAttr::default() }).await?;
                file
            }
            other => other?,
        };
        self.write_at(&file, 0, data).await
    }

    /// The contents of the regular file `path`.
    pub async fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let file = self.resolve(path).await?;
        let mut data = Vec::new();
        loop {
            let piece = self.fs.read(file.node, data.len() as u64, TRANSFER as u32).await?;
            if piece.iter().all(|part| part.is_empty()) {
                return Ok(data);
            }
            piece.iter().for_each(|part| data.extend_from_slice(part));
        }
    }

    /// The names in a directory and their kinds, without the dots, in the directory's order.
    pub async fn list(&self, dir: &Held<'_, F>) -> Result<Vec<(Vec<u8>, u8)>> {
        self.list_by(dir, usize::MAX).await
    }

    /// Like [`Session::list`], requesting no more than `batch` (at least one) entries at a time.
    pub async fn list_by(&self, dir: &Held<'_, F>, batch: usize) -> Result<Vec<(Vec<u8>, u8)>> {
        let mut names = Vec::new();
        let mut cookie = 0;
        loop {
            let (start, mut taken) = (cookie, 0);
            let mut take = |entry: ordo_vfs::DirEntry<'_>| {
                if taken == batch {
                    return false;
                }
                taken += 1;
                cookie = entry.next;
                if entry.name != b"." && entry.name != b".." {
                    names.push((entry.name.to_vec(), entry.kind));
                }
                true
            };
            self.fs.readdir(dir.node, start, &mut take).await?;
            if taken == 0 {
                return Ok(names);
            }
        }
    }

    /// Calls `see` with the path (from `path`, without a leading slash) and the attributes of everything below the
    /// directory `path`, each directory before its contents, names in order.
    pub async fn walk(&self, path: &str, mut see: impl FnMut(&str, &Attr)) -> Result<()> {
        let mut waiting = vec![String::new()];
        while let Some(at) = waiting.pop() {
            let dir = self.resolve(&join(path, &at)).await?;
            let mut names = self.list(&dir).await?;
            names.sort_unstable();
            let mut dirs = Vec::new();
            for (name, _) in &names {
                let below = join(&at, &String::from_utf8_lossy(name));
                let attr = self.lookup(&dir, Name::new(name)?).await?.attr;
                see(&below, &attr);
                if attr.kind == Kind::Directory {
                    dirs.push(below);
                }
            }
            waiting.extend(dirs.into_iter().rev());
        }
        Ok(())
    }

    /// Removes `path` and everything below it. Returns how many names were removed.
    pub async fn remove_tree(&self, path: &str) -> Result<u64> {
        let (dir, name) = self.parent(path).await?;
        if self.lookup(&dir, name).await?.attr.kind != Kind::Directory {
            self.fs.unlink(dir.node, name).await?;
            return Ok(1);
        }
        let mut removed = 0;
        // Each directory is on the list before those below it, so in reverse order each one is empty when it is
        // removed.
        let mut dirs = vec![(dir, name.bytes().to_vec())];
        let (mut next, mut entered) = (0, BTreeSet::new());
        while let Some((dir, name)) = dirs.get(next) {
            let at = self.lookup(dir, Name::new(name)?).await?;
            // On a damaged volume a directory may lie below itself.
            if !entered.insert(at.attr.ino) {
                return Err(Error::corrupt(format!("directory inode {} has two names", at.attr.ino)));
            }
            for (name, _) in self.list(&at).await? {
                if self.lookup(&at, Name::new(&name)?).await?.attr.kind == Kind::Directory {
                    let again = self.lookup(&at, Name::new(b".")?).await?;
                    dirs.push((again, name));
                } else {
                    self.fs.unlink(at.node, Name::new(&name)?).await?;
                    removed += 1;
                }
            }
            next += 1;
        }
        while let Some((dir, name)) = dirs.pop() {
            self.fs.rmdir(dir.node, Name::new(&name)?).await?;
            removed += 1;
        }
        Ok(removed)
    }
}

/// `size` bytes to write; the same for the same seed.
pub(crate) fn bytes(size: u64, seed: u64) -> Vec<u8> {
    let mut data = vec![0; size as usize];
    contents::fill(&mut data, seed, 0);
    data
}

/// The names in a path.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// A path before its last name, and that name.
pub(crate) fn split(path: &str) -> Result<(&str, Name<'_>)> {
    let path = path.trim_end_matches('/');
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    Ok((dir, Name::new(name.as_bytes())?))
}

/// Joins two parts of a path.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() || name.is_empty() { format!("{dir}{name}") } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::{MemFs, ready};

    #[test]
    fn a_tree_is_made_walked_and_removed_and_nothing_stays_held() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        ready(async {
            session.mkdir_all("a/b/c").await.unwrap();
            session.mkdir_all("a/d").await.unwrap();
            session.write_file("a/b/f", b"one").await.unwrap();
            session.write_file("a/b/f", b"tw").await.unwrap();
            session.write_file("a/b/c/g", &bytes(5 << 20, 1)).await.unwrap();
            assert_eq!(session.read_file("a/b/f").await.unwrap(), b"tw");
            assert_eq!(session.read_file("/a/b//c/g").await.unwrap(), bytes(5 << 20, 1));
            let mut seen = Vec::new();
            session.walk("a", |path, attr| seen.push((path.to_owned(), attr.size))).await.unwrap();
            seen.retain(|(path, _)| path != "b" && path != "d" && path != "b/c");
            assert_eq!(seen, [("b/f".to_owned(), 2), ("b/c/g".to_owned(), 5 << 20)]);
            assert_eq!(session.remove_tree("a").await.unwrap(), 6);
            assert!(session.resolve("a").await.is_err());
        });
        assert_eq!(fs.lookups(), 0);
    }

    #[test]
    fn a_failed_walk_leaves_nothing_held() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        ready(async {
            session.mkdir_all("a/b").await.unwrap();
            assert!(session.resolve("a/b/none/x").await.is_err());
        });
        assert_eq!(fs.lookups(), 0);
    }
}
