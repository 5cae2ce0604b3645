//! What a drive is asked and what it answers.

use crate::units::{Lbn, Ms};

/// Which way data go.
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
    /// Which way data go.
    pub op: Op,
    /// The first block.
    pub lbn: Lbn,
    /// How many blocks of 512 bytes.
    pub blocks: u64,
    /// A write is answered only when it is on the medium (force unit access). Reads pay no attention to it.
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

    /// The same request, answered only when it is on the medium.
    pub fn forced(self) -> Request {
        Request { fua: true, ..self }
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    /// How many requests the drive had served before.
    pub number: u64,
    /// When the host has it.
    pub at: Ms,
    /// What the time went into.
    pub phases: Phases,
    /// True if all blocks of a read were in the buffer when it came, or a write was answered from the buffer.
    pub buffered: bool,
}

/// The parts of a request's service time, one after the other. Their sum is the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// Until a busy mechanism was free.
    pub wait: Ms,
    /// Commands, buffer and bus before the arm moves.
    pub overhead: Ms,
    /// The first movement of the arm, settling and change of head included.
    pub seek: Ms,
    /// From there until the first sector.
    pub rotation: Ms,
    /// The rest: blocks over the medium and the bus, further tracks, completion. All of a request that the buffer serves
    /// counts here.
    pub transfer: Ms,
}

impl Phases {
    /// The parts of a request from `now` to `at`; what the bus has hidden is taken off the later parts.
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
    /// When the wanted sector begins exactly as positioning ends, it is missed, as in DiskSim. On by default: a command
    /// that arrives at that very moment finds the sector already under way.
    pub tie_is_late: bool,
    /// Blocks that join a write-back are written with it and then a second time, as in DiskSim. Off by default: no drive
    /// does that.
    pub write_appended_twice: bool,
    /// A block that finds no room, or no data, comes round again after as many sectors as its track has blocks, as in
    /// DiskSim. Off: after a revolution. They differ on tracks with spares. On by default, as validated.
    pub comes_round_by_blocks: bool,
    /// An access begins with the sector that the head lands on, on drives that can. Off by default: DiskSim's figures
    /// were made without.
    pub read_on_arrival: bool,
    /// Remembers when each block reached the medium, for [`crate::Drive::written`]. Off by default: the record grows.
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
    /// As DiskSim 4.0 behaves: for comparisons with it.
    pub fn disksim() -> Options {
        Options { write_appended_twice: true, ..Options::default() }
    }
}
