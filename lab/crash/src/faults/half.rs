//! A write that is stored by half and reported as done. [`ordo_simdisk::Faulty`] does not have it: its torn writes
//! fail.

use ordo_disk::{Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart, write_len};
use std::cell::Cell;
use std::rc::Rc;

/// A disk whose `nth` write, counted from 1, stores only the first half of its sectors.
pub(super) struct Half {
    pub(super) disk: Rc<dyn Disk>,
    pub(super) nth: u64,
    pub(super) seen: Cell<u64>,
}

/// Bytes of the first half of `len`, in sectors of `sector`.
pub(super) fn half_of(len: u64, sector: u32) -> u64 {
    len / u64::from(sector) / 2 * u64::from(sector)
}

impl Disk for Half {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.seen.set(self.seen.get() + 1);
        if self.seen.get() != self.nth {
            return self.disk.write(at, parts, fua);
        }
        let len = half_of(write_len(&parts), self.info().sector) as usize;
        let Some(tag) = parts.first().map(|part| part.tag).filter(|_| len > 0) else { return DiskFuture::now(Ok(())) };
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.image.iter().copied()).take(len).collect();
        self.disk.write(at, vec![WritePart { image: Block::copy_of(&bytes).image(), tag }], fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.disk.flush()
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.disk.discard(at, len)
    }
}
