//! Where a journal lies: extents of a disk, in order, addressed as one range of bytes.

use crate::Error;
use crate::superblock::{FIRST, SLOT, SUPERBLOCK, Superblock};
use ordo_disk::{Block, Cause, Disk, DiskError, DiskOff, DiskOp, Kind, Queue, QueueOptions, Written};
use ordo_rt::Rt;
use std::rc::Rc;

/// The place of a journal: parts of the disk that a queue serves, in order. A journal in a file of a volume uses the
/// volume's queue, because a disk may have only one.
#[derive(Clone)]
pub struct Place {
    queue: Queue,
    extents: Rc<[Extent]>,
    len: u64,
}

/// Adjacent extents are merged.
struct Extent {
    /// The offset of its first byte in the place.
    from: u64,
    at: DiskOff,
    len: u64,
}

impl Place {
    /// A place of these extents, each with its length in bytes, on the disk of `queue`.
    ///
    /// # Errors
    /// [`Error::Disk`], if one is not on it or is not made of whole sectors; [`Error::Extents`], if there is none, or
    /// two overlap.
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
    /// [`Error::Extents`] for an empty disk.
    pub fn whole(rt: &Rt, disk: Rc<dyn Disk>) -> Result<Place, Error> {
        let len = disk.info().size;
        Place::new(&Queue::new(rt, disk, QueueOptions::default()), &[(DiskOff(0), len)])
    }

    /// The queue for all its requests.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for an empty place, which [`Place::new`] refuses.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn rt(&self) -> &Rt {
        self.queue.rt()
    }

    /// The disk address of byte `from` of the place, and how many bytes follow it contiguously. `from` must be in the
    /// place.
    pub(crate) fn run(&self, from: u64) -> (DiskOff, u64) {
        let later = self.extents.partition_point(|extent| extent.from <= from);
        // The first extent begins with byte 0.
        let extent = &self.extents[later.saturating_sub(1)];
        let into = from - extent.from;
        (extent.at + into, extent.len.saturating_sub(into))
    }

    /// Reads both slots, up to the last readable byte. A slot that cannot be read is treated as damaged.
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

    /// A forced write: durable as soon as it is complete.
    pub(crate) fn write_superblock(&self, superblock: &Superblock) -> Written {
        let mut block = Block::zeroed(self.superblock_len());
        block[..SUPERBLOCK].copy_from_slice(&superblock.encode());
        self.queue.write_fua(self.run(superblock.slot()).0, block.image(), Kind::Superblock.into())
    }

    /// Erases a slot.
    pub(crate) fn wipe_superblock(&self, slot: u64) -> Written {
        let image = Block::zeroed(self.superblock_len()).image();
        self.queue.write_fua(self.run(slot).0, image, Kind::Superblock.into())
    }

    fn superblock_len(&self) -> usize {
        SUPERBLOCK.max(self.queue.info().sector as usize)
    }

    /// True if no block of this size, counted from the first byte of the place, crosses an extent boundary.
    pub(crate) fn holds_whole(&self, block: u64) -> bool {
        self.extents.iter().all(|extent| extent.from.is_multiple_of(block))
    }
}

/// The disk has lost the contents, as after a write that a power cut interrupted. Its other errors say nothing about
/// the contents.
pub(crate) fn is_bad_sector(error: &DiskError) -> bool {
    error.cause == Cause::Io(5)
}
