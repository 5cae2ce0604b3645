//! A tree of files removed right after it was made (Ganger and Patt, OSDI 1994, section 3).

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::Session;
use crate::program::Program;
use crate::registry::{Parameter, Values};
use crate::tree::Tree;
use vfs::FileSystem;

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
        let path = format!("{base}/tree");
        let mut phase = Phase::start("remove", meter);
        session.remove_tree(&path).await.map_err(at("remove", &path))?;
        phase.ops = self.tree.files;
        Ok(vec![phase.end()])
    }
}
