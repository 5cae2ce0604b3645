//! Places on a disk: byte offsets, and ranges of bytes that have an end.

use std::fmt;

/// A byte offset on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DiskOff(pub u64);

impl fmt::Display for DiskOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.0)
    }
}

impl std::ops::Add<u64> for DiskOff {
    type Output = DiskOff;
    /// Saturates; a range that passes the end of the disk is refused by [`crate::DiskInfo::check`].
    fn add(self, by: u64) -> DiskOff {
        DiskOff(self.0.saturating_add(by))
    }
}

/// A range of bytes that has an end. Two numbers from a disk are none until [`ByteRange::new`] has seen them: their sum
/// may be beyond all numbers, and what is made of it then ends before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    at: DiskOff,
    len: u64,
}

impl ByteRange {
    /// `len` bytes from `at` on; `None` if they have no end.
    pub fn new(at: DiskOff, len: u64) -> Option<ByteRange> {
        at.0.checked_add(len).map(|_| ByteRange { at, len })
    }

    /// The first byte.
    pub fn at(self) -> DiskOff {
        self.at
    }

    /// Bytes.
    pub fn len(self) -> u64 {
        self.len
    }

    /// It has no bytes.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}
