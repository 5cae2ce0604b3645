//! The tree that is copied and removed.
//!
//! After Ganger and Patt (OSDI 1994, section 3): 535 files of 14.3 MB in total, taken from a user's home directory. The
//! paper gives neither directories nor sizes; by default there are ten files to a directory here, and each directory
//! has two subdirectories. Sizes are uniform between zero and twice the mean, in pairs with a sum of two means, so that
//! trees of different seeds differ in their files and not in their bytes.

use crate::contents;
use crate::error::{Result, WorkloadError, at};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Session};
use ordo_rt::Rng;
use ordo_vfs::FileSystem;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// Files in the tree.
    pub files: u64,
    /// Mean bytes of a file, at most 2^29.
    pub mean: u64,
    /// Files in one directory, at least 1.
    pub per_dir: u64,
    /// The random seed for sizes.
    pub seed: u64,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { files: 535, mean: 14_300_000 / 535, per_dir: 10, seed: 42 }
    }
}

impl Tree {
    pub(crate) fn parameters() -> Vec<Parameter> {
        let d = Tree::default();
        vec![
            Parameter::new("files", d.files, "files in the tree"),
            Parameter::new("mean", d.mean, "mean bytes of a file"),
            Parameter::new("per_dir", d.per_dir, "files in one directory"),
            Parameter::new("seed", d.seed, "where the random sizes start"),
        ]
    }

    pub(crate) fn new(values: &Values) -> Tree {
        Tree {
            files: values.get("files"),
            mean: values.get("mean"),
            per_dir: values.get("per_dir"),
            seed: values.get("seed"),
        }
    }

    pub(crate) fn check(&self, workload: &'static str) -> Result<()> {
        if self.mean > 1 << 29 {
            return Err(WorkloadError::Unusable { workload, why: "mean must not be above 512M" });
        }
        if self.per_dir == 0 {
            return Err(WorkloadError::Unusable { workload, why: "per_dir must be at least 1" });
        }
        Ok(())
    }

    /// Makes it at `top`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) async fn make<F: FileSystem>(&self, session: &Session<'_, F>, top: &str) -> Result<()> {
        let sizes = contents::sizes(&mut Rng::new(self.seed), self.files, self.mean, self.mean);
        let data = paths::bytes(2 * self.mean, self.seed);
        for dir_no in 0..self.dirs() {
            let path = dir_path(top, dir_no);
            drop(session.mkdir_all(&path).await.map_err(at("mkdir", &path))?);
            for file_no in self.files_of(dir_no) {
                let path = format!("{path}/f{file_no}");
                let size = sizes[file_no as usize] as usize;
                session.write_file(&path, &data[..size]).await.map_err(at("write", &path))?;
            }
        }
        Ok(())
    }

    fn dirs(&self) -> u64 {
        self.files.div_ceil(self.per_dir).max(1)
    }

    fn files_of(&self, dir_no: u64) -> std::ops::Range<u64> {
        dir_no * self.per_dir..self.files.min((dir_no + 1) * self.per_dir)
    }
}

/// The directory with this number: number 0 is the top, and each has two subdirectories.
fn dir_path(top: &str, dir_no: u64) -> String {
    if dir_no == 0 { top.to_owned() } else { format!("{}/d{dir_no}", dir_path(top, (dir_no - 1) / 2)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::{MemFs, ready};
    use ordo_vfs::Kind;

    /// Ganger and Patt, section 3: 535 files, 14.3 MB.
    #[test]
    fn the_tree_is_that_of_the_paper_for_every_seed() {
        for seed in [42, 43] {
            let fs = MemFs::timeless();
            let session = Session::new(&fs);
            let (mut files, mut dirs, mut bytes) = (0, 0, 0);
            ready(async {
                Tree { seed, ..Tree::default() }.make(&session, "t").await.unwrap();
                let see = |_: &str, attr: &ordo_vfs::Attr| match attr.kind {
                    Kind::Directory => dirs += 1,
                    _ => (files, bytes) = (files + 1, bytes + attr.size),
                };
                session.walk("t", see).await.unwrap();
            });
            assert_eq!((files, dirs, bytes), (535, 53, 535 * (14_300_000 / 535)));
        }
    }
}
