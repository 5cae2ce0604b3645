//! What the order of reads tells: which short run is read right after the head was somewhere else, again and again
//! (logs-active-10).
//!
//! Reads near each other are one sequence, and what follows without a gap is one run. A *jump* is a read far from where
//! the read before it has left the head: its *dock*. A short run that is read after a jump from the same dock
//! [`OFTEN`] times prefers to lie there, and a replica of it is wished. Docks are where the head was, and not homes: a
//! run that is served near its dock leaves the head there, so that a row of runs gathers around one dock.
//!
//! Only reads count, and a pause ends a sequence: what is read after it is read by another program, or later. Nothing
//! says what the time is; a moment at which the disk is idle is the pause.

use ordo_disk::DiskOff;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// A run prefers a dock when it was read from there so often. Twice happens by chance: of random reads of 3,000 runs
/// from 30 docks every twentieth repeats one of the last [`PAIRS`] pairs, and hardly one does it twice.
const OFTEN: u32 = 3;
/// Pairs of a dock and a run that are remembered. After so many jumps without it a pair is counted anew.
const PAIRS: usize = 4096;
/// The most wishes that wait for an idle disk. What is read again is wished again.
const WISHES: usize = 256;

/// A run of which a replica should lie near the dock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) dock: DiskOff,
    pub(crate) at: DiskOff,
    pub(crate) len: u64,
}

/// The learning of a mount.
#[derive(Debug)]
pub(crate) struct Learning {
    /// Reads closer than this belong together.
    near: u64,
    /// The longest run that may have a replica: a place of a group journal holds no more.
    longest: u64,
    /// Where the last read has left the head, and where it has ended at home.
    last: Option<(u64, u64)>,
    /// The run that was jumped to and is being read; and whether the head went far for it.
    run: Option<(Wish, bool)>,
    /// How often a run, by its beginning, was read from a dock, by its number in units of `near`; and the number of the
    /// last jump of the pair.
    pairs: FxHashMap<(u64, u64), (u32, u64)>,
    jumps: u64,
    wishes: VecDeque<Wish>,
}

impl Learning {
    pub(crate) fn new(near: u64, longest: u64) -> Learning {
        let (pairs, wishes) = (FxHashMap::default(), VecDeque::new());
        Learning { near: near.max(1), longest, last: None, run: None, pairs, jumps: 0, wishes }
    }

    /// `len` bytes whose home is `at` are read at `from`.
    pub(crate) fn read(&mut self, at: DiskOff, len: u64, from: DiskOff) {
        if self.last.is_none_or(|(_, end)| end != at.0) {
            self.end_run();
            let far = |dock: &u64, at: DiskOff| at.0.abs_diff(*dock) >= self.near;
            let dock = self.last.map(|(head, _)| head).filter(|head| far(head, at));
            self.run = dock.map(|dock| (Wish { dock: DiskOff(dock), at, len: 0 }, far(&dock, from)));
        }
        if let Some((run, _)) = &mut self.run {
            run.len += len;
        }
        self.run = self.run.filter(|(run, _)| run.len <= self.longest);
        self.last = Some((from.0 + len, at.0 + len));
    }

    /// Nothing is read for a while.
    pub(crate) fn pause(&mut self) {
        self.end_run();
        self.last = None;
    }

    fn end_run(&mut self) {
        let Some((run, went_far)) = self.run.take() else { return };
        self.jumps += 1;
        let (now, key) = (self.jumps, (run.dock.0 / self.near, run.at.0));
        let times = match self.pairs.entry(key) {
            Entry::Occupied(mut pair) => {
                let (times, last) = *pair.get();
                let times = if now - last <= PAIRS as u64 { times.saturating_add(1) } else { 1 };
                pair.insert((times, now));
                times
            }
            Entry::Vacant(pair) => pair.insert((1, now)).0,
        };
        if self.pairs.len() > PAIRS {
            // A jump is of one pair: at most half of them are younger than this.
            self.pairs.retain(|_, (_, last)| now - *last < PAIRS as u64 / 2);
        }
        let is_wished = |wish: &Wish| (wish.dock.0 / self.near, wish.at.0) == key;
        if times >= OFTEN && went_far && self.wishes.len() < WISHES && !self.wishes.iter().any(is_wished) {
            self.wishes.push_back(run);
        }
    }

    /// The oldest wish.
    pub(crate) fn take(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: u64 = 1000;

    fn learning() -> Learning {
        Learning::new(NEAR, 64)
    }

    /// Reads of ten bytes at home.
    fn read(learning: &mut Learning, homes: &[u64]) {
        homes.iter().for_each(|at| learning.read(DiskOff(*at), 10, DiskOff(*at)));
    }

    fn wishes(learning: &mut Learning) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| learning.take()).map(|wish| (wish.dock.0, wish.at.0, wish.len)).collect()
    }

    #[test]
    fn a_run_that_is_read_from_the_same_dock_three_times_prefers_it() {
        let mut learning = learning();
        for round in 1..=OFTEN {
            assert_eq!(wishes(&mut learning), [], "before round {round}");
            read(&mut learning, &[500, 5000, 5010, 5020]);
            learning.pause();
        }
        assert_eq!(wishes(&mut learning), [(510, 5000, 30)]);
        // It is served near its dock from now on: the head is there for the next jump, and nothing is wished.
        for _ in 0..OFTEN {
            read(&mut learning, &[500]);
            learning.read(DiskOff(5000), 30, DiskOff(600));
            read(&mut learning, &[9000]);
            learning.pause();
        }
        assert_eq!(wishes(&mut learning), [(630, 9000, 10)]);
    }

    #[test]
    fn what_goes_on_or_is_near_or_long_or_comes_after_a_pause_is_no_jump() {
        let mut learning = learning();
        for _ in 0..9 {
            read(&mut learning, &(0..200).map(|n| n * 10).collect::<Vec<u64>>());
            read(&mut learning, &[1000 + NEAR - 1]);
            // Eight reads of ten bytes are longer than 64.
            read(&mut learning, &(0..8).map(|n| 7000 + n * 10).collect::<Vec<u64>>());
            learning.pause();
            read(&mut learning, &[90_000]);
            learning.pause();
        }
        assert_eq!(wishes(&mut learning), []);
    }

    #[test]
    fn a_pair_that_is_not_seen_any_more_is_counted_anew_and_the_table_is_bounded() {
        let mut learning = learning();
        let pair = |learning: &mut Learning| {
            read(learning, &[500, 5000]);
            learning.pause();
        };
        let noise = |learning: &mut Learning, from: u64, jumps: u64| {
            for n in from..from + jumps {
                read(learning, &[1 << 40, n * 2 * NEAR]);
                learning.pause();
            }
        };
        pair(&mut learning);
        pair(&mut learning);
        noise(&mut learning, 0, 3 * PAIRS as u64);
        assert!(learning.pairs.len() <= PAIRS + 1);
        pair(&mut learning);
        assert_eq!(wishes(&mut learning), [], "long ago");
        pair(&mut learning);
        noise(&mut learning, 50_000, PAIRS as u64 / 2 - 2);
        pair(&mut learning);
        assert_eq!(wishes(&mut learning), [(510, 5000, 10)]);
        for n in 0..WISHES as u64 + 9 {
            (0..OFTEN).for_each(|_| noise(&mut learning, 100_000 + n, 1));
        }
        assert_eq!(wishes(&mut learning).len(), WISHES);
    }
}
