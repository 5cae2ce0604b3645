//! A disk with a limited number of requests: an endless loop over a disk becomes a panic.

use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart};
use std::cell::Cell;
use std::rc::Rc;

/// Another disk, with a budget of requests.
#[derive(Clone)]
pub(super) struct Budget {
    disk: Rc<dyn Disk>,
    left: Rc<Cell<u64>>,
}

impl Budget {
    pub(super) fn new(disk: Rc<dyn Disk>, requests: u64) -> Budget {
        Budget { disk, left: Rc::new(Cell::new(requests)) }
    }

    fn spend(&self) {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.expect("the disk was asked too often: somebody goes round in circles"));
    }
}

impl Disk for Budget {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.spend();
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.spend();
        self.disk.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.spend();
        self.disk.flush()
    }
}
