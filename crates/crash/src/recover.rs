//! What a scheme does after a power cut, and what it writes meanwhile, so that the power can be cut again.

use crate::Error;
use crate::device::Device;
use crate::fingerprint::{of_image, of_sector};
use disk::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Image, RamDisk, ReadPart, SECTOR, WritePart,
};
use disk::{read_len, write_len};
use fsck::{Mode, Options, Report};
use rt::Rt;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// A write of a recovery.
#[derive(Clone)]
pub(crate) struct Logged {
    /// Flushes that had ended when it was issued.
    pub(crate) epoch: u32,
    pub(crate) at: u64,
    pub(crate) image: Image,
}

/// A RAM disk that logs what is written to it, and has sectors that cannot be read until they are written.
#[derive(Clone)]
pub(crate) struct Traced {
    ram: RamDisk,
    sector: u32,
    volatile: bool,
    log: Rc<RefCell<Log>>,
}

#[derive(Default)]
struct Log {
    writes: Vec<Logged>,
    epoch: u32,
    bad: FxHashSet<u64>,
}

impl Traced {
    pub(crate) fn new(ram: RamDisk, device: &Device, bad: &[u64]) -> Traced {
        let log = Log { bad: bad.iter().copied().collect(), ..Log::default() };
        Traced { ram, sector: device.sector, volatile: device.volatile, log: Rc::new(RefCell::new(log)) }
    }

    pub(crate) fn take_log(&self) -> Vec<Logged> {
        std::mem::take(&mut self.log.borrow_mut().writes)
    }
}

impl Disk for Traced {
    fn info(&self) -> DiskInfo {
        DiskInfo { sector: self.sector, volatile_cache: self.volatile, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (len, log) = (read_len(&parts), self.log.borrow());
        if !log.bad.is_empty() {
            let sectors = at.0 / SECTOR as u64..(at.0 + len).div_ceil(SECTOR as u64);
            if log.bad.iter().any(|bad| sectors.contains(bad)) {
                return DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, len, Cause::Io(5))));
            }
        }
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let mut log = self.log.borrow_mut();
        let (epoch, mut place) = (log.epoch, at.0);
        let sectors = at.0 / SECTOR as u64..(at.0 + write_len(&parts)) / SECTOR as u64;
        log.bad.retain(|bad| !sectors.contains(bad));
        for part in &parts {
            log.writes.push(Logged { epoch, at: place, image: part.image.clone() });
            place += part.image.len() as u64;
        }
        // What is complete on a disk without a volatile cache is durable.
        log.epoch += u32::from(fua || !self.volatile);
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.log.borrow_mut().epoch += 1;
        self.ram.flush()
    }
}

/// Runs fsck on `disk`. Nothing is awaited there that does not answer at once.
///
/// # Errors
/// Those of the check.
pub(crate) fn check(rt: &Rt, disk: Rc<dyn Disk>, mode: Mode) -> Result<Report, Error> {
    rt.block_on(fsck::check(rt, disk, Options::new(mode))).map_err(|error| Error::Check(error.to_string()))
}

/// What `log` changes in the fingerprint of `before`.
pub(crate) fn changes(before: &RamDisk, log: &[Logged]) -> u128 {
    let mut last: FxHashMap<u64, u128> = FxHashMap::default();
    for write in log {
        last.extend(of_image(write.at, &write.image));
    }
    last.into_iter().fold(0, |value, (sector, add)| {
        let mut bytes = [0; SECTOR];
        before.peek(sector * SECTOR as u64, &mut bytes);
        value ^ of_sector(sector, &bytes) ^ add
    })
}

/// The prefixes of a recovery, and, of the writes that a volatile cache may hold back at its end, those that lose one or
/// keep one: lists of writes that reached the disk, none of them the whole log.
pub(crate) fn interruptions(log: &[Logged], device: &Device) -> Vec<Vec<Logged>> {
    let mut all = Vec::new();
    for end in 0..log.len() {
        all.push(log[..end].to_vec());
        let from = log[..=end].iter().position(|write| write.epoch == log[end].epoch).unwrap_or(end);
        if device.reorders && from < end {
            // The newest of its epoch alone, and all of its epoch but the oldest.
            all.push([&log[..from], &log[end..=end]].concat());
            all.push([&log[..from], &log[from + 1..=end]].concat());
        }
        let torn = first_half(&log[end], device.atomic as usize);
        if device.tears && torn.image.len() < log[end].image.len() {
            all.push([&log[..end], &[torn]].concat());
        }
    }
    all
}

/// Half of its atomic units, rounded up.
fn first_half(write: &Logged, atomic: usize) -> Logged {
    let len = write.image.len().div_ceil(atomic).div_ceil(2) * atomic;
    let image = disk::Block::copy_of(&write.image[..len.min(write.image.len())]).image();
    Logged { image, ..write.clone() }
}
