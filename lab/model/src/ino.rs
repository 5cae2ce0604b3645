//! Numbers of files.

/// Number of a slot of the arena, which is also the inode number in `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ino(pub(crate) u32);

/// UFS's inode number for the root.
pub(crate) const ROOT: Ino = Ino(2);
