//! A read: choice of a segment, motion of the mechanism, transfer over the bus.

use super::{Completion, Disk, Grant};
use crate::buffer::{Hit, State};
use crate::mechanism::{Arrivals, Gate, Motion, Passed};
use crate::profile::Prefetch;

/// A read whose blocks are being sent to the host.
#[derive(Clone, Copy, Debug)]
struct Sending {
    segment: usize,
    first: u64,
    end: u64,
    /// When the first transfer begins, if the drive stays connected.
    connected: Option<f64>,
    /// When the bus is free, if the drive disconnects.
    bus_free: f64,
    /// When the drive first checks the buffer.
    from: f64,
    /// Cost of a disconnection.
    disconnect: f64,
}

impl Disk {
    /// `now` is the arrival of the request, `from` the time when the drive starts on it; the mechanism has been
    /// advanced to `from`.
    pub(super) fn read(&mut self, now: f64, from: f64, first: u64, end: u64) -> Completion {
        let miss = self.after(self.controller.read_miss);
        let early = self.early;
        let miss = self.left_of(miss);
        let disconnect = self.after(self.controller.read_disconnect);
        if self.is_deferred(first, end) {
            let overhead = self.hit_after(early) + self.controller.data_preparation;
            let at = from + overhead + (end - first) as f64 * self.read_block + self.controller.read_completion;
            return self.completion(at, self.phases(now, at, None, 0.0), true);
        }
        let busy = self.writes_back();
        let mut grant = if busy { self.wait_for_write_back(from) } else { Grant { at: from, stopping: 0.0 } };
        let (segment, hit) = self.buffer.for_read(&self.cache, first, end);
        let taken_over = self.motion.is_some() && segment == self.owner && hit != Hit::None;
        if !busy && !taken_over {
            grant = self.stop_prefetch(from);
        }

        self.buffer.touch(segment, false);
        if hit == Hit::None {
            self.buffer.segments[segment].restart(first, State::Clean);
        }
        let limit = self.prefetch_limit(segment, first, end);
        let begin = from + grant.stopping + miss;
        let begin = if busy && grant.at > begin { grant.at } else { begin };
        self.move_for_read(segment, hit, taken_over, limit, begin, end);

        let at_once = match hit {
            Hit::Whole => true,
            Hit::Part => self.cache.transfer_partial_hit_at_once,
            Hit::None => false,
        };
        let stays = self.controller.never_disconnect || (at_once && !busy);
        let overhead = if hit == Hit::None { miss } else { self.hit_after(early) };
        // A read that is wholly in the buffer needs no mechanism: it does not wait for the prefetch to stop.
        let reach = if hit == Hit::Whole { from } else { from + grant.stopping };
        let sending = Sending {
            segment,
            first,
            end,
            connected: stays.then_some({
                let earliest = reach + overhead + self.controller.data_preparation;
                if busy && grant.at > earliest { grant.at } else { earliest }
            }),
            bus_free: reach + miss + disconnect,
            from: if busy { grant.at } else { reach },
            disconnect,
        };
        let positioned = match &self.motion {
            Some(motion) if !taken_over && hit != Hit::Whole => {
                Some((motion.seek_from, motion.seek_end, motion.begins(motion.next)))
            }
            _ => None,
        };
        let at = self.send(&sending) + self.controller.read_completion;
        self.drop_requested(segment, end);
        let waited = if busy { grant.at - from } else { grant.stopping };
        self.completion(at, self.phases(now, at, positioned, waited), hit == Hit::Whole)
    }

    /// The overhead of a read that is in the buffer, on a command that waited for `early` (drive-disk-4).
    fn hit_after(&self, early: f64) -> f64 {
        let overhead = self.after(self.controller.read_hit);
        if early < overhead { overhead - early } else { 0.0 }
    }

    /// Starts the mechanism for a read, or lets the current prefetch continue.
    fn move_for_read(&mut self, segment: usize, hit: Hit, taken_over: bool, limit: u64, begin: f64, wanted: u64) {
        if taken_over {
            if let Some(motion) = &mut self.motion {
                motion.limit = motion.limit.max(limit);
            }
            return;
        }
        let next = self.buffer.segments[segment].end;
        if next >= limit || (hit == Hit::Whole && !self.cache.read_ahead_on_idle_hit) {
            return;
        }
        let mut motion = Motion::start(&self.mechanism, self.arm, begin, next, limit, false, 0.0);
        if self.options.read_on_arrival && self.cache.zero_latency_read && hit != Hit::Whole {
            motion.begin_where_landed(&self.mechanism, wanted, Gate::Open, &mut |_| {});
        }
        self.motion = Some(motion);
        self.owner = segment;
        self.buffer.segments[segment].state = State::Reading;
    }

    /// The first block that is not to be prefetched.
    fn prefetch_limit(&mut self, segment: usize, first: u64, end: u64) -> u64 {
        let cache = &self.cache;
        let blocks = self.mechanism.geometry.blocks();
        let full = |cache: &crate::profile::Cache| match (cache.max_read_ahead, cache.requested) {
            (0, crate::profile::Requested::Kept) => first + cache.segment_blocks,
            (0, _) => end + cache.segment_blocks,
            (most, _) => end + most,
        };
        let limit = match cache.prefetch {
            // Dirty blocks that wait have priority over prefetch.
            _ if !self.dirty.is_empty() => end,
            Prefetch::None => end,
            Prefetch::Segment => full(cache),
            Prefetch::Track => full(cache).min(self.mechanism.geometry.locate(end - 1).track_last + 1),
            Prefetch::Cylinder => full(cache).min(self.cylinder_end(end - 1)),
            Prefetch::Stream if end >= blocks => end,
            Prefetch::Stream => {
                let place = self.mechanism.geometry.locate(end);
                let streams = self.buffer.segments[segment].start < place.track_first;
                let more = if streams { place.track_last - place.track_first + 1 } else { 0 };
                place.track_last + 1 + more
            }
        };
        let segment = &mut self.buffer.segments[segment];
        segment.limit = segment.limit.max(limit).max(end).min(blocks);
        segment.limit
    }

    /// The first block after `block` on another cylinder.
    fn cylinder_end(&self, block: u64) -> u64 {
        let geometry = &self.mechanism.geometry;
        let cylinder = geometry.locate(block).cylinder;
        let mut next = block;
        while next < geometry.blocks() {
            let place = geometry.locate(next);
            if place.cylinder != cylinder {
                break;
            }
            next = place.track_last + 1;
        }
        next
    }

    /// Transfers the blocks over the bus; returns when the host has the last one.
    fn send(&mut self, sending: &Sending) -> f64 {
        let blocks = sending.end - sending.first;
        let size = self.cache.segment_blocks;
        let water = ((blocks.min(size) as f64 * self.cache.read_high_water) as u64).max(1);
        let controller = self.controller;
        let start = match sending.connected {
            Some(at) => at,
            None => {
                let there = self.present(sending, sending.first + water.min(blocks));
                let there = if there > sending.bus_free { there } else { sending.bus_free };
                there + controller.first_reselect + controller.data_preparation
            }
        };
        let holds = controller.never_disconnect || controller.hold_bus_whole_read;
        let free = sending.disconnect == 0.0
            && controller.other_reselect == 0.0
            && controller.data_preparation == 0.0
            && water == 1;
        let before = self.motion;
        if holds || free {
            let done = self.stream(sending, start);
            if self.has_room_until(sending, done) {
                return done;
            }
            self.motion = before;
        }
        self.send_in_pieces(sending, start, water, holds)
    }

    /// When the blocks before `goal` are in the buffer.
    fn present(&mut self, sending: &Sending, goal: u64) -> f64 {
        let held = self.buffer.segments[sending.segment].end;
        if held >= goal {
            return sending.from;
        }
        let room = self.room_behind(sending.first);
        match &mut self.motion {
            Some(motion) => {
                motion.run(&self.mechanism, f64::INFINITY, goal, room, &mut |_| {});
                if motion.done > sending.from { motion.done } else { sending.from }
            }
            // OK: without a motion the whole read is in the buffer.
            None => sending.from,
        }
    }

    /// The bus sends each block as soon as it is in the buffer, and the buffer never fills. Between two changes of the
    /// rate at which blocks arrive, the delay is largest at one of the ends: so only the ends are computed.
    fn stream(&mut self, sending: &Sending, start: f64) -> f64 {
        let block_ms = self.read_block;
        let mut done = start + (sending.end - sending.first) as f64 * block_ms;
        if let Some(motion) = &mut self.motion {
            motion.run(&self.mechanism, f64::INFINITY, sending.end, Gate::Open, &mut |passed: Passed| {
                let behind = sending.end.saturating_sub(passed.first) as f64;
                let last_behind = sending.end.saturating_sub(passed.first + passed.blocks - 1) as f64;
                let by_first = passed.done(0) + behind * block_ms;
                let by_last = passed.last_done() + last_behind * block_ms;
                for by in [by_first, by_last] {
                    if by > done {
                        done = by;
                    }
                }
            });
        }
        done
    }

    /// Whether no block of the prefetch found the segment full before `time`.
    fn has_room_until(&self, sending: &Sending, time: f64) -> bool {
        let full = sending.first + self.cache.segment_blocks;
        match &self.motion {
            Some(motion) if motion.limit > full => {
                let ahead = full.saturating_sub(motion.next);
                sending.end <= full && motion.done + ahead as f64 * self.mechanism.least_width >= time
            }
            _ => true,
        }
    }

    /// The host has nothing after `sent`, so the segment has room for its own length from there.
    fn room_behind(&self, sent: u64) -> Gate {
        let full = sent + self.cache.segment_blocks;
        Gate::Ready(Arrivals { there: full, end: full, ..Arrivals::default() })
    }

    /// In pieces: a piece is what is in the buffer when its transfer begins. Each block makes room when it has been
    /// sent.
    fn send_in_pieces(&mut self, sending: &Sending, start: f64, water: u64, holds: bool) -> f64 {
        let size = self.cache.segment_blocks;
        let (mut sent, mut time) = (sending.first, start);
        loop {
            let room = self.room_behind(sent);
            let mut there = self.buffer.segments[sending.segment].end;
            if let Some(motion) = &mut self.motion {
                motion.run(&self.mechanism, time, u64::MAX, room, &mut |_| {});
                there = motion.next;
            }
            let piece = there.min(sending.end).saturating_sub(sent);
            if piece > 0 {
                let (from, block_ms) = (time, self.read_block);
                let room = Arrivals { there: sent + size, end: sent + size + piece, from, block_ms, held: None };
                time += piece as f64 * block_ms;
                if let Some(motion) = &mut self.motion {
                    motion.run(&self.mechanism, time, u64::MAX, Gate::Ready(room), &mut |_| {});
                }
                sent += piece;
                if sent >= sending.end {
                    return time;
                }
                continue;
            }
            let goal = if holds { sent + 1 } else { (sent + water).min(sending.end) };
            let Some(motion) = &mut self.motion else { return time };
            motion.run(&self.mechanism, f64::INFINITY, goal, room, &mut |_| {});
            if holds {
                time = if motion.done > time { motion.done } else { time };
            } else {
                let left = time + sending.disconnect;
                time = if motion.done > left { motion.done } else { left };
                time += self.controller.other_reselect + self.controller.data_preparation;
            }
        }
    }
}
