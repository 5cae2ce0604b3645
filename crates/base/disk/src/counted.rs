//! A disk that counts the requests that reach it.

use std::cell::Cell;
use std::rc::Rc;

use crate::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Extent, ReadPart, WritePart, write_len};

/// The requests that a disk received, after merging; not those that the file system made to its queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the writes.
    pub bytes_written: u64,
    /// Flushes.
    pub flushes: u64,
}

/// Counts, and passes everything on.
pub struct Counted {
    disk: Rc<dyn Disk>,
    requests: Rc<Cell<Requests>>,
}

impl Counted {
    /// Wraps `disk`; the counts are read through the second value.
    pub fn count(disk: Rc<dyn Disk>) -> (Rc<dyn Disk>, Rc<Cell<Requests>>) {
        let requests = Rc::new(Cell::default());
        (Rc::new(Counted { disk, requests: requests.clone() }), requests)
    }

    /// Wraps another disk whose requests are added to the same counts.
    pub fn beside(disk: Rc<dyn Disk>, requests: &Rc<Cell<Requests>>) -> Rc<dyn Disk> {
        Rc::new(Counted { disk, requests: requests.clone() })
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

    fn positioning(&self, at: DiskOff, is_write: bool) -> Option<u64> {
        self.disk.positioning(at, is_write)
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.disk.discard(at, len)
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        self.disk.extents(at, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, RamDisk, Tag};
    use ordo_rt::Rt;

    #[test]
    fn what_reaches_the_disk_is_counted() {
        let (disk, requests) = Counted::count(Rc::new(RamDisk::new(8192)));
        Rt::virtual_time(1).block_on(async {
            let part = WritePart { image: Block::zeroed(1024).image(), tag: Tag::default() };
            disk.write(DiskOff(0), vec![part], false).await.unwrap();
            disk.read(DiskOff(0), vec![ReadPart { block: Block::zeroed(512), tag: Tag::default() }]).await.unwrap();
            disk.flush().await.unwrap();
        });
        assert_eq!(requests.get(), Requests { reads: 1, writes: 1, bytes_written: 1024, flushes: 1 });
    }
}
