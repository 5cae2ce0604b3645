//! A slow disk.

use ordofs::disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordofs::rt::Rt;
use std::time::Duration;

/// A disk whose requests take virtual time.
pub struct Slow {
    pub rt: Rt,
    pub ram: RamDisk,
    /// The duration of a write; a flush takes twice as long.
    pub takes: Duration,
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (rt, ram, takes) = (self.rt.clone(), self.ram.clone(), self.takes);
        DiskFuture::later(async move {
            rt.sleep(takes).await;
            ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let (rt, ram, takes) = (self.rt.clone(), self.ram.clone(), self.takes);
        DiskFuture::later(async move {
            rt.sleep(2 * takes).await;
            ram.flush().await
        })
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.ram.discard(at, len)
    }
}
