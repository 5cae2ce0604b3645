//! A transaction: its number, and what it has done to a block.

use ordo_disk::{DiskOff, Image};

/// The number of a transaction; the first of a mount is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Txn(pub(crate) u64);

impl Txn {
    pub(crate) fn next(self) -> Txn {
        Txn(self.0 + 1)
    }

    pub(super) fn before(self) -> Txn {
        Txn(self.0.saturating_sub(1))
    }
}

/// What a transaction has done to a block.
pub(crate) struct Captured {
    pub(crate) at: DiskOff,
    /// The block before, as log and home have it; `None` if they have nothing of it.
    pub(crate) before: Option<Image>,
    pub(crate) now: Image,
}
