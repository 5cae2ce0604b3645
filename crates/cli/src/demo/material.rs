//! The material of the tour: a tree of files and the source of an archiver, both in this program; a C compiler, if the
//! machine has one.

use anyhow::Context;
use ordofs::rt::Rng;
use std::io;
use std::path::{Path, PathBuf};

/// The archiver `pak`: its headers and sources. `main` and `tests` each make a program of the others.
pub(crate) const PAK: [(&str, &str); 9] = [
    ("pak.h", include_str!("pak/pak.h")),
    ("buf.c", include_str!("pak/buf.c")),
    ("crc.c", include_str!("pak/crc.c")),
    ("bits.c", include_str!("pak/bits.c")),
    ("huffman.c", include_str!("pak/huffman.c")),
    ("lz.c", include_str!("pak/lz.c")),
    ("archive.c", include_str!("pak/archive.c")),
    ("main.c", include_str!("pak/main.c")),
    ("tests.c", include_str!("pak/tests.c")),
];

/// Files of a directory of the tree.
const A_DIRECTORY: usize = 20;
/// The largest file of the tree, in bytes; most are much smaller.
const LARGEST: u64 = 96 << 10;

/// The files of a tree, each with its path below the tree's root; directories above them are implied.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
}

impl Tree {
    /// Makes a tree of `files` files below `root`: text of `pak`, in sizes as in a tree of sources. The same number
    /// gives the same tree.
    ///
    /// # Errors
    /// Of the first file that cannot be written.
    pub(crate) fn make(root: &Path, files: usize) -> anyhow::Result<Tree> {
        let text: Vec<u8> = PAK.iter().flat_map(|(_, text)| text.bytes()).collect();
        let mut random = Rng::new(files as u64);
        let mut tree = Tree { root: root.to_owned(), files: Vec::new(), bytes: 0 };
        for n in 0..files {
            let name = PathBuf::from(format!("part{}/d{}/f{n}.c", n / A_DIRECTORY % 7, n / A_DIRECTORY));
            let path = root.join(&name);
            let above = path.parent().context("a file of the tree lies in a directory")?;
            std::fs::create_dir_all(above)?;
            // Of three numbers the product: many small files, and few large ones.
            let part = (0..3).fold(LARGEST, |len, _| len * random.below(1000) / 1000);
            let from = random.below(text.len() as u64) as usize;
            let bytes: Vec<u8> = text.iter().cycle().skip(from).take(part as usize).copied().collect();
            std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
            tree.bytes += part;
            tree.files.push(name);
        }
        Ok(tree)
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

/// A C compiler in the search path.
pub(crate) fn compiler() -> Option<PathBuf> {
    ["cc", "gcc", "clang"].into_iter().find_map(program)
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
    fn a_tree_is_the_same_each_time_and_is_copied_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two, copy] = ["one", "two", "copy"].map(|name| dir.path().join(name));
        let (tree, again) = (Tree::make(&one, 130).unwrap(), Tree::make(&two, 130).unwrap());
        assert_eq!((tree.files.len(), tree.bytes, &tree.files), (130, again.bytes, &again.files));
        tree.copy(&copy).unwrap();
        for file in &tree.files {
            let bytes = std::fs::read(one.join(file)).unwrap();
            assert!(
                bytes == std::fs::read(two.join(file)).unwrap() && bytes == std::fs::read(copy.join(file)).unwrap()
            );
        }
        assert!(tree.bytes > 130 * 1000, "{}", tree.bytes);
    }

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(program("sh").is_some());
        assert!(program("no such program").is_none());
    }
}
