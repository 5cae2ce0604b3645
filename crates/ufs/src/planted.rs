//! Bugs that are planted on purpose, for tests of the crash explorer only: the feature `planted`.
//!
//! The running system looks right with each of them, and no test of it fails. Only a crash shows them.
//!
//! B1. A bug does harm only after its own thread has switched it on. The feature can therefore be there in a build of
//!     the whole workspace, as cargo merges features, and changes nothing.

use std::cell::Cell;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Rename clears the old name before it enters the new one (against U2).
    OldNameFirst,
    /// The old place of a fragment that moves is free before the pointer to the new place has been told.
    FragmentFreeAtOnce,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A bug is there for as long as this is.
#[derive(Debug)]
pub struct Planted(());

/// Plants `bug` in this thread.
#[must_use = "the bug goes with the answer"]
pub fn plant(bug: Bug) -> Planted {
    PLANTED.set(Some(bug));
    Planted(())
}

/// This thread has this bug.
pub fn has(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

impl Drop for Planted {
    fn drop(&mut self) {
        PLANTED.set(None);
    }
}
