//! The log of `block-journal` and `active`: whole blocks, in a journal of [`ordo_blockjournal`].

use super::log::{Capture, Log};
use super::marks::Marks;
use super::txn::Txn;
use crate::DataMode;
use ordo_blockjournal::{Commit, Journal, Options, Place, Seq, Transaction};
use ordo_buf::{Boxed, LogFile};
use ordo_disk::{ByteRange, DiskOff, Homeward, KeepsCopies};
use ordo_ondisk::redo::{self, Waiting};
use ordo_vfs::{Error, Result};
use std::rc::Rc;

/// One part in so many of the journal. When less is free, the journal is checkpointed before the next transaction is
/// written.
const SPARE: u64 = 16;

pub(crate) struct Blocks {
    journal: Journal,
    /// Bytes of a fragment: the unit of places, and the journal's own block.
    frag: u32,
    marks: Marks<Seq>,
    /// The disk below, if it is an active one.
    copies: Option<Rc<dyn KeepsCopies>>,
}

/// A transaction; and whether a replay would write another one, with its lists alone (journals-8).
pub(crate) struct Form {
    whole: Transaction,
    replay_writes: bool,
}

fn failed(error: impl Into<ordo_blockjournal::Error>) -> Error {
    let error = error.into();
    match &error {
        ordo_blockjournal::Error::Disk(disk) | ordo_blockjournal::Error::Failed(disk) => {
            Error::io(disk.clone()).told_as(error)
        }
        _ => Error::io(error),
    }
}

impl Blocks {
    /// Blocks of the journal that a transaction needs, with or without its images.
    fn cost(&self, form: &Transaction, with_images: bool) -> u64 {
        let block = self.frag as usize;
        let images: usize = form.blocks.iter().map(|(_, image)| image.len() / block).sum();
        let images = if with_images { images as u64 } else { 0 };
        self.journal.cost(images, form.revoked.len() as u64, form.note.len() as u64)
    }

    /// Blocks that wait to be freed: their contents are not needed any more.
    fn revoked(&self, capture: &Capture) -> Vec<ByteRange> {
        let frag = u64::from(self.frag);
        let runs = capture.waiting.iter().flat_map(|waiting| match waiting {
            Waiting::Blocks(runs) => runs.as_slice(),
            Waiting::Inode(..) => &[],
        });
        let freed = runs.map(|(at, frags)| (DiskOff(at.0 * frag), u64::from(*frags) * frag));
        // What has no end is on no disk.
        freed.chain(capture.void.iter().copied()).filter_map(|(at, len)| ByteRange::new(at, len)).collect()
    }
}

impl Log for Blocks {
    type Form = Form;

    fn begin(file: LogFile, data: DataMode) -> Boxed<'static, Result<(Blocks, u64)>> {
        Box::pin(async move {
            let place = Place::new(&file.on, &file.extents).map_err(failed)?;
            let id = file.on.rt().rng().next_u64();
            if let Some(copies) = &file.copies {
                // Before the journal that the map knows is gone.
                copies.begins(id, data == DataMode::Journal).await.map_err(Error::io)?;
            }
            Journal::make(&place, file.frag, id).await.map_err(failed)?;
            let (journal, _) = Journal::open(place, Options { commit: Commit::Together }).await.map_err(failed)?;
            let marks = Marks::new(Seq(journal.last().0 + 1));
            file.copies.iter().for_each(|copies| {
                journal.tell(copies.clone());
            });
            Ok((Blocks { journal, frag: file.frag, marks, copies: file.copies }, id))
        })
    }

    fn form(&self, capture: &Capture) -> Form {
        let (waiting, nameless) = (capture.waiting.clone(), capture.nameless.clone());
        let note = redo::Transaction { waiting, nameless, ..redo::Transaction::default() }.encode();
        let blocks = capture.blocks.iter().map(|block| (block.at, block.now.clone())).collect();
        let whole = Transaction { blocks, revoked: self.revoked(capture), note };
        Form { whole, replay_writes: !capture.nameless.is_empty() }
    }

    fn has_room_for(&self, form: &Form) -> bool {
        let lists = if form.replay_writes { self.cost(&form.whole, false) } else { 0 };
        self.journal.fits(self.cost(&form.whole, true) + lists)
    }

    fn is_full_for(&self, form: &Form) -> bool {
        !self.has_room_for(form) || !self.journal.fits(self.cost(&form.whole, true) + self.journal.size() / SPARE)
    }

    fn write(&self, txn: Txn, form: Form) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            let seq = self.journal.commit(form.whole).await.map_err(failed)?;
            self.marks.note(txn, seq, Seq(seq.0 + 1));
            Ok(())
        })
    }

    fn most(&self) -> usize {
        usize::try_from(self.journal.size() / 4 * u64::from(self.frag)).unwrap_or(usize::MAX)
    }

    fn is_short(&self) -> bool {
        self.journal.room() < self.journal.size() / 4
    }

    fn reclaim(&self, before: Txn, now: bool) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            // Each tail is a write of the superblock: not for a small gain.
            if !now && self.journal.room() > self.journal.size() * 3 / 4 {
                return Ok(());
            }
            let upto = Seq(self.marks.forget(before).0.saturating_sub(1));
            self.journal.checkpoint(upto).await.map_err(failed)
        })
    }

    fn settle(&self) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            match &self.copies {
                Some(copies) => copies.settle().await.map_err(Error::io),
                None => Ok(()),
            }
        })
    }

    fn go_home(&self, what: Homeward) -> Boxed<'_, Result<()>> {
        Box::pin(async move {
            match &self.copies {
                Some(copies) => copies.go_home(what).await.map_err(Error::io),
                None => Ok(()),
            }
        })
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counted = self.journal.counters();
        vec![
            ("log_bytes", counted.bytes),
            ("log_bytes_in_use", (self.journal.size() - self.journal.room()) * u64::from(self.frag)),
            ("log_superblocks", counted.superblocks),
        ]
    }
}
