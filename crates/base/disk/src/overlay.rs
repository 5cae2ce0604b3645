//! A disk whose writes stay in memory: what would be written can be read, and the disk below does not change.
//!
//! For looking at a volume as it will be after a repair, when nothing may be written to it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use rustc_hash::FxBuildHasher;

use crate::error::{DiskError, DiskOp};
use crate::{Disk, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart, read_len, write_len};

/// A disk over another one, which is only read. Takes memory for what was written.
pub struct Overlay {
    below: Rc<dyn Disk>,
    info: DiskInfo,
    written: Rc<Written>,
}

/// The sectors that were written, and their bytes.
struct Written {
    sectors: RefCell<HashSet<u64, FxBuildHasher>>,
    bytes: RamDisk,
}

impl Overlay {
    /// A disk that begins with the contents of `below`.
    pub fn new(below: Rc<dyn Disk>) -> Overlay {
        let info = DiskInfo { read_only: false, volatile_cache: false, ..below.info() };
        let bytes = RamDisk::new(info.size);
        Overlay { below, info, written: Rc::new(Written { sectors: RefCell::default(), bytes }) }
    }
}

impl Written {
    fn lay_over(&self, at: DiskOff, sector: u64, parts: &mut [ReadPart]) {
        let sectors = self.sectors.borrow();
        let mut at = at.0;
        for part in parts {
            let len = part.block.len() as u64;
            // A part need not begin or end with a sector: only the request does.
            for number in at / sector..(at + len).div_ceil(sector) {
                if sectors.contains(&number) {
                    let (from, to) = ((number * sector).max(at), ((number + 1) * sector).min(at + len));
                    self.bytes.peek(from, &mut part.block[(from - at) as usize..(to - at) as usize]);
                }
            }
            at += len;
        }
    }
}

impl Disk for Overlay {
    fn info(&self) -> DiskInfo {
        self.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (written, sector) = (self.written.clone(), u64::from(self.info.sector));
        if let Err(error) = self.info.check(DiskOp::Read, at, read_len(&parts)) {
            return DiskFuture::now(Err(error));
        }
        self.below.read(at, parts).map(move |answer| {
            answer.map(|mut parts| {
                written.lay_over(at, sector, &mut parts);
                parts
            })
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, _fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (len, sector) = (write_len(&parts), u64::from(self.info.sector));
        if let Err(error) = self.info.check(DiskOp::Write, at, len) {
            return DiskFuture::now(Err(error));
        }
        let mut to = at.0;
        for part in &parts {
            self.written.bytes.poke(to, &part.image);
            to += part.image.len() as u64;
        }
        self.written.sectors.borrow_mut().extend(at.0 / sector..(at.0 + len) / sector);
        DiskFuture::now(Ok(()))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Ok(()))
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Cause, Tag};
    use ordo_rt::Rt;

    #[test]
    fn what_was_written_is_read_and_the_disk_below_stays() {
        let below = RamDisk::from_bytes(&[1; 4096]).with(|info| info.read_only = true);
        let over = Overlay::new(Rc::new(below.clone()));
        let write = |at, len, with: u8| {
            over.write(
                DiskOff(at),
                vec![WritePart { image: Block::copy_of(&vec![with; len]).image(), tag: Tag::default() }],
                true,
            )
        };
        Rt::virtual_time(1).block_on(async {
            write(512, 512, 2).await.unwrap();
            write(1536, 1024, 3).await.unwrap();
            write(2048, 512, 0).await.unwrap();
            over.flush().await.unwrap();
            assert_eq!(write(4096, 512, 4).await.unwrap_err().cause, Cause::OutOfRange { size: 4096 });
            // Two parts that meet within a sector.
            let parts = [800, 2272].map(|len| ReadPart { block: Block::zeroed(len), tag: Tag::default() });
            let parts = over.read(DiskOff(0), parts.into()).await.unwrap();
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.block.iter().copied()).collect();
            let sectors: Vec<Vec<u8>> = bytes.chunks(512).map(<[u8]>::to_vec).collect();
            assert_eq!(sectors, [1, 2, 1, 3, 0, 1].map(|with| vec![with; 512]));
        });
        assert_eq!(below.to_vec(), [1; 4096]);
    }
}
