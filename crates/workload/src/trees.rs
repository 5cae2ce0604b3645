//! A tree of files copied, and a copied tree removed.
//!
//! After Ganger and Patt (OSDI 1994, section 3): 535 files of 14.3 MB in all; a tree is removed right after it was
//! copied. The paper gives neither directories nor sizes; here files lie ten to a directory, the directories in each
//! other two to one, and sizes are even between nothing and twice the mean.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{self, Held, Session};
use crate::rng::Rng;
use vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trees {
    /// Files in the tree.
    pub files: u64,
    /// Mean bytes of a file, at most 2^29.
    pub mean: u64,
    /// Where the random sizes start.
    pub seed: u64,
}

impl Default for Trees {
    fn default() -> Trees {
        Trees { files: 535, mean: 14_300_000 / 535, seed: 42 }
    }
}

/// Which half is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Copying the tree.
    Copy,
    /// Removing the copy.
    Remove,
}

const PER_DIR: u64 = 10;

/// Bytes of one transfer.
const TRANSFER: u64 = 64 << 10;

impl Trees {
    /// Makes a tree in the directory `base`, copies it and removes both. The unit is the file.
    pub async fn run<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        half: Half,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        if self.mean > 1 << 29 {
            return Err(WorkloadError::Unusable { workload: "copy-tree", why: "mean must not be above 512M" });
        }
        let (source, copy) = (format!("{base}/source"), format!("{base}/copy"));
        self.make(session, &source).await?;
        let mut copying = Phase::start("copy", meter);
        self.copy(session, &source, &copy, &mut copying).await?;
        let copying = copying.end();
        let mut removing = Phase::start("remove", meter);
        session.remove_tree(&copy).await.map_err(at("remove", &copy))?;
        removing.ops = self.files;
        let removing = removing.end();
        session.remove_tree(&source).await.map_err(at("remove", &source))?;
        Ok(vec![if half == Half::Copy { copying } else { removing }])
    }

    async fn make<F: FileSystem>(&self, session: &Session<'_, F>, source: &str) -> Result<()> {
        let mut rng = Rng::new(self.seed);
        let data = paths::bytes(2 * self.mean, self.seed);
        for dir_no in 0..self.dirs() {
            let path = dir_path(source, dir_no);
            drop(session.mkdir_all(&path).await.map_err(at("mkdir", &path))?);
            for file_no in self.files_of(dir_no) {
                let path = format!("{path}/f{file_no}");
                let size = rng.within(0, 2 * self.mean) as usize;
                session.write_file(&path, &data[..size]).await.map_err(at("write", &path))?;
            }
        }
        Ok(())
    }

    async fn copy<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        source: &str,
        copy: &str,
        phase: &mut Phase<'_>,
    ) -> Result<()> {
        for dir_no in 0..self.dirs() {
            let (from, to) = (dir_path(source, dir_no), dir_path(copy, dir_no));
            let from_dir = session.resolve(&from).await.map_err(at("lookup", &from))?;
            let to_dir = session.mkdir_all(&to).await.map_err(at("mkdir", &to))?;
            for file_no in self.files_of(dir_no) {
                let name = format!("f{file_no}");
                let copied = copy_file(session, &from_dir, &to_dir, &name).await;
                phase.done(copied.map_err(at("copy", &name))?);
            }
        }
        Ok(())
    }

    fn dirs(&self) -> u64 {
        self.files.div_ceil(PER_DIR).max(1)
    }

    fn files_of(&self, dir_no: u64) -> std::ops::Range<u64> {
        dir_no * PER_DIR..self.files.min((dir_no + 1) * PER_DIR)
    }
}

/// The directory with this number: number 0 is the top, and each holds two more.
fn dir_path(top: &str, dir_no: u64) -> String {
    if dir_no == 0 { top.to_owned() } else { format!("{}/d{dir_no}", dir_path(top, (dir_no - 1) / 2)) }
}

/// Copies one file and returns its size.
async fn copy_file<F: FileSystem>(
    session: &Session<'_, F>,
    from_dir: &Held<'_, F>,
    to_dir: &Held<'_, F>,
    name: &str,
) -> vfs::Result<u64> {
    let name = Name::new(name.as_bytes())?;
    let from = session.lookup(from_dir, name).await?;
    let to = session.create(to_dir, name).await?;
    let mut offset = 0;
    while offset < from.attr.size {
        for piece in session.fs.read(from.node(), offset, TRANSFER as u32).await? {
            session.write_at(&to, offset, &piece).await?;
            offset += piece.len() as u64;
        }
    }
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use model::{MemFs, ready};

    #[test]
    fn a_copy_has_the_bytes_of_its_source() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        let trees = Trees { files: 35, mean: 5000, seed: 1 };
        ready(async {
            trees.make(&session, "s").await.unwrap();
            let mut phase = Phase::start("copy", &Reading::default);
            trees.copy(&session, "s", "c", &mut phase).await.unwrap();
            let mut sizes = [Vec::new(), Vec::new()];
            for (tree, sizes) in ["s", "c"].into_iter().zip(&mut sizes) {
                session.walk(tree, |path, attr| sizes.push((path.to_owned(), attr.kind, attr.size))).await.unwrap();
            }
            assert_eq!(sizes[0], sizes[1]);
            assert_eq!(sizes[0].len(), 35 + 3);
            let path = "d1/d3/f34";
            let (from, to) = (format!("s/{path}"), format!("c/{path}"));
            assert_eq!(session.read_file(&from).await.unwrap(), session.read_file(&to).await.unwrap());
            assert_eq!(phase.ops, 35);
        });
    }
}
