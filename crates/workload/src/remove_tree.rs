//! A tree of files removed right after it was made (Ganger and Patt, OSDI 1994, section 3): `rm -r`, as [`Unix`] does
//! it.

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::Session;
use crate::program::Program;
use crate::registry::{Parameter, Values};
use crate::tree::Tree;
use crate::unix::{Costs, Unix};
use vfs::{FileSystem, Name};

/// It.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveTree {
    /// The tree that is removed.
    pub tree: Tree,
}

impl Program for RemoveTree {
    const NAME: &'static str = "remove-tree";
    const WHAT: &'static str = "a tree of files removed right after it was made";

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
        self.tree.make(session, &format!("{base}/tree")).await
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
    use crate::calls::Calls;
    use crate::meter::Reading;
    use model::{MemFs, ready};

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
