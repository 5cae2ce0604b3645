//! Where the transactions that a log still holds begin.
//!
//! marks-1. A transaction is *noted* when it is durable. The log may forget everything up to the end of the last noted
//!     transaction. It must not forget up to its own end: the transaction that is being written has records there
//!     already.

use super::txn::Txn;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Positions in a log, oldest first, each with its transaction.
pub(super) struct Marks<P> {
    all: RefCell<VecDeque<(Txn, P)>>,
    /// The highest transaction that was noted.
    newest: Cell<Txn>,
    end: Cell<P>,
}

impl<P: Copy> Marks<P> {
    /// Of a log without a transaction, whose first one will begin at `end`.
    pub(super) fn new(end: P) -> Marks<P> {
        Marks { all: RefCell::default(), newest: Cell::default(), end: Cell::new(end) }
    }

    /// The transaction `txn` is durable: it begins at `place`, and the next one at `end`. One with its number that was
    /// there before is not needed.
    pub(super) fn note(&self, txn: Txn, place: P, end: P) {
        let mut marks = self.all.borrow_mut();
        // A log holds many transactions, and hardly ever one twice.
        if txn <= self.newest.get() {
            marks.retain(|(known, _)| *known != txn);
        }
        self.newest.set(self.newest.get().max(txn));
        marks.push_back((txn, place));
        self.end.set(end);
    }

    /// Forgets the transactions before `txn`. Returns where the first one begins that stays, or will begin (marks-1).
    pub(super) fn forget(&self, txn: Txn) -> P {
        let mut marks = self.all.borrow_mut();
        while marks.front().is_some_and(|(known, _)| *known < txn) {
            marks.pop_front();
        }
        marks.front().map_or(self.end.get(), |(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_stays_is_found_and_a_repeated_one_is_where_it_was_repeated() {
        let marks = Marks::new(10);
        assert_eq!(marks.forget(Txn(1)), 10);
        for (txn, place, end) in [(1, 10, 20), (2, 20, 40), (4, 40, 44)] {
            marks.note(Txn(txn), place, end);
        }
        assert_eq!(marks.forget(Txn(2)), 20);
        assert_eq!(marks.forget(Txn(3)), 40);
        marks.note(Txn(4), 44, 48);
        assert_eq!(marks.forget(Txn(4)), 44);
        // A later one does not change that.
        marks.note(Txn(5), 48, 50);
        marks.note(Txn(4), 50, 52);
        assert_eq!((marks.forget(Txn(4)), marks.forget(Txn(5)), marks.all.borrow().len()), (48, 48, 2));
    }

    /// marks-1: transaction 5 has records from 48 on, and is not durable.
    #[test]
    fn one_that_is_being_written_is_not_forgotten() {
        let marks = Marks::new(40);
        marks.note(Txn(4), 40, 48);
        assert_eq!(marks.forget(Txn(5)), 48);
    }
}
