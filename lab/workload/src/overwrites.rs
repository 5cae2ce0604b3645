//! One large file, overwritten at random places: what a log turns into sequential writes (Rosenblum and Ousterhout
//! 1992, section 5.2).

use crate::error::Result;
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::Session;
use crate::program::Program;
use crate::sequential::{Transfers, new_large};
use ordo_rt::Rng;
use ordo_vfs::FileSystem;

table! {
    /// Its parameters.
    pub struct Overwrites {
        size: u64 = 100 << 20, "bytes of the file";
        block: u64 = 4096, "bytes of one overwrite";
        count: u64 = 25_600, "overwrites";
        seed: u64 = 42, "where the random numbers start";
    }
}

/// Bytes of one transfer of the first phase.
const TRANSFER: u64 = 64 << 10;

impl Program for Overwrites {
    const NAME: &'static str = "overwrites";
    const WHAT: &'static str = "one large file: written, then overwritten at random places";

    fn check(&self) -> Result<()> {
        Self::must(
            (1..=1 << 20).contains(&self.block) && self.block <= self.size,
            "block must be between 1 and 1M, and no more than size",
        )
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
