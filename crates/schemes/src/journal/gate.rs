//! The gate: which calls run, and when the next may begin.
//!
//! A transaction is captured while no call runs, so that it holds whole calls only. To capture one the gate is closed:
//! calls that run go on to their end, and those that would begin wait. It is open again before anything is written.

use buf::Op;
use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Gate {
    running: BTreeSet<u64>,
    closed: bool,
}

impl Gate {
    /// The call runs, if it may begin now; one at a time where `alone`.
    pub(super) fn enter(&mut self, op: Op, alone: bool) -> bool {
        let may = !self.closed && (!alone || self.running.is_empty());
        may && self.running.insert(op.id)
    }

    /// A call has ended. `false` for one that never began.
    pub(super) fn leave(&mut self, op: Op) -> bool {
        self.running.remove(&op.id)
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn open(&mut self) {
        self.closed = false;
    }

    /// No call runs.
    pub(super) fn is_still(&self) -> bool {
        self.running.is_empty()
    }
}
