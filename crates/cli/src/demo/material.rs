//! The material of the tour, if this machine has it: a real tree, SQLite's source, a C compiler.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// Limits of the tree: the tour should take two minutes.
const FILES_MAX: usize = 4000;
const BYTES_MAX: u64 = 48 << 20;

/// The files of a tree, each with its path below the tree's root and its size; directories above them are implied.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
}

impl Tree {
    /// The first tree that exists: the sources of Rust packages, otherwise the system's C headers.
    pub(crate) fn find() -> Option<Tree> {
        let sources = registry().into_iter();
        sources.chain([PathBuf::from("/usr/include")]).map(|root| Tree::of(&root)).find(|tree| tree.files.len() > 100)
    }

    /// Plain files below `root` in the order of their names, up to the bounds.
    fn of(root: &Path) -> Tree {
        let mut tree = Tree { root: root.to_owned(), files: Vec::new(), bytes: 0 };
        let mut waiting = VecDeque::from([PathBuf::new()]);
        while let Some(dir) = waiting.pop_front() {
            // What cannot be read is not copied either.
            let Ok(entries) = std::fs::read_dir(root.join(&dir)) else { continue };
            let mut entries: Vec<_> = entries.flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let Ok(kind) = entry.metadata() else { continue };
                let path = dir.join(entry.file_name());
                if kind.is_dir() {
                    waiting.push_back(path);
                } else if kind.is_file() && kind.len() < 1 << 20 {
                    if tree.files.len() == FILES_MAX || tree.bytes + kind.len() > BYTES_MAX {
                        return tree;
                    }
                    tree.bytes += kind.len();
                    tree.files.push(path);
                }
            }
        }
        tree
    }

    /// Copies it below `to`, which is made.
    ///
    /// # Errors
    /// Of the first file that cannot be copied.
    pub(crate) fn copy(&self, to: &Path) -> io::Result<()> {
        std::fs::create_dir(to)?;
        for file in &self.files {
            let target = to.join(file);
            if let Some(above) = target.parent() {
                std::fs::create_dir_all(above)?;
            }
            std::fs::copy(self.root.join(file), &target)?;
        }
        Ok(())
    }
}

/// Where cargo keeps the sources of packages.
fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let mut sources: Vec<_> = std::fs::read_dir(home.join("registry/src")).ok()?.flatten().map(|e| e.path()).collect();
    sources.sort();
    sources.into_iter().next()
}

/// The directory with SQLite in one file, from the package libsqlite3-sys.
pub(crate) fn sqlite() -> Option<PathBuf> {
    let packages = std::fs::read_dir(registry()?).ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = packages
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libsqlite3-sys-")))
        .map(|path| path.join("sqlite3"))
        .filter(|path| path.join("sqlite3.c").is_file() && path.join("sqlite3.h").is_file())
        .collect();
    found.sort();
    found.pop()
}

/// A program in the search path.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_copied_as_it_is_listed() {
        let from = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(from.path().join("a/b")).unwrap();
        for name in ["a/b/y", "a/x", "z"] {
            std::fs::write(from.path().join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/etc", from.path().join("link")).unwrap();
        let tree = Tree::of(from.path());
        assert_eq!((tree.files.len(), tree.bytes), (3, 9));
        let to = tempfile::tempdir().unwrap();
        tree.copy(&to.path().join("copy")).unwrap();
        assert_eq!(std::fs::read_to_string(to.path().join("copy/a/b/y")).unwrap(), "a/b/y");
        assert!(!to.path().join("copy/link").exists());
    }

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(program("sh").is_some());
        assert!(program("no such program").is_none());
    }
}
