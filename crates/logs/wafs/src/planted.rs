//! Rules that are broken on purpose, for tests of the crash explorer only: the feature `planted`.
//!
//! The running log behaves correctly with each of them. Only a power cut, or damage, shows the difference.
//!
//! A rule is off only in the thread that has switched it off. A build of the whole workspace, in which cargo unifies
//! features, may therefore enable the feature without effect.

use std::cell::Cell;

/// A rule of the crate's head that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// wafs-1: what the disk has completed counts as durable, without a flush.
    Flush,
    /// wafs-2: a record is accepted whatever its checksum is.
    Checksum,
    /// wafs-3: a record is accepted whatever record comes before it.
    Chain,
    /// wafs-4: a record is accepted whatever mount wrote it.
    Epoch,
    /// wafs-5: reclaimed space is used before the superblock that frees it is durable.
    Reuse,
    /// wafs-6: a superblock is written over the current one.
    Superblock,
    /// wafs-7: a write starts in the unit in which the one before it ended.
    Unit,
}

thread_local! {
    static BROKEN: Cell<Option<Broken>> = const { Cell::new(None) };
}

/// The rule is broken as long as this value lives.
#[derive(Debug)]
pub struct Planted(());

/// Breaks `rule` in this thread.
#[must_use = "the rule is kept again when the answer goes"]
pub fn plant(rule: Broken) -> Planted {
    BROKEN.set(Some(rule));
    Planted(())
}

pub(crate) fn has(rule: Broken) -> bool {
    BROKEN.get() == Some(rule)
}

impl Drop for Planted {
    fn drop(&mut self) {
        BROKEN.set(None);
    }
}
