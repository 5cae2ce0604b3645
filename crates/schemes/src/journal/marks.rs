//! Where the transactions that a log still holds begin.

use super::Txn;
use std::cell::RefCell;
use std::collections::VecDeque;

/// Positions in a log, oldest first, each with its transaction.
pub(super) struct Marks<P>(RefCell<VecDeque<(Txn, P)>>);

impl<P> Default for Marks<P> {
    fn default() -> Self {
        Marks(RefCell::default())
    }
}

impl<P: Copy> Marks<P> {
    /// The transaction `txn` begins at `place`. An earlier one with the same number is not needed.
    pub(super) fn note(&self, txn: Txn, place: P) {
        let mut marks = self.0.borrow_mut();
        marks.retain(|(known, _)| *known != txn);
        marks.push_back((txn, place));
    }

    /// Drops the marks before `txn`. Returns where the first transaction that stays begins, if one stays.
    pub(super) fn forget(&self, txn: Txn) -> Option<P> {
        let mut marks = self.0.borrow_mut();
        while marks.front().is_some_and(|(known, _)| *known < txn) {
            marks.pop_front();
        }
        marks.front().map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_stays_is_told_and_a_repeated_one_is_where_it_was_repeated() {
        let marks = Marks::default();
        for (txn, place) in [(1, 10), (2, 20), (4, 40)] {
            marks.note(Txn(txn), place);
        }
        assert_eq!(marks.forget(Txn(2)), Some(20));
        assert_eq!(marks.forget(Txn(3)), Some(40));
        marks.note(Txn(4), 44);
        assert_eq!(marks.forget(Txn(4)), Some(44));
        assert_eq!(marks.forget(Txn(5)), None);
    }
}
