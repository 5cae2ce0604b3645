//! BSD's log-structured file system on disk: 4.4BSD's and NetBSD's version 1, NetBSD's version 2 with 32-bit and with
//! 64-bit addresses. Pure functions of bytes, like the rest of the crate.
//!
//! L1. Disk addresses ([`Daddr`]) count fragments; in version 1 they count sectors of 512 bytes. [`Geometry::unit`] is
//!     that size, and only [`Geometry::byte`] and its neighbours convert. A pointer of an inode ([`crate::FragNo`]) is
//!     in the same unit.
//! L2. Nothing here depends on the state of the log: what is live, which segment comes next and when a checkpoint is
//!     due are decided by the caller.
//! L3. Fields of version 1 that mean something else there (segment size in blocks, time at another place, no summary
//!     size) have version 2's meaning after decoding and are converted back by encoding.
//!
//! The bytes are described in `docs/format/lfs.md`.

mod addr;
mod cksum;
mod flagset;
mod geometry;
pub mod ifile;
pub mod inode_block;
mod lbn;
pub mod newfs;
pub mod summary;
pub mod superblock;
mod version;

pub use addr::{Daddr, SegNo, Serial};
pub use cksum::{Cksum, cksum};
pub use geometry::{Geometry, IfilePlace, Room, Totals};
pub use ifile::{CleanerInfo, IfileEntry, NextFree, SegUse};
pub use newfs::{NewfsError, NewfsOptions};
pub use summary::{Finfo, Full, Item, Pseg, PsegBuilder, Summary};
pub use superblock::{Superblock, recognise};
pub use version::Version;

use crate::Ino;

/// Bytes before the first superblock, which LFS never writes: the disk's label.
pub const LABEL_PAD: u32 = 8192;
/// Bytes of a superblock's block.
pub const SB_PAD: u32 = 8192;
/// Most copies of the superblock.
pub const MAX_SUPERBLOCKS: usize = 10;
/// Most bytes of a summary that are decoded.
pub const MAX_SUMMARY: u32 = 65536;
/// Bytes of a directory block.
pub const DIRBLOCK: u32 = 512;

/// The ifile.
pub const IFILE: Ino = Ino(1);
/// `lost+found`, where newfs makes one (version 1).
pub const LOST_FOUND: Ino = Ino(3);
