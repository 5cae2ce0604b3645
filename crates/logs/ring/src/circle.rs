//! The circle: an unbounded line of bytes, mapped onto a part of the place (ring-7).

use crate::Place;
use crate::place::is_bad_sector;
use crate::superblock::SLOT;
use ordo_disk::{Block, DiskError, DiskOff, Image, Kind, Tag, Written};
use std::ops::Range;

/// The smallest and the largest unit, in bytes.
pub const UNIT_LEAST: u32 = 512;
/// See [`UNIT_LEAST`].
pub const UNIT_MOST: u32 = 65536;
/// The fewest units of a circle.
pub const UNITS_LEAST: u64 = 8;

/// The most bytes of one request, if the disk takes so many.
const TRANSFER: u64 = 1 << 20;

/// True if a log on a disk with sectors of so many bytes can have units of so many.
pub fn can_be_unit(unit: u32, sector: u32) -> bool {
    let possible = unit.is_power_of_two() && (UNIT_LEAST.max(sector)..=UNIT_MOST).contains(&unit);
    possible && u64::from(sector) <= SLOT
}

/// Byte `n` of the line lies at byte `n` modulo `size` of the circle. It is read and written in whole units.
#[derive(Clone)]
pub struct Circle {
    /// Where it lies.
    pub place: Place,
    /// Its first byte in the place.
    pub first: u64,
    /// Its bytes, a multiple of the unit.
    pub size: u64,
    /// Bytes of a unit.
    pub unit: u64,
}

impl Circle {
    /// Rounds down to the first byte of a unit.
    pub fn down(&self, at: u64) -> u64 {
        at - at % self.unit
    }

    /// Rounds up to the first byte of a unit.
    pub fn up(&self, at: u64) -> u64 {
        at.next_multiple_of(self.unit)
    }

    /// The most bytes of one request, up to 1 MiB, in whole units.
    pub fn transfer_most(&self) -> u64 {
        self.down(u64::from(self.place.queue().info().max_transfer).min(TRANSFER)).max(self.unit)
    }

    /// The disk address of byte `at` of the line, and how many bytes of the line follow it contiguously on the disk.
    pub fn run(&self, at: u64) -> (DiskOff, u64) {
        let into = at % self.size;
        let (place, len) = self.place.run(self.first + into);
        (place, len.min(self.size - into))
    }

    /// The disk addresses of a range of the line: more than one where it wraps around or crosses an extent boundary.
    fn runs(&self, range: Range<u64>) -> Vec<(DiskOff, usize)> {
        let (mut runs, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let (place, len) = self.run(at);
            let len = len.min(range.end - at);
            runs.push((place, len as usize));
            at += len;
        }
        runs
    }

    /// Writes whole units from byte `at` of the line on. With `forced` they are durable when they are complete.
    pub fn write(&self, at: u64, image: Image, forced: bool) -> Vec<Written> {
        let (queue, tag) = (self.place.queue(), Tag::of(Kind::Log));
        let mut rest = 0;
        let write = |(place, len): (DiskOff, usize)| {
            let part =
                if len == image.len() { image.clone() } else { Block::copy_of(&image[rest..rest + len]).image() };
            rest += len;
            if forced { queue.write_fua(place, part, tag) } else { queue.write(place, part, tag) }
        };
        self.runs(at..at + image.len() as u64).into_iter().map(write).collect()
    }

    /// Reads whole units. Sectors that the disk reports as lost are returned as zeros.
    ///
    /// # Errors
    /// Any other error of the disk.
    pub async fn read(&self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), DiskError> {
        let most = self.transfer_most() as usize;
        let cut = |(at, len): (DiskOff, usize)| {
            (0..len).step_by(most).map(move |from| (at + from as u64, most.min(len - from)))
        };
        let pieces: Vec<(DiskOff, usize)> = self.runs(range).into_iter().flat_map(cut).collect();
        let answers = self.place.queue().read_many(&pieces, Kind::Log.into());
        for (answer, (at, len)) in answers.into_iter().zip(pieces) {
            match answer.await {
                Ok(block) => into.extend_from_slice(&block),
                Err(error) if is_bad_sector(&error) => self.read_by_sector(at, len, into).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn read_by_sector(&self, at: DiskOff, len: usize, into: &mut Vec<u8>) -> Result<(), DiskError> {
        let sector = self.place.queue().info().sector as usize;
        for from in (0..len).step_by(sector) {
            match self.place.queue().read(at + from as u64, sector, Kind::Log.into()).await {
                Ok(block) => into.extend_from_slice(&block),
                Err(error) if is_bad_sector(&error) => into.resize(into.len() + sector, 0),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_disk::{
        Cause, Disk, DiskFuture, DiskInfo, DiskOp, Queue, QueueOptions, RamDisk, ReadPart, WritePart, read_len,
    };
    use ordo_rt::Rt;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A disk of which the next reads fail.
    struct Failing {
        ram: RamDisk,
        left: Cell<u32>,
        cause: Cause,
    }

    impl Disk for Failing {
        fn info(&self) -> DiskInfo {
            self.ram.info()
        }

        fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
            if self.left.get() == 0 {
                return self.ram.read(at, parts);
            }
            self.left.set(self.left.get() - 1);
            DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, read_len(&parts), self.cause.clone())))
        }

        fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
            self.ram.write(at, parts, fua)
        }

        fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
            self.ram.flush()
        }
    }

    #[test]
    fn the_line_goes_round_and_from_extent_to_extent() {
        let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(1 << 16).with(|info| info.max_transfer = 1024));
        let queue = Queue::new(&rt, Rc::new(ram.clone()), QueueOptions::default());
        // The circle is the last 2048 bytes: 1024 of one extent, and then another one, which lies before it.
        let place = Place::new(&queue, &[(DiskOff(16384), 9216), (DiskOff(4096), 1024)]).unwrap();
        let circle = Circle { place, first: 8192, size: 2048, unit: 512 };
        let runs = circle.runs(1536..1536 + 2048);
        assert_eq!(runs, [(DiskOff(4608), 512), (DiskOff(24576), 1024), (DiskOff(4096), 512)]);
        rt.block_on(async {
            let bytes: Vec<u8> = (0..2048).map(|i| (i / 512) as u8 + 1).collect();
            for written in circle.write(1536, Block::copy_of(&bytes).image(), true) {
                written.durable().await.unwrap();
            }
            let mut back = Vec::new();
            circle.read(1536 + 4096..1536 + 4096 + 2048, &mut back).await.unwrap();
            assert_eq!(back, bytes, "two laps later it is the same place");
        });
        let mut first = [0];
        ram.peek(24576, &mut first);
        assert_eq!((first, circle.run(0)), ([2], (DiskOff(24576), 1024)));
    }

    #[test]
    fn what_the_disk_has_lost_is_zeros_and_any_other_failure_an_error() {
        let read = |times, cause| {
            let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(1 << 16));
            ram.poke(8192, &[7; 2048]);
            let place = Place::whole(&rt, Rc::new(Failing { ram, left: Cell::new(times), cause }));
            let circle = Circle { place, first: 8192, size: 8192, unit: 2048 };
            let mut into = Vec::new();
            rt.block_on(circle.read(0..2048, &mut into)).map(|()| into)
        };
        // The request, and then its first sector.
        let lost = read(2, Cause::Io(5)).unwrap();
        assert_eq!((&lost[..512], &lost[512..]), (&[0; 512][..], &[7; 1536][..]));
        let off = read(1, Cause::PowerCut).unwrap_err();
        assert!(!is_bad_sector(&off), "{off}");
    }

    #[test]
    fn a_unit_is_a_power_of_two_from_the_sector_to_the_most() {
        let can = [256, 512, 768, 4096, 65536, 131072].map(|unit| can_be_unit(unit, 512));
        assert_eq!(can, [false, true, false, true, true, false]);
        assert!(!can_be_unit(512, 4096) && can_be_unit(4096, 4096) && !can_be_unit(8192, 8192));
    }
}
