//! A simulation of a log's segments, block by block, for what the format cannot do: hole plugging (Matthews and others
//! 1997, section 4). Instead of copying what is alive in a segment to the head of the log, it is written into the dead
//! blocks of other segments: no clean segment is used up, and each block is a write of its own.
//!
//! U1. The disk is a time to position and a rate. A segment is read or written with one positioning, a block that plugs
//!     a hole needs one for itself.
//! U2. The choice is made segment by segment, by the time per segment that it gains: (read + u * write) / (1 - u) by
//!     cleaning, read + n * u * block by plugging, n blocks a segment, u alive. The formulas are those of
//!     lfs-on-disk.md, section 11.7; the paper's own were not at hand.
//! U3. The blocks are rewritten as the files of a measured volume are, and each segment that is cleaned is the one with
//!     the most dead blocks.

use super::pattern::Pattern;
use ordofs::rt::Rng;

/// Blocks of a segment, segments of the disk, and clean ones that are kept.
const BLOCKS: usize = 64;
const SEGMENTS: usize = 400;
const KEPT: usize = 6;
/// Milliseconds to position, and to transfer a segment of 512 KiB.
const POSITION: f64 = 10.0;
const TRANSFER: f64 = 100.0;
/// Parts of the disk that are alive, in percent.
pub(super) const USES: [u64; 8] = [50, 60, 70, 75, 80, 85, 90, 95];

/// How segments are gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Cleaning,
    Plugging,
    Adaptive,
}

impl Method {
    pub(super) const ALL: [Method; 3] = [Method::Cleaning, Method::Plugging, Method::Adaptive];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Cleaning => "cleaning",
            Method::Plugging => "hole plugging",
            Method::Adaptive => "adaptive",
        }
    }
}

/// The result: the time of the disk over that of writing the new data alone, and the part of segments that was gained
/// by plugging.
#[derive(Debug, Clone, Copy)]
pub(super) struct Simulated {
    pub(super) cost: f64,
    pub(super) plugged: f64,
}

/// What a reader of the figures must know.
pub(super) fn note() -> String {
    format!(
        "Simulated are {SEGMENTS} segments of {BLOCKS} blocks, on a disk that positions in {POSITION} ms and transfers a \
         segment in {TRANSFER} ms. The format cannot plug holes safely; this shows what that costs."
    )
}

/// The segments of a disk.
struct Log {
    /// The block in each place.
    places: Vec<Option<usize>>,
    /// Where each block is.
    at: Vec<usize>,
    live: Vec<usize>,
    clean: Vec<usize>,
    head: usize,
    next: usize,
    time: f64,
    gained: (u64, u64),
}

impl Log {
    fn segment_time(part: f64) -> f64 {
        POSITION + part * TRANSFER
    }

    fn put(&mut self, block: usize, place: usize) {
        let old = std::mem::replace(&mut self.at[block], place);
        if old != usize::MAX {
            self.places[old] = None;
            self.live[old / BLOCKS] -= 1;
        }
        self.places[place] = Some(block);
        self.live[place / BLOCKS] += 1;
    }

    /// Writes a block at the head, whose segment is written when it is full.
    fn append(&mut self, block: usize) {
        if self.next == BLOCKS {
            self.time += Log::segment_time(1.0);
            // The callers keep some clean.
            self.head = self.clean.pop().unwrap_or(self.head);
            self.next = 0;
        }
        let place = self.head * BLOCKS + self.next;
        self.next += 1;
        self.put(block, place);
    }

    /// Gains segments until enough are clean.
    fn gain(&mut self, method: Method) {
        while self.clean.len() < KEPT {
            let clean = self.clean.clone();
            let dirty = (0..SEGMENTS).filter(|n| *n != self.head && !clean.contains(n));
            let Some(victim) = dirty.min_by_key(|n| self.live[*n]) else { return };
            let u = self.live[victim] as f64 / BLOCKS as f64;
            if self.live[victim] == BLOCKS {
                return;
            }
            let each = POSITION + TRANSFER / BLOCKS as f64;
            let by_cleaning = (Log::segment_time(1.0) + u * Log::segment_time(1.0)) / (1.0 - u);
            let by_plugging = Log::segment_time(1.0) + u * BLOCKS as f64 * each;
            let plugs = match method {
                Method::Cleaning => false,
                Method::Plugging => true,
                Method::Adaptive => by_plugging < by_cleaning,
            };
            // An empty segment needs neither.
            let alive: Vec<usize> =
                self.places[victim * BLOCKS..(victim + 1) * BLOCKS].iter().flatten().copied().collect();
            self.time += if alive.is_empty() { 0.0 } else { Log::segment_time(1.0) };
            let holes = if plugs { self.holes(victim, alive.len()) } else { Vec::new() };
            for (n, block) in alive.iter().enumerate() {
                match holes.get(n) {
                    Some(place) => {
                        self.time += each;
                        self.put(*block, *place);
                    }
                    None => self.append(*block),
                }
            }
            if !alive.is_empty() {
                self.gained.0 += u64::from(!holes.is_empty());
                self.gained.1 += 1;
            }
            self.clean.insert(0, victim);
        }
    }

    /// Dead places in the fullest segments that have any.
    fn holes(&self, victim: usize, most: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..SEGMENTS)
            .filter(|n| *n != victim && *n != self.head && self.live[*n] < BLOCKS && !self.clean.contains(n))
            .collect();
        order.sort_by_key(|n| (std::cmp::Reverse(self.live[*n]), *n));
        let places = order.into_iter().flat_map(|n| n * BLOCKS..(n + 1) * BLOCKS);
        places.filter(|place| self.places[*place].is_none()).take(most).collect()
    }
}

/// Overwrites the blocks of a disk that is filled to `percent`.
pub(super) fn simulate(pattern: Pattern, percent: u64, method: Method, seed: u64) -> Simulated {
    let count = SEGMENTS as u64 * BLOCKS as u64 * percent / 100;
    let blocks = usize::try_from(count).unwrap_or(0);
    let mut log = Log {
        places: vec![None; SEGMENTS * BLOCKS],
        at: vec![usize::MAX; blocks],
        live: vec![0; SEGMENTS],
        clean: (1..SEGMENTS).rev().collect(),
        head: 0,
        next: 0,
        time: 0.0,
        gained: (0, 0),
    };
    for block in 0..blocks {
        log.append(block);
    }
    let (turns, mut rng) = (10 * count, Rng::new(seed));
    for turn in 0..2 * turns {
        if turn == turns {
            (log.time, log.gained) = (0.0, (0, 0));
        }
        let block = usize::try_from(pattern.next(&mut rng, count)).unwrap_or(0);
        log.append(block);
        if log.next == BLOCKS {
            log.gain(method);
        }
    }
    let alone = turns as f64 / BLOCKS as f64 * Log::segment_time(1.0);
    Simulated { cost: log.time / alone, plugged: log.gained.0 as f64 / log.gained.1.max(1) as f64 }
}
