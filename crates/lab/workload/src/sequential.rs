//! One large file: written, overwritten, read.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{self, Session};
use crate::program::Program;
use crate::registry::{Parameter, Values};
use ordo_vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequential {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of one transfer, 1 to 2^30.
    pub transfer: u64,
    /// End the two phases that write with an `fsync`, which is part of their time.
    pub fsync: bool,
}

impl Default for Sequential {
    fn default() -> Sequential {
        Sequential { size: 100 << 20, transfer: 64 << 10, fsync: true }
    }
}

impl Program for Sequential {
    const NAME: &'static str = "sequential";
    const WHAT: &'static str = "one large file: written, overwritten, read";

    fn parameters() -> Vec<Parameter> {
        let d = Sequential::default();
        vec![
            Parameter::new("size", d.size, "bytes of the file"),
            Parameter::new("transfer", d.transfer, "bytes of one transfer"),
            Parameter::new("fsync", d.fsync.into(), "1: count an fsync after each phase that writes"),
        ]
    }

    fn new(values: &Values) -> Sequential {
        Sequential { size: values.get("size"), transfer: values.get("transfer"), fsync: values.get("fsync") != 0 }
    }

    fn check(&self) -> Result<()> {
        if !(1..=1 << 30).contains(&self.transfer) {
            let why = "transfer must be between 1 and 1G";
            return Err(WorkloadError::Unusable { workload: Self::NAME, why });
        }
        Ok(())
    }

    /// The unit is the transfer.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let path = "large";
        let name = Name::new(path.as_bytes()).map_err(at("name", path))?;
        let dir = session.resolve(base).await.map_err(at("lookup", base))?;
        let file = session.create(&dir, name).await.map_err(at("create", path))?;
        let data = paths::bytes(self.transfer, 1);
        let mut results = Vec::new();
        for (phase, writes) in [("write", true), ("rewrite", true), ("read", false)] {
            let mut phase = Phase::start(phase, meter);
            let mut offset = 0;
            while offset < self.size {
                let len = (self.size - offset).min(self.transfer);
                if writes {
                    let piece = &data[..len as usize];
                    session.write_at(&file, offset, piece).await.map_err(at("write", path))?;
                } else {
                    session.fs.read(file.node(), offset, len as u32).await.map_err(at("read", path))?;
                }
                offset += len;
                phase.done(len);
            }
            if writes && self.fsync {
                session.fs.fsync(file.node(), false).await.map_err(at("fsync", path))?;
            }
            results.push(phase.end());
        }
        Ok(results)
    }
}
