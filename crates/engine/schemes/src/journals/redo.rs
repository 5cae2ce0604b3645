//! The log of `wafs` and `journal-file`: records of the bytes that changed, in a log of [`ordo_wafs`].

use super::log::{Capture, Log};
use super::marks::Marks;
use super::txn::{Captured, Txn};
use crate::DataMode;
use ordo_buf::{Boxed, InStream, LogFile};
use ordo_ondisk::redo::{self, Changed, Transaction};
use ordo_vfs::{Error, Result};
use ordo_wafs::AnyLog;
use ordo_wafs::stream::{Owner, StreamLog};
use std::cell::Cell;

/// One part in so many of the log. When less is free, the log is checkpointed before the next transaction is written.
const SPARE: u64 = 16;

pub(crate) struct Redo {
    log: AnyLog,
    /// The log has contents, too, and nothing is written past it.
    complete: bool,
    marks: Marks<ordo_wafs::Lsn>,
    bytes: Cell<u64>,
}

/// The bytes of a transaction; and the length of one with only its lists, if a replay would write that (journals-8).
pub(crate) struct Form {
    bytes: Vec<u8>,
    lists: Option<usize>,
}

impl Redo {
    /// On an empty log; with its id.
    fn on(log: AnyLog, complete: bool) -> (Redo, u64) {
        let (id, marks) = (log.id(), Marks::new(log.end()));
        (Redo { log, complete, marks, bytes: Cell::new(0) }, id)
    }

    /// Bytes of the log that a transaction of `bytes` bytes needs: each record begins with a header, the last one is
    /// padded to a unit, and the first may begin after the unit that a crash has left.
    fn room_for(&self, bytes: usize) -> u64 {
        let records = bytes.div_ceil(self.log.record_most().max(2) - 1) as u64;
        bytes as u64 + (records + 1) * 128 + 2 * u64::from(self.log.unit())
    }

    /// Bytes that must be free for it (journals-8).
    fn room_with_lists(&self, form: &Form) -> u64 {
        let lists = form.lists.map_or(0, |lists| self.room_for(lists) + u64::from(self.log.unit()));
        self.room_for(form.bytes.len()) + lists
    }
}

fn failed(error: impl Into<ordo_wafs::Error>) -> Error {
    let error = error.into();
    match &error {
        ordo_wafs::Error::Disk(disk) | ordo_wafs::Error::Failed(disk) => Error::io(disk.clone()).told_as(error),
        _ => Error::io(error),
    }
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
    type Form = Form;

    const IN_STREAM: bool = true;

    fn begin(file: LogFile, data: DataMode) -> Boxed<'static, Result<(Redo, u64)>> {
        Box::pin(async move {
            if let Some(InStream { stream, volume, before, untouched, all_logged }) = file.stream {
                let complete = all_logged && data == DataMode::Journal;
                let owner = Owner { volume, before, untouched, complete };
                let log = StreamLog::begin(file.on.rt(), stream, owner).await.map_err(failed)?;
                return Ok(Redo::on(AnyLog::Stream(log), complete));
            }
            let place = ordo_wafs::Place::new(&file.on, &file.extents).map_err(failed)?;
            let (make, mount) =
                (ordo_wafs::MakeOptions::default(), ordo_wafs::MountOptions { mode: ordo_wafs::Mode::Async });
            let log = ordo_wafs::Log::begin(place, make, mount).await.map_err(failed)?;
            Ok(Redo::on(AnyLog::Disk(log), false))
        })
    }

    fn form(&self, capture: &Capture) -> Form {
        let blocks = capture.blocks.iter().map(changed).collect();
        let void = capture.void.iter().map(|(at, len)| (at.0, *len)).collect();
        let (waiting, nameless) = (capture.waiting.clone(), capture.nameless.clone());
        let lists = Transaction { waiting, nameless, ..Transaction::default() };
        let replay_writes = (!lists.nameless.is_empty()).then(|| lists.encode().len());
        Form { lists: replay_writes, bytes: Transaction { blocks, void, ..lists }.encode() }
    }

    fn has_room_for(&self, form: &Form) -> bool {
        let space = self.log.space();
        space.free + space.reclaimable >= self.room_with_lists(form)
    }

    fn is_full_for(&self, form: &Form) -> bool {
        let space = self.log.space();
        let spare = self.room_for(form.bytes.len()) + space.size / SPARE;
        !self.has_room_for(form) || space.free + space.reclaimable < spare
    }

    fn write(&self, txn: Txn, form: Form) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            // Room reclaimed only in memory would be lost in a crash.
            if form.lists.is_some() && self.log.space().free < self.room_with_lists(&form) {
                self.log.checkpoint().await.map_err(failed)?;
            }
            let form = form.bytes;
            let mut first = None;
            for part in redo::parts(&form, self.log.record_most()) {
                let lsn = self.log.append(&part).await.map_err(failed)?;
                first.get_or_insert(lsn);
            }
            self.log.force(self.log.last()).await.map_err(failed)?;
            self.bytes.set(self.bytes.get() + form.len() as u64);
            first.into_iter().for_each(|lsn| self.marks.note(txn, lsn, self.log.end()));
            Ok(())
        })
    }

    fn most(&self) -> usize {
        usize::try_from(self.log.space().size / 2).unwrap_or(usize::MAX)
    }

    /// Contents that find no room go past the log (journals-7), and who follows it would not get them: with so much
    /// room left for a call that does not happen, unless the call is very large.
    fn most_before_a_call(&self) -> usize {
        if self.complete { self.most() / 4 } else { self.most() }
    }

    fn end_here(&self) -> Boxed<'_, Result<()>> {
        Box::pin(async move { self.log.end_here().await.map_err(failed) })
    }

    fn is_short(&self) -> bool {
        let space = self.log.space();
        space.free + space.reclaimable < space.size / 2
    }

    fn reclaim(&self, before: Txn, now: bool) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            // Nobody reclaims before the mount has written its superblock.
            self.log.named();
            self.log.reclaim(self.marks.forget(before)).map_err(failed)?;
            if now { self.log.checkpoint().await.map_err(failed) } else { Ok(()) }
        })
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let space = self.log.space();
        vec![("log_bytes", self.bytes.get()), ("log_bytes_in_use", space.size - space.free - space.reclaimable)]
    }
}
