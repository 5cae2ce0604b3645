//! Empty files created and deleted again, one at a time: the cost of one change of a directory.
//!
//! This is the micro-benchmark of Seltzer et al. (USENIX 2000, section 8.1) that creates and deletes 50,000 empty
//! files: no read misses, always the same directory and inode.

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::Session;
use crate::program::Program;
use ordo_vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateDelete {
    /// Pairs of a create and a delete.
    pub pairs: u64,
}

impl Default for CreateDelete {
    fn default() -> CreateDelete {
        CreateDelete { pairs: 50_000 }
    }
}

impl Program for CreateDelete {
    const NAME: &'static str = "create-delete";
    const WHAT: &'static str = "empty files made and removed, one at a time";

    fn parameters() -> Vec<Parameter> {
        vec![Parameter::new("pairs", CreateDelete::default().pairs, "pairs of a create and a delete")]
    }

    fn new(values: &Values) -> CreateDelete {
        CreateDelete { pairs: values.get("pairs") }
    }

    /// The unit is the pair.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let name = Name::new(b"empty").map_err(at("name", "empty"))?;
        let dir = session.resolve(base).await.map_err(at("lookup", base))?;
        let mut phase = Phase::start("create-delete", meter);
        for _ in 0..self.pairs {
            drop(session.create(&dir, name).await.map_err(at("create", "empty"))?);
            session.fs.unlink(dir.node(), name).await.map_err(at("unlink", "empty"))?;
            phase.done(0);
        }
        Ok(vec![phase.end()])
    }
}
