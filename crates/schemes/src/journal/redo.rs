//! The log of `wafs` and `journal-file`: records of the bytes that changed, in a log of [`wafs`].

use super::log::{Capture, Log};
use super::marks::Marks;
use super::{Captured, Txn};
use buf::{Boxed, LogFile};
use ondisk::redo::{self, Changed, Transaction};
use std::cell::Cell;
use vfs::{Error, Result};

/// What is kept free of the log, one part in so many, for replay's own transaction.
const KEPT: u64 = 16;

pub(crate) struct Redo {
    log: wafs::Log,
    marks: Marks<wafs::Lsn>,
    bytes: Cell<u64>,
}

fn failed(error: wafs::Error) -> Error {
    Error::io(error)
}

fn changed(captured: &Captured) -> Changed {
    let Captured { at, before, now } = captured;
    let pieces = match before {
        Some(before) => redo::differences(before, now),
        None => redo::pieces_of(now),
    };
    Changed { at: at.0, len: now.len() as u32, fresh: before.is_none(), pieces }
}

impl Log for Redo {
    type Form = Vec<u8>;

    fn begin(file: LogFile) -> Boxed<'static, Result<(Redo, u64)>> {
        Box::pin(async move {
            let place = wafs::Place::parts(&file.on, &file.extents).map_err(failed)?;
            let (make, mount) = (wafs::MakeOptions::default(), wafs::MountOptions { mode: wafs::Mode::Async });
            let log = wafs::Log::begin(place, make, mount).await.map_err(failed)?;
            let id = log.id();
            Ok((Redo { log, marks: Marks::default(), bytes: Cell::new(0) }, id))
        })
    }

    fn form(&self, capture: &Capture) -> Vec<u8> {
        let blocks = capture.blocks.iter().map(changed).collect();
        let (waiting, nameless) = (capture.waiting.clone(), capture.nameless.clone());
        let void = capture.void.iter().map(|(at, len)| (at.0, *len)).collect();
        Transaction { blocks, waiting, nameless, void }.encode()
    }

    fn is_full_for(&self, form: &Vec<u8>) -> bool {
        let space = self.log.space();
        // Each record begins with a header, and the last one is padded to a unit.
        let records = form.len().div_ceil(self.log.record_most().max(2) - 1) as u64;
        let needed = form.len() as u64 + (records + 1) * 128 + 2 * u64::from(self.log.unit());
        space.free + space.reclaimable < needed + space.size / KEPT
    }

    fn write(&self, txn: Txn, form: Vec<u8>) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            let mut first = None;
            for part in redo::parts(&form, self.log.record_most()) {
                let lsn = self.log.append_patiently(&part).await.map_err(failed)?;
                first.get_or_insert(lsn);
            }
            self.log.force(self.log.last()).await.map_err(failed)?;
            self.bytes.set(self.bytes.get() + form.len() as u64);
            first.into_iter().for_each(|lsn| self.marks.note(txn, lsn));
            Ok(())
        })
    }

    fn most(&self) -> usize {
        usize::try_from(self.log.space().size / 2).unwrap_or(usize::MAX)
    }

    fn is_short(&self) -> bool {
        let space = self.log.space();
        space.free + space.reclaimable < space.size / 2
    }

    fn reclaim(&self, before: Txn, now: bool) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            let low = self.marks.forget(before).unwrap_or(self.log.end());
            self.log.reclaim(low).map_err(failed)?;
            if now { self.log.checkpoint().await.map_err(failed) } else { Ok(()) }
        })
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let space = self.log.space();
        vec![("log_bytes", self.bytes.get()), ("log_bytes_in_use", space.size - space.free - space.reclaimable)]
    }
}
