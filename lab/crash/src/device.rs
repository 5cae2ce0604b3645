//! The disks on which the power is cut: what each guarantees, as declared, and a simulated disk in virtual time that
//! behaves accordingly.
//!
//! D1. What a device may do to a write that is not durable is decided here and nowhere else. "It completes in order" is
//!     a property of one device, not the rule.
//! D2. The recorded run sees a device as its driver would: its sector, its cache, its latency. A scheme that waits for
//!     completion where it should wait for a flush is therefore caught on the device where that matters.

#[cfg(test)]
use ordo_disk::RamDisk;
use ordo_disk::{Disk, DiskFuture, DiskInfo, DiskOff, ReadPart, WritePart, read_len, write_len};
use ordo_rt::{Rng, Rt};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// What a unit that was being written when the power went reads as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Torn {
    /// Wholly the old bytes or wholly the new ones: the device keeps its atomic unit.
    OldOrNew,
    /// Its first half new, its second half old.
    Mixed,
    /// An error, until it is written again.
    Unreadable,
}

/// A device, described by what it guarantees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub says: &'static str,
    /// Unit of addresses, in bytes.
    pub sector: u32,
    /// Unit that is written wholly or not at all, in bytes; a multiple of the sector.
    pub atomic: u32,
    /// A completed write may be lost until a flush.
    pub volatile: bool,
    /// Any of the writes that are not durable may be lost. Otherwise the lost ones are the last ones issued.
    pub reorders: bool,
    /// A write of several units may be stored in part.
    pub tears: bool,
    /// What becomes of the unit that is being written.
    pub torn: Torn,
    /// A flush that is reported complete has happened.
    pub honest: bool,
    /// Requests that it processes at a time.
    pub depth: u32,
    /// Latency of a write before its transfer, in microseconds of virtual time.
    pub write_us: u64,
    /// Time for a flush, in microseconds of virtual time.
    pub flush_us: u64,
}

/// The ready-made devices.
pub const DEVICES: &[Device] = &[
    Device {
        name: "scsi94",
        says: "a disk of 1994: no write cache, one request at a time, stored sector by sector from the first",
        sector: 512,
        atomic: 512,
        volatile: false,
        reorders: false,
        tears: true,
        torn: Torn::OldOrNew,
        honest: true,
        depth: 1,
        write_us: 12_000,
        flush_us: 0,
    },
    Device {
        name: "sata",
        says: "a SATA disk with a volatile write cache: what was not flushed is lost or kept, sector by sector",
        sector: 512,
        atomic: 512,
        volatile: true,
        reorders: true,
        tears: true,
        torn: Torn::OldOrNew,
        honest: true,
        depth: 32,
        write_us: 90,
        flush_us: 9_000,
    },
    Device {
        name: "nvme",
        says: "an NVMe drive with a volatile cache and an atomic unit of 4096 bytes",
        sector: 4096,
        atomic: 4096,
        volatile: true,
        reorders: true,
        tears: true,
        torn: Torn::OldOrNew,
        honest: true,
        depth: 64,
        write_us: 12,
        flush_us: 400,
    },
    Device {
        name: "plp",
        says: "a drive with power-loss protection: durable when complete, in any order until then",
        sector: 512,
        atomic: 512,
        volatile: false,
        reorders: true,
        tears: true,
        torn: Torn::OldOrNew,
        honest: true,
        depth: 32,
        write_us: 15,
        flush_us: 5,
    },
    Device {
        name: "liar",
        says: "a disk that answers flushes and ignores them: no file system can keep a promise here",
        sector: 512,
        atomic: 512,
        volatile: true,
        reorders: true,
        tears: true,
        torn: Torn::Mixed,
        honest: false,
        depth: 32,
        write_us: 90,
        flush_us: 50,
    },
];

/// The default device.
pub const DEFAULT_DEVICE: &str = "sata";

impl Device {
    /// Finds a device by its name.
    pub fn by_name(name: &str) -> Option<&'static Device> {
        DEVICES.iter().find(|device| device.name == name)
    }

    /// A disk in virtual time over one that answers at once. `seed` decides how requests are reordered where the device
    /// reorders.
    pub(crate) fn over(&self, rt: &Rt, bytes: Rc<dyn Disk>, seed: u64) -> Rc<dyn Disk> {
        let rng = RefCell::new(Rng::new(seed ^ 0x6465_7669_6365));
        Rc::new(Timed { rt: rt.clone(), bytes, device: self.clone(), rng })
    }

    /// The same over `ram`.
    #[cfg(test)]
    pub(crate) fn on(&self, rt: &Rt, ram: &RamDisk, seed: u64) -> Rc<dyn Disk> {
        self.over(rt, Rc::new(ram.clone()), seed)
    }
}

/// A disk with latency.
struct Timed {
    rt: Rt,
    bytes: Rc<dyn Disk>,
    device: Device,
    rng: RefCell<Rng>,
}

/// Transfer rate, in bytes per microsecond.
const BYTES_PER_US: u64 = 500;

impl Timed {
    /// Duration of a request. With a depth above one it varies, so that requests complete out of order.
    fn takes(&self, base_us: u64, bytes: u64) -> Duration {
        let us = base_us + bytes / BYTES_PER_US;
        let spread = if self.device.reorders { self.rng.borrow_mut().below(us.max(1)) } else { 0 };
        Duration::from_micros(us + spread)
    }
}

impl Disk for Timed {
    fn info(&self) -> DiskInfo {
        DiskInfo {
            sector: self.device.sector,
            volatile_cache: self.device.volatile,
            depth: self.device.depth,
            immediate: false,
            ..self.bytes.info()
        }
    }

    /// Reads take no time: they change nothing that a power cut could show.
    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, ordo_disk::DiskError>> {
        match self.info().check(ordo_disk::DiskOp::Read, at, read_len(&parts)) {
            Ok(()) => self.bytes.read(at, parts),
            Err(error) => DiskFuture::now(Err(error)),
        }
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), ordo_disk::DiskError>> {
        let (rt, bytes, len) = (self.rt.clone(), self.bytes.clone(), write_len(&parts));
        if let Err(error) = self.info().check(ordo_disk::DiskOp::Write, at, len) {
            return DiskFuture::now(Err(error));
        }
        let takes = self.takes(self.device.write_us, len);
        DiskFuture::later(async move {
            rt.sleep(takes).await;
            bytes.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), ordo_disk::DiskError>> {
        let (rt, takes) = (self.rt.clone(), self.takes(self.device.flush_us, 0));
        DiskFuture::later(async move {
            rt.sleep(takes).await;
            Ok(())
        })
    }

    fn discard(&self, _at: DiskOff, _len: u64) -> DiskFuture<Result<(), ordo_disk::DiskError>> {
        DiskFuture::now(Ok(()))
    }
}
