//! For tests: a slow disk, and one of which some reads fail.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

use ordo_rt::Rt;

use crate::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, RamDisk, ReadPart, WritePart, read_len, write_len,
};

/// A RAM disk on which a transfer takes a microsecond and a flush ten, with a log of its requests.
pub(crate) struct SlowDisk {
    rt: Rt,
    ram: RamDisk,
    pub(crate) log: Rc<RefCell<Vec<String>>>,
    /// Transfers that touch this byte fail.
    pub(crate) bad_byte: Cell<Option<u64>>,
    /// Because what is there is not what was written, and not because it cannot be read.
    pub(crate) is_rot: Cell<bool>,
    pub(crate) failing_flushes: Rc<Cell<u32>>,
}

impl SlowDisk {
    pub(crate) fn new(rt: &Rt, ram: &RamDisk) -> SlowDisk {
        let (log, bad_byte, is_rot, failing_flushes) = Default::default();
        SlowDisk { rt: rt.clone(), ram: ram.clone(), log, bad_byte, is_rot, failing_flushes }
    }

    fn check(&self, op: DiskOp, at: DiskOff, len: u64, parts: usize) -> Result<(), DiskError> {
        self.log.borrow_mut().push(format!("{op} {} {len} in {parts}", at.0));
        let cause = if self.is_rot.get() { Cause::Rot } else { Cause::Io(5) };
        match self.bad_byte.get() {
            Some(bad) if (at.0..at.0 + len).contains(&bad) => Err(DiskError::new(op, at, len, cause)),
            _ => Ok(()),
        }
    }
}

impl Disk for SlowDisk {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let checked = self.check(DiskOp::Read, at, read_len(&parts), parts.len());
        let (rt, ram) = (self.rt.clone(), self.ram.clone());
        DiskFuture::later(async move {
            rt.sleep(Duration::from_micros(1)).await;
            checked?;
            ram.read(at, parts).await
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let checked = self.check(DiskOp::Write, at, write_len(&parts), parts.len());
        let (rt, ram) = (self.rt.clone(), self.ram.clone());
        DiskFuture::later(async move {
            rt.sleep(Duration::from_micros(1)).await;
            checked?;
            ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.log.borrow_mut().push("flush".into());
        let (rt, failing) = (self.rt.clone(), self.failing_flushes.clone());
        // The flush covers what was there when it began, not what came while it ran.
        let flushed = self.ram.unflushed();
        let ram = self.ram.clone();
        DiskFuture::later(async move {
            rt.sleep(Duration::from_micros(10)).await;
            if failing.get() > 0 {
                failing.set(failing.get() - 1);
                return Err(DiskError::flush(Cause::Io(5)));
            }
            ram.flush_oldest(flushed);
            Ok(())
        })
    }
}

/// A RAM disk of which these reads fail, counted from 1.
pub(crate) struct Unread {
    ram: RamDisk,
    failing: RangeInclusive<u32>,
    reads: Cell<u32>,
}

impl Unread {
    pub(crate) fn new(ram: &RamDisk, failing: RangeInclusive<u32>) -> Unread {
        Unread { ram: ram.clone(), failing, reads: Cell::new(0) }
    }
}

impl Disk for Unread {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.reads.set(self.reads.get() + 1);
        if self.failing.contains(&self.reads.get()) {
            return DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, read_len(&parts), Cause::Io(5))));
        }
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}
