//! What `active` learns from the order of reads: which blocks are read after a long stretch in one place, so that
//! copies of them should lie there.
//!
//! A *sequence group* is a row of reads, each less than an allocation group away from the one before. A pause ends a
//! *window* of them. A group of many blocks is a *dock*; blocks of smaller groups in the same window prefer to lie near
//! the dock before them. Places are home places, so that reading a copy does not change what is learnt.
//!
//! A block gets a copy when it is found to prefer the same group for the second time, whether it preferred others in
//! between or not: it may have copies near several docks. The paper does not say how often; "durable" is its word.
//! After one time, several programs at once teach each other's places.

use crate::volume::{GROUP, NONE};
use std::collections::HashSet;

/// Reads closer than this, in blocks, belong to one sequence group.
pub const ZERO_DISTANCE: u32 = GROUP;
/// A longer pause ends a sequence window, in milliseconds.
pub const WINDOW_GAP_MS: f64 = 100.0;
/// A group with more blocks is a dock.
pub const DOCK_BLOCKS: u32 = 15;

/// The learning of one run. It does not tell programs apart (the paper's does not, either).
#[derive(Debug)]
pub(crate) struct Learning {
    last: Option<(f64, u32)>,
    /// The pages of the sequence group that is being read, as long as they are few.
    group: Vec<u32>,
    length: u32,
    /// The last block of the dock of this window.
    dock: u32,
    /// Pages, each with a group that it has preferred once.
    preferred: HashSet<(u32, u32)>,
    /// Pages and the place that they prefer again, since they were last asked for.
    preferences: Vec<(u32, u32)>,
}

impl Learning {
    pub(crate) fn new() -> Learning {
        Learning {
            last: None,
            group: Vec::new(),
            length: 0,
            dock: NONE,
            preferred: HashSet::new(),
            preferences: Vec::new(),
        }
    }

    /// A page is read from the disk; its home is `home`.
    pub(crate) fn read(&mut self, now: f64, page: u32, home: u32) {
        if let Some((at, block)) = self.last {
            let paused = now - at > WINDOW_GAP_MS;
            if paused || home.abs_diff(block) >= ZERO_DISTANCE {
                self.end_group(block);
            }
            if paused {
                self.dock = NONE;
            }
        }
        self.length += 1;
        if self.length <= DOCK_BLOCKS {
            self.group.push(page);
        }
        self.last = Some((now, home));
    }

    fn end_group(&mut self, last: u32) {
        if self.length > DOCK_BLOCKS {
            self.dock = last;
        } else if self.dock != NONE {
            for &page in &self.group {
                if !self.preferred.insert((page, self.dock / GROUP)) {
                    self.preferences.push((page, self.dock));
                }
            }
        }
        self.group.clear();
        self.length = 0;
    }

    /// What has been learnt since the last time.
    pub(crate) fn take(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.preferences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is learnt from reads at these homes, `gap` milliseconds apart, twice; each page is numbered by its place in
    /// the list.
    fn learnt(homes: &[u32], gap: f64) -> Vec<(u32, u32)> {
        let mut learning = Learning::new();
        for again in [0.0, 1e6] {
            assert!(learning.take().is_empty(), "once is not enough");
            for (at, home) in homes.iter().enumerate() {
                learning.read(again + at as f64 * gap, at as u32, *home);
            }
        }
        learning.take()
    }

    fn then(dock: u32, rest: &[u32]) -> Vec<u32> {
        (0..dock).chain(rest.iter().copied()).collect()
    }

    #[test]
    fn a_block_that_is_read_after_a_dock_twice_prefers_to_lie_there() {
        let far = [900_000, 400_000];
        assert_eq!(learnt(&then(16, &far), 1.0), [(16, 15)]);
        assert_eq!(learnt(&then(15, &far), 1.0), [], "fifteen blocks are no dock");
        assert_eq!(learnt(&then(16, &far), 100.1), [], "a pause ends the window");
        assert_eq!(learnt(&then(16, &far), 100.0), [(16, 15)]);
    }

    #[test]
    fn blocks_closer_than_a_group_belong_together() {
        let apart = |distance| learnt(&then(16, &[15 + distance, 900_000]), 1.0);
        assert_eq!(apart(ZERO_DISTANCE - 1), []);
        assert_eq!(apart(ZERO_DISTANCE), [(16, 15)]);
    }

    #[test]
    fn a_block_that_follows_two_docks_in_turn_prefers_both() {
        let mut learning = Learning::new();
        let mut learnt = Vec::new();
        for (round, dock) in [0, 500_000, 0, 500_000].into_iter().enumerate() {
            for (at, home) in (dock..dock + 16).chain([2_000_000]).enumerate() {
                let page = if home == 2_000_000 { 32 } else { at as u32 };
                learning.read(round as f64 * 1e6 + at as f64, page, home);
            }
            learnt.push(learning.take());
        }
        // A group ends when the next one begins.
        learning.read(1e9, 0, 0);
        learnt.push(learning.take());
        assert_eq!(learnt, [vec![], vec![], vec![], vec![(32, 15)], vec![(32, 500_015)]]);
    }
}
