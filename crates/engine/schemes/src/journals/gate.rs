//! The gate: which calls run, and when the next one may begin.
//!
//! A transaction is captured while no call runs, so that it holds whole calls only. To capture one, the gate is closed:
//! running calls finish, and new ones wait. It is open again before anything is written.

use ordo_buf::Op;
use std::collections::BTreeMap;

/// The largest change that a call has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Done {
    /// None, as for a refused call; or only what reading and overwriting files changes often: times, and contents in
    /// place.
    Little,
    /// Something else.
    Much,
    /// A name was added, removed, or names another inode.
    Names,
}

#[derive(Default)]
pub(super) struct Gate {
    /// By the call's number.
    running: BTreeMap<u64, Done>,
    closed: bool,
}

impl Gate {
    /// Admits the call if it may begin now; with `alone` only if no other call runs.
    pub(super) fn enter(&mut self, op: Op, alone: bool) -> bool {
        let may = !self.closed && (!alone || self.running.is_empty());
        may && self.running.insert(op.id, Done::Little).is_none()
    }

    /// A running call has made this change.
    pub(super) fn does(&mut self, op: Op, done: Done) {
        if let Some(most) = self.running.get_mut(&op.id) {
            *most = done.max(*most);
        }
    }

    /// A call has ended. `None` if it never began.
    pub(super) fn leave(&mut self, op: Op) -> Option<Done> {
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
