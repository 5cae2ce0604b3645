//! Copying a tree of files (Ganger and Patt, OSDI 1994, section 3): `cp -r`, as [`Unix`] does it.
//!
//! The paper does not give cp's transfer size. 8 KB is a block of its file system, and BSD's cp used it.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::Session;
use crate::program::Program;
use crate::tree::Tree;
use crate::unix::{Costs, Unix};
use ordo_vfs::FileSystem;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyTree {
    /// The tree that is copied.
    pub tree: Tree,
    /// Bytes of one read or write, 1 to 2^30.
    pub transfer: u64,
}

impl Default for CopyTree {
    fn default() -> CopyTree {
        CopyTree { tree: Tree::default(), transfer: 8192 }
    }
}

impl Program for CopyTree {
    const NAME: &'static str = "copy-tree";
    const WHAT: &'static str = "a tree of files copied";

    fn parameters() -> Vec<Parameter> {
        let mut parameters = Tree::parameters();
        parameters.push(Parameter::new("transfer", CopyTree::default().transfer, "bytes of one read or write"));
        parameters
    }

    fn new(values: &Values) -> CopyTree {
        CopyTree { tree: Tree::new(values), transfer: values.get("transfer") }
    }

    fn check(&self) -> Result<()> {
        if !(1..=1 << 30).contains(&self.transfer) {
            return Err(WorkloadError::Unusable { workload: Self::NAME, why: "transfer must be between 1 and 1G" });
        }
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
        let unix = Unix { session, costs: Costs::default(), transfer: self.transfer };
        let mut phase = Phase::start("copy", meter);
        let from = session.resolve(&source).await.map_err(at("lookup", &source))?;
        let to = session.mkdir_all(&copy).await.map_err(at("mkdir", &copy))?;
        let moved = unix.copy_tree(from, to).await.map_err(at("copy", &source))?;
        (phase.ops, phase.bytes) = (moved.files, moved.bytes);
        Ok(vec![phase.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};

    #[test]
    fn a_copy_has_the_bytes_of_its_source() {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        let program = CopyTree { tree: Tree { files: 35, mean: 5000, per_dir: 10, seed: 1 }, transfer: 512 };
        ready(async {
            program.prepare(&session, "b").await.unwrap();
            program.work(&session, "b", &Reading::default).await.unwrap();
            let mut sizes = [Vec::new(), Vec::new()];
            for (tree, sizes) in ["b/source", "b/copy"].into_iter().zip(&mut sizes) {
                session.walk(tree, |path, attr| sizes.push((path.to_owned(), attr.kind, attr.size))).await.unwrap();
            }
            assert_eq!(sizes[0], sizes[1]);
            assert_eq!(sizes[0].len(), 35 + 3);
            let path = "d1/d3/f34";
            let (from, to) = (format!("b/source/{path}"), format!("b/copy/{path}"));
            assert_eq!(session.read_file(&from).await.unwrap(), session.read_file(&to).await.unwrap());
        });
    }

    #[test]
    fn the_papers_tree_is_copied_in_so_many_calls() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let program = CopyTree::default();
        ready(program.prepare(&session, "b")).unwrap();
        calls.reset();
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        assert_eq!((results[0].ops, results[0].bytes), (535, 535 * (14_300_000 / 535)));
        let (writes, reads) = (calls.count("write"), calls.count("read"));
        assert_eq!((calls.count("mknod"), reads), (535, writes + 535), "one read more for each file");
        // Less than a whole transfer at the end of each file.
        let whole = results[0].bytes.div_ceil(8192);
        assert!((whole..whole + 535).contains(&writes), "{writes}");
        // 53 directories below the top, and the top itself by its path; a listing is a call, and one more for the end.
        assert_eq!((calls.count("mkdir"), calls.count("readdir")), (53 + 2, 2 * 54));
        // cp -r looks up every name; cp looks up both ends, then opens one; for a directory's copy it checks whether it
        // exists.
        assert_eq!(calls.count("lookup"), (535 + 53) + 3 * 535 + 53 + 3);
    }
}
