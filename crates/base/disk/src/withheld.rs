//! A disk of which some places stay zeroes until all the rest is written: what leads to a new volume comes last.
//!
//! W1. Until [`Withheld::release`], the disk below has zeroes at these places: whoever looks at it after a kill or a
//!     power cut finds nothing that leads to what is half made. Reads through this disk see what was written.
//! W2. The places are written when everything before is durable, and durable when the call returns. The last of them is
//!     written when the others are durable: who finds that one finds them all.

use crate::error::DiskError;
use crate::{Block, Disk, DiskFuture, DiskInfo, DiskOff, Overlay, ReadPart, Tag, WritePart, write_len};
use std::ops::Range;
use std::rc::Rc;

/// A disk over another one, which gets everything at once but some places.
pub struct Withheld {
    below: Rc<dyn Disk>,
    /// In whole sectors.
    places: Vec<Range<u64>>,
    over: Overlay,
}

impl Withheld {
    /// A disk over `below`, which has zeroes at `places` from the next write there on.
    pub fn new(below: Rc<dyn Disk>, places: &[Range<u64>]) -> Withheld {
        let info = below.info();
        let sector = u64::from(info.sector);
        let whole = |place: &Range<u64>| {
            place.start - place.start % sector..place.end.next_multiple_of(sector).min(info.size - info.size % sector)
        };
        let places = places.iter().map(whole).filter(|place| place.start < place.end).collect();
        Withheld { over: Overlay::new(below.clone()), below, places }
    }

    /// Writes what was withheld (W2).
    ///
    /// # Errors
    /// Those of the disk; the places may have been written or not.
    pub async fn release(&self) -> Result<(), DiskError> {
        self.below.flush().await?;
        for (number, place) in self.places.iter().enumerate() {
            if number + 1 == self.places.len() {
                self.below.flush().await?;
            }
            let block = Block::zeroed((place.end - place.start) as usize);
            let parts = self.over.read(DiskOff(place.start), vec![ReadPart { block, tag: Tag::default() }]).await?;
            let write = |part: ReadPart| WritePart { image: part.block.image(), tag: part.tag };
            self.below.write(DiskOff(place.start), parts.into_iter().map(write).collect(), false).await?;
        }
        self.below.flush().await
    }
}

impl Disk for Withheld {
    fn info(&self) -> DiskInfo {
        self.below.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.over.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (start, end) = (at.0, at.0 + write_len(&parts));
        let touched = self.places.iter().filter(|place| place.start < end && start < place.end);
        let common: Vec<_> = touched.map(|place| place.start.max(start)..place.end.min(end)).collect();
        if common.is_empty() || self.info().check(crate::DiskOp::Write, at, end - start).is_err() {
            return self.below.write(at, parts, fua);
        }
        let tag = parts.first().map(|part| part.tag).unwrap_or_default();
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.image.iter().copied()).collect();
        for place in common {
            let held = &mut bytes[(place.start - start) as usize..(place.end - start) as usize];
            let part = WritePart { image: Block::copy_of(held).image(), tag };
            // In memory: it is done at once, and cannot fail on sectors that are on the disk.
            drop(self.over.write(DiskOff(place.start), vec![part], false));
            held.fill(0);
        }
        self.below.write(at, vec![WritePart { image: Block::copy_of(&bytes).image(), tag }], fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.below.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RamDisk;
    use ordo_rt::Rt;

    #[test]
    fn what_is_withheld_is_zeroes_below_until_it_is_released() {
        let ram = RamDisk::from_bytes(&[1; 8192]);
        let disk = Withheld::new(Rc::new(ram.clone()), &[600..1000, 4096..4608, 8000..9999]);
        let write = |at, len, with: u8| {
            let part = WritePart { image: Block::copy_of(&vec![with; len]).image(), tag: Tag::default() };
            disk.write(DiskOff(at), vec![part.clone(), part], false)
        };
        Rt::virtual_time(1).block_on(async {
            // Before, in and behind a place; all of one; and none.
            write(0, 1024, 2).await.unwrap();
            write(3584, 1024, 3).await.unwrap();
            write(5632, 512, 4).await.unwrap();
            let below: Vec<u8> = ram.to_vec().chunks(512).map(|sector| sector[0]).collect();
            assert_eq!(below, [2, 0, 2, 2, 1, 1, 1, 3, 0, 3, 3, 4, 4, 1, 1, 1]);
            let read = vec![ReadPart { block: Block::zeroed(8192), tag: Tag::default() }];
            let seen = disk.read(DiskOff(0), read).await.unwrap();
            let seen: Vec<u8> = seen[0].block.chunks(512).map(|sector| sector[0]).collect();
            assert_eq!(seen, [2, 2, 2, 2, 1, 1, 1, 3, 3, 3, 3, 4, 4, 1, 1, 1]);
            disk.release().await.unwrap();
            let below: Vec<u8> = ram.to_vec().chunks(512).map(|sector| sector[0]).collect();
            assert_eq!(below, seen);
            assert!(write(8192, 512, 5).await.is_err());
        });
    }
}
