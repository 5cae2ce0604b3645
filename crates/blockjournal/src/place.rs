//! Where a journal lies: extents of a disk, in order, as one line of bytes.

use crate::Error;
use crate::superblock::{FIRST, SLOT, SUPERBLOCK, Superblock};
use disk::{Block, Cause, Disk, DiskError, DiskOff, DiskOp, Kind, Queue, QueueOptions, Written};
use rt::Rt;
use std::rc::Rc;

/// The place of a journal: parts of the disk that a queue serves, in order. A file's blocks on a volume go through the
/// volume's own queue, for only one may stand on a disk.
#[derive(Clone)]
pub struct Place {
    queue: Queue,
    extents: Rc<[Extent]>,
    len: u64,
}

/// Neighbours are one extent.
struct Extent {
    /// Its first byte in the place.
    from: u64,
    at: DiskOff,
    len: u64,
}

impl Place {
    /// These extents, each with its bytes, of the disk of `queue`.
    ///
    /// # Errors
    /// [`Error::Disk`], if one is not on it or is not made of whole sectors; [`Error::Extents`], if there is none, or two
    /// share a byte.
    pub fn new(queue: &Queue, extents: &[(DiskOff, u64)]) -> Result<Place, Error> {
        let mut joined: Vec<Extent> = Vec::new();
        let mut from = 0;
        for &(at, len) in extents.iter().filter(|extent| extent.1 > 0) {
            queue.info().check(DiskOp::Read, at, len)?;
            match joined.last_mut().filter(|last| last.at + last.len == at) {
                Some(last) => last.len += len,
                None => joined.push(Extent { from, at, len }),
            }
            from += len;
        }
        let mut sorted: Vec<(u64, u64)> = joined.iter().map(|extent| (extent.at.0, extent.len)).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0].0 + two[0].1 > two[1].0) {
            return Err(Error::Extents { why: "two of them share a byte" });
        }
        if joined.is_empty() {
            return Err(Error::Extents { why: "there is none" });
        }
        Ok(Place { queue: queue.clone(), extents: joined.into(), len: from })
    }

    /// All of `disk`, with a queue of its own.
    ///
    /// # Errors
    /// [`Error::Extents`] for a disk without a byte.
    pub fn whole(rt: &Rt, disk: Rc<dyn Disk>) -> Result<Place, Error> {
        let len = disk.info().size;
        Place::new(&Queue::new(rt, disk, QueueOptions::default()), &[(DiskOff(0), len)])
    }

    /// The queue through which everything goes.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Its bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for a place without a byte, which [`Place::new`] refuses.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn rt(&self) -> &Rt {
        self.queue.rt()
    }

    /// Where the byte `from` of the place lies, and how many follow it side by side. `from` is in the place.
    pub(crate) fn run(&self, from: u64) -> (DiskOff, u64) {
        let later = self.extents.partition_point(|extent| extent.from <= from);
        // The first extent begins with byte 0.
        let extent = &self.extents[later.saturating_sub(1)];
        let into = from - extent.from;
        (extent.at + into, extent.len.saturating_sub(into))
    }

    /// Both slots, to the last readable byte. A slot that cannot be read is as good as a damaged one.
    pub(crate) async fn superblock(&self) -> Result<Superblock, Error> {
        if self.len < FIRST {
            return Err(Error::NotAJournal);
        }
        let mut slots = [Vec::new(), Vec::new()];
        for (slot, bytes) in slots.iter_mut().enumerate() {
            let (at, _) = self.run(slot as u64 * SLOT);
            match self.queue.read(at, self.superblock_len(), Kind::Superblock.into()).await {
                Ok(block) => *bytes = block[..SUPERBLOCK].to_vec(),
                Err(error) if is_bad_sector(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Superblock::choose([&slots[0], &slots[1]])
    }

    /// Durable as soon as it is completed.
    pub(crate) fn write_superblock(&self, superblock: &Superblock) -> Written {
        let mut block = Block::zeroed(self.superblock_len());
        block[..SUPERBLOCK].copy_from_slice(&superblock.encode());
        self.queue.write_fua(self.run(superblock.slot()).0, block.image(), Kind::Superblock.into())
    }

    /// Takes away what was in a slot.
    pub(crate) fn wipe_superblock(&self, slot: u64) -> Written {
        let image = Block::zeroed(self.superblock_len()).image();
        self.queue.write_fua(self.run(slot).0, image, Kind::Superblock.into())
    }

    fn superblock_len(&self) -> usize {
        SUPERBLOCK.max(self.queue.info().sector as usize)
    }

    /// True if blocks of so many bytes, laid from the place's first byte on, never lie in two extents.
    pub(crate) fn holds_whole(&self, block: u64) -> bool {
        self.extents.iter().all(|extent| extent.from.is_multiple_of(block))
    }
}

/// The disk has lost what was there, as after a write that the power cut off; others of its errors say nothing about the
/// bytes.
pub(crate) fn is_bad_sector(error: &DiskError) -> bool {
    error.cause == Cause::Io(5)
}
