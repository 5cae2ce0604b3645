//! Bugs planted on purpose, only for tests of the crash explorer: the feature `planted`.
//!
//! With each of them the running system looks right, and all its tests pass. Only a crash shows the bug.
//!
//! B1. A bug is active only after its own thread has switched it on. So the feature can be enabled in a build of the
//!     whole workspace, where cargo merges features, and changes nothing.

use std::cell::Cell;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Rename clears the old name before it enters the new one (against ufs-2).
    OldNameFirst,
    /// The old place of a moved fragment is free before the step for the pointer to the new place.
    FragmentFreeAtOnce,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// The bug is active for as long as this value lives.
#[derive(Debug)]
pub struct Planted(());

/// Plants `bug` in this thread.
#[must_use = "the bug goes with the answer"]
pub fn plant(bug: Bug) -> Planted {
    PLANTED.set(Some(bug));
    Planted(())
}

/// Whether this bug is active in this thread.
pub fn has(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

impl Drop for Planted {
    fn drop(&mut self) {
        PLANTED.set(None);
    }
}
