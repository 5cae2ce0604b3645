//! Requests to a drive, and their completions.

use crate::units::{Lbn, Ms};

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// To the host.
    Read,
    /// To the drive.
    Write,
}

/// A request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Direction of the transfer.
    pub op: Op,
    /// The first block.
    pub lbn: Lbn,
    /// How many blocks of 512 bytes.
    pub blocks: u64,
    /// A write completes only when it is on the medium (force unit access). Ignored for reads.
    pub fua: bool,
}

impl Request {
    /// A read of `blocks` blocks from `lbn` on.
    pub fn read(lbn: Lbn, blocks: u64) -> Request {
        Request { op: Op::Read, lbn, blocks, fua: false }
    }

    /// A write of `blocks` blocks from `lbn` on.
    pub fn write(lbn: Lbn, blocks: u64) -> Request {
        Request { op: Op::Write, lbn, blocks, fua: false }
    }

    /// The same request with force unit access.
    pub fn forced(self) -> Request {
        Request { fua: true, ..self }
    }
}

/// The completion of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// Number of requests that the drive had served before.
    pub number: u64,
    /// When the host has the completion.
    pub at: Ms,
    /// How the time was spent.
    pub phases: Phases,
    /// True if all blocks of a read were in the buffer when it arrived, or a write completed from the buffer.
    pub buffered: bool,
}

/// The parts of a request's service time, one after the other. Their sum is the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// Until a busy mechanism is free.
    pub wait: Ms,
    /// Commands, buffer and bus before the arm moves.
    pub overhead: Ms,
    /// The first movement of the arm, settling and change of head included.
    pub seek: Ms,
    /// From there until the first sector.
    pub rotation: Ms,
    /// The rest: transfer over the medium and the bus, further tracks, completion. A request that is served from the
    /// buffer counts here entirely.
    pub transfer: Ms,
}

impl Phases {
    /// The parts of a request from `now` to `at`; time hidden behind the bus is taken off the later parts.
    pub(crate) fn new(now: f64, at: f64, wait: f64, overhead: f64, seek: f64, rotation: f64) -> Phases {
        let mut left = at - now;
        let mut take = |part: f64| {
            let part = if part < 0.0 { 0.0 } else { part };
            let part = if part < left { part } else { left };
            left -= part;
            Ms(part)
        };
        let (wait, overhead) = (take(wait), take(overhead));
        let (seek, rotation) = (take(seek), take(rotation));
        Phases { wait, overhead, seek, rotation, transfer: Ms(left) }
    }

    /// The service time.
    pub fn sum(&self) -> Ms {
        self.wait + self.overhead + self.seek + self.rotation + self.transfer
    }
}

/// Which of several possible behaviours a drive shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A sector that begins exactly as positioning ends is missed, as in DiskSim. On by default: a command that arrives
    /// at that very moment finds the sector already passing.
    pub tie_is_late: bool,
    /// Blocks that join a write-back are written with it and then a second time, as in DiskSim. Off by default: real
    /// drives do not do that.
    pub write_appended_twice: bool,
    /// A block that finds no room, or no data, is tried again after as many sectors as its track has blocks, as in
    /// DiskSim. Off: after a revolution. They differ on tracks with spares. On by default, as validated.
    pub comes_round_by_blocks: bool,
    /// An access begins with the sector on which the head lands, on drives that can do that. Off by default: DiskSim's
    /// figures were made without.
    pub read_on_arrival: bool,
    /// Records when each block reached the medium, for [`crate::Drive::written`]. Off by default: the record grows.
    pub record_writes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tie_is_late: true,
            write_appended_twice: false,
            comes_round_by_blocks: true,
            read_on_arrival: false,
            record_writes: false,
        }
    }
}

impl Options {
    /// The behaviour of DiskSim 4.0, for comparisons with it.
    pub fn disksim() -> Options {
        Options { write_appended_twice: true, ..Options::default() }
    }
}
