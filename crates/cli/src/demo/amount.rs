//! How much of everything the tour does.

use std::time::Duration;

/// The amounts of a tour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    /// Files of the tree.
    pub(crate) files: usize,
    /// Entries of the ledger, or replaced files where there is no mount.
    pub(crate) entries: u32,
    /// How long the ledger is kept before its server is killed.
    pub(crate) until_kill: Duration,
}

impl Amount {
    /// Two minutes.
    pub(crate) const USUAL: Amount = Amount { files: 1500, entries: 300, until_kill: Duration::from_millis(700) };

    /// Seconds.
    pub(crate) const SHORT: Amount = Amount { files: 120, entries: 20, until_kill: Duration::from_millis(150) };
}
