//! The volume as it was after a transaction: the older versions that the group journals still have (logs-active-8).

use crate::disk::fill;
use crate::entry::{Frag, Old, Stamp};
use crate::layer::{Active, Layer};
use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, WritePart, read_len, write_len,
};
use std::ops::Range;

/// A transaction, by the number that the map gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Stamp);

/// An active disk as it was after a transaction. It cannot be written.
#[derive(Clone)]
pub struct Past {
    active: Active,
    at: Stamp,
    /// What is gone reads as it is now.
    mixed: bool,
}

/// What is known of a fragment at a moment.
enum Was {
    /// It had what it has now.
    Same,
    /// A group journal has what it had.
    Old(Old),
    /// It had something else, and that is gone.
    Gone,
    /// Nothing says that it was another than now.
    Unknown,
}

impl Active {
    /// The moments at which these bytes of the volume were about to change, as far as versions of them are left, the
    /// oldest first.
    pub fn moments(&self, at: DiskOff, len: u64) -> Vec<Moment> {
        let map = self.0.map.borrow();
        let mut all: Vec<Moment> =
            map.versions(self.0.frags(at, len)).map(|(_, _, old)| Moment(old.until.saturating_sub(1))).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The volume as it was at this moment.
    pub fn past(&self, moment: Moment) -> Past {
        Past { active: self.clone(), at: moment.0, mixed: false }
    }
}

impl Past {
    fn layer(&self) -> &Layer {
        &self.active.0
    }

    fn was(&self, frag: Frag) -> Was {
        let map = self.layer().map.borrow();
        let entry = map.get(frag);
        if entry.is_some_and(|entry| entry.since <= self.at) {
            return Was::Same;
        }
        let mut versions = map.versions(frag..frag + 1);
        match versions.find(|(_, since, old)| *since <= self.at && self.at < old.until) {
            Some((_, _, old)) => Was::Old(old),
            None if entry.is_some() => Was::Gone,
            None => Was::Unknown,
        }
    }

    /// The same, with the bytes of now in place of those that are gone: for who reads more than he takes, and asks
    /// [`Past::knows`] of all that he takes.
    #[must_use]
    pub fn mixed(&self) -> Past {
        Past { mixed: true, ..self.clone() }
    }

    /// Whether nothing says that these bytes were others than they are now.
    pub fn is_now(&self, at: DiskOff, len: u64) -> bool {
        self.layer().frags(at, len).all(|frag| matches!(self.was(frag), Was::Same | Was::Unknown))
    }

    /// Whether it is known what these bytes were.
    pub fn knows(&self, at: DiskOff, len: u64) -> bool {
        self.layer().frags(at, len).all(|frag| matches!(self.was(frag), Was::Same | Was::Old(_)))
    }

    async fn fragment(&self, frag: Frag) -> Result<Block, DiskError> {
        let layer = self.layer();
        let (home, len) = (layer.home(frag), layer.area.frag);
        let gone = || DiskError::new(DiskOp::Read, home, len, Cause::Rot);
        match self.was(frag) {
            Was::Gone if !self.mixed => Err(gone()),
            Was::Old(old) => {
                let block = layer.read_raw(layer.at_copy(old.copy), len).await?;
                if crc32c::crc32c(&block) == old.sum { Ok(block) } else { Err(gone()) }
            }
            Was::Same | Was::Unknown | Was::Gone => {
                let part = ReadPart { block: Block::unspecified(len as usize), tag: ordo_disk::Tag::default() };
                let mut parts = self.active.read(home, vec![part]).await?;
                parts.pop().map(|part| part.block).ok_or_else(gone)
            }
        }
    }

    fn refused(&self, op: DiskOp, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Err(DiskError::new(op, at, len, Cause::ReadOnly)))
    }
}

impl Disk for Past {
    fn info(&self) -> DiskInfo {
        DiskInfo { size: self.layer().disk.info().size, read_only: true, ..self.layer().disk.info() }
    }

    fn read(&self, at: DiskOff, mut parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let len = read_len(&parts);
        if let Err(error) = self.info().check(DiskOp::Read, at, len) {
            return DiskFuture::now(Err(error));
        }
        let past = self.clone();
        DiskFuture::later(async move {
            let frags: Range<Frag> = past.layer().frags(at, len);
            let first = frags.start * past.layer().area.frag;
            let mut bytes = Vec::new();
            for frag in frags {
                bytes.extend_from_slice(&past.fragment(frag).await?);
            }
            fill(&mut parts, &bytes[(at.0 - first) as usize..]);
            Ok(parts)
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, _: bool) -> DiskFuture<Result<(), DiskError>> {
        self.refused(DiskOp::Write, at, write_len(&parts))
    }

    fn announce(&self, _: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        self.refused(DiskOp::Write, DiskOff(0), 0)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.refused(DiskOp::Flush, DiskOff(0), 0)
    }

    fn positioning(&self, _: DiskOff, _: bool) -> Option<u64> {
        None
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.refused(DiskOp::Discard, at, len)
    }
}
