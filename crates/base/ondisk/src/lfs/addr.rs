//! Addresses and numbers of the log, each with its own type.

use crate::FragNo;

/// A disk address: fragments, or sectors in version 1 (ondisk-lfs-1). 0 in a pointer is a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Daddr(pub u64);

impl Daddr {
    /// The value of a pointer to nothing.
    pub const HOLE: Daddr = Daddr(0);

    /// `true` for a pointer to nothing.
    pub fn is_hole(self) -> bool {
        self.0 == 0
    }

    /// The address this many units further.
    #[must_use]
    pub fn plus(self, units: u64) -> Daddr {
        Daddr(self.0.saturating_add(units))
    }

    /// Units from `from` to here; 0 if `from` is behind.
    pub fn since(self, from: Daddr) -> u64 {
        self.0.saturating_sub(from.0)
    }

    /// The same as a pointer of an inode or an indirect block.
    pub fn pointer(self) -> FragNo {
        FragNo(self.0)
    }
}

impl From<FragNo> for Daddr {
    fn from(pointer: FragNo) -> Daddr {
        Daddr(pointer.0)
    }
}

/// Number of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SegNo(pub u32);

/// Serial number of a partial segment; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Serial(pub u64);

impl Serial {
    /// The serial number of the partial segment after this one.
    #[must_use]
    pub fn next(self) -> Serial {
        Serial(self.0.saturating_add(1))
    }
}
