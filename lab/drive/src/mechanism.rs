//! The arm over the turning platter: which block passes the head at which time.
//!
//! M1. Nothing is simulated sector by sector. On a stretch, block i passes at (start + i sectors), so "how far by
//!     then", "when is that block done" and "which block fails its check first" are one division each. A step costs the
//!     same for one block and for a thousand.
//! M2. A motion is advanced only on request, and never beyond the requested time. What it will do later can still be
//!     changed by a request that arrives in between.
//! M3. Before each block, at the start of its sector, the drive checks the buffer: room for a read, data for a write. A
//!     block that fails waits until it comes round again.

use crate::geometry::{Geometry, Location};
use crate::seek::{Arm, SeekCurve};

/// Angles that differ by less are equal, in revolutions. DiskSim counts in units of 2^-32 revolution and loses up to
/// one unit a sector; layouts state six decimals.
const SAME_ANGLE: f64 = 1e-6;
/// A block counts as passed if less than this fraction of its sector is missing: rounding, not rotation.
const ROUNDING: f64 = 1e-9;

/// The constants of a drive. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Mechanism {
    pub(crate) geometry: Geometry,
    pub(crate) seek: SeekCurve,
    pub(crate) revolution: f64,
    /// The shortest time that any block of this drive takes to pass.
    pub(crate) least_width: f64,
    pub(crate) tie_is_late: bool,
    pub(crate) comes_round_by_blocks: bool,
}

impl Mechanism {
    /// The angle of the platter at `time`, in revolutions.
    pub(crate) fn angle(&self, time: f64) -> f64 {
        let turns = time / self.revolution;
        turns - (turns as u64) as f64
    }

    /// How long after `time` `angle` comes under the head.
    pub(crate) fn wait(&self, angle: f64, time: f64) -> f64 {
        let mut ahead = angle - self.angle(time);
        if ahead < 0.0 {
            ahead += 1.0;
        }
        if self.tie_is_late {
            if ahead < SAME_ANGLE {
                ahead += 1.0;
            }
        } else if ahead > 1.0 - SAME_ANGLE {
            ahead = 0.0;
        }
        ahead * self.revolution
    }
}

/// Blocks that passed one after the other. Times are counted from where the stretch began, so that they are the same to
/// the last bit however often the motion was advanced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Passed {
    pub(crate) first: u64,
    pub(crate) blocks: u64,
    /// When the sector began that is `.1` places before the first block.
    pub(crate) from: (f64, u64),
    /// How long each block took.
    pub(crate) width: f64,
}

impl Passed {
    /// When the block `index` places after the first was done.
    pub(crate) fn done(&self, index: u64) -> f64 {
        self.from.0 + (self.from.1 + index + 1) as f64 * self.width
    }

    pub(crate) fn last_done(&self) -> f64 {
        self.done(self.blocks - 1)
    }
}

/// When blocks of a write arrive in the buffer, or when blocks of a read find room there. Both depend on the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Arrivals {
    /// Blocks before this one have arrived.
    pub(crate) there: u64,
    /// Those from `there` up to here arrive one after the other.
    pub(crate) end: u64,
    /// When the first of them begins to arrive.
    pub(crate) from: f64,
    /// How long each takes.
    pub(crate) block_ms: f64,
    /// A block that may not be written before the block `.1` places later has arrived.
    pub(crate) held: Option<(u64, u64)>,
}

impl Arrivals {
    fn time(&self, block: u64) -> f64 {
        if block < self.there {
            f64::NEG_INFINITY
        } else if block < self.end {
            self.from + (block - self.there + 1) as f64 * self.block_ms
        } else {
            f64::INFINITY
        }
    }

    /// How many blocks from `first` on have arrived at `time`.
    pub(crate) fn there_at(&self, first: u64, time: f64) -> u64 {
        let come =
            if self.block_ms > 0.0 { (((time - self.from) / self.block_ms) + ROUNDING) as u64 } else { u64::MAX };
        let come = if time < self.from { 0 } else { come };
        let end = self.there.saturating_add(come).min(self.end).max(self.there);
        end.saturating_sub(first)
    }

    /// How many of `blocks` blocks from `first` on arrive in time, if sector i begins at `at` + i `width`.
    fn in_time(&self, first: u64, blocks: u64, at: f64, width: f64) -> u64 {
        if let Some((held, more)) = self.held
            && held == first
            && self.time(first + more) > at + ROUNDING * width
        {
            return 0;
        }
        if first + blocks <= self.there {
            return blocks;
        }
        let skipped = self.there.saturating_sub(first);
        if first + skipped >= self.end {
            return skipped;
        }
        let late = self.time(first + skipped) - (at + skipped as f64 * width) - ROUNDING * width;
        if late > 0.0 {
            return skipped;
        }
        let most = blocks.min(self.end - first);
        let falls_behind = self.block_ms - width;
        if falls_behind <= 0.0 {
            return most;
        }
        most.min(skipped + 1 + (-late / falls_behind) as u64)
    }
}

/// The check before each block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    /// Nothing.
    Open,
    /// The block's place in the buffer: its data, or its room, must be there.
    Ready(Arrivals),
}

/// A run of blocks under the head, with the seeks between its tracks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    pub(crate) write: bool,
    /// The first block that has not passed.
    pub(crate) next: u64,
    /// The first block that is not wanted.
    pub(crate) limit: u64,
    /// When the last seek began and ended.
    pub(crate) seek_from: f64,
    pub(crate) seek_end: f64,
    /// When the last block that passed was done.
    pub(crate) done: f64,
    /// Where the arm was before the last seek, and where it goes.
    before: Arm,
    arm: Arm,
    /// Block `origin` begins at `origin_at`.
    origin: u64,
    origin_at: f64,
    width: f64,
    stretch_last: u64,
    /// The time after which a block passes again.
    round: f64,
    /// Blocks that passed out of order: when `.0` is next, they are done up to `.1`.
    early: Option<(u64, u64)>,
}

/// The state of a motion at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Doing {
    /// It begins later.
    NotBegun,
    /// The arm moves until then.
    Seek(f64),
    /// It waits for a sector, or transfers it, until then.
    Sector(f64),
}

impl Motion {
    /// Starts a motion: the arm leaves `arm` at `from` for `block`, positions for at least `least`, and goes on up to
    /// `limit`.
    pub(crate) fn start(
        mechanism: &Mechanism,
        arm: Arm,
        from: f64,
        block: u64,
        limit: u64,
        write: bool,
        least: f64,
    ) -> Motion {
        let mut motion = Motion {
            write,
            next: block,
            limit,
            seek_from: from,
            seek_end: from,
            done: from,
            before: arm,
            arm,
            origin: block,
            origin_at: from,
            width: mechanism.least_width,
            stretch_last: block,
            round: mechanism.revolution,
            early: None,
        };
        motion.land(mechanism, from, least);
        motion
    }

    fn land(&mut self, mechanism: &Mechanism, from: f64, least: f64) {
        let place = mechanism.geometry.locate(self.next);
        let seek = mechanism.seek.to(self.arm, &place, self.write);
        self.before = self.arm;
        self.arm = Arm::on(&place);
        self.seek_from = from;
        self.seek_end = from + if seek > least { seek } else { least };
        self.place(mechanism, &place);
        self.origin_at = self.seek_end + mechanism.wait(place.angle, self.seek_end);
    }

    fn place(&mut self, mechanism: &Mechanism, place: &Location) {
        self.origin = self.next;
        self.width = mechanism.revolution / f64::from(place.sectors);
        self.stretch_last = place.stretch_last;
        self.round = if mechanism.comes_round_by_blocks {
            (place.track_last - place.track_first + 1) as f64 * self.width
        } else {
            mechanism.revolution
        };
    }

    /// Delays the first block by `ms`. Only for a motion that has just been started.
    pub(crate) fn delay(&mut self, ms: f64) {
        self.origin_at += ms;
    }

    /// When the sector of `block`, which is on the stretch, begins.
    pub(crate) fn begins(&self, block: u64) -> f64 {
        self.origin_at + (block - self.origin) as f64 * self.width
    }

    /// Where the arm is at `time`; during a seek, its target.
    pub(crate) fn arm_at(&self, time: f64) -> Arm {
        if time < self.seek_from { self.before } else { self.arm }
    }

    /// Starts with the next sector if the head has landed among the wanted blocks, which end before `wanted`, and if
    /// `gate` lets them pass. Only for a motion that has just been started.
    pub(crate) fn begin_where_landed(
        &mut self,
        mechanism: &Mechanism,
        wanted: u64,
        gate: Gate,
        passed: &mut impl FnMut(Passed),
    ) {
        let elapsed = mechanism.revolution - (self.origin_at - self.seek_end);
        let skipped = (elapsed / self.width - ROUNDING) as u64 + 1;
        let end = wanted.min(self.stretch_last + 1);
        let first = self.next + skipped;
        if elapsed <= 0.0 || first >= end {
            return;
        }
        let at = self.seek_end + skipped as f64 * self.width - elapsed;
        let blocks = match gate {
            Gate::Ready(arrivals) => arrivals.in_time(first, end - first, at, self.width),
            Gate::Open => end - first,
        };
        if blocks > 0 {
            passed(Passed { first, blocks, from: (at, 0), width: self.width });
            self.early = Some((first, first + blocks));
        }
    }

    /// Advances until `until`, or until `goal` is next, whichever comes first. Calls `passed` with the blocks that
    /// passed.
    pub(crate) fn run(
        &mut self,
        mechanism: &Mechanism,
        until: f64,
        goal: u64,
        gate: Gate,
        passed: &mut impl FnMut(Passed),
    ) {
        let goal = goal.min(self.limit);
        while self.next < goal {
            if self.next > self.stretch_last {
                self.land(mechanism, self.done, 0.0);
            }
            let at = self.begins(self.next);
            if at >= until {
                return;
            }
            let mut stop = goal.min(self.stretch_last + 1);
            if let Some((from, end)) = self.early {
                if from == self.next {
                    self.next = end;
                    self.early = None;
                    continue;
                }
                stop = stop.min(from);
            }
            let blocks = match gate {
                Gate::Open => stop - self.next,
                Gate::Ready(arrivals) => arrivals.in_time(self.next, stop - self.next, at, self.width),
            };
            if blocks == 0 {
                self.origin_at += self.round;
                continue;
            }
            let blocks = blocks.min(((until - at) / self.width + ROUNDING) as u64);
            if blocks == 0 {
                return;
            }
            let from = (self.origin_at, self.next - self.origin);
            passed(Passed { first: self.next, blocks, from, width: self.width });
            self.next += blocks;
            self.done = self.begins(self.next);
        }
    }

    /// The state at `time`. The motion has been advanced to then and is not over.
    pub(crate) fn doing(&self, time: f64) -> Doing {
        if time < self.seek_from {
            Doing::NotBegun
        } else if time < self.seek_end {
            Doing::Seek(self.seek_end)
        } else {
            let begins = self.begins(self.next);
            Doing::Sector(if time < begins { begins } else { begins + self.width })
        }
    }
}

#[cfg(test)]
mod tests;
