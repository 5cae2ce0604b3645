//! One large file: written, overwritten, read.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use crate::registry::{Parameter, Values};
use ordo_vfs::{FileSystem, Name};

/// The name of the large file.
pub(crate) const LARGE: &str = "large";

/// A new file of this name.
pub(crate) async fn large_file<'a, F: FileSystem>(session: &Session<'a, F>, base: &str) -> Result<Held<'a, F>> {
    let name = Name::new(LARGE.as_bytes()).map_err(at("name", LARGE))?;
    let dir = session.resolve(base).await.map_err(at("lookup", base))?;
    session.create(&dir, name).await.map_err(at("create", LARGE))
}

/// Writes the file from its beginning on, `size` bytes; the unit of the phase is the transfer.
pub(crate) async fn write_in_order<F: FileSystem>(
    session: &Session<'_, F>,
    file: &Held<'_, F>,
    (size, transfer): (u64, u64),
    phase: &mut Phase<'_>,
) -> Result<()> {
    let data = paths::bytes(transfer, 1);
    for offset in (0..size).step_by(transfer as usize) {
        let len = (size - offset).min(transfer);
        session.write_at(file, offset, &data[..len as usize]).await.map_err(at("write", LARGE))?;
        phase.done(len);
    }
    Ok(())
}

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
        let file = large_file(session, base).await?;
        let mut results = Vec::new();
        for (phase, writes) in [("write", true), ("rewrite", true), ("read", false)] {
            let mut phase = Phase::start(phase, meter);
            if writes {
                write_in_order(session, &file, (self.size, self.transfer), &mut phase).await?;
            } else {
                for offset in (0..self.size).step_by(self.transfer as usize) {
                    let len = (self.size - offset).min(self.transfer);
                    session.fs.read(file.node(), offset, len as u32).await.map_err(at("read", LARGE))?;
                    phase.done(len);
                }
            }
            if writes && self.fsync {
                session.fs.fsync(file.node(), false).await.map_err(at("fsync", LARGE))?;
            }
            results.push(phase.end());
        }
        Ok(results)
    }
}
