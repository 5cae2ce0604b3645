//! Rules that are broken on purpose, for tests only: the feature `planted`.
//!
//! The running log behaves correctly with each of them. Only a power cut, or damage, shows the difference.
//!
//! A rule is off only in the thread that has switched it off. A build of the whole workspace, in which cargo unifies
//! features, may therefore enable the feature without effect.

use std::cell::Cell;

/// A rule of the head of this crate, of `wafs` (wafs-1 to wafs-7) or of `blockjournal` (blockjournal-1 to
/// blockjournal-6), that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// ring-1: a superblock is written over the current one.
    Superblock,
    /// ring-2: room is used again before the superblock that frees it is durable.
    Reuse,
    /// ring-3: an entry is accepted whatever its epoch is.
    Epoch,
    /// ring-4: a hole is taken for the end (`blockjournal` only).
    Witness,
    /// ring-5: what recovery has found is not flushed.
    Found,
    /// ring-6: after a commit that failed, the next one proceeds (`blockjournal` only).
    Failed,
    /// wafs-1, blockjournal-1: what the disk has completed counts as durable, without a flush.
    Flush,
    /// wafs-2, blockjournal-2: a record or a block is accepted whatever its checksum is.
    Checksum,
    /// wafs-3: a record is accepted whatever record comes before it.
    Chain,
    /// wafs-5: a write starts in the unit in which the one before it ended.
    Unit,
    /// blockjournal-2: the commit block does not wait for the flush that `Commit::AfterFlush` requires.
    Barrier,
    /// blockjournal-3: a transaction is accepted whatever its number and place are.
    Number,
    /// blockjournal-5: a block that begins with the magic is stored as it is.
    Escape,
    /// blockjournal-6: revokes are ignored.
    Revoke,
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

/// True if `rule` is broken in this thread.
pub fn has(rule: Broken) -> bool {
    BROKEN.get() == Some(rule)
}

impl Drop for Planted {
    fn drop(&mut self) {
        BROKEN.set(None);
    }
}
