//! Where a log lies, and how its unbounded line of bytes is mapped onto a circle.

use crate::superblock::{RECORDS_AT, SLOT, SUPERBLOCK, Superblock, UNIT_LEAST, UNIT_MOST, UNITS_LEAST};
use crate::{Error, Lsn};
use ordo_disk::{Block, Cause, Disk, DiskError, DiskOff, Image, Kind, Queue, QueueOptions, Tag, Written};
use ordo_rt::Rt;
use std::ops::Range;
use std::rc::Rc;

/// The place of a log: a whole disk, or parts of the disk that a queue serves. A file system's log on its own disk
/// shares that disk's queue, because a disk may have only one.
#[derive(Clone)]
pub struct Place {
    queue: Queue,
    /// Non-empty extents in order: address, length, and total length of those before.
    extents: Rc<[(DiskOff, u64, u64)]>,
    len: u64,
}

impl Place {
    /// All of `disk`: a file, a device, RAM, a model.
    pub fn whole(rt: &Rt, disk: Rc<dyn Disk>) -> Place {
        let len = disk.info().size;
        let extents = [(DiskOff(0), len, 0)].into_iter().filter(|extent| extent.1 > 0).collect();
        Place { queue: Queue::new(rt, disk, QueueOptions::default()), extents, len }
    }

    /// `len` bytes from `at` on of the disk of `queue`.
    ///
    /// # Errors
    /// [`Error::Disk`], if they are not on it or are not whole sectors.
    pub fn part(queue: &Queue, at: DiskOff, len: u64) -> Result<Place, Error> {
        Place::parts(queue, &[(at, len)])
    }

    /// A place of these extents of the disk of `queue`, in order: for example the blocks of a file.
    ///
    /// # Errors
    /// As [`Place::part`].
    pub fn parts(queue: &Queue, extents: &[(DiskOff, u64)]) -> Result<Place, Error> {
        let (mut known, mut len) = (Vec::with_capacity(extents.len()), 0);
        for &(at, bytes) in extents.iter().filter(|extent| extent.1 > 0) {
            queue.info().check(ordo_disk::DiskOp::Read, at, bytes)?;
            known.push((at, bytes, len));
            len += bytes;
        }
        Ok(Place { queue: queue.clone(), extents: known.into(), len })
    }

    /// The disk addresses of `len` bytes of the place, from byte `from` on.
    fn runs(&self, from: u64, len: u64) -> Vec<(DiskOff, usize)> {
        let first = self.extents.partition_point(|extent| extent.2 + extent.1 <= from);
        let (mut runs, mut at, end) = (Vec::new(), from, from + len);
        for &(place, bytes, before) in self.extents.iter().skip(first) {
            if at >= end {
                break;
            }
            let to = end.min(before + bytes);
            runs.push((place + (at - before), (to - at) as usize));
            at = to;
        }
        runs
    }

    /// The address of a slot. A superblock is no longer than a sector, and each extent is whole sectors. In a place
    /// that is too short it is the end of the disk, so that the disk refuses the access.
    fn slot(&self, slot: u64) -> DiskOff {
        self.runs(slot, self.superblock_len() as u64).first().map_or(DiskOff(self.queue.info().size), |run| run.0)
    }

    /// The queue for all its requests.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for an empty place.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn rt(&self) -> &Rt {
        self.queue.rt()
    }

    /// Reads both slots, up to the last readable byte. A slot that cannot be read is treated as damaged.
    pub(crate) async fn superblock(&self) -> Result<Superblock, Error> {
        let mut slots = [Vec::new(), Vec::new()];
        for (slot, bytes) in slots.iter_mut().enumerate() {
            let at = self.slot(slot as u64 * SLOT);
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
        self.queue.write_fua(self.slot(superblock.slot()), block.image(), Kind::Superblock.into())
    }

    /// Erases the slot after this one: it may hold an older log's superblock with a higher sequence number.
    pub(crate) fn wipe_superblock(&self, slot: u64) -> Written {
        let image = Block::zeroed(self.superblock_len()).image();
        self.queue.write_fua(self.slot(slot), image, Kind::Superblock.into())
    }

    fn superblock_len(&self) -> usize {
        SUPERBLOCK.max(self.queue.info().sector as usize)
    }

    /// The unit for this disk (`asked` or the default), and the bytes for records, in whole units.
    pub(crate) fn geometry(&self, asked: Option<u32>) -> Result<(u32, u64), Error> {
        geometry(asked, self.queue.info().sector, self.len)
    }

    /// Refuses a superblock of a log that does not fit in this place.
    pub(crate) fn admit(&self, superblock: &Superblock) -> Result<(), Error> {
        let sector = self.queue.info().sector;
        if superblock.unit < sector {
            return Err(Error::Unit { unit: superblock.unit, sector, most: UNIT_MOST });
        }
        match superblock.size > self.len.saturating_sub(RECORDS_AT) {
            true => Err(Error::CutOff { size: superblock.size, len: self.len }),
            false => Ok(()),
        }
    }
}

/// [`Place::geometry`] of `len` bytes on a disk with this sector size.
pub(crate) fn geometry(asked: Option<u32>, sector: u32, len: u64) -> Result<(u32, u64), Error> {
    let unit = asked.unwrap_or(sector.max(SLOT as u32));
    if !unit.is_power_of_two() || unit < UNIT_LEAST.max(sector) || unit > UNIT_MOST || u64::from(sector) > SLOT {
        return Err(Error::Unit { unit, sector, most: UNIT_MOST });
    }
    let size = len.saturating_sub(RECORDS_AT) / u64::from(unit) * u64::from(unit);
    let least = UNITS_LEAST * u64::from(unit);
    if size < least {
        return Err(Error::TooSmall { len, least: RECORDS_AT + least });
    }
    Ok((unit, size))
}

/// The disk has lost the contents, as after a write that a power cut interrupted. Its other errors say nothing about
/// the contents.
pub(crate) fn is_bad_sector(error: &DiskError) -> bool {
    error.cause == Cause::Io(5)
}

/// The bytes for records: byte `n` of the log's line lies at `n` modulo their number.
#[derive(Clone)]
pub(crate) struct Area {
    pub(crate) place: Place,
    pub(crate) size: u64,
    pub(crate) unit: u64,
}

impl Area {
    pub(crate) fn new(place: Place, superblock: &Superblock) -> Area {
        Area { place, size: superblock.size, unit: superblock.unit.into() }
    }

    /// Rounds down to the first byte of a unit.
    pub(crate) fn down(&self, at: u64) -> u64 {
        at - at % self.unit
    }

    /// Rounds up to the first byte of a unit.
    pub(crate) fn up(&self, at: u64) -> u64 {
        at.next_multiple_of(self.unit)
    }

    /// The most bytes that may be appended and not durable. A record this far after another one therefore states that
    /// the earlier one was durable (wafs-8), and recovery searches no farther.
    pub(crate) fn window(&self) -> u64 {
        self.size.min(64 << 20)
    }

    /// The longest record that the log accepts, in bytes of the caller: it leaves room for another one.
    pub(crate) fn record_most(&self) -> usize {
        (self.window() / 2).min(8 << 20) as usize - crate::record::HEADER
    }

    /// The maximum length of one request, in bytes.
    pub(crate) fn transfer_most(&self) -> usize {
        self.down(u64::from(self.place.queue.info().max_transfer).min(1 << 20)).max(self.unit) as usize
    }

    /// The disk addresses of a range of the line: more than one where it wraps around or crosses an extent boundary.
    fn runs(&self, range: Range<u64>) -> impl Iterator<Item = (DiskOff, usize)> + use<> {
        let (from, len) = (range.start % self.size, range.end - range.start);
        let first = len.min(self.size - from);
        let ahead = self.place.runs(RECORDS_AT + from, first);
        ahead.into_iter().chain(self.place.runs(RECORDS_AT, len - first))
    }

    /// Writes whole units. With `forced` they are durable when they are complete.
    pub(crate) fn write(&self, at: u64, image: Image, forced: bool) -> Vec<Written> {
        let (queue, tag) = (&self.place.queue, Tag::of(Kind::Log));
        let mut rest = 0;
        let runs = self.runs(at..at + image.len() as u64);
        let write = |(place, len): (DiskOff, usize)| {
            let part =
                if len == image.len() { image.clone() } else { Block::copy_of(&image[rest..rest + len]).image() };
            rest += len;
            if forced { queue.write_fua(place, part, tag) } else { queue.write(place, part, tag) }
        };
        runs.map(write).collect()
    }

    /// Writes zeros over all of it, durably.
    pub(crate) async fn wipe(&self) -> Result<(), Error> {
        let piece = self.transfer_most() as u64;
        let zeros = Block::zeroed(piece as usize).image();
        for at in (0..self.size).step_by(piece as usize) {
            let len = piece.min(self.size - at) as usize;
            let image = if len == zeros.len() { zeros.clone() } else { Block::zeroed(len).image() };
            for written in self.write(at, image, false) {
                written.completed().await?;
            }
        }
        Ok(self.place.queue.flush().await?)
    }

    /// Reads whole units. Units that the disk reports as lost are returned as zeros, which are not a valid record.
    pub(crate) async fn read(&self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        let (queue, most) = (&self.place.queue, self.transfer_most());
        for (at, len) in self.runs(range) {
            let pieces: Vec<(DiskOff, usize)> =
                (0..len).step_by(most).map(|from| (at + from as u64, most.min(len - from))).collect();
            let answers = queue.read_many(&pieces, Kind::Log.into());
            for (answer, (at, len)) in answers.into_iter().zip(pieces) {
                match answer.await {
                    Ok(block) => into.extend_from_slice(&block),
                    Err(error) if is_bad_sector(&error) => self.read_by_unit(at, len, into).await?,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    async fn read_by_unit(&self, at: DiskOff, len: usize, into: &mut Vec<u8>) -> Result<(), Error> {
        let sector = self.place.queue.info().sector as usize;
        for from in (0..len).step_by(sector) {
            match self.place.queue.read(at + from as u64, sector, Kind::Log.into()).await {
                Ok(block) => into.extend_from_slice(&block),
                Err(error) if is_bad_sector(&error) => into.resize(into.len() + sector, 0),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A record that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub lsn: Lsn,
    /// When it was appended, in nanoseconds since 1970, by the machine's clock.
    pub time: u64,
    /// The bytes that were appended.
    pub data: Vec<u8>,
}
