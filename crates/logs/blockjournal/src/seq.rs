//! The number of a transaction.

use std::fmt;

/// Numbers the transactions of a journal, from 1 on, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub u64);

impl Seq {
    /// No transaction: before the first one.
    pub const NONE: Seq = Seq(0);

    pub(crate) fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }

    pub(crate) fn before(self) -> Seq {
        Seq(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
