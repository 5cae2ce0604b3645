//! What the reclaim of leaks needs from a layout.

use crate::{Inode, Layout};
use buf::Op;
use ondisk::{Cgx, Dinode, FragNo, Ino};
use vfs::Result;

/// The inodes of one group that were in use when the volume was mounted.
#[derive(Debug, Clone, Default)]
pub struct UsedInodes {
    /// One bit an inode of the group, up to the last one in use.
    pub map: Vec<u8>,
    /// How many directories the group counted.
    pub directories: i32,
}

/// A bounded piece of a group's inodes.
#[derive(Debug, Default)]
pub struct Piece {
    /// Inodes that were in use when the volume was mounted, as they are now.
    pub inodes: Vec<(Ino, Dinode)>,
    /// Index within the group from which the next piece goes on; `None` where this was the last.
    pub next: Option<u32>,
}

/// What an inode points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Sectors of 512 bytes that it has, its indirect blocks and attributes included.
    pub sectors: u64,
    /// The block behind its last one that is stored.
    pub end: u64,
}

/// A layout that can tell what a crash has left in use.
#[allow(async_fn_in_trait)]
pub trait Recover: Layout {
    /// The inodes in use when the volume was mounted, by group; `None` unless the crash of a soft-updates volume left
    /// it, which is then to be scanned. Given out once.
    fn take_used_inodes(&self) -> Option<Vec<Option<UsedInodes>>>;

    /// The next piece of a group's inodes, of those that `map` names, from index `from` on. Whoever is not in memory
    /// is read past the cache.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a dinode that no crash leaves.
    async fn inodes(&self, c: Cgx, map: &[u8], from: u32) -> Result<Piece>;

    /// Strikes what the inode points to from the list of what may have leaked.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a pointer that no crash leaves.
    async fn refer(&self, inode: &Inode) -> Result<Extent>;

    /// Strikes what was released from the list of what may have leaked: its ticket will free it.
    fn released(&self, runs: &[(FragNo, u32)]);

    /// Frees a bounded number of the fragments of a group that are still on the list. How many, and whether there may be
    /// more in this group.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn free_leaked(&self, c: Cgx) -> Result<(u64, bool)>;

    /// Frees an inode of which nothing but its bit in the map is in use.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn free_bare(&self, ino: Ino) -> Result<()>;

    /// Cuts off the blocks that a file has beyond its size.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn cut_beyond(&self, op: Op, inode: &Inode) -> Result<()>;

    /// A group counts `more` directories too many.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    async fn mend_directories(&self, c: Cgx, more: i32) -> Result<()>;

    /// All that had leaked is free: an orderly unmount marks the volume clean.
    fn recovered(&self);

    /// Something was found that no crash of a soft-updates volume leaves: the volume needs fsck.
    fn damaged(&self);
}
