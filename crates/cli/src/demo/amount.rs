//! How much of everything the tour does.

use std::time::Duration;

/// The amounts of a tour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    /// Files of the tree.
    pub(crate) files: usize,
    /// Transactions of the database, or replaced files where there is none.
    pub(crate) transactions: u32,
    /// How long the database works before its server is killed.
    pub(crate) until_kill: Duration,
    /// States of the explorer, for each scheme.
    pub(crate) states: u64,
    /// What the modelled drive does.
    pub(crate) workload: &'static str,
    /// Its parameters.
    pub(crate) params: &'static str,
}

impl Amount {
    /// Two minutes.
    pub(crate) const USUAL: Amount = Amount {
        files: 1500,
        transactions: 300,
        until_kill: Duration::from_millis(700),
        states: 600,
        workload: "copy-tree",
        params: "",
    };

    /// Seconds.
    pub(crate) const SHORT: Amount = Amount {
        files: 120,
        transactions: 20,
        until_kill: Duration::from_millis(150),
        states: 40,
        workload: "copy-tree",
        params: "files=40,mean=4k",
    };
}
