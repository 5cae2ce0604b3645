//! A mechanical drive that serves one request at a time.
//!
//! D1. The mechanism is occupied by one motion at a time: a read with its prefetch, or a write with its write-back. It
//!     is advanced when a request arrives, up to that moment, and not before (mechanism-2).
//! D2. Nothing that a later request could still prevent is done between requests. What has been reported, a completion
//!     or a block on the medium, never changes.
//! D3. A write-back is never interrupted. So the moment at which each of its blocks becomes durable is known as soon as
//!     its data are in the buffer. Only on a drive with a large volatile cache ([`defer`]) do writes wait behind it;
//!     later requests may delay those.
//! D4. A command that waited at the drive (tagged queueing) was processed while the mechanism served others, and the
//!     data of a write were in the buffer before its turn: of the overhead and of the transfer over the bus only the
//!     part is left that took longer than the wait. Commands that wait do not delay each other on the bus, which is
//!     faster than the media of the drives that have tags.

mod defer;
mod extent;
mod read;
mod write;

use crate::buffer::{Buffer, State};
use crate::geometry::Geometry;
use crate::mechanism::{Arrivals, Doing, Gate, Mechanism, Motion, Passed};
use crate::profile::{After, Cache, Controller, DiskProfile, Requested, WriteCache, WritePolicy};
use crate::request::{Completion, Op, Options, Phases};
use crate::seek::Arm;
use crate::units::Ms;
use extent::{Extent, Source};

/// A mechanical drive. Times are in milliseconds since it was switched on.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    mechanism: Mechanism,
    controller: Controller,
    cache: Cache,
    write_cache: Option<WriteCache>,
    read_block: f64,
    write_block: f64,
    options: Options,

    arm: Arm,
    buffer: Buffer,
    motion: Option<Motion>,
    /// The segment that the motion uses.
    owner: usize,
    /// When the mechanism was last released.
    idle_since: f64,
    /// Arrival times of the data of the current write.
    arrivals: Arrivals,
    /// Blocks that joined a write-back and are written a second time after it.
    again: Option<(u64, u64)>,
    /// Writes that wait in a large volatile cache.
    dirty: Vec<Extent>,
    /// Those writes wait until the current request has been served.
    holds_deferred: bool,
    last: Op,
    /// What is left of the time for which the drive has had the current command before its turn (D4).
    early: f64,
    /// Number of requests before the current one.
    number: u64,
    /// The writes that the blocks of the motion come from, ascending.
    sources: Vec<Source>,
    /// Blocks that have reached the medium, if recording is on.
    written: Vec<Recorded>,
}

/// Blocks of one write that reached the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) passed: Passed,
    pub(crate) number: u64,
}

/// Records blocks that have passed the head, each with the write that it comes from.
fn record(written: &mut Vec<Recorded>, sources: &[Source], passed: Passed) {
    let mut rest = passed;
    for source in sources {
        let blocks = source.end.saturating_sub(rest.first).min(rest.blocks);
        if blocks > 0 {
            written.push(Recorded { passed: Passed { blocks, ..rest }, number: source.number });
            rest.first += blocks;
            rest.from.1 += blocks;
            rest.blocks -= blocks;
        }
    }
}

/// How a new request gets the mechanism.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// When.
    at: f64,
    /// Overhead added by stopping a prefetch.
    stopping: f64,
}

impl Disk {
    pub(crate) fn new(profile: DiskProfile, options: Options) -> Disk {
        let revolution = 60_000.0 / profile.rpm;
        Disk {
            mechanism: Mechanism {
                least_width: revolution / f64::from(profile.geometry.most_sectors),
                revolution,
                seek: profile.seek,
                tie_is_late: options.tie_is_late,
                comes_round_by_blocks: options.comes_round_by_blocks,
                geometry: profile.geometry,
            },
            controller: profile.controller,
            cache: profile.cache,
            write_cache: profile.write_cache,
            read_block: profile.read_block_ms,
            write_block: profile.write_block_ms,
            options,
            arm: Arm::default(),
            buffer: Buffer::new(&profile.cache),
            motion: None,
            owner: 0,
            idle_since: 0.0,
            arrivals: Arrivals::default(),
            again: None,
            dirty: Vec::new(),
            holds_deferred: false,
            last: Op::Read,
            early: 0.0,
            number: 0,
            sources: Vec::new(),
            written: Vec::new(),
        }
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.mechanism.geometry
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.mechanism.geometry.blocks()
    }

    /// `came` is when the drive got the command; `now`, when it is its turn.
    pub(crate) fn submit(&mut self, came: f64, now: f64, op: Op, lbn: u64, blocks: u64, fua: bool) -> Completion {
        self.early = now - came;
        let from = now + self.left_of(self.controller.per_request);
        self.settle(from);
        self.holds_deferred = true;
        let completion = match op {
            Op::Read => self.read(now, from, lbn, lbn + blocks),
            Op::Write => {
                let through = fua || self.cache.write_policy == WritePolicy::Through;
                self.write(now, from, lbn, lbn + blocks, through)
            }
        };
        self.last = op;
        self.number += 1;
        self.holds_deferred = false;
        if self.motion.is_none() && !self.dirty.is_empty() {
            self.begin_deferred(completion.at.0);
        }
        completion
    }

    /// The time at which nothing is dirty and the flush completes.
    pub(crate) fn flush(&mut self, now: f64) -> f64 {
        self.settle(now);
        let clean = if self.is_dirty() { self.settle_all() } else { now };
        clean.max(now) + self.write_cache.map_or(0.0, |cache| cache.flush_ms)
    }

    /// The time at which the write-back in flight, if any, is entirely on the medium.
    pub(crate) fn settled(&self, now: f64) -> f64 {
        let mut later = self.clone();
        later.written.clear();
        if later.is_dirty() { later.settle_all().max(now) } else { now }
    }

    /// The blocks written so far, oldest first, and those that the write-back in flight will write.
    pub(crate) fn written(&self) -> Vec<Recorded> {
        let mut later = self.clone();
        if later.is_dirty() {
            later.settle_all();
        }
        later.written
    }

    /// Drops the record of the blocks that were on the medium at `time`.
    pub(crate) fn forget_written(&mut self, time: f64) {
        self.written.retain(|recorded| recorded.passed.last_done() > time);
    }

    /// The part of some work on the current command that was not done while it waited (D4).
    fn left_of(&mut self, work: f64) -> f64 {
        let done = if work < self.early { work } else { self.early };
        self.early -= done;
        work - done
    }

    /// Seek and rotation, in milliseconds, for a request that came at `came` and has its turn at `now`.
    pub(crate) fn positioning(&self, came: f64, now: f64, lbn: u64, op: Op) -> (f64, f64) {
        let place = self.mechanism.geometry.locate(lbn);
        let seek = self.mechanism.seek.to(self.arm_at(now), &place, op == Op::Write);
        let overhead = self.controller.per_request + self.miss_overhead(op);
        let left = if now - came < overhead { overhead - (now - came) } else { 0.0 };
        (seek, self.mechanism.wait(place.angle, now + left + seek))
    }

    /// Cylinders between the arm and a block.
    pub(crate) fn seek_distance(&self, now: f64, lbn: u64) -> u32 {
        self.arm_at(now).cylinder.abs_diff(self.mechanism.geometry.locate(lbn).cylinder)
    }

    fn arm_at(&self, now: f64) -> Arm {
        match &self.motion {
            None => self.arm,
            Some(motion) => {
                // Advances a copy: a query changes nothing.
                let mut motion = *motion;
                motion.run(&self.mechanism, now, u64::MAX, Disk::gate(&motion, &self.arrivals), &mut |_| {});
                motion.arm_at(now)
            }
        }
    }

    fn miss_overhead(&self, op: Op) -> f64 {
        match (op, self.cache.write_policy) {
            (Op::Read, _) => self.after(self.controller.read_miss),
            (Op::Write, WritePolicy::Through) => self.after(self.controller.write_miss),
            (Op::Write, WritePolicy::Back) => self.after(self.controller.write_hit),
        }
    }

    fn after(&self, overhead: After) -> f64 {
        match self.last {
            Op::Read => overhead.read,
            Op::Write => overhead.write,
        }
    }

    fn gate(motion: &Motion, arrivals: &Arrivals) -> Gate {
        if motion.write { Gate::Ready(*arrivals) } else { Gate::Open }
    }

    fn is_dirty(&self) -> bool {
        self.writes_back() || !self.dirty.is_empty()
    }

    fn writes_back(&self) -> bool {
        self.motion.as_ref().is_some_and(|motion| motion.write)
    }

    /// Advances the mechanism to `time`.
    fn settle(&mut self, time: f64) {
        while let Some(motion) = &mut self.motion {
            let gate = Disk::gate(motion, &self.arrivals);
            let records = motion.write && self.options.record_writes;
            let (written, sources) = (&mut self.written, &self.sources);
            motion.run(&self.mechanism, time, u64::MAX, gate, &mut |passed| {
                if records {
                    record(written, sources, passed);
                }
            });
            if !motion.write {
                self.buffer.segments[self.owner].extend(motion.next, self.cache.segment_blocks);
            }
            if motion.next < motion.limit {
                return;
            }
            self.finish_motion();
        }
    }

    /// Lets the mechanism finish its work; returns the time at which it is free.
    fn settle_all(&mut self) -> f64 {
        self.settle(f64::INFINITY);
        self.idle_since
    }

    /// Ends a motion that has passed its last block.
    fn finish_motion(&mut self) {
        let Some(mut motion) = self.motion.take() else { return };
        if let Some((first, end)) = self.again
            && motion.limit < end
        {
            let come = self.arrivals.there_at(motion.limit.max(first), motion.done);
            if come > 0 {
                motion.limit += come;
                self.motion = Some(motion);
                return;
            }
        }
        self.arm = motion.arm_at(f64::INFINITY);
        self.idle_since = motion.done;
        if let Some((first, end)) = self.again.take() {
            let next = Motion::start(&self.mechanism, self.arm, motion.done, first, end, true, 0.0);
            self.motion = Some(next);
            return;
        }
        self.rest(motion.write);
        if !self.holds_deferred && !self.dirty.is_empty() {
            self.begin_deferred(motion.done);
        }
    }

    /// Makes the segment of the finished motion clean, or empty if it may not serve reads.
    fn rest(&mut self, write: bool) {
        let keeps = !write || (self.cache.caching_enabled && self.cache.read_hits_on_write_data);
        let segment = &mut self.buffer.segments[self.owner];
        if keeps && segment.start < segment.end {
            segment.state = State::Clean;
        } else {
            segment.empty();
        }
    }

    /// Stops a prefetch, if one occupies the mechanism.
    fn stop_prefetch(&mut self, now: f64) -> Grant {
        let Some(motion) = self.motion.take() else { return Grant { at: now, stopping: 0.0 } };
        let free = match motion.doing(now) {
            Doing::NotBegun => now,
            Doing::Seek(end) => end,
            Doing::Sector(_) if self.cache.abort_prefetch_mid_sector => now,
            Doing::Sector(end) => end,
        };
        self.arm = motion.arm_at(now);
        self.idle_since = free;
        self.rest(false);
        Grant { at: free, stopping: free - now }
    }

    /// The time at which everything that a write-back occupies is free.
    fn wait_for_write_back(&mut self, now: f64) -> Grant {
        let free = self.settle_all();
        Grant { at: if free > now { free } else { now }, stopping: 0.0 }
    }

    fn drop_requested(&mut self, index: usize, end: u64) {
        if self.cache.requested == Requested::Dropped {
            self.buffer.segments[index].start = end;
        }
    }

    fn completion(&self, at: f64, phases: Phases, buffered: bool) -> Completion {
        Completion { number: self.number, at: Ms(at), phases, buffered }
    }

    fn phases(&self, now: f64, at: f64, positioned: Option<(f64, f64, f64)>, waited: f64) -> Phases {
        match positioned {
            Some((from, end, begins)) => Phases::new(now, at, waited, from - now - waited, end - from, begins - end),
            None => Phases::new(now, at, waited, 0.0, 0.0, 0.0),
        }
    }
}
