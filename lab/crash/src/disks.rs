//! The disks of a run: the volume's, and with `log=separate` a second one for the log of its scheme.
//!
//! Both are windows on one image, the volume's first. So moments, fates, fingerprints and ids know one range of
//! sectors, and that there are two disks matters only for flushes.
//!
//! With `log=stream` that disk has a stream of messages, and the log lies in it ([`DiskStream`]).
//!
//! K1. The power goes for both at one instant, and each loses what its own cache had: a write becomes durable by a
//!     flush of its own disk, or, on a device that completes in order, once its own disk completed all before it.

use crate::arrivals::DiskStream;
use crate::device::Device;
use crate::shape::Shape;
use ordo_disk::{Disk, LogHome, LogStream, RamDisk, Slice};
use ordo_rt::Rt;
use ordo_simdisk::{NbdFlaw, NbdLoopback, NbdLosses, Recorder};
use std::cell::Cell;
use std::ops::Add;
use std::rc::Rc;

/// Size of the log's disk, in bytes.
const LOG: u64 = 512 << 10;
/// The same with a stream, which uses no room twice.
const STREAM: u64 = 16 << 20;

/// Alignment of the log's disk in the image, in bytes: whole sectors and blocks of any device and volume.
const LINE: u64 = 64 << 10;

/// Memory of the NBD client for what its server may lose, in bytes: so little that it must flush of its own accord.
const KEPT: u64 = 192 << 10;

/// Gives the log's disk another random seed than the volume's.
const OTHER_LUCK: u64 = 0x006c_6f67;

/// One of the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Volume,
    Log,
}

/// How an image is divided among the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    /// Bytes of the volume's disk.
    volume: u64,
    /// Where the log's disk begins.
    log: Option<u64>,
    /// The log's disk has a stream.
    stream: bool,
}

/// The disks, as the engine or fsck gets them.
#[derive(Clone)]
pub(crate) struct Disks {
    pub(crate) volume: Rc<dyn Disk>,
    pub(crate) log: Option<Rc<dyn Disk>>,
    stream: bool,
}

impl Split {
    /// The disks for a volume of this shape.
    pub(crate) fn of(shape: &Shape, separate_log: bool, stream: bool) -> Split {
        Split { volume: shape.size, log: separate_log.then(|| shape.size.next_multiple_of(LINE)), stream }
    }

    /// One disk, of this many bytes.
    #[cfg(test)]
    pub(crate) fn none(size: u64) -> Split {
        Split { volume: size, log: None, stream: false }
    }

    /// Bytes of the image.
    pub(crate) fn size(self) -> u64 {
        self.log.map_or(self.volume, |at| at + self.log_size())
    }

    fn log_size(self) -> u64 {
        if self.stream { STREAM } else { LOG }
    }

    /// The log has a disk of its own.
    pub(crate) fn has_log(self) -> bool {
        self.log.is_some()
    }

    /// Which disk this byte of the image belongs to.
    pub(crate) fn side(self, at: u64) -> Side {
        if self.log.is_some_and(|log| at >= log) { Side::Log } else { Side::Volume }
    }

    /// Where the disk begins in the image.
    pub(crate) fn base(self, side: Side) -> u64 {
        if side == Side::Log { self.log.unwrap_or(0) } else { 0 }
    }

    /// The disks over an image. A disk that is the whole image is not wrapped as a window.
    pub(crate) fn disks(self, whole: Rc<dyn Disk>) -> Disks {
        let Some(at) = self.log else { return Disks::one(whole) };
        let window = |at, len| -> Rc<dyn Disk> {
            // OK to expect: both lie within the image, which has whole sectors, and begin at one.
            Rc::new(Slice::new(whole.clone(), at, len).expect("a disk lies within its image"))
        };
        Disks { volume: window(0, self.volume), log: Some(window(at, self.log_size())), stream: self.stream }
    }

    /// Simulated devices over `ram`, each with its own queue, cache and random seed.
    pub(crate) fn devices(self, device: &Device, rt: &Rt, ram: &RamDisk, seed: u64) -> Disks {
        let Disks { volume, log, stream } = self.disks(Rc::new(ram.clone()));
        let log = log.map(|log| device.over(rt, log, seed ^ OTHER_LUCK));
        Disks { volume: device.over(rt, volume, seed), log, stream }
    }
}

impl Disks {
    /// A volume's disk without a log's disk.
    pub(crate) fn one(volume: Rc<dyn Disk>) -> Disks {
        Disks { volume, log: None, stream: false }
    }

    /// Where the log is, if it is not on the volume.
    pub(crate) fn home(&self) -> Option<LogHome> {
        let log = self.log.clone()?;
        Some(match self.stream {
            true => LogHome::Stream(LogStream::new(Rc::new(DiskStream::new(log)))),
            false => LogHome::Disk(log),
        })
    }

    /// Other disks in the place of these.
    #[must_use]
    pub(crate) fn replaced(self, volume: Rc<dyn Disk>, log: Option<Rc<dyn Disk>>) -> Disks {
        Disks { volume, log, ..self }
    }

    /// The same disks behind a recorder, which records places in the image.
    pub(crate) fn recorded(self, rt: &Rt, split: Split, keep_images: bool) -> (Recorder, Disks) {
        let recorder = Recorder::new(rt, self.volume, keep_images);
        let log = self.log.map(|log| -> Rc<dyn Disk> { Rc::new(recorder.beside(log, split.base(Side::Log))) });
        let volume = Rc::new(recorder.clone());
        (recorder, Disks { volume, log, stream: self.stream })
    }

    /// The same disks behind the NBD client, each with a server of its own; and what was lost of the connections.
    ///
    /// The servers of even seeds keep in a cache of their own what they have answered, and lose it with their process.
    pub(crate) fn behind_nbd(self, rt: &Rt, seed: u64, flaw: Option<NbdFlaw>) -> (Disks, Lost) {
        let server = |disk, seed| {
            let options = NbdLoopback { seed, kept: KEPT, connections: 2, server_caches: seed.is_multiple_of(2), flaw };
            options.over(rt, disk)
        };
        let (volume, lost) = server(self.volume, seed);
        let mut losses = vec![lost];
        let log = self.log.map(|log| {
            let (log, lost) = server(log, seed ^ OTHER_LUCK);
            losses.push(lost);
            log
        });
        (Disks { volume, log, stream: self.stream }, Lost(losses))
    }

    /// The same disks, with one of them replaced.
    pub(crate) fn with(self, side: Side, change: impl FnOnce(Rc<dyn Disk>) -> Rc<dyn Disk>) -> Disks {
        match side {
            Side::Volume => Disks { volume: change(self.volume), ..self },
            Side::Log => Disks { log: self.log.map(change), ..self },
        }
    }
}

/// What was lost of the connections to the servers.
pub(crate) struct Lost(Vec<Rc<Cell<NbdLosses>>>);

impl Lost {
    /// So far, of all.
    pub(crate) fn count(&self) -> NbdLosses {
        self.0.iter().map(|lost| lost.get()).fold(NbdLosses::default(), NbdLosses::add)
    }
}
