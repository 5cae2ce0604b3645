//! What the scan for leaks needs from a layout.

use crate::{Inode, Layout};
use ordo_buf::Op;
use ordo_ondisk::{Cgx, Dinode, FragNo, Ino};
use ordo_vfs::Result;

/// The inodes of one group that were in use at the mount.
#[derive(Debug, Clone, Default)]
pub struct UsedInodes {
    /// One bit per inode of the group, up to the last one in use.
    pub map: Vec<u8>,
    /// The group's count of directories.
    pub directories: i32,
}

/// A bounded piece of a group's inodes.
#[derive(Debug, Default)]
pub struct Piece {
    /// Inodes that were in use at the mount, with their present contents.
    pub inodes: Vec<(Ino, Dinode)>,
    /// Index within the group at which the next piece begins; `None` for the last one.
    pub next: Option<u32>,
}

/// What an inode points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Its sectors of 512 bytes, including indirect blocks and attributes.
    pub sectors: u64,
    /// The block after its last stored one.
    pub end: u64,
}

/// A layout that can find what a crash has leaked.
#[allow(async_fn_in_trait)]
pub trait Recover: Layout {
    /// The inodes in use at the mount, by group; `None` unless a soft-updates volume crashed and must be scanned.
    /// Returned once.
    fn take_used_inodes(&self) -> Option<Vec<Option<UsedInodes>>>;

    /// The next piece of a group's inodes, of those in `map`, from index `from` on. Inodes that are not in memory are
    /// read past the cache.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a dinode that no crash leaves.
    async fn inodes(&self, c: Cgx, map: &[u8], from: u32) -> Result<Piece>;

    /// Removes what the inode points to from the list of possible leaks.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a pointer that no crash leaves.
    async fn refer(&self, inode: &Inode) -> Result<Extent>;

    /// Removes what was released from the list of possible leaks: its ticket will free it.
    fn released(&self, runs: &[(FragNo, u32)]);

    /// Frees a bounded number of the fragments of a group that are still on the list. Returns how many, and whether the
    /// group may have more.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn free_leaked(&self, c: Cgx) -> Result<(u64, bool)>;

    /// Frees an inode of which only the bit in the map is in use.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn free_bare(&self, ino: Ino) -> Result<()>;

    /// Frees the blocks of a file beyond its size.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn cut_beyond(&self, op: Op, inode: &Inode) -> Result<()>;

    /// The group's count of directories is `more` too high.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn mend_directories(&self, c: Cgx, more: i32) -> Result<()>;

    /// Everything that had leaked is free: a clean unmount marks the volume clean.
    fn recovered(&self);

    /// Something was found that a crash of soft updates never leaves: the volume needs fsck.
    fn damaged(&self);
}
