//! What allocation remembers about a volume besides its maps; the superblock keeps it (`fs_optim`, `fs_cgrotor`).

use ordo_ondisk::Cgx;
use std::cell::Cell;

/// What the allocator saves when a fragment has to move: time, by moving it where it can grow to a whole block, or
/// space, by taking the smallest run that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Optim {
    Time,
    Space,
}

/// What allocation remembers about a volume besides its maps.
pub(crate) struct Memory {
    pub(crate) optim: Cell<Optim>,
    /// The group last chosen for a new section of a file.
    pub(crate) cgrotor: Cell<Cgx>,
}
