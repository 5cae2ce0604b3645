//! A part of another disk: a partition.

use std::rc::Rc;

use crate::error::{Cause, DiskError, DiskOp};
use crate::fence::Lease;
use crate::{Disk, DiskFuture, DiskInfo, DiskOff, Extent, ReadPart, WritePart, read_len, write_len};

/// The bytes of another disk from `offset` on. Errors report addresses within the part.
#[derive(Clone)]
pub struct Slice {
    whole: Rc<dyn Disk>,
    offset: u64,
    info: DiskInfo,
}

impl Slice {
    /// The `len` bytes at `offset` of `whole`; refused if they are not on it, or not whole sectors.
    pub fn new(whole: Rc<dyn Disk>, offset: u64, len: u64) -> Result<Slice, DiskError> {
        let mut info = whole.info();
        info.check(DiskOp::Read, DiskOff(offset), len)?;
        info.size = len;
        Ok(Slice { whole, offset, info })
    }

    /// The address of `at` on the whole disk, if the part contains it.
    fn place(&self, op: DiskOp, at: DiskOff, len: u64) -> Result<DiskOff, DiskError> {
        self.info.check(op, at, len)?;
        Ok(at + self.offset)
    }

    fn answer<T: Unpin + 'static>(&self, answer: DiskFuture<Result<T, DiskError>>) -> DiskFuture<Result<T, DiskError>> {
        let (offset, size) = (self.offset, self.info.size);
        answer.map(move |outcome| {
            outcome.map_err(|mut error| {
                error.at = DiskOff(error.at.0.saturating_sub(offset));
                if let Cause::Gone { size: whole } = &mut error.cause {
                    *whole = size;
                }
                error
            })
        })
    }
}

impl Disk for Slice {
    fn info(&self) -> DiskInfo {
        self.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        match self.place(DiskOp::Read, at, read_len(&parts)) {
            Ok(place) => self.answer(self.whole.read(place, parts)),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        match self.place(DiskOp::Write, at, write_len(&parts)) {
            Ok(place) => self.answer(self.whole.write(place, parts, fua)),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.whole.flush()
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        match self.place(DiskOp::Discard, at, len) {
            Ok(place) => self.answer(self.whole.discard(place, len)),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn hold(&self, lease: &Lease) {
        self.whole.hold(lease);
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        match self.place(DiskOp::Read, at, len) {
            Ok(place) => self.answer(self.whole.extents(place, len)),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Unread;
    use crate::{Block, Kind, RamDisk};
    use ordo_rt::Rt;

    #[test]
    fn a_part_reaches_its_own_bytes_only() {
        let rt = Rt::virtual_time(0);
        let ram = RamDisk::new(8192);
        let part = Slice::new(Rc::new(ram.clone()), 1024, 2048).unwrap();
        let image = |len| vec![WritePart { image: Block::copy_of(&vec![7; len]).image(), tag: Kind::Other.into() }];
        rt.block_on(part.write(DiskOff(1536), image(512), false)).unwrap();
        let refused = rt.block_on(part.write(DiskOff(1536), image(1024), false)).unwrap_err();
        assert_eq!(refused.cause, Cause::OutOfRange { size: 2048 });
        let bytes = ram.to_vec();
        assert_eq!((bytes[2559], bytes[2560], bytes[3071], bytes[3072]), (0, 7, 7, 0));
        let blocks = vec![ReadPart { block: Block::zeroed(512), tag: Kind::Other.into() }];
        assert_eq!(rt.block_on(part.read(DiskOff(1536), blocks)).unwrap()[0].block[0], 7);
        assert!(Slice::new(Rc::new(ram.clone()), 7680, 1024).is_err());
        assert!(Slice::new(Rc::new(ram), 100, 512).is_err());
    }

    #[test]
    fn an_error_tells_the_address_within_the_part() {
        let rt = Rt::virtual_time(0);
        let whole = Unread::new(&RamDisk::new(8192), 1..=1);
        let part = Slice::new(Rc::new(whole), 1024, 2048).unwrap();
        let blocks = vec![ReadPart { block: Block::zeroed(512), tag: Kind::Other.into() }];
        assert_eq!(rt.block_on(part.read(DiskOff(512), blocks)).unwrap_err().at, DiskOff(512));
    }
}
