//! How often pairs were seen: a bounded table that forgets what was not seen for longest.

use rustc_hash::FxHashMap;

#[derive(Debug)]
pub(crate) struct Tally {
    most: usize,
    /// How often a pair was seen, and its last number.
    pairs: FxHashMap<(u64, u64), (u32, u64)>,
    /// Pairs that were counted.
    now: u64,
}

impl Tally {
    pub(crate) fn new(most: usize) -> Tally {
        Tally { most, pairs: FxHashMap::default(), now: 0 }
    }

    /// How often this pair was seen, now included. After so many others that the table could not hold it, it is
    /// counted anew.
    pub(crate) fn count(&mut self, pair: (u64, u64)) -> u32 {
        self.now += 1;
        let (now, most) = (self.now, self.most as u64);
        let (times, last) = self.pairs.entry(pair).or_insert((0, now));
        *times = if now - *last <= most { times.saturating_add(1) } else { 1 };
        *last = now;
        let times = *times;
        if self.pairs.len() > self.most {
            // Each number is of one pair: at most half of them are younger than this.
            self.pairs.retain(|_, (_, last)| now - *last < most / 2);
        }
        times
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }
}
