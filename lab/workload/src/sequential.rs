//! One large file: written, overwritten, read.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use ordo_vfs::{FileSystem, Name};

/// The name of the large file.
pub(crate) const LARGE: &str = "large";

/// A new file of this name.
pub(crate) async fn new_large<'a, F: FileSystem>(session: &Session<'a, F>, base: &str) -> Result<Held<'a, F>> {
    let name = Name::new(LARGE.as_bytes()).map_err(at("name", LARGE))?;
    let dir = session.resolve(base).await.map_err(at("lookup", base))?;
    session.create(&dir, name).await.map_err(at("create", LARGE))
}

/// The large file, and how it is gone through.
pub(crate) struct Transfers<'s, 'a, F: FileSystem> {
    pub(crate) session: &'s Session<'a, F>,
    pub(crate) file: &'s Held<'a, F>,
    /// Bytes of the file.
    pub(crate) size: u64,
    /// Bytes of one transfer, 1 to 2^30; the one at the end of the file may be shorter.
    pub(crate) unit: u64,
}

impl<F: FileSystem> Transfers<'_, '_, F> {
    /// The offsets of all transfers, in order.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = u64> + use<F> {
        (0..self.size).step_by(self.unit as usize)
    }

    fn len(&self, offset: u64) -> u64 {
        (self.size - offset).min(self.unit)
    }

    /// Writes at each of `offsets` the same bytes, which `contents` chooses; calls `done` with the bytes of each write.
    pub(crate) async fn write(
        &self,
        offsets: impl Iterator<Item = u64>,
        contents: u64,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let data = paths::bytes(self.unit, contents);
        for offset in offsets {
            let len = self.len(offset);
            self.session.write_at(self.file, offset, &data[..len as usize]).await.map_err(at("write", LARGE))?;
            done(len);
        }
        Ok(())
    }

    /// Reads at each of `offsets`; calls `done` with the bytes of each read.
    pub(crate) async fn read(&self, offsets: impl Iterator<Item = u64>, done: &mut dyn FnMut(u64)) -> Result<()> {
        for offset in offsets {
            let len = self.len(offset);
            self.session.fs.read(self.file.node(), offset, len as u32).await.map_err(at("read", LARGE))?;
            done(len);
        }
        Ok(())
    }

    /// Makes the file durable.
    pub(crate) async fn sync(&self) -> Result<()> {
        self.session.fs.fsync(self.file.node(), false).await.map_err(at("fsync", LARGE))
    }
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
        let file = &new_large(session, base).await?;
        let transfers = Transfers { session, file, size: self.size, unit: self.transfer };
        let mut results = Vec::new();
        for (phase, writes) in [("write", true), ("rewrite", true), ("read", false)] {
            let mut phase = Phase::start(phase, meter);
            let done = &mut |bytes| phase.done(bytes);
            if writes {
                transfers.write(transfers.in_order(), 1, done).await?;
            } else {
                transfers.read(transfers.in_order(), done).await?;
            }
            if writes && self.fsync {
                transfers.sync().await?;
            }
            results.push(phase.end());
        }
        Ok(results)
    }
}
