//! The gate: a moment when no call runs.
//!
//! G1. A call passes the gate before its first lock, and counts as running until its end ([`ordo_ufs::Layout::begin`]).
//!     So a call that waits at the gate holds nothing that a running call could want, and the running ones end.
//! G2. While the gate is held, no call begins. Whoever holds it waits only for the disk and for running calls.

use ordo_rt::sync::Notify;
use std::cell::Cell;
use std::rc::Rc;

/// Counts running calls, and holds back new ones.
#[derive(Default)]
pub(crate) struct Gate {
    running: Cell<u64>,
    begun: Cell<u64>,
    holders: Cell<u64>,
    changed: Notify,
}

/// Holds the gate until it is dropped.
pub(crate) struct Held(Rc<Gate>);

impl Gate {
    /// A call begins.
    pub(crate) async fn enter(&self) {
        while self.holders.get() > 0 {
            self.changed.notified().await;
        }
        self.running.set(self.running.get() + 1);
        self.begun.set(self.begun.get() + 1);
    }

    /// Calls that have begun since the mount.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// A call has ended.
    pub(crate) fn leave(&self) {
        self.running.set(self.running.get().saturating_sub(1));
        if self.running.get() == 0 {
            self.changed.notify_all();
        }
    }

    /// No call is running.
    pub(crate) fn is_quiet(&self) -> bool {
        self.running.get() == 0
    }

    /// Waits until no call runs, and holds back new ones.
    pub(crate) async fn hold(self: &Rc<Self>) -> Held {
        self.holders.set(self.holders.get() + 1);
        let held = Held(self.clone());
        self.quiet().await;
        held
    }

    /// Waits for a moment when no call runs.
    pub(crate) async fn quiet(&self) {
        while !self.is_quiet() {
            self.changed.notified().await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.holders.set(self.0.holders.get() - 1);
        if self.0.holders.get() == 0 {
            self.0.changed.notify_all();
        }
    }
}
