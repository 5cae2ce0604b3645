//! Rules that are broken on purpose, for tests only: the feature `planted`.
//!
//! The running journal looks right with each of them. Only a power cut, or damage, shows them.
//!
//! A rule is off only in the thread that has switched it off. The feature can therefore be there in a build of the
//! whole workspace, as cargo merges features, and changes nothing.

use std::cell::Cell;

/// A rule of the crate's own page that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// K1: what the disk has completed counts as durable, without a flush.
    Flush,
    /// K2: a block is believed whatever its checksum is.
    Checksum,
    /// K2: the commit block does not wait for the flush that it was told to wait for.
    Barrier,
    /// K3: a transaction is believed whatever its number and place are.
    Number,
    /// K4: a transaction is believed whatever superblock it names.
    Epoch,
    /// K5: a block that begins with the magic is written as it is.
    Escape,
    /// K6: checkpointed room is used before the superblock says so durably.
    Reuse,
    /// K7: a superblock is written over the one that counts.
    Superblock,
    /// K8: a hole is taken for the end.
    Witness,
    /// K9: what recovery has found is not flushed.
    Found,
    /// K10: revokes are not looked at.
    Revoke,
    /// K11: after a commit that failed the next one goes on.
    Failed,
}

thread_local! {
    static BROKEN: Cell<Option<Broken>> = const { Cell::new(None) };
}

/// The rule is broken for as long as this is.
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
