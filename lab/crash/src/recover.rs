//! Runs a recovery and logs what it writes, so that the power can be cut again.

use crate::device::Device;
use crate::disks::{Disks, Side, Split};
use crate::fingerprint::{of_image, of_sector};
use crate::{Error, Subject};
use ordo_disk::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Image, RamDisk, ReadPart, SECTOR, WritePart,
};
use ordo_disk::{read_len, write_len};
use ordo_fsck::{Mode, Options, Report};
use ordo_rt::Rt;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// A write of a recovery.
#[derive(Clone)]
pub(crate) struct Logged {
    /// The disk that it went to.
    side: Side,
    /// Flushes of each disk that had ended when it was issued.
    epochs: Epochs,
    pub(crate) at: u64,
    pub(crate) image: Image,
}

/// A number for each disk: the volume's and the log's.
#[derive(Debug, Clone, Copy, Default)]
struct Epochs([u32; 2]);

impl Epochs {
    fn of(self, side: Side) -> u32 {
        self.0[side as usize]
    }
}

/// Disks in memory that log what is written to them, and have sectors that cannot be read until they are written.
#[derive(Clone)]
pub(crate) struct Traced {
    ram: RamDisk,
    split: Split,
    sector: u32,
    volatile: bool,
    log: Rc<RefCell<Log>>,
}

#[derive(Default)]
struct Log {
    writes: Vec<Logged>,
    epochs: Epochs,
    bad: FxHashSet<u64>,
}

impl Traced {
    /// The disks of a subject.
    pub(crate) fn of(subject: &Subject, ram: RamDisk, bad: &[u64]) -> Traced {
        Traced::new(ram, &subject.device, subject.split(), bad)
    }

    pub(crate) fn new(ram: RamDisk, device: &Device, split: Split, bad: &[u64]) -> Traced {
        let log = Log { bad: bad.iter().copied().collect(), ..Log::default() };
        let (sector, volatile) = (device.sector, device.volatile);
        Traced { ram, split, sector, volatile, log: Rc::new(RefCell::new(log)) }
    }

    pub(crate) fn take_log(&self) -> Vec<Logged> {
        std::mem::take(&mut self.log.borrow_mut().writes)
    }

    /// The disks, as the engine or fsck gets them.
    pub(crate) fn disks(&self) -> Disks {
        let windows = self.split.disks(Rc::new(self.ram.clone()));
        let one = |side, bytes| -> Rc<dyn Disk> { Rc::new(One { of: self.clone(), side, bytes }) };
        let (volume, log) = (windows.volume.clone(), windows.log.clone());
        windows.replaced(one(Side::Volume, volume), log.map(|log| one(Side::Log, log)))
    }
}

/// One of them.
struct One {
    of: Traced,
    side: Side,
    bytes: Rc<dyn Disk>,
}

impl One {
    /// Where a byte of the disk is in the image.
    fn place(&self, at: DiskOff) -> u64 {
        at.0 + self.of.split.base(self.side)
    }

    fn next_epoch(&self, log: &mut Log) {
        log.epochs.0[self.side as usize] += 1;
    }
}

impl Disk for One {
    fn info(&self) -> DiskInfo {
        DiskInfo { sector: self.of.sector, volatile_cache: self.of.volatile, ..self.bytes.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (len, log, place) = (read_len(&parts), self.of.log.borrow(), self.place(at));
        if !log.bad.is_empty() {
            let sectors = place / SECTOR as u64..(place + len).div_ceil(SECTOR as u64);
            if log.bad.iter().any(|bad| sectors.contains(bad)) {
                return DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, len, Cause::Io(5))));
            }
        }
        self.bytes.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let mut log = self.of.log.borrow_mut();
        let (epochs, side, mut place) = (log.epochs, self.side, self.place(at));
        let sectors = place / SECTOR as u64..(place + write_len(&parts)) / SECTOR as u64;
        log.bad.retain(|bad| !sectors.contains(bad));
        for part in &parts {
            log.writes.push(Logged { side, epochs, at: place, image: part.image.clone() });
            place += part.image.len() as u64;
        }
        // On a disk without a volatile cache a complete write is durable.
        if fua || !self.of.volatile {
            self.next_epoch(&mut log);
        }
        self.bytes.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.next_epoch(&mut self.of.log.borrow_mut());
        self.bytes.flush()
    }
}

/// Runs fsck on `disks`, which answer at once.
///
/// # Errors
/// Those of the check.
pub(crate) fn check(rt: &Rt, disks: Disks, mode: Mode) -> Result<Report, Error> {
    // What a crash has left is judged as it lies there.
    let options = Options { log: disks.home(), through_log: false, ..Options::new(mode) };
    rt.block_on(ordo_fsck::check(rt, disks.volume, options)).map_err(|error| Error::Check(error.to_string()))
}

/// What `log` changes in the fingerprint of `before`.
pub(crate) fn changes(before: &RamDisk, log: &[Logged]) -> u128 {
    changes_by(before, log.iter().map(|write| (write.at, &write.image[..])))
}

/// The same for writes of whole sectors: their places, and their bytes.
pub(crate) fn changes_by<'a>(before: &RamDisk, writes: impl Iterator<Item = (u64, &'a [u8])>) -> u128 {
    let mut last: FxHashMap<u64, u128> = FxHashMap::default();
    for (at, bytes) in writes {
        last.extend(of_image(at, bytes));
    }
    last.into_iter().fold(0, |value, (sector, add)| {
        let mut bytes = [0; SECTOR];
        before.peek(sector * SECTOR as u64, &mut bytes);
        value ^ of_sector(sector, &bytes) ^ add
    })
}

/// The ways in which a recovery can be interrupted: all prefixes of its writes; and, of the last writes that a volatile
/// cache may hold back, those that lose one, keep one, or lose all of one disk. Each is a list of writes that reached
/// their disks, and none is the whole log.
pub(crate) fn interruptions(log: &[Logged], device: &Device) -> Vec<Vec<Logged>> {
    let mut all = Vec::new();
    for end in 0..log.len() {
        all.push(log[..end].to_vec());
        let waits = |write: &Logged| write.epochs.of(write.side) == log[end].epochs.of(write.side);
        let oldest = log[..=end].iter().position(waits).unwrap_or(end);
        if device.reorders && oldest < end {
            let all_but = |lost: &dyn Fn(usize) -> bool| {
                let kept = (0..=end).filter(|at| !waits(&log[*at]) || !lost(*at));
                kept.map(|at| log[at].clone()).collect()
            };
            // Of the writes not flushed yet, all but the newest; and all but the oldest.
            all.push(all_but(&|at| at != end));
            all.push(all_but(&|at| at == oldest));
            if (oldest..end).any(|at| waits(&log[at]) && log[at].side != log[end].side) {
                all.push(all_but(&|at| log[at].side == Side::Volume));
                all.push(all_but(&|at| log[at].side == Side::Log));
            }
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
    let image = ordo_disk::Block::copy_of(&write.image[..len.min(write.image.len())]).image();
    Logged { image, ..write.clone() }
}
