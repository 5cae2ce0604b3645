//! A disk that counts the requests which reach it.

use ordofs::disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart, write_len};
use std::cell::Cell;
use std::rc::Rc;

/// What a disk was asked for: requests after merging, not what the file system asked its queue for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) bytes_written: u64,
    pub(crate) flushes: u64,
}

/// Counts, and passes everything on.
pub(crate) struct Counted {
    disk: Rc<dyn Disk>,
    requests: Rc<Cell<Requests>>,
}

impl Counted {
    /// In front of `disk`; the counts are read through the second value.
    pub(crate) fn count(disk: Rc<dyn Disk>) -> (Rc<dyn Disk>, Rc<Cell<Requests>>) {
        let requests = Rc::new(Cell::default());
        (Rc::new(Counted { disk, requests: requests.clone() }), requests)
    }

    fn change(&self, change: impl FnOnce(&mut Requests)) {
        let mut requests = self.requests.get();
        change(&mut requests);
        self.requests.set(requests);
    }
}

impl Disk for Counted {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.change(|requests| requests.reads += 1);
        self.disk.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let len = write_len(&parts);
        self.change(|requests| {
            requests.writes += 1;
            requests.bytes_written += len;
        });
        self.disk.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.change(|requests| requests.flushes += 1);
        self.disk.flush()
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.disk.discard(at, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::NewVolume;
    use ordofs::disk::RamDisk;
    use ordofs::rt::Rt;

    #[test]
    fn making_a_volume_is_counted() {
        let rt = Rt::real_time();
        let (disk, requests) = Counted::count(Rc::new(RamDisk::new(8 << 20)));
        NewVolume::new(8 << 20).create_on(&rt, disk, true).unwrap();
        let seen = requests.get();
        assert!(seen.writes > 0 && seen.bytes_written >= 8192 * seen.writes.min(1), "{seen:?}");
    }
}
