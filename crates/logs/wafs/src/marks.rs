//! Marks: some of the records at which reading may start.
//!
//! Reclaiming moves the start of the log, and the start must be a record. To remember all records would need unbounded
//! memory, so marks keep a minimum distance. Room is freed from mark to mark.

use crate::Lsn;
use std::collections::VecDeque;

/// The most marks of a log, except where the distance is small.
const MOST: u64 = 1024;

pub(crate) struct Marks {
    distance: u64,
    at: VecDeque<Lsn>,
}

impl Marks {
    /// For a log with `size` bytes of records.
    pub(crate) fn new(size: u64) -> Marks {
        Marks { distance: size / MOST, at: VecDeque::new() }
    }

    /// Adds a record, which must be later than all before.
    pub(crate) fn note(&mut self, lsn: Lsn) {
        if self.at.back().is_none_or(|last| lsn.0 - last.0 >= self.distance) {
            self.at.push_back(lsn);
        }
    }

    /// The last mark at or before `lsn`.
    pub(crate) fn before(&self, lsn: Lsn) -> Option<Lsn> {
        let later = self.at.partition_point(|mark| *mark <= lsn);
        later.checked_sub(1).map(|place| self.at[place])
    }

    /// The last mark at or before `low`. Earlier ones are removed.
    pub(crate) fn reach(&mut self, low: Lsn) -> Option<Lsn> {
        while self.at.get(1).is_some_and(|next| *next <= low) {
            self.at.pop_front();
        }
        self.at.front().copied().filter(|first| *first <= low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_follows_from_mark_to_mark() {
        let mut marks = Marks::new(100 * MOST);
        [8, 50, 108, 207, 208, 400].into_iter().for_each(|lsn| marks.note(Lsn(lsn)));
        assert_eq!(marks.reach(Lsn(7)), None);
        assert_eq!(marks.reach(Lsn(107)), Some(Lsn(8)));
        assert_eq!(marks.reach(Lsn(300)), Some(Lsn(208)));
        assert_eq!(marks.reach(Lsn(50)), None);
    }
}
