//! The laboratory's disks: one that takes a drive's time ([`SimDisk`]), one that fails by a plan ([`Faulty`]), one that
//! records what it is asked for ([`Recorder`]), one behind connections that are lost ([`NbdLoopback`]), and a stream
//! whose servers lose messages ([`RamStream`]).
//!
//! [`SimDisk`] has its contents in memory, and its time from [`ordo_drive::Drive`], awaited on the executor's clock. In
//! virtual time a bench on a drive of 1993 takes as long as its computing, and gives the same result each time.
//!
//! D1. A drive without tags has one request at a time, and the host decides which is next ([`ordo_disk::Scheduler`];
//!     Ganger and Patt 1994, section 2, switched command queueing off). A drive with tags holds as many as were agreed
//!     on, and picks among them itself (`tags`). In both cases one request is at the mechanism at a time.
//! D2. The contents change when the drive answers, not before: a power cut in between finds the old bytes. A cut loses
//!     the volatile cache, except what a flush or a forced write has made durable. Write-back that the drive may have
//!     done by itself meanwhile does not count.
//! D3. The drive's clock is the executor's, to the nanosecond: an answer comes at the first whole nanosecond that is
//!     not before the drive's own.
//! D4. A drive of which only the times are wanted ([`SimDisk::times_only`]) says so to the cache above it, which then
//!     writes zeros in place of the contents of files: they are most of what a run moves, and nothing that is measured
//!     depends on them. Only the laboratory asks for it, for machines whose drive ends with the run. No other disk can
//!     say so, hence no mount and no copy loses a byte.
//! D5. A request of more than [`DiskInfo::max_transfer`] bytes, as a log-structured volume makes them, reaches the
//!     drive as several commands, each sent when the one before is answered. A drive without write cache then loses
//!     nearly a turn between two of them (Seltzer and others 1995, section 3.1), which one large command would hide.
#![forbid(unsafe_code)]

mod faulty;
mod loopback;
mod recorder;
mod stream;
mod tags;
#[cfg(test)]
mod tests;

pub use faulty::{Effect, Fault, FaultPlan, Faulty, Injected};
pub use loopback::{NbdFlaw, NbdLoopback, NbdLosses};
pub use recorder::{Event, RecordedPart, Recorder};
pub use stream::{RamStream, StreamFault};

use std::cell::RefCell;
use std::rc::Rc;

use ordo_drive::{Completion, Drive, Lbn, Ms, Op, Phases, Profile, Request};
use ordo_rt::{Rt, Time};

use crate::tags::{Place, Tags};
use ordo_disk::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, RamDisk, ReadPart, WritePart, read_len,
    write_len,
};

/// The unit of the drives' addresses, in bytes.
const BLOCK: u64 = 512;

/// The most bytes of one request to a mechanical drive: the limit of host adapters of the papers' time.
const MECHANICAL_TRANSFER: u32 = 64 << 10;
/// The same for a flash drive.
const FLASH_TRANSFER: u32 = 1 << 20;

/// A modelled drive. Clones are handles of the same one.
#[derive(Clone)]
pub struct SimDisk(Rc<Inner>);

struct Inner {
    rt: Rt,
    contents: RamDisk,
    /// The request at the drive, and those that wait (D1).
    tags: Tags<Turn>,
    drive: RefCell<Drive>,
    services: RefCell<Option<Vec<Service>>>,
}

/// One request as the drive served it, for time lines and statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// When it reached the drive.
    pub at: Time,
    /// When it was answered.
    pub done: Time,
    /// Read or write.
    pub op: DiskOp,
    /// Where.
    pub place: DiskOff,
    /// Bytes.
    pub len: u64,
    /// The cylinder of its first block.
    pub cylinder: u32,
    /// What its first part is.
    pub kind: Kind,
    /// How its time was spent.
    pub phases: Phases,
    /// The buffer had all of a read, or took a write.
    pub buffered: bool,
}

impl SimDisk {
    /// A drive that has just been switched on, all zeros. Only written contents take memory.
    pub fn new(rt: &Rt, profile: Profile) -> SimDisk {
        SimDisk::tagged(rt, profile, 1)
    }

    /// The same, to which the host may send `depth` requests at a time (D1).
    pub fn tagged(rt: &Rt, profile: Profile, depth: u32) -> SimDisk {
        let drive = Drive::new(profile);
        let mechanical = drive.cylinders() > 0;
        let contents = RamDisk::new(drive.blocks() * BLOCK).volatile(drive.is_volatile()).with(|info| {
            info.immediate = false;
            info.rotates = mechanical;
            info.depth = depth.max(1);
            info.max_transfer = if mechanical { MECHANICAL_TRANSFER } else { FLASH_TRANSFER };
        });
        SimDisk(Rc::new(Inner {
            rt: rt.clone(),
            contents,
            tags: Tags::new(),
            drive: RefCell::new(drive),
            services: RefCell::new(None),
        }))
    }

    /// From the next mount on only times are wanted (D4): a cache keeps no contents of files, and no power cut comes.
    pub fn times_only(&self) {
        self.0.contents.change_info(|info| info.times_only = true);
    }

    /// The contents, including what is not durable: for a power cut.
    pub fn contents(&self) -> &RamDisk {
        &self.0.contents
    }

    /// The number of cylinders; 0 on flash.
    pub fn cylinders(&self) -> u32 {
        self.0.drive.borrow().cylinders()
    }

    /// Starts to record every request that is served.
    pub fn note_services(&self) {
        self.0.services.replace(Some(Vec::new()));
    }

    /// What was recorded since; stops recording.
    pub fn take_services(&self) -> Vec<Service> {
        self.0.services.take().unwrap_or_default()
    }
}

/// A request as the host makes it, or one of the commands that it becomes (D5).
#[derive(Clone, Copy)]
struct Asked {
    /// When it came to the queue.
    came: Time,
    op: DiskOp,
    place: DiskOff,
    /// Bytes.
    len: u64,
    fua: bool,
    /// What its first part is.
    kind: Kind,
}

impl Asked {
    /// Where the head has to go for it.
    fn target(&self) -> Place {
        (Lbn(self.place.0 / BLOCK), if self.op == DiskOp::Read { Op::Read } else { Op::Write }, self.came)
    }
}

/// The right to use the drive. Returning it admits the next request.
struct Turn(Rc<Inner>);

impl Drop for Turn {
    fn drop(&mut self) {
        let reach = |place| self.0.reach(place).unwrap_or(u64::MAX);
        if let Some(next) = self.0.tags.next(reach) {
            next.send(Turn(self.0.clone()));
        }
    }
}

impl Inner {
    /// Waits until the drive accepts the request.
    async fn turn(self: &Rc<Self>, place: Option<Place>) -> Turn {
        match self.tags.come(place) {
            None => Turn(self.clone()),
            // The queue drops no waiting request.
            Some(turn) => turn.await.unwrap_or_else(|_| Turn(self.clone())),
        }
    }

    /// Nanoseconds until the head reaches the block; `None` beyond the end.
    fn reach(&self, (lbn, op, came): Place) -> Option<u64> {
        let (came, now) = (Ms::from_nanos(came.as_nanos()), Ms::from_nanos(self.rt.now().as_nanos()));
        self.drive.borrow().positioning_queued(came, now, lbn, op).ok().map(Ms::as_nanos)
    }

    /// The drive's part of a request, from its turn on. Ends when the request is done and the task has run (D5).
    async fn serve(&self, asked: Asked) -> Result<(), DiskError> {
        let info = self.contents.info();
        info.check(asked.op, asked.place, asked.len)?;
        let mut came = asked.came;
        for from in (0..asked.len).step_by(info.max_transfer as usize) {
            let len = (asked.len - from).min(info.max_transfer.into());
            self.command(Asked { came, place: DiskOff(asked.place.0 + from), len, ..asked }).await?;
            came = self.rt.now();
        }
        Ok(())
    }

    /// One command to the drive, of no more bytes than the host's adapter can move.
    async fn command(&self, asked: Asked) -> Result<(), DiskError> {
        let Asked { came, op, place, len, fua, kind } = asked;
        let at = self.rt.now();
        let (lbn, to_do, _) = asked.target();
        let request = Request { op: to_do, lbn, blocks: len / BLOCK, fua };
        let outside = |_| DiskError::new(op, place, len, Cause::OutOfRange { size: self.contents.info().size });
        let (completion, cylinder) = {
            let mut drive = self.drive.borrow_mut();
            let now = Ms::from_nanos(at.as_nanos()).max(drive.free_at());
            let came = Ms::from_nanos(came.as_nanos());
            let completion = drive.submit_queued(came, now, request).map_err(outside)?;
            (completion, drive.cylinder(request.lbn).map_err(outside)?)
        };
        let done = moment(completion.at).max(at);
        self.rt.sleep_until(done).await;
        if let Some(services) = &mut *self.services.borrow_mut() {
            let Completion { phases, buffered, .. } = completion;
            services.push(Service { at, done, op, place, len, cylinder, kind, phases, buffered });
        }
        Ok(())
    }
}

/// The first whole nanosecond that is not before `at` (D3).
fn moment(at: Ms) -> Time {
    Time::from_nanos((at.0 * 1e6).ceil() as u64)
}

impl Disk for SimDisk {
    fn info(&self) -> DiskInfo {
        self.0.contents.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (disk, len) = (self.0.clone(), read_len(&parts));
        let kind = parts.first().map_or(Kind::Other, |part| part.tag.kind);
        DiskFuture::later(async move {
            let asked = Asked { came: disk.rt.now(), op: DiskOp::Read, place: at, len, fua: false, kind };
            let _turn = disk.turn(Some(asked.target())).await;
            disk.serve(asked).await?;
            disk.contents.read(at, parts).await
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (disk, len) = (self.0.clone(), write_len(&parts));
        let kind = parts.first().map_or(Kind::Other, |part| part.tag.kind);
        DiskFuture::later(async move {
            let asked = Asked { came: disk.rt.now(), op: DiskOp::Write, place: at, len, fua, kind };
            let _turn = disk.turn(Some(asked.target())).await;
            disk.serve(asked).await?;
            disk.contents.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        let disk = self.0.clone();
        DiskFuture::later(async move {
            let _turn = disk.turn(None).await;
            let done = {
                let mut drive = disk.drive.borrow_mut();
                let now = Ms::from_nanos(disk.rt.now().as_nanos()).max(drive.free_at());
                // It would be refused before the last request is answered, and `now` is not before that.
                drive.flush(now).unwrap_or(now)
            };
            // D1: nothing completes while the drive is flushing, so everything present now is covered.
            disk.rt.sleep_until(moment(done)).await;
            disk.contents.flush().await
        })
    }

    fn positioning(&self, at: DiskOff, is_write: bool) -> Option<u64> {
        self.0.reach((Lbn(at.0 / BLOCK), if is_write { Op::Write } else { Op::Read }, self.0.rt.now()))
    }
}
