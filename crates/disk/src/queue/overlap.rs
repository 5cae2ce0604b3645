//! Which requests touch the same bytes, and so must keep their order.

use std::collections::BTreeMap;

use super::Id;

/// The ranges of all requests that are not finished.
#[derive(Default)]
pub(super) struct Overlap {
    /// By first byte: the first byte after the range, and whether the request changes it.
    ranges: BTreeMap<(u64, Id), (u64, bool)>,
    /// No range here is longer: a search need not begin further to the left than this.
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
        self.longest = self.longest.max(end - start);
        self.ranges.insert((start, id), (end, changes));
    }

    pub(super) fn remove(&mut self, start: u64, id: Id) {
        self.ranges.remove(&(start, id));
        if self.ranges.is_empty() {
            self.longest = 0;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
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
}
