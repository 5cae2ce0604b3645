//! Commands of a Unix of 1994, call by call: the parts of `copy-tree`, `remove-tree`, `andrew` and `sdet`.
//!
//! C1. A command holds the directories that it works in. A path is not walked again for each call: a kernel's name
//!     cache would satisfy that.
//! C2. The names of a directory are processed in sorted order, not in the directory's own, so that every file system
//!     gets the same calls (workload-1).
//! C3. A file is read until a read returns nothing, like in a loop over read(2): n bytes take n / transfer reads,
//!     rounded up, and one more.
//! C4. A command computes for each process that it starts, each file whose attributes it examines, and each byte that
//!     it scans ([`Costs`]); the file system's own computing is not included.

use crate::paths::{Held, Session};
use ordo_vfs::{FileSystem, Kind, Name, Refusal, Result, SetAttr};
use std::rc::Rc;
use std::time::Duration;

/// The computing times of commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Costs {
    /// To start a process and to end it.
    pub(crate) process: Duration,
    /// To process the attributes of one file: to print a line of `ls -l`, to add up `du`.
    pub(crate) look: Duration,
    /// To scan one byte, in nanoseconds.
    pub(crate) byte_ns: u64,
}

/// The caller of the commands.
pub(crate) struct Unix<'s, 'a, F: FileSystem> {
    pub(crate) session: &'s Session<'a, F>,
    pub(crate) costs: Costs,
    /// Bytes of one read or write.
    pub(crate) transfer: u64,
}

/// A name that `find` visits. The top is "." in itself.
pub(crate) struct Found<'a, F: FileSystem> {
    pub(crate) dir: Rc<Held<'a, F>>,
    pub(crate) name: Vec<u8>,
    pub(crate) kind: Kind,
}

/// What a command on a tree has processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl<'a, F: FileSystem> Unix<'_, 'a, F> {
    /// The computing of a process's start and end.
    pub(crate) async fn process(&self) {
        self.session.compute(self.costs.process).await;
    }

    /// stat(2), and the computing on its result.
    pub(crate) async fn look(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Held<'a, F>> {
        let found = self.session.lookup(dir, name).await?;
        self.session.compute(self.costs.look).await;
        Ok(found)
    }

    /// stat(2) of a file that may be missing.
    pub(crate) async fn if_there(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Option<Held<'a, F>>> {
        match self.session.lookup(dir, name).await {
            Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Like [`Unix::look`], for a file that may be missing.
    pub(crate) async fn look_if_there(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Option<Held<'a, F>>> {
        let found = self.if_there(dir, name).await?;
        self.session.compute(self.costs.look).await;
        Ok(found)
    }

    /// The names in a directory (C2).
    async fn names(&self, dir: &Held<'_, F>) -> Result<Vec<Vec<u8>>> {
        let mut names: Vec<_> = self.session.list(dir).await?.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Like [`Unix::names`], in reverse order.
    async fn waiting(&self, dir: &Held<'_, F>) -> Result<Vec<Vec<u8>>> {
        let mut names = self.names(dir).await?;
        names.reverse();
        Ok(names)
    }

    /// open(2) and read(2) to the end (C3). Returns the bytes.
    pub(crate) async fn read(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<u64> {
        let file = self.session.lookup(dir, name).await?;
        let mut offset = 0;
        loop {
            let pieces = self.session.fs.read(file.node(), offset, self.transfer as u32).await?;
            let len: usize = pieces.iter().map(|piece| piece.len()).sum();
            if len == 0 {
                return Ok(offset);
            }
            offset += len as u64;
        }
    }

    /// Like [`Unix::read`], for a program that scans every byte: grep, wc.
    pub(crate) async fn scan(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<u64> {
        let bytes = self.read(dir, name).await?;
        self.session.compute(Duration::from_nanos(self.costs.byte_ns.saturating_mul(bytes))).await;
        Ok(bytes)
    }

    /// creat(2): a new file, or an existing one that is truncated.
    pub(crate) async fn create(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Held<'a, F>> {
        match self.session.create(dir, name).await {
            Err(ordo_vfs::Error::Refused(Refusal::Exists)) => {
                let file = self.session.lookup(dir, name).await?;
                self.session.fs.setattr(file.node(), &SetAttr { size: Some(0), ..SetAttr::default() }).await?;
                Ok(file)
            }
            other => other,
        }
    }

    /// creat(2) and write(2) of `data`, by transfers.
    pub(crate) async fn write(&self, dir: &Held<'_, F>, name: Name<'_>, data: &[u8]) -> Result<u64> {
        let file = self.create(dir, name).await?;
        let mut offset = 0;
        for piece in data.chunks(self.transfer as usize) {
            self.session.write_at(&file, offset, piece).await?;
            offset += piece.len() as u64;
        }
        Ok(offset)
    }

    /// cp of one file: examines both ends, opens, and copies. Returns the bytes.
    pub(crate) async fn copy(&self, from: (&Held<'_, F>, Name<'_>), to: (&Held<'_, F>, Name<'_>)) -> Result<u64> {
        drop(self.session.lookup(from.0, from.1).await?);
        drop(self.if_there(to.0, to.1).await?);
        let source = self.session.lookup(from.0, from.1).await?;
        let target = self.create(to.0, to.1).await?;
        let mut offset = 0;
        loop {
            let data = self.session.read_at(&source, offset, self.transfer as u32).await?;
            if data.is_empty() {
                return Ok(offset);
            }
            self.session.write_at(&target, offset, &data).await?;
            offset += data.len() as u64;
        }
    }

    /// cp -r of the contents of the directory `from` into the directory `to`, each directory to its end before the next
    /// name.
    pub(crate) async fn copy_tree(&self, from: Held<'a, F>, to: Held<'a, F>) -> Result<Moved> {
        let mut moved = Moved::default();
        let names = self.waiting(&from).await?;
        let mut open = vec![(from, to, names)];
        while let Some((from, to, names)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            let name = Name::new(&name)?;
            let found = self.session.lookup(from, name).await?;
            if found.attr.kind == Kind::Directory {
                drop(self.if_there(to, name).await?);
                let made = self.session.mkdir(to, name).await?;
                let names = self.waiting(&found).await?;
                open.push((found, made, names));
            } else {
                drop(found);
                moved.bytes += self.copy((from, name), (to, name)).await?;
                moved.files += 1;
            }
        }
        Ok(moved)
    }

    /// rm: examines the file, and unlinks it.
    pub(crate) async fn remove(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<()> {
        drop(self.session.lookup(dir, name).await?);
        self.session.fs.unlink(dir.node(), name).await
    }

    /// rm -r of the directory `name` in `dir`. Returns the number of files removed, without directories.
    pub(crate) async fn remove_tree(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<u64> {
        let top = self.session.lookup(dir, name).await?;
        let names = self.waiting(&top).await?;
        let mut files = 0;
        let mut open = vec![(name.bytes().to_vec(), top, names)];
        while let Some((_, at, names)) = open.last_mut() {
            if let Some(name) = names.pop() {
                let below = self.session.lookup(at, Name::new(&name)?).await?;
                if below.attr.kind == Kind::Directory {
                    let names = self.waiting(&below).await?;
                    open.push((name, below, names));
                } else {
                    // rm has examined it, and must forget it: a held file would lose its name first and its inode
                    // later.
                    drop(below);
                    self.session.fs.unlink(at.node(), Name::new(&name)?).await?;
                    files += 1;
                }
            } else if let Some((name, gone, _)) = open.pop() {
                drop(gone);
                let parent = open.last().map_or(dir.node(), |(_, parent, _)| parent.node());
                self.session.fs.rmdir(parent, Name::new(&name)?).await?;
            }
        }
        Ok(files)
    }

    /// find: examines the directory `name` in `dir` and everything below it, each directory before its contents.
    pub(crate) async fn find(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<Vec<Found<'a, F>>> {
        let top = Rc::new(self.look(dir, name).await?);
        let names = self.waiting(&top).await?;
        let mut found = vec![Found { dir: top.clone(), name: b".".to_vec(), kind: top.attr.kind }];
        let mut open = vec![(top, names)];
        while let Some((dir, names)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            let below = self.look(dir, Name::new(&name)?).await?;
            found.push(Found { dir: dir.clone(), name, kind: below.attr.kind });
            if below.attr.kind == Kind::Directory {
                let names = self.waiting(&below).await?;
                open.push((Rc::new(below), names));
            }
        }
        Ok(found)
    }

    /// ls -l: examines `name` in `dir`, or everything in it if it is a directory. Returns the number of files examined.
    pub(crate) async fn list(&self, dir: &Held<'_, F>, name: Name<'_>) -> Result<u64> {
        let found = self.look(dir, name).await?;
        if found.attr.kind != Kind::Directory {
            return Ok(1);
        }
        let names = self.names(&found).await?;
        for name in &names {
            drop(self.look(&found, Name::new(name)?).await?);
        }
        Ok(1 + names.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::bytes;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};

    fn unix<'s, 'a, F: FileSystem>(session: &'s Session<'a, F>) -> Unix<'s, 'a, F> {
        Unix { session, costs: Costs::default(), transfer: 1000 }
    }

    #[test]
    fn a_file_is_read_until_nothing_comes_and_copied_by_transfers() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let (a, b) = (Name::new(b"a").unwrap(), Name::new(b"b").unwrap());
        ready(async {
            session.write_file("a", &bytes(2500, 1)).await.unwrap();
            session.write_file("b", b"longer than nothing").await.unwrap();
            let root = session.root().await.unwrap();
            calls.reset();
            assert_eq!(unix(&session).copy((&root, a), (&root, b)).await.unwrap(), 2500);
            assert_eq!((calls.count("read"), calls.count("write"), calls.count("setattr")), (4, 3, 1));
            assert_eq!(session.read_file("b").await.unwrap(), bytes(2500, 1));
        });
        assert_eq!(calls.fs.lookups(), 0);
    }

    #[test]
    fn trees_are_found_copied_and_removed_to_the_last_name() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let unix = unix(&session);
        let (top, dot) = (Name::new(b"top").unwrap(), Name::new(b".").unwrap());
        ready(async {
            for path in ["top/b/c", "top/a", "copy"] {
                session.mkdir_all(path).await.unwrap();
            }
            for path in ["top/b/c/x", "top/b/y", "top/z"] {
                session.write_file(path, path.as_bytes()).await.unwrap();
            }
            let root = session.root().await.unwrap();
            let names = |found: Vec<Found<'_, _>>| -> Vec<String> {
                found.iter().map(|found| String::from_utf8(found.name.clone()).unwrap()).collect()
            };
            let order = [".", "a", "b", "c", "x", "y", "z"];
            assert_eq!(names(unix.find(&root, top).await.unwrap()), order);
            let (from, to) = (session.resolve("top").await.unwrap(), session.resolve("copy").await.unwrap());
            assert_eq!(unix.copy_tree(from, to).await.unwrap(), Moved { files: 3, bytes: 9 + 7 + 5 });
            assert_eq!(names(unix.find(&session.resolve("copy").await.unwrap(), dot).await.unwrap()), order);
            assert_eq!(unix.list(&root, top).await.unwrap(), 1 + 3);
            calls.reset();
            assert_eq!(unix.remove_tree(&root, top).await.unwrap(), 3);
            assert_eq!((calls.count("unlink"), calls.count("rmdir"), calls.count("lookup")), (3, 4, 7));
            assert!(session.resolve("top").await.is_err());
        });
        assert_eq!(calls.fs.lookups(), 0);
    }
}
