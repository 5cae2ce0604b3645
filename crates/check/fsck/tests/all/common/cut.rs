//! A disk in memory whose power fails at one of its writes.

use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, RamDisk, ReadPart, SECTOR, WritePart,
    read_len, write_len,
};
use ordo_rt::Rng;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// At its `nth` write, counted from 1, some sectors of that write reach the cache, and some of the cache the disk.
#[derive(Clone)]
pub(crate) struct Cut {
    ram: RamDisk,
    left: Rc<Cell<u64>>,
    rng: Rc<RefCell<Rng>>,
}

impl Cut {
    pub(crate) fn new(ram: &RamDisk, nth: u64, seed: u64) -> Cut {
        Cut { ram: ram.clone(), left: Rc::new(Cell::new(nth)), rng: Rc::new(RefCell::new(Rng::new(seed))) }
    }

    /// The power has failed.
    pub(crate) fn is_off(&self) -> bool {
        self.left.get() == 0
    }

    fn powered<T>(
        &self,
        (op, at, len): (DiskOp, DiskOff, u64),
        work: impl FnOnce(&RamDisk) -> DiskFuture<Result<T, DiskError>>,
    ) -> DiskFuture<Result<T, DiskError>> {
        match self.is_off() {
            true => DiskFuture::now(Err(DiskError::new(op, at, len, Cause::PowerCut))),
            false => work(&self.ram),
        }
    }
}

impl Disk for Cut {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.powered((DiskOp::Read, at, read_len(&parts)), |ram| ram.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let asked = (DiskOp::Write, at, write_len(&parts));
        if self.left.get() == 1 {
            let mut rng = self.rng.borrow_mut();
            let tag = parts.first().map(|part| part.tag).unwrap_or_default();
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.image.iter().copied()).collect();
            for (place, sector) in (at.0..).step_by(SECTOR).zip(bytes.chunks(SECTOR)) {
                if rng.chance(1, 2) {
                    let part = WritePart { image: Block::copy_of(sector).image(), tag };
                    // In memory: it is done at once.
                    drop(self.ram.write(DiskOff(place), vec![part], false));
                }
            }
            self.ram.power_cut_at_random(&mut rng);
        }
        self.left.set(self.left.get().saturating_sub(1));
        self.powered(asked, |ram| ram.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.powered((DiskOp::Flush, DiskOff(0), 0), |ram| ram.flush())
    }
}
