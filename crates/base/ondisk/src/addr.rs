//! The address spaces of a volume, each with its own type, so that a mistaken unit does not compile.
//!
//! There are no conversions from plain numbers: `FragNo(n)` marks where a number becomes an address, and can be
//! searched for.

/// Address of a fragment in the volume. 0 is a hole: fragment 0 holds the boot area and no pointer may refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FragNo(pub u64);

impl FragNo {
    /// The value of a pointer to nothing.
    pub const HOLE: FragNo = FragNo(0);

    /// `true` for a pointer to nothing.
    pub fn is_hole(self) -> bool {
        self.0 == 0
    }

    /// The fragment `n` after this one.
    #[must_use]
    pub fn plus(self, n: u32) -> FragNo {
        FragNo(self.0.saturating_add(u64::from(n)))
    }
}

/// Index of a fragment within its cylinder group, counted from `cgbase`: a bit of the free-fragment map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CgFrag(pub u32);

/// Index of a cylinder group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cgx(pub u32);

/// Number of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ino(pub u32);

impl Ino {
    /// The root directory.
    pub const ROOT: Ino = Ino(2);
    /// The number in a whiteout's directory entry.
    pub const WHITEOUT: Ino = Ino(1);
    /// The number in an unused directory entry.
    pub const NONE: Ino = Ino(0);
}

/// Number of a block within a file. Negative numbers are its indirect and attribute blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lbn(pub i64);

/// A byte of the volume, counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteOff(pub u64);
