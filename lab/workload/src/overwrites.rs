//! One large file, overwritten at random places: what a log turns into sequential writes (Rosenblum and Ousterhout
//! 1992, section 5.2).

use crate::error::{Result, WorkloadError};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::Session;
use crate::program::Program;
use crate::sequential::{Transfers, new_large};
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
        let file = &new_large(session, base).await?;
        let mut results = Vec::new();

        let transfers = Transfers { session, file, size: self.size, unit: TRANSFER };
        let mut phase = Phase::start("write", meter);
        transfers.write(transfers.in_order(), 1, &mut |bytes| phase.done(bytes)).await?;
        transfers.sync().await?;
        results.push(phase.end());

        let overwrites = Transfers { unit: self.block, ..transfers };
        let mut rng = Rng::new(self.seed);
        let offsets = (0..self.count).map(|_| rng.below(self.size / self.block) * self.block);
        let mut phase = Phase::start("overwrite", meter);
        overwrites.write(offsets, 2, &mut |bytes| phase.done(bytes)).await?;
        overwrites.sync().await?;
        results.push(phase.end());
        Ok(results)
    }
}
