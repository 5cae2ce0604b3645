//! Where a log lies: extents of a disk, in order, addressed as one range of bytes; and the two slots at its beginning.

use crate::Error;
#[cfg(feature = "planted")]
use crate::planted::{Broken, has};
use crate::superblock::{FIRST, SLOT, SUPERBLOCK, Superblock};
use ordo_disk::{Block, Cause, Disk, DiskError, DiskOff, DiskOp, Kind, Queue, QueueOptions, Written};
use ordo_rt::Rt;
use std::rc::Rc;

/// The place of a log: a whole disk, or extents of the disk that a queue serves, in order. A log in a file of a volume
/// uses the volume's queue, because a disk may have only one.
#[derive(Clone)]
pub struct Place {
    queue: Queue,
    extents: Rc<[Extent]>,
    len: u64,
}

/// Adjacent extents are merged; none is empty.
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

    /// All of `disk`, with a queue of its own: a file, a device, RAM, a model.
    pub fn whole(rt: &Rt, disk: Rc<dyn Disk>) -> Place {
        let len = disk.info().size;
        let extents = Rc::new([Extent { from: 0, at: DiskOff(0), len }]);
        Place { queue: Queue::new(rt, disk, QueueOptions::default()), extents, len }
    }

    /// The queue for all its requests.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for the whole of an empty disk.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The executor of its queue.
    pub fn rt(&self) -> &Rt {
        self.queue.rt()
    }

    /// The machine's clock, in nanoseconds since 1970.
    pub fn now(&self) -> u64 {
        let (secs, nanos) = self.rt().wall();
        (secs.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(nanos.into())
    }

    /// A random number for a log that is made at `made`, where one with the number `before` may have been. Part of each
    /// checksum: what an older log has left in the same place must not pass as ours, even with the same random seed.
    pub fn salt(&self, before: u64, made: u64) -> u64 {
        before.rotate_left(17).wrapping_add(made) ^ self.rt().rng().next_u64()
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

    /// True if no unit of this size, counted from the first byte of the place, crosses an extent boundary.
    pub fn holds_whole(&self, unit: u64) -> bool {
        self.extents.iter().all(|extent| extent.from.is_multiple_of(unit))
    }

    /// Reads both slots, up to the last readable byte, and chooses. A slot that cannot be read is treated as damaged.
    ///
    /// # Errors
    /// As [`Superblock::choose`], and [`Error::Disk`].
    pub async fn superblock<S: Superblock>(&self) -> Result<S, Error> {
        if self.len < FIRST {
            return Err(Error::NoMagic);
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
        S::choose([&slots[0], &slots[1]])
    }

    /// A forced write: durable as soon as it is complete. The place must have both slots.
    pub fn write_superblock<S: Superblock>(&self, superblock: &S) -> Written {
        let mut block = Block::zeroed(self.superblock_len());
        block[..SUPERBLOCK].copy_from_slice(&superblock.encode());
        self.queue.write_fua(self.run(superblock.slot()).0, block.image(), Kind::Superblock.into())
    }

    /// Erases a slot: it may hold an older log's superblock with a higher sequence number.
    pub fn wipe_superblock(&self, slot: u64) -> Written {
        let image = Block::zeroed(self.superblock_len()).image();
        self.queue.write_fua(self.run(slot).0, image, Kind::Superblock.into())
    }

    /// Begins an opening for writing: flushes what recovery has found (ring-5), and then writes the superblock of the
    /// opening. It is durable on return (ring-3).
    ///
    /// # Errors
    /// The flush or the write failed.
    pub async fn begin<S: Superblock>(&self, opened: &S) -> Result<(), DiskError> {
        #[cfg(feature = "planted")]
        let flushed = has(Broken::Found);
        #[cfg(not(feature = "planted"))]
        let flushed = false;
        if !flushed {
            self.queue.flush().await?;
        }
        self.write_superblock(opened).durable().await
    }

    /// Replaces the superblock `known` by its successor `next`, which is durable on return: what it frees may be used
    /// again (ring-2). One call is in flight at a time (ring-1).
    ///
    /// # Errors
    /// The write failed: which of the two superblocks counts is unknown, and `known` is as it was.
    pub async fn supersede<S: Superblock>(&self, known: &mut S, next: S) -> Result<(), DiskError> {
        #[cfg(feature = "planted")]
        let next = if has(Broken::Superblock) { next.next() } else { next };
        self.write_superblock(&next).durable().await?;
        *known = next;
        Ok(())
    }

    /// A superblock is no longer than a sector, and each extent is whole sectors: so it lies in one extent.
    fn superblock_len(&self) -> usize {
        SUPERBLOCK.max(self.queue.info().sector as usize)
    }
}

/// The disk has lost the contents, as after a write that a power cut interrupted. Its other errors say nothing about
/// the contents.
pub(crate) fn is_bad_sector(error: &DiskError) -> bool {
    error.cause == Cause::Io(5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::tests::Bare;
    use ordo_disk::RamDisk;

    fn place(extents: &[(u64, u64)]) -> Result<Place, Error> {
        let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(1 << 20));
        let extents: Vec<(DiskOff, u64)> = extents.iter().map(|(at, len)| (DiskOff(*at), *len)).collect();
        Place::new(&Queue::new(&rt, Rc::new(ram), QueueOptions::default()), &extents)
    }

    #[test]
    fn extents_are_one_range_of_bytes_and_those_that_touch_are_one() {
        let place = place(&[(8192, 1024), (0, 0), (9216, 512), (1024, 512)]).unwrap();
        assert_eq!((place.len(), place.extents.len()), (2048, 2));
        let runs = [0, 1024, 1535, 1536, 2047].map(|from| place.run(from));
        assert_eq!(runs.map(|(at, len)| (at.0, len)), [(8192, 1536), (9216, 512), (9727, 1), (1024, 512), (1535, 1)]);
        assert!(place.holds_whole(512) && !place.holds_whole(1024));
    }

    #[test]
    fn extents_that_cannot_be_are_refused() {
        let why = |extents: &[(u64, u64)]| place(extents).err();
        assert!(matches!(why(&[]), Some(Error::Extents { why: "there is none" })));
        assert!(matches!(why(&[(512, 0)]), Some(Error::Extents { why: "there is none" })));
        assert!(matches!(
            why(&[(0, 1024), (4096, 512), (512, 1024)]),
            Some(Error::Extents { why: "two of them share a byte" })
        ));
        assert!(matches!(why(&[(100, 512)]), Some(Error::Disk(_))));
        assert!(matches!(why(&[(1 << 20, 512)]), Some(Error::Disk(_))));
    }

    #[test]
    fn a_superblock_leaves_the_one_before_and_a_short_place_has_none() {
        let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(FIRST));
        let place = Place::whole(&rt, Rc::new(ram.clone()));
        rt.block_on(async {
            assert_eq!(place.superblock::<Bare>().await, Err(Error::NoMagic));
            let mut known = Bare(6);
            place.begin(&known).await.unwrap();
            place.supersede(&mut known, Bare(7)).await.unwrap();
            assert_eq!((place.superblock().await, known), (Ok(Bare(7)), Bare(7)));
            // The newer one is torn.
            ram.poke(SLOT + 20, &[0xff; 100]);
            assert_eq!(place.superblock().await, Ok(Bare(6)));
            place.wipe_superblock(0).durable().await.unwrap();
            assert!(matches!(place.superblock::<Bare>().await, Err(Error::Superblock { .. })));
        });
        let short = Place::whole(&rt, Rc::new(RamDisk::new(FIRST - 512)));
        assert_eq!(rt.block_on(short.superblock::<Bare>()), Err(Error::NoMagic));
    }
}
