//! The drive's buffer: segments, each with one run of blocks.
//!
//! B1. A segment holds the blocks `start` to `end`, no more than it has room for: when `end` moves on, `start` follows.
//! B2. A block is in the buffer only when its whole sector has passed the head, or all of it has come over the bus.

use crate::profile::Cache;

/// Current use of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Clean,
    /// Blocks come from the medium.
    Reading,
    /// Blocks go to the medium.
    Writing,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) state: State,
    /// Higher means more recently used.
    pub(crate) used: u64,
    pub(crate) used_by_write: bool,
    /// The first block that no read of this stream wanted to be prefetched.
    pub(crate) limit: u64,
}

impl Segment {
    const EMPTY: Segment = Segment { start: 0, end: 0, state: State::Empty, used: 0, used_by_write: false, limit: 0 };

    fn holds(&self, block: u64) -> bool {
        self.start <= block && block < self.end
    }

    pub(crate) fn overlaps(&self, first: u64, end: u64) -> bool {
        self.start < end && first < self.end
    }

    /// Empties the segment and starts it at `at`.
    pub(crate) fn restart(&mut self, at: u64, state: State) {
        (self.start, self.end, self.limit, self.state) = (at, at, at, state);
    }

    pub(crate) fn empty(&mut self) {
        *self = Segment { used: self.used, used_by_write: self.used_by_write, ..Segment::EMPTY };
    }

    pub(crate) fn extend(&mut self, end: u64, size: u64) {
        self.end = end;
        self.start = self.start.max(end.saturating_sub(size));
    }
}

/// How much of a read is in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Whole,
    Part,
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) segments: Vec<Segment>,
    clock: u64,
}

impl Buffer {
    pub(crate) fn new(cache: &Cache) -> Buffer {
        Buffer { segments: vec![Segment::EMPTY; cache.segments], clock: 0 }
    }

    pub(crate) fn touch(&mut self, index: usize, write: bool) {
        self.clock += 1;
        self.segments[index].used = self.clock;
        self.segments[index].used_by_write = write;
    }

    pub(crate) fn is_latest(&self, index: usize) -> bool {
        self.clock > 0 && self.segments[index].used == self.clock
    }

    /// Chooses the segment for a read of the blocks `first` to `end`, when no write occupies the mechanism.
    pub(crate) fn for_read(&self, cache: &Cache, first: u64, end: u64) -> (usize, Hit) {
        let mut best = (u32::MAX, u64::MAX, 0, Hit::None);
        for (index, segment) in self.segments.iter().enumerate() {
            let (rank, hit) = self.rank_for_read(cache, index, segment, first, end);
            if (rank, segment.used) < (best.0, best.1) {
                best = (rank, segment.used, index, hit);
            }
        }
        (best.2, best.3)
    }

    fn rank_for_read(&self, cache: &Cache, index: usize, segment: &Segment, first: u64, end: u64) -> (u32, Hit) {
        let hits = match segment.state {
            State::Empty => false,
            State::Clean => true,
            State::Reading => cache.caching_enabled,
            State::Writing => cache.caching_enabled && cache.read_hits_on_write_data,
        };
        let order = match segment.state {
            State::Writing => 1,
            State::Reading => 2,
            State::Clean | State::Empty => 3,
        };
        let for_writes_only = cache.dedicated_write_segment && index == 0;
        if hits && !for_writes_only && segment.holds(first) {
            return if end <= segment.end { (order, Hit::Whole) } else { (4 + order, Hit::Part) };
        }
        let rank = match segment.state {
            _ if for_writes_only => u32::MAX,
            State::Empty => 8,
            State::Clean => 9,
            State::Reading => 10,
            State::Writing => u32::MAX,
        };
        (rank, Hit::None)
    }

    /// Chooses the segment for a write of the blocks `first` to `end` that does not join another, when no write
    /// occupies the mechanism.
    pub(crate) fn for_write(&self, cache: &Cache, first: u64, end: u64) -> usize {
        if cache.dedicated_write_segment {
            return 0;
        }
        let rank = |segment: &Segment| match segment.state {
            State::Clean if segment.overlaps(first, end) => 0,
            State::Empty => 1,
            State::Clean => 2,
            State::Reading => 3,
            State::Writing => 4,
        };
        let ranked = self.segments.iter().enumerate().map(|(index, segment)| (rank(segment), segment.used, index));
        ranked.min().map_or(0, |(_, _, index)| index)
    }

    /// Empties every other clean segment that shares a block with a write.
    pub(crate) fn supersede(&mut self, keep: usize, first: u64, end: u64) {
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if index != keep && segment.state == State::Clean && segment.overlaps(first, end) {
                segment.empty();
            }
        }
    }
}
