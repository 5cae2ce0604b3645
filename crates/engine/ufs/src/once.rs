//! Which space a walk over the pointers of one file has already come to.
//!
//! O1. No two pointers of a file lead to the same space. A walk that frees, or keeps something for each pointer in
//!     memory, adds each run before it uses it, and ends as soon as one is there already. Otherwise one block of
//!     pointers that names itself is a file of 2^48 bytes, and freeing it takes all memory.
//! O2. Runs that follow each other are one: for a file whose blocks lie together this is small, however large it is.

use std::collections::BTreeMap;

/// Runs of units, none of which comes twice.
#[derive(Debug, Default)]
pub struct Once {
    /// Where each run begins, and where it ends.
    runs: BTreeMap<u64, u64>,
}

impl Once {
    /// Adds a run. `false`: some of it is there already, or it has no end.
    #[must_use]
    pub fn add(&mut self, first: u64, units: u64) -> bool {
        let Some(end) = first.checked_add(units) else { return false };
        let before = self.runs.range(..=first).next_back().map(|(from, to)| (*from, *to));
        let after = self.runs.range(first..).next().map(|(from, to)| (*from, *to));
        if before.is_some_and(|(_, to)| to > first) || after.is_some_and(|(from, _)| from < end) {
            return units == 0;
        }
        if units == 0 {
            return true;
        }
        let first = before.filter(|(_, to)| *to == first).map_or(first, |(from, _)| from);
        let end = match after.filter(|(from, _)| *from == end) {
            Some((from, to)) => {
                self.runs.remove(&from);
                to
            }
            None => end,
        };
        self.runs.insert(first, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_says_the_same_as_a_set_of_units() {
        let (mut once, mut set, mut seed) = (Once::default(), BTreeSet::new(), 7u64);
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for round in 0..20_000 {
            let (first, units) = (next(4_000), next(9));
            let is_new = (first..first + units).all(|unit| !set.contains(&unit));
            assert_eq!(once.add(first, units), is_new, "round {round}: {first}, {units}");
            if is_new {
                set.extend(first..first + units);
            }
        }
    }

    #[test]
    fn what_follows_each_other_is_one_run_and_nothing_wraps() {
        let mut once = Once::default();
        for i in (0..1000).rev().chain(1000..2000) {
            assert!(once.add(i * 8, 8));
        }
        assert_eq!(once.runs.len(), 1);
        assert!(!once.add(u64::MAX, 2));
        assert!(once.add(u64::MAX, 0));
    }
}
