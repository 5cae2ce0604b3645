//! A group as the replay keeps it, and what it must know of an inode to change a bit there.

use ordo_ondisk::CgLayout;
use std::collections::BTreeMap;

/// A group, read and changed.
pub(crate) struct Group {
    pub(super) bytes: Vec<u8>,
    pub(super) layout: CgLayout,
    pub(super) inited: u32,
    pub(super) ndir: i32,
    /// The number of directories may not match the bitmap of inodes.
    pub(super) uncertain: bool,
    /// It must be counted.
    pub(super) count_dirs: bool,
    pub(super) torn: bool,
}

/// The groups so far.
#[derive(Default)]
pub(super) struct Groups(pub(super) BTreeMap<u32, Group>);

/// What is known of an inode whose bit may change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InodeKind {
    Directory,
    Other,
    Unknown,
}
