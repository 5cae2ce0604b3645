//! Rules that are broken on purpose, for tests only: the feature `planted`.
//!
//! The running journal behaves correctly with each of them. Only a power cut, or damage, shows the difference.
//!
//! A rule is off only in the thread that has switched it off. A build of the whole workspace, in which cargo unifies
//! features, may therefore enable the feature without effect.

use std::cell::Cell;

/// A rule of the crate's head that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// blockjournal-1: what the disk has completed counts as durable, without a flush.
    Flush,
    /// blockjournal-2: a block is accepted whatever its checksum is.
    Checksum,
    /// blockjournal-2: the commit block does not wait for the flush that `Commit::AfterFlush` requires.
    Barrier,
    /// blockjournal-3: a transaction is accepted whatever its number and place are.
    Number,
    /// blockjournal-4: a transaction is accepted whatever superblock it names.
    Epoch,
    /// blockjournal-5: a block that begins with the magic is stored as it is.
    Escape,
    /// blockjournal-6: checkpointed room is used before the superblock that frees it is durable.
    Reuse,
    /// blockjournal-7: a superblock is written over the current one.
    Superblock,
    /// blockjournal-8: a hole is taken for the end.
    Witness,
    /// blockjournal-9: what recovery has found is not flushed.
    Found,
    /// blockjournal-10: revokes are ignored.
    Revoke,
    /// blockjournal-11: after a commit that failed, the next one proceeds.
    Failed,
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
