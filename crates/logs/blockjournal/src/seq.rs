//! The number of a transaction.

use ordo_ring::Field;
use std::fmt;
use zerocopy::byteorder::little_endian::U64;

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

impl Field for Seq {
    type Raw = U64;

    fn raw(&self) -> U64 {
        U64::new(self.0)
    }

    fn of(raw: U64) -> Seq {
        Seq(raw.get())
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
