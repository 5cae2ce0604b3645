//! A tree of files copied (Ganger and Patt, OSDI 1994, section 3).

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{Held, Session};
use crate::program::Program;
use crate::registry::{Parameter, Values};
use crate::tree::{Tree, dir_path};
use vfs::{FileSystem, Name};

/// It.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyTree {
    /// The tree that is copied.
    pub tree: Tree,
}

/// Bytes of one transfer.
const TRANSFER: u64 = 64 << 10;

impl Program for CopyTree {
    const NAME: &'static str = "copy-tree";
    const WHAT: &'static str = "a tree of files copied";

    fn parameters() -> Vec<Parameter> {
        Tree::parameters()
    }

    fn new(values: &Values) -> CopyTree {
        CopyTree { tree: Tree::new(values) }
    }

    fn check(&self) -> Result<()> {
        self.tree.check(Self::NAME)
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        self.tree.make(session, &format!("{base}/source")).await
    }

    /// The unit is the file.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let (source, copy) = (format!("{base}/source"), format!("{base}/copy"));
        let mut phase = Phase::start("copy", meter);
        for dir_no in 0..self.tree.dirs() {
            let (from, to) = (dir_path(&source, dir_no), dir_path(&copy, dir_no));
            let from_dir = session.resolve(&from).await.map_err(at("lookup", &from))?;
            let to_dir = session.mkdir_all(&to).await.map_err(at("mkdir", &to))?;
            for file_no in self.tree.files_of(dir_no) {
                let name = format!("f{file_no}");
                let copied = copy_file(session, &from_dir, &to_dir, &name).await;
                phase.done(copied.map_err(at("copy", &name))?);
            }
        }
        Ok(vec![phase.end()])
    }
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
        let program = CopyTree { tree: Tree { files: 35, mean: 5000, seed: 1 } };
        ready(async {
            program.prepare(&session, "b").await.unwrap();
            let results = program.work(&session, "b", &Reading::default).await.unwrap();
            let mut sizes = [Vec::new(), Vec::new()];
            for (tree, sizes) in ["b/source", "b/copy"].into_iter().zip(&mut sizes) {
                session.walk(tree, |path, attr| sizes.push((path.to_owned(), attr.kind, attr.size))).await.unwrap();
            }
            assert_eq!(sizes[0], sizes[1]);
            assert_eq!(sizes[0].len(), 35 + 3);
            let path = "d1/d3/f34";
            let (from, to) = (format!("b/source/{path}"), format!("b/copy/{path}"));
            assert_eq!(session.read_file(&from).await.unwrap(), session.read_file(&to).await.unwrap());
            assert_eq!(results[0].ops, 35);
        });
    }
}
