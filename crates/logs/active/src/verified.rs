//! The bytes of a volume as the map of its active journal proves them, for somebody who is not its writer: a judge, or
//! a server of the whole disk.
//!
//! V1. A home that is wrong is read from a copy, and nothing is written for that: the disk may have another writer's
//!     lock, and the judge may have been told to change nothing.
//! V2. What was written through this disk is read as it is there: the map has what was there before, and would take the
//!     new bytes for rot.

use crate::Active;
use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Extent, ReadPart, WritePart, read_len, write_len,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a read of a place gives that is nowhere right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NowhereRight {
    /// An error: nobody may take the bytes for right.
    IsAnError,
    /// The bytes as they are, for who judges them by himself.
    IsAsItIs,
}

/// A disk whose reads are verified.
pub struct Verified {
    /// It only reads.
    active: Active,
    below: Rc<dyn Disk>,
    nowhere: NowhereRight,
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Bytes that were written: where each range begins, and its end.
    written: RefCell<BTreeMap<u64, u64>>,
    /// Reads that met a place that is nowhere right.
    unproven: Cell<u64>,
}

impl Shared {
    fn was_written(&self, from: u64, to: u64) -> bool {
        let written = self.written.borrow();
        written.range(..to).next_back().is_some_and(|(_, end)| *end > from)
    }

    /// Ranges that meet become one, so that the last that begins before a place is the one that may reach it.
    fn note(&self, mut from: u64, mut to: u64) {
        let mut written = self.written.borrow_mut();
        while let Some((&start, &end)) = written.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            written.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        written.insert(from, to);
    }
}

impl Verified {
    /// A disk over `below` with the map of `active`, which was opened over the same disk for reading only.
    pub fn new(active: Active, below: Rc<dyn Disk>, nowhere: NowhereRight) -> Verified {
        Verified { active, below, nowhere, shared: Rc::default() }
    }

    /// How many reads met a place that is nowhere right, and gave it as it is.
    pub fn unproven(&self) -> impl Fn() -> u64 + use<> {
        let shared = self.shared.clone();
        move || shared.unproven.get()
    }
}

impl Disk for Verified {
    fn info(&self) -> DiskInfo {
        self.below.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let end = at.0.saturating_add(read_len(&parts));
        if self.shared.was_written(at.0, end) || end > self.info().size {
            return self.below.read(at, parts);
        }
        if self.nowhere == NowhereRight::IsAnError {
            return self.active.read(at, parts);
        }
        let again: Vec<_> =
            parts.iter().map(|part| ReadPart { block: Block::zeroed(part.block.len()), tag: part.tag }).collect();
        let (proven, below, shared) = (self.active.read(at, parts), self.below.clone(), self.shared.clone());
        DiskFuture::later(async move {
            match proven.await {
                Err(error) if error.cause == Cause::Rot => {
                    shared.unproven.set(shared.unproven.get() + 1);
                    below.read(at, again).await
                }
                done => done,
            }
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.shared.note(at.0, at.0.saturating_add(write_len(&parts)));
        self.below.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.below.flush()
    }

    fn announce(&self, ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        self.below.announce(ranges)
    }

    fn keeps_snapshots(&self) -> bool {
        self.below.keeps_snapshots()
    }

    fn is_fenced(&self) -> bool {
        self.below.is_fenced()
    }

    fn hold(&self, lease: &ordo_disk::fence::Lease) {
        self.below.hold(lease);
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        self.below.extents(at, len)
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.shared.note(at.0, at.0.saturating_add(len));
        self.below.discard(at, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_become_one() {
        let shared = Shared::default();
        for (from, to) in [(10, 20), (30, 40), (50, 60), (15, 31), (0, 5)] {
            shared.note(from, to);
        }
        assert_eq!(*shared.written.borrow(), BTreeMap::from([(0, 5), (10, 40), (50, 60)]));
        let asked = [(5, 10), (4, 6), (39, 41), (40, 50), (45, 51), (60, 99), (0, 99)];
        assert_eq!(asked.map(|(from, to)| shared.was_written(from, to)), [false, true, true, false, true, false, true]);
    }
}
