//! A disk of which the next requests of a kind fail.

use ordo_disk::{Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, WritePart};
use std::cell::Cell;
use std::rc::Rc;

/// So many of the next requests of this kind.
pub(super) type Fails = Option<(DiskOp, u64)>;

pub(super) struct Failing {
    disk: Rc<dyn Disk>,
    next: Cell<Fails>,
}

impl Failing {
    pub(super) fn new(disk: impl Disk + 'static, next: Fails) -> Rc<Failing> {
        Rc::new(Failing { disk: Rc::new(disk), next: Cell::new(next) })
    }

    fn fate<T: 'static>(&self, op: DiskOp, at: DiskOff) -> Option<DiskFuture<Result<T, DiskError>>> {
        let (_, left) = self.next.get().filter(|&(failing, left)| failing == op && left > 0)?;
        self.next.set(Some((op, left - 1)));
        Some(DiskFuture::now(Err(DiskError::new(op, at, 0, Cause::Io(5)))))
    }
}

impl Disk for Failing {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.fate(DiskOp::Read, at).unwrap_or_else(|| self.disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.fate(DiskOp::Write, at).unwrap_or_else(|| self.disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.fate(DiskOp::Flush, DiskOff(0)).unwrap_or_else(|| self.disk.flush())
    }
}
