//! Rollback: a change that is undone in an image, in the words of the layout that undoes it.

use ordo_ondisk::{FragNo, Ino};

/// A change that is undone in an image about to be written. The buf itself is not changed.
#[derive(Debug)]
pub enum Undo<'a> {
    /// The inode was not allocated: its dinode becomes a free one, and keeps its generation.
    Inode(Ino),
    /// Pointers of an inode, with its size and attributes.
    Pointers(Pointers<'a>),
    /// A pointer of an indirect block, by index.
    Pointer(u32, FragNo),
    /// The inode and the type in a directory entry; inode 0 for an unused entry.
    Entry {
        /// Offset of the entry in the block, in bytes.
        offset: u32,
        /// The inode that it named before.
        ino: Ino,
        /// The type in the entry.
        kind: u8,
    },
    /// Bytes of a directory's block, with their old values.
    Chunk(u32, &'a [u8]),
}

/// Pointers of an inode that are undone together.
#[derive(Debug)]
pub struct Pointers<'a> {
    /// The file.
    pub ino: Ino,
    /// Slots, as [`Slot::Inode`](crate::Slot::Inode) counts them, and their old pointers.
    pub back: &'a [(u8, FragNo)],
    /// The size of the file at most, in bytes; what lies beyond is not in the image either.
    pub size: u64,
    /// The attributes, and what goes with them.
    pub attributes: Option<OldAttributes>,
}

/// The attributes of an inode before a change, and the fields that a list of access rights is read together with. They
/// go back together: with the new mode or owner, the entries of the old list would grant what neither list granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldAttributes {
    /// The pointers.
    pub at: [FragNo; 2],
    /// The size of the area, in bytes.
    pub size: u32,
    /// The mode.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}
