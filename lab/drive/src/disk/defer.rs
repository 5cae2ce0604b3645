//! A large volatile cache: writes that wait in it while the mechanism is busy with another write.
//!
//! Drives whose profile has a `[write_cache]` complete a write into the cache even while another is being written.
//! Waiting blocks are kept as extents; a write that continues an extent extends it. The mechanism takes the extent that
//! it reaches first. A read, a forced write, or a write for which the cache has no room waits only for the extent in
//! flight, and goes before the rest.

use super::extent::{Extent, Source};
use super::{Completion, Disk};
use crate::buffer::State;
use crate::mechanism::{Arrivals, Motion};

impl Disk {
    /// Drops from the cache what a new write replaces.
    pub(super) fn supersede_deferred(&mut self, first: u64, end: u64) {
        if self.dirty.iter().any(|extent| extent.first < end && first < extent.end) {
            let dirty = std::mem::take(&mut self.dirty);
            self.dirty = dirty.into_iter().flat_map(|extent| extent.without(first, end)).collect();
        }
    }

    /// Takes a write into the cache while another is being written, if there is room; returns its completion.
    pub(super) fn defer(&mut self, now: f64, ready: f64, first: u64, end: u64) -> Option<Completion> {
        let cache = self.write_cache?;
        let blocks: u64 = self.dirty.iter().map(|extent| extent.end - extent.first).sum();
        let joined = self.dirty.iter().position(|extent| extent.end == first);
        if blocks + (end - first) > cache.dirty_limit
            || (joined.is_none() && self.dirty.len() + 1 >= self.cache.max_write_segments)
        {
            return None;
        }
        let there = ready + self.controller.data_preparation + (end - first) as f64 * self.write_block;
        let source = Source { end, number: self.number };
        match joined {
            Some(index) => {
                let extent = &mut self.dirty[index];
                (extent.end, extent.there) = (end, there);
                extent.sources.push(source);
            }
            None => self.dirty.push(Extent { first, end, there, sources: vec![source] }),
        }
        self.buffer.supersede(usize::MAX, first, end);
        let at = there + self.controller.write_completion;
        Some(self.completion(at, self.phases(now, at, None, 0.0), true))
    }

    /// Whether all blocks of a read wait in the cache.
    pub(super) fn is_deferred(&self, first: u64, end: u64) -> bool {
        self.dirty.iter().any(|extent| extent.first <= first && end <= extent.end)
    }

    /// Starts the extent that the mechanism reaches first. The mechanism is free at `time`.
    pub(super) fn begin_deferred(&mut self, time: f64) {
        let mut best: Option<(f64, usize)> = None;
        for (index, extent) in self.dirty.iter().enumerate() {
            let place = self.mechanism.geometry.locate(extent.first);
            let seek = self.mechanism.seek.to(self.arm, &place, true);
            let time = if extent.there > time { extent.there } else { time };
            let reached = time + seek + self.mechanism.wait(place.angle, time + seek);
            if best.is_none_or(|(soonest, _)| reached < soonest) {
                best = Some((reached, index));
            }
        }
        let Some((_, index)) = best else { return };
        let Extent { first, end, there, sources } = self.dirty.swap_remove(index);
        let segment = self.buffer.for_write(&self.cache, first, end);
        self.buffer.segments[segment].restart(first, State::Writing);
        self.buffer.segments[segment].extend(end, self.cache.segment_blocks);
        let from = if there > time { there } else { time };
        let mut motion = Motion::start(&self.mechanism, self.arm, from, first, end, true, 0.0);
        motion.delay(self.unaligned(first, end));
        self.arrivals = Arrivals { there: end, end, ..Arrivals::default() };
        self.sources = sources;
        self.owner = segment;
        self.motion = Some(motion);
    }

    /// The additional cost, in milliseconds, of a write that does not cover whole physical sectors: they are read
    /// first, and written when they pass again.
    pub(super) fn unaligned(&self, first: u64, end: u64) -> f64 {
        match self.write_cache {
            Some(cache)
                if !first.is_multiple_of(cache.physical_blocks) || !end.is_multiple_of(cache.physical_blocks) =>
            {
                f64::from(cache.unaligned_revolutions) * self.mechanism.revolution
            }
            _ => 0.0,
        }
    }
}
