//! The gate: which calls run, and when the next may begin.
//!
//! A transaction is captured while no call runs, so that it holds whole calls only. To capture one the gate is closed:
//! calls that run go on to their end, and those that would begin wait. It is open again before anything is written.

use buf::Op;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Gate {
    /// By the call's number: whether it has changed more than times.
    running: BTreeMap<u64, bool>,
    closed: bool,
}

impl Gate {
    /// The call runs, if it may begin now; one at a time where `alone`.
    pub(super) fn enter(&mut self, op: Op, alone: bool) -> bool {
        let may = !self.closed && (!alone || self.running.is_empty());
        may && self.running.insert(op.id, false).is_none()
    }

    /// A call has changed more than times.
    pub(super) fn changes(&mut self, op: Op) {
        if let Some(changed) = self.running.get_mut(&op.id) {
            *changed = true;
        }
    }

    /// A call has ended, and had changed more than times or not. `None` for one that never began.
    pub(super) fn leave(&mut self, op: Op) -> Option<bool> {
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
