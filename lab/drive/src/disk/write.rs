//! A write: blocks over the bus, to the medium at once or in the background.

use super::{Completion, Disk, Source, record};
use crate::buffer::State;
use crate::mechanism::{Arrivals, Gate, Motion};
use crate::profile::ExtraDisconnect;

/// From this length on, drives with the extra disconnection buffer more data before they write.
const LONG: u64 = 45;
const BUFFERED: u64 = 10;
const BUFFERED_LONG: u64 = 15;

/// A write whose blocks are being received from the host.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    first: u64,
    end: u64,
    /// When the first transfer begins.
    start: f64,
    /// Cost of each reselection after the first.
    reselect: f64,
}

/// A write that has the mechanism.
struct Begun {
    segment: usize,
    /// When the arm begins to move.
    begin: f64,
    /// When the first block comes over the bus.
    bus: f64,
    /// How long it waited for the mechanism.
    waited: f64,
    extra: Option<ExtraDisconnect>,
}

impl Disk {
    /// `now` is the arrival of the request, `from` the time when the drive starts on it; the mechanism has been
    /// advanced to `from`.
    pub(super) fn write(&mut self, now: f64, from: f64, first: u64, end: u64, through: bool) -> Completion {
        let overhead = if through { self.controller.write_miss } else { self.controller.write_hit };
        let overhead = self.after(overhead);
        let overhead = self.left_of(overhead);
        self.supersede_deferred(first, end);
        if self.joins(first, through) {
            return self.append(now, from + overhead, first, end);
        }
        let controller = self.controller;
        let busy = self.writes_back();
        if busy
            && !through
            && let Some(completion) = self.defer(now, from + overhead, first, end)
        {
            return completion;
        }
        let Begun { segment, begin, bus, waited, extra } = self.begin(busy, from, overhead, first, end);
        self.buffer.touch(segment, true);
        self.buffer.supersede(segment, first, end);
        self.buffer.segments[segment].restart(first, State::Writing);
        let mut motion =
            Motion::start(&self.mechanism, self.arm, begin, first, end, true, controller.minimum_seek_delay);
        motion.delay(self.unaligned(first, end));
        let positioned = (motion.seek_from, motion.seek_end, motion.begins(first));
        let bus = bus - self.early;
        self.arrivals = Arrivals { there: first, end: first, ..Arrivals::default() };
        self.arrivals.held = controller.extra_write_disconnect.map(|_| {
            let blocks = end - first;
            let enough = if blocks < LONG { BUFFERED } else { BUFFERED_LONG };
            (first, enough.min(blocks) - 1)
        });
        self.owner = segment;
        self.sources.clear();
        self.sources.push(Source { end, number: self.number });
        let reselect = if extra.is_some() { controller.other_reselect } else { controller.first_reselect };
        if self.options.read_on_arrival && self.cache.zero_latency_write {
            let arrivals = Arrivals { there: first, end, from: bus, block_ms: self.write_block, held: None };
            let (records, written, sources) = (self.options.record_writes, &mut self.written, &self.sources);
            motion.begin_where_landed(&self.mechanism, end, Gate::Ready(arrivals), &mut |passed| {
                if records {
                    record(written, sources, passed);
                }
            });
        }
        self.motion = Some(motion);
        let received = self.receive(&Receiving { first, end, start: bus, reselect });

        let at = if through {
            let disconnect = extra.map_or(controller.write_disconnect, |extra| extra.second);
            let on_medium = self.settle_all();
            later(on_medium, received + disconnect) + reselect + controller.write_completion
        } else {
            received + controller.write_completion
        };
        self.completion(at, self.phases(now, at, Some(positioned), waited), !through)
    }

    /// Gets the mechanism and a segment for a write: from the write-back that is under way, or from a prefetch.
    fn begin(&mut self, busy: bool, from: f64, overhead: f64, first: u64, end: u64) -> Begun {
        let controller = self.controller;
        if busy {
            let grant = self.wait_for_write_back(from);
            let segment = self.buffer.for_write(&self.cache, first, end);
            let left = from + overhead + controller.write_disconnect;
            let begin = later(grant.at, from + overhead);
            let bus = later(grant.at, left) + controller.first_reselect + controller.data_preparation;
            return Begun { segment, begin, bus, waited: grant.at - from, extra: None };
        }
        let segment = self.buffer.for_write(&self.cache, first, end);
        let extra = self.extra_disconnect(segment, first);
        let grant = self.stop_prefetch(from);
        let (begin, bus) = match extra {
            Some(extra) => (
                from + extra.command + extra.seek_delta,
                from + extra.command
                    + extra.first
                    + extra.gap
                    + controller.first_reselect
                    + controller.data_preparation,
            ),
            None => (from + grant.stopping + overhead, from + overhead + controller.data_preparation),
        };
        Begun { segment, begin, bus, waited: grant.stopping, extra }
    }

    /// Whether a write continues where the current write-back ends, and may share its segment.
    fn joins(&self, first: u64, through: bool) -> bool {
        let segment = &self.buffer.segments[self.owner];
        self.writes_back()
            && !through
            && self.cache.combine_sequential_writes
            && segment.end == first
            && self.again.is_none()
            && self.room() > 0
    }

    /// Blocks that the current write can still take.
    fn room(&self) -> u64 {
        let unwritten = match &self.motion {
            Some(motion) => self.arrivals.end - motion.next.min(self.arrivals.end),
            None => 0,
        };
        self.cache.segment_blocks.saturating_sub(unwritten)
    }

    /// A write that shares the segment and the motion of the current write-back.
    fn append(&mut self, now: f64, ready: f64, first: u64, end: u64) -> Completion {
        let controller = self.controller;
        self.buffer.touch(self.owner, true);
        self.buffer.supersede(self.owner, first, end);
        // A stream may be endless; blocks of it that are written need no source any more.
        let next = self.motion.as_ref().map_or(first, |motion| motion.next);
        self.sources.retain(|source| source.end > next);
        self.sources.push(Source { end, number: self.number });
        if self.options.write_appended_twice {
            self.again = Some((first, end));
        } else if let Some(motion) = &mut self.motion {
            motion.limit = end;
        }
        let start = ready + controller.data_preparation;
        let received = self.receive(&Receiving { first, end, start, reselect: controller.first_reselect });
        let at = received + controller.write_completion;
        self.completion(at, self.phases(now, at, None, 0.0), true)
    }

    /// The extra disconnection of this write, if the drive has it.
    fn extra_disconnect(&self, segment: usize, first: u64) -> Option<ExtraDisconnect> {
        let held = &self.buffer.segments[segment];
        self.controller
            .extra_write_disconnect
            .filter(|_| self.buffer.is_latest(segment) && held.used_by_write && held.end != first)
    }

    /// Transfers the blocks over the bus; returns when the last one is in the buffer.
    fn receive(&mut self, receiving: &Receiving) -> f64 {
        let size = self.cache.segment_blocks;
        let blocks = receiving.end - receiving.first;
        // A full segment must lose a block before it can take one, whatever the water mark says.
        let low = ((blocks.min(size) as f64 * self.cache.write_low_water) as u64).max(1).min(size - 1);
        let (mut come, mut time) = (receiving.first, receiving.start);
        while come < receiving.end {
            if self.room() < receiving.end - come {
                self.run_write(time, u64::MAX);
            }
            let piece = self.room().min(receiving.end - come);
            if piece == 0 {
                if let Some(motion) = &mut self.motion {
                    // Only a write that is to be written twice exceeds the limit.
                    motion.limit = motion.limit.max(come);
                }
                let written = self.run_write(f64::INFINITY, come - low);
                let left = if self.controller.hold_bus_whole_write || self.controller.never_disconnect {
                    later(time, written)
                } else {
                    later(time + self.controller.write_disconnect, written) + receiving.reselect
                };
                time = left;
                continue;
            }
            self.arrivals = Arrivals {
                there: come,
                end: come + piece,
                from: time,
                block_ms: self.write_block,
                held: self.arrivals.held,
            };
            come += piece;
            time += piece as f64 * self.write_block;
        }
        self.buffer.segments[self.owner].extend(receiving.end, size);
        time
    }

    /// Advances the current write on the medium; returns when its last block was done.
    fn run_write(&mut self, until: f64, goal: u64) -> f64 {
        let Some(motion) = &mut self.motion else { return until };
        let (records, written, sources) = (self.options.record_writes, &mut self.written, &self.sources);
        motion.run(&self.mechanism, until, goal, Gate::Ready(self.arrivals), &mut |passed| {
            if records {
                record(written, sources, passed);
            }
        });
        motion.done
    }
}

fn later(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}
