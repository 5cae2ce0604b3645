//! Which requests touch the same bytes, and so must keep their order.
//!
//! A request that changes a range stands for all older ones that lie within it: it waits for them, and a request that
//! shares a byte with one of them shares it with the younger one, too. So a block that is written a thousand times
//! while the disk lags behind costs each new write one edge, not a thousand.

use std::collections::BTreeMap;

use super::ledger::Id;

/// The ranges of the requests that are not finished, except those that a younger one stands for.
#[derive(Default)]
pub(super) struct Overlap {
    /// By first byte: the first byte after the range, and whether the request changes it.
    ranges: BTreeMap<(u64, Id), (u64, bool)>,
    /// The length of the longest range: how far to the left a search must begin.
    longest: u64,
}

impl Overlap {
    /// Calls `conflict` for each request that shares a byte with `start..end`, where one of the two changes it.
    pub(super) fn search(&self, start: u64, end: u64, changes: bool, mut conflict: impl FnMut(Id)) {
        for (&(_, id), &(its_end, it_changes)) in self.ranges.range((start.saturating_sub(self.longest), 0)..(end, 0)) {
            if its_end > start && (changes || it_changes) {
                conflict(id);
            }
        }
    }

    pub(super) fn add(&mut self, start: u64, end: u64, changes: bool, id: Id) {
        if changes {
            // Ranges that begin here or later; most often the one that is written again.
            let within = self.ranges.range((start, 0)..(end, 0)).filter(|(_, (its_end, _))| *its_end <= end);
            let within: Vec<(u64, Id)> = within.map(|(key, _)| *key).collect();
            for key in within {
                self.ranges.remove(&key);
            }
        }
        self.longest = self.longest.max(end - start);
        self.ranges.insert((start, id), (end, changes));
    }

    pub(super) fn remove(&mut self, start: u64, id: Id) {
        self.ranges.remove(&(start, id));
        if self.ranges.is_empty() {
            self.longest = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_bytes_that_someone_changes_conflict() {
        let mut overlap = Overlap::default();
        overlap.add(0, 1000, false, 1);
        overlap.add(500, 600, true, 2);
        overlap.add(600, 700, true, 3);
        let found = |start, end, changes| {
            let mut ids = Vec::new();
            overlap.search(start, end, changes, |id| ids.push(id));
            ids
        };
        assert_eq!(found(999, 1001, true), [1]);
        assert_eq!(found(999, 1001, false), [0u64; 0]);
        assert_eq!(found(550, 650, false), [2, 3]);
        assert_eq!(found(550, 600, true), [1, 2]);
        assert_eq!(found(1000, 2000, true), [0u64; 0]);
    }

    #[test]
    fn a_younger_write_stands_for_what_it_covers() {
        let mut overlap = Overlap::default();
        overlap.add(500, 600, true, 1);
        overlap.add(500, 600, true, 2);
        overlap.add(450, 550, true, 3);
        overlap.add(500, 600, false, 4);
        let found = |overlap: &Overlap, changes| {
            let mut ids = Vec::new();
            overlap.search(500, 600, changes, |id| ids.push(id));
            ids
        };
        assert_eq!(found(&overlap, true), [3, 2, 4], "the second write for the first");
        overlap.add(400, 600, true, 5);
        assert_eq!(found(&overlap, false), [5]);
        overlap.remove(500, 2);
        overlap.remove(400, 5);
        assert_eq!(found(&overlap, true), [0u64; 0]);
    }
}
