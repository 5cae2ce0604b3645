//! What is done in parts with the active disk of a mounted volume, beside its calls.
//!
//! Z1. One part at a time: a scrub that somebody asks for, and that of the schedule, do not read side by side.
//! Z2. An unmount waits for the present part, and no other begins. A part heals homes and writes roots of the map:
//!     after the volume was marked clean they would meet those of another mount, or of another system.

use ordo_active::Active;
use ordo_ondisk::Superblock;
use ordo_rt::sync::{Mutex, MutexGuard};
use std::cell::Cell;
use std::rc::Rc;

/// The active disk of a mount.
pub(super) struct ActiveDisk {
    pub(super) active: Active,
    /// As it was found.
    pub(super) sb: Rc<Superblock>,
    pub(super) parts: Rc<Parts>,
}

/// The parts of a mount.
pub(super) struct Parts {
    ended: Cell<bool>,
    one: Mutex<()>,
}

impl Parts {
    pub(super) fn new() -> Parts {
        Parts { ended: Cell::new(false), one: Mutex::new(()) }
    }

    /// Waits until no other part runs. `None`: the volume is unmounted, or about to be.
    pub(super) async fn begin(&self) -> Option<MutexGuard<'_, ()>> {
        let one = self.one.lock().await;
        (!self.ended.get()).then_some(one)
    }

    pub(super) fn have_ended(&self) -> bool {
        self.ended.get()
    }

    /// No other begins. Waits for the one that runs.
    pub(super) async fn end(&self) {
        self.ended.set(true);
        drop(self.one.lock().await);
    }
}
