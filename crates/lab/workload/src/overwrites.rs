//! One large file, overwritten at random places: what a log turns into sequential writes (Rosenblum and Ousterhout
//! 1992, section 5.2).

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{self, Session};
use crate::program::Program;
use crate::registry::{Parameter, Values};
use crate::sequential::{LARGE, large_file, write_in_order};
use ordo_rt::Rng;
use ordo_vfs::FileSystem;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overwrites {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of one overwrite, which begins at a multiple of them; 1 to 2^20, and no more than the file has.
    pub block: u64,
    /// Overwrites.
    pub count: u64,
    /// The random seed.
    pub seed: u64,
}

/// Bytes of one transfer of the first phase.
const TRANSFER: u64 = 64 << 10;

impl Default for Overwrites {
    fn default() -> Overwrites {
        Overwrites { size: 100 << 20, block: 4096, count: 25_600, seed: 42 }
    }
}

impl Program for Overwrites {
    const NAME: &'static str = "overwrites";
    const WHAT: &'static str = "one large file: written, then overwritten at random places";

    fn parameters() -> Vec<Parameter> {
        let d = Overwrites::default();
        vec![
            Parameter::new("size", d.size, "bytes of the file"),
            Parameter::new("block", d.block, "bytes of one overwrite"),
            Parameter::new("count", d.count, "overwrites"),
            Parameter::new("seed", d.seed, "where the random numbers start"),
        ]
    }

    fn new(values: &Values) -> Overwrites {
        let [size, block, count, seed] = ["size", "block", "count", "seed"].map(|key| values.get(key));
        Overwrites { size, block, count, seed }
    }

    fn check(&self) -> Result<()> {
        if !(1..=1 << 20).contains(&self.block) || self.block > self.size {
            let why = "block must be between 1 and 1M, and no more than size";
            return Err(WorkloadError::Unusable { workload: Self::NAME, why });
        }
        Ok(())
    }

    /// The unit is the transfer. Each phase ends with an `fsync`, which is part of its time.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let file = large_file(session, base).await?;
        let sync = async || session.fs.fsync(file.node(), false).await.map_err(at("fsync", LARGE));
        let mut results = Vec::new();

        let mut phase = Phase::start("write", meter);
        write_in_order(session, &file, (self.size, TRANSFER), &mut phase).await?;
        sync().await?;
        results.push(phase.end());

        let (data, mut rng) = (paths::bytes(self.block, 2), Rng::new(self.seed));
        let mut phase = Phase::start("overwrite", meter);
        for _ in 0..self.count {
            let offset = rng.below(self.size / self.block) * self.block;
            session.write_at(&file, offset, &data).await.map_err(at("write", LARGE))?;
            phase.done(self.block);
        }
        sync().await?;
        results.push(phase.end());
        Ok(results)
    }
}
