//! The numbers of a volume that do not change while it is mounted, and all address arithmetic. Methods have the names
//! of the macros in the BSD sources.
//!
//! G1. A geometry is made from a checked superblock only, so its sizes are powers of two where the format requires it,
//!     its groups cover the volume, and the regions of a group are in order.
//! G2. The arguments may come from damaged pointers: every result for them is a harmless number outside the volume,
//!     never an overflow. Code that follows a pointer must check [`Geometry::is_data_range`] first, or to
//!     read a file's data [`Geometry::is_readable_range`].

mod arith;
mod path;

pub use path::{BlockPath, Root, Tree};

use crate::{ByteOff, Dialect, Endian, Format, FragNo};

/// Direct pointers of an inode.
pub const NDADDR: usize = 12;
/// Indirect pointers of an inode.
pub const NIADDR: usize = 3;
/// Pointers to the attribute area (UFS2).
pub const NXADDR: usize = 2;

/// The geometry of a volume. See the module's invariants; units are in the names or the comments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// UFS1 or UFS2.
    pub format: Format,
    /// Byte order of every integer.
    pub endian: Endian,
    /// The system that most likely made the volume.
    pub dialect: Dialect,
    /// Bytes of a block.
    pub bsize: u32,
    /// Bytes of a fragment.
    pub fsize: u32,
    /// Fragments of a block: 1, 2, 4 or 8.
    pub frag: u32,
    /// log2 of `bsize`.
    pub bshift: u32,
    /// log2 of `fsize`.
    pub fshift: u32,
    /// log2 of `frag`.
    pub fragshift: u32,
    /// Cylinder groups.
    pub ncg: u32,
    /// Fragments of a group.
    pub fpg: u32,
    /// Inodes of a group.
    pub ipg: u32,
    /// Fragments of the volume.
    pub size: u64,
    /// Fragments that can hold data.
    pub dsize: u64,
    /// Fragment of the backup superblock within a group.
    pub sblkno: u32,
    /// Fragment of the group's block within a group.
    pub cblkno: u32,
    /// Fragment of the inodes within a group.
    pub iblkno: u32,
    /// Fragment of the data within a group.
    pub dblkno: u32,
    /// UFS1: how much later, in fragments, each group's metadata starts; else 0.
    pub cgoffset: u32,
    /// UFS1: mask of the group number after which the offset starts over.
    pub cgmask: u32,
    /// Pointers in an indirect block.
    pub nindir: u32,
    /// Inodes in a block.
    pub inopb: u32,
    /// Bytes of an inode: 128 or 256.
    pub dinode_size: u32,
    /// A symbolic link shorter than this is in the inode; 0 if none is.
    pub maxsymlinklen: u32,
    /// Largest file in bytes.
    pub maxfilesize: u64,
    /// Longest run of blocks that the cluster summary distinguishes; 0 without clusters.
    pub contigsumsize: u32,
    /// Most blocks in one transfer; at least 1.
    pub maxcontig: u32,
    /// Most blocks of one file in a group before the file continues in another; at least 1.
    pub maxbpg: u32,
    /// Fragments at the start of a group's data area reserved for metadata.
    pub metaspace: u32,
    /// Percent of `dsize` reserved for privileged callers: 0 to 99.
    pub minfree: u32,
    /// Bytes of a group's block that are in use.
    pub cgsize: u32,
    /// Bytes of the summary array.
    pub cssize: u32,
    /// Address of the summary array.
    pub csaddr: FragNo,
    /// Bytes of a superblock.
    pub sbsize: u32,
    /// Place of the primary superblock.
    pub sblockloc: ByteOff,
    /// Bytes of a directory block: 512, or 1024 on Apple's volumes.
    pub dirblksiz: u32,
    /// Directory entries have 16-bit name lengths and no type (4.2BSD).
    pub old_dirent: bool,
    /// Owners of inodes are 16-bit and in another field (4.2BSD).
    pub old_inode: bool,
    /// Groups may have the layout of 4.2BSD.
    pub old_cg: bool,
    /// Groups have a check hash.
    pub cg_hash: bool,
    /// Inodes have a check hash.
    pub inode_hash: bool,
    /// UFS1: milliseconds from one transfer to the next.
    pub rotdelay: u32,
    /// UFS1: revolutions per second.
    pub rps: u32,
    /// UFS1: sectors of a track.
    pub nsect: u32,
    /// UFS1: sectors of a fragment.
    pub nspf: u32,
    /// UFS1: cylinders of a group.
    pub cpg: u32,
    /// UFS1: rotational positions.
    pub nrpos: u32,
    /// Expected size of a file, in bytes.
    pub avgfilesize: u32,
    /// Expected files in a directory.
    pub avgfpdir: u32,
}
