//! Removing a tree of files right after it was copied (Ganger and Patt, OSDI 1994, section 3): `rm -r`, as [`Unix`]
//! does it.

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::Session;
use crate::program::Program;
use crate::tree::Tree;
use crate::unix::{Costs, Unix};
use ordo_vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveTree {
    /// The tree that is removed.
    pub tree: Tree,
}

/// Bytes of one transfer of the copy.
const TRANSFER: u64 = 8192;

impl Program for RemoveTree {
    const NAME: &'static str = "remove-tree";
    const WHAT: &'static str = "a tree of files removed right after it was copied";

    fn parameters() -> Vec<Parameter> {
        Tree::parameters()
    }

    fn new(values: &Values) -> RemoveTree {
        RemoveTree { tree: Tree::new(values) }
    }

    fn check(&self) -> Result<()> {
        self.tree.check(Self::NAME)
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        // The copy is removed: the state of the cache after making it is part of the measurement.
        let (source, copy) = (format!("{base}/source"), format!("{base}/tree"));
        self.tree.make(session, &source).await?;
        let to = session.mkdir_all(&copy).await.map_err(at("mkdir", &copy))?;
        let from = session.resolve(&source).await.map_err(at("lookup", &source))?;
        let unix = Unix { session, costs: Costs::default(), transfer: TRANSFER };
        unix.copy_tree(from, to).await.map_err(at("copy", &source))?;
        Ok(())
    }

    /// The unit is the file.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        // Nothing is read or written, so there is no transfer.
        let unix = Unix { session, costs: Costs::default(), transfer: 0 };
        let mut phase = Phase::start("remove", meter);
        let dir = session.resolve(base).await.map_err(at("lookup", base))?;
        let name = Name::new(b"tree").map_err(at("name", "tree"))?;
        phase.ops = unix.remove_tree(&dir, name).await.map_err(at("remove", "tree"))?;
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
    fn the_papers_tree_is_removed_in_so_many_calls() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let program = RemoveTree::default();
        ready(program.prepare(&session, "b")).unwrap();
        calls.reset();
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        assert_eq!(results[0].ops, 535);
        assert_eq!((calls.count("unlink"), calls.count("rmdir"), calls.count("readdir")), (535, 54, 2 * 54));
        assert_eq!(calls.count("lookup"), 1 + 535 + 54, "the base, and each name once");
    }
}
