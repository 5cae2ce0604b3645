//! One large file: written, written over, read.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{self, Session};
use vfs::{FileSystem, Name};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequential {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of one transfer, 1 to 2^30.
    pub transfer: u64,
    /// End the two phases that write with an `fsync`, and count it in them.
    pub fsync: bool,
}

impl Default for Sequential {
    fn default() -> Sequential {
        Sequential { size: 100 << 20, transfer: 64 << 10, fsync: true }
    }
}

impl Sequential {
    /// Runs it in the directory `base`, which is made if it is missing. The unit is the transfer.
    pub async fn run<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        if !(1..=1 << 30).contains(&self.transfer) {
            let why = "transfer must be between 1 and 1G";
            return Err(WorkloadError::Unusable { workload: "sequential", why });
        }
        let path = "large";
        let name = Name::new(path.as_bytes()).map_err(at("name", path))?;
        let dir = session.mkdir_all(base).await.map_err(at("mkdir", base))?;
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
        session.fs.unlink(dir.node(), name).await.map_err(at("unlink", path))?;
        Ok(results)
    }
}
