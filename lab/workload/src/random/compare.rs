//! Compares two trees.

use super::player::{OWN_FILES, Seen, hash};
use crate::paths::{Held, Session, join};
use ordo_vfs::{Error, FileSystem, Kind, Name, Refusal, Result, Whence};
use rustc_hash::FxHashMap;
use std::fmt::Debug;

/// The first difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("/{path}: {what}: {left} on the left, {right} on the right")]
pub struct Difference {
    /// Where.
    pub path: String,
    /// What was compared.
    pub what: String,
    /// What the first tree has.
    pub left: String,
    /// What the second tree has.
    pub right: String,
}

impl Difference {
    fn new(path: &str, what: &str, left: impl Debug, right: impl Debug) -> Difference {
        let (left, right) = (format!("{left:?}"), format!("{right:?}"));
        Difference { path: path.to_owned(), what: what.to_owned(), left, right }
    }
}

type Compared<T> = std::result::Result<T, Difference>;

/// Both results of one call, or the difference if one side refuses or fails.
fn both<L, R>(path: &str, what: &str, left: Result<L>, right: Result<R>) -> Compared<(L, R)> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (left, right) => Err(Difference::new(path, what, left.err(), right.err())),
    }
}

fn same<T: PartialEq + Debug>(path: &str, what: &str, left: T, right: T) -> Compared<()> {
    if left == right { Ok(()) } else { Err(Difference::new(path, what, left, right)) }
}

struct Pair<'a, A: FileSystem, B: FileSystem> {
    left: Session<'a, A>,
    right: Session<'a, B>,
    /// For files with several names: which file on the right corresponds to which on the left, and the reverse.
    links: FxHashMap<u64, u64>,
    links_back: FxHashMap<u64, u64>,
}

/// Walks both trees and compares names, kinds, attributes (without times), contents, targets, extended attributes, and
/// which names are the same file.
///
/// # Errors
/// The first difference, in order of names, directories after their names.
pub async fn compare_trees<A: FileSystem, B: FileSystem>(left: &A, right: &B) -> Compared<()> {
    let mut pair = Pair {
        left: Session::new(left),
        right: Session::new(right),
        links: FxHashMap::default(),
        links_back: FxHashMap::default(),
    };
    let roots = both("", "root", pair.left.root().await, pair.right.root().await)?;
    pair.file("", &roots).await?;
    let mut waiting = vec![(String::new(), roots)];
    while let Some((path, dirs)) = waiting.pop() {
        waiting.extend(pair.directory(&path, &dirs).await?);
    }
    Ok(())
}

type Dirs<'a, A, B> = (Held<'a, A>, Held<'a, B>);

impl<'a, A: FileSystem, B: FileSystem> Pair<'a, A, B> {
    /// Compares the contents of a directory, and returns its subdirectories.
    async fn directory(&mut self, path: &str, dirs: &Dirs<'a, A, B>) -> Compared<Vec<(String, Dirs<'a, A, B>)>> {
        let (left, right) = (self.left.list(&dirs.0).await, self.right.list(&dirs.1).await);
        let (mut left, mut right) = both(path, "readdir", left, right)?;
        if path.is_empty() {
            // A file of the volume itself, which no script made.
            left.retain(|(name, _)| !OWN_FILES.contains(&&name[..]));
            right.retain(|(name, _)| !OWN_FILES.contains(&&name[..]));
        }
        left.sort_unstable();
        right.sort_unstable();
        let names = |list: &[(Vec<u8>, u8)]| -> Vec<String> {
            list.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
        };
        same(path, "names", names(&left), names(&right))?;
        let mut below = Vec::new();
        for ((name, left_kind), (_, right_kind)) in left.iter().zip(&right) {
            let at = join(path, &String::from_utf8_lossy(name));
            let (name, _) = both(&at, "name", Name::new(name), Ok(()))?;
            let found = (self.left.lookup(&dirs.0, name).await, self.right.lookup(&dirs.1, name).await);
            let files = both(&at, "lookup", found.0, found.1)?;
            for (told, attr) in [(*left_kind, &files.0.attr), (*right_kind, &files.1.attr)] {
                if told != 0 {
                    same(&at, "kind in the directory and in the inode", told, attr.kind as u8)?;
                }
            }
            self.file(&at, &files).await?;
            if files.0.attr.kind == Kind::Directory {
                below.push((at, files));
            }
        }
        Ok(below)
    }

    async fn file(&mut self, path: &str, files: &Dirs<'a, A, B>) -> Compared<()> {
        let (left, right) = (&files.0.attr, &files.1.attr);
        same(path, "attributes", Seen::new(left), Seen::new(right))?;
        if left.kind != Kind::Directory && left.nlink > 1 {
            let known = *self.links.entry(left.ino).or_insert(right.ino);
            let known_back = *self.links_back.entry(right.ino).or_insert(left.ino);
            same(path, "which other names are this file", (known, known_back), (right.ino, left.ino))?;
        }
        let (fs, other) = (self.left.fs, self.right.fs);
        let (node, other_node) = (files.0.node(), files.1.node());
        match left.kind {
            Kind::Regular => self.contents(path, files, left.size).await?,
            Kind::Symlink => {
                let targets = both(path, "readlink", fs.readlink(node).await, other.readlink(other_node).await)?;
                same(path, "target", targets.0, targets.1)?;
            }
            _ => {}
        }
        let names = both(path, "listxattr", fs.listxattr(node).await, other.listxattr(other_node).await)?;
        let text = |mut names: Vec<Vec<u8>>| -> Vec<String> {
            names.sort_unstable();
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        };
        let names = (text(names.0), text(names.1));
        same(path, "names of extended attributes", &names.0, &names.1)?;
        for name in names.0 {
            let name = name.as_bytes();
            let values = (fs.getxattr(node, name).await, other.getxattr(other_node, name).await);
            let values = both(path, "getxattr", values.0, values.1)?;
            same(path, &format!("extended attribute {}", String::from_utf8_lossy(name)), values.0, values.1)?;
        }
        Ok(())
    }

    /// Compares contents where either side stores some; where neither does, both read as zeroes.
    async fn contents(&self, path: &str, files: &Dirs<'a, A, B>, size: u64) -> Compared<()> {
        let mut offset = 0;
        while offset < size {
            let left = next_data(self.left.fs, &files.0, offset, size).await;
            let right = next_data(self.right.fs, &files.1, offset, size).await;
            let next = both(path, "seek", left, right)?;
            let from = next.0.min(next.1).max(offset);
            let len = (size - from.min(size)).min(1 << 16) as u32;
            if len > 0 {
                let left = self.left.read_at(&files.0, from, len).await;
                let right = self.right.read_at(&files.1, from, len).await;
                let data = both(path, "read", left, right)?;
                let first = data.0.iter().zip(&data.1).position(|(left, right)| left != right).unwrap_or_default();
                let what = format!("length and hash of {len} bytes from {from}, first difference {first} in");
                let summary = |data: &[u8]| (data.len(), hash(data));
                same(path, &what, summary(&data.0), summary(&data.1))?;
            }
            offset = from + u64::from(len).max(1);
        }
        Ok(())
    }
}

/// The next stored byte, or the size; on a file system without this call, the offset itself.
async fn next_data<F: FileSystem>(fs: &F, file: &Held<'_, F>, offset: u64, size: u64) -> Result<u64> {
    match fs.seek(file.node(), offset, Whence::Data).await {
        Err(Error::Refused(Refusal::BeyondEnd)) => Ok(size),
        Err(Error::Refused(Refusal::NotSupported)) => Ok(offset),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Op, Player};
    use ordo_model::{MemFs, ready};
    use ordo_vfs::Caller;

    fn tree(script: &str) -> MemFs {
        let fs = MemFs::timeless();
        let mut player = Player::new(&fs, Caller::default());
        for line in script.split("; ") {
            let op: Op = line.parse().unwrap();
            ready(player.apply(&op));
        }
        drop(player);
        fs
    }

    fn check(left: &str, right: &str, wanted: &str) {
        let (left, right) = (tree(left), tree(right));
        let found = ready(compare_trees(&left, &right)).err().map(|difference| difference.to_string());
        assert!(
            found.clone().unwrap_or_default().starts_with(wanted) && found.is_some() != wanted.is_empty(),
            "{found:?}"
        );
        assert_eq!(left.lookups() + right.lookups(), 0);
    }

    #[test]
    fn each_kind_of_difference_is_found_and_named() {
        let base = "mkdir d 755; create d/a 644; write d/a 9000 10 1";
        check(base, base, "");
        check(base, "mkdir d 755", "/d: names");
        check(base, &format!("{base}; chmod d/a 600"), "/d/a: attributes");
        check(base, &format!("{base}; write d/a 9001 1 2"), "/d/a: length and hash");
        check(base, &format!("{base}; setxattr d/a user.x 1 1 set"), "/d/a: names of extended");
        check("symlink s x", "symlink s y", "/s: target");
        check("create a 644; setxattr a user.x 1 1 set", "create a 644; setxattr a user.x 1 2 set", "/a: extended");
    }

    #[test]
    fn names_linked_in_pairs_the_other_way_round_are_a_difference() {
        let make = "create a 644; create b 644";
        check(&format!("{make}; link a c; link b e"), &format!("{make}; link b c; link a e"), "/c: which other");
    }
}
