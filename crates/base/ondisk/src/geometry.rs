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

use crate::num::{bits32, bits64, low32};
use crate::superblock::fields::ck;
use crate::{ByteOff, Dialect, Endian, FragNo, Superblock};

/// Direct pointers of an inode.
pub const NDADDR: usize = 12;
/// Indirect pointers of an inode.
pub const NIADDR: usize = 3;
/// Pointers to the attribute area (UFS2).
pub const NXADDR: usize = 2;

/// UFS1 has 32-bit addresses and 128-byte inodes, UFS2 64-bit addresses and 256-byte inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Format {
    Ufs1,
    Ufs2,
}

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

/// Solaris has symbolic links of up to 56 bytes in the inode.
const SOLARIS_SYMLINK: u32 = 57;

impl Geometry {
    /// The geometry of a checked superblock.
    pub(crate) fn of(sb: &Superblock) -> Geometry {
        let f = &sb.fields;
        let ufs1 = sb.format == Format::Ufs1;
        // Checked to be positive, and small.
        let n = |field: i32| u32::try_from(field).unwrap_or(0);
        let (apple, solaris) = (sb.dialect == Dialect::Apple, sb.dialect == Dialect::Solaris);
        let old = |field: i32| if ufs1 { n(field) } else { 0 };
        let size = bits64(f.size);
        let half = n(f.fpg).checked_div(2).unwrap_or(0);
        let reserve = u64::from(n(f.fpg)).saturating_mul(u64::from(n(f.minfree).min(99))).checked_div(200).unwrap_or(0);
        let reserve = low32(reserve) & !n(f.frag).saturating_sub(1);
        Geometry {
            format: sb.format,
            endian: sb.endian,
            dialect: sb.dialect,
            bsize: n(f.bsize),
            fsize: n(f.fsize),
            frag: n(f.frag),
            bshift: n(f.bshift),
            fshift: n(f.fshift),
            fragshift: n(f.fragshift),
            ncg: f.ncg,
            fpg: n(f.fpg),
            ipg: f.ipg,
            size,
            // Old versions of growfs stored it wrong.
            dsize: u64::try_from(f.dsize).unwrap_or(0).min(size),
            sblkno: n(f.sblkno),
            cblkno: n(f.cblkno),
            iblkno: n(f.iblkno),
            dblkno: n(f.dblkno),
            cgoffset: old(f.old_cgoffset),
            cgmask: bits32(f.old_cgmask),
            nindir: n(f.nindir),
            inopb: f.inopb,
            dinode_size: if ufs1 { 128 } else { 256 },
            maxsymlinklen: match (apple, solaris) {
                (true, _) => 60,
                (_, true) => SOLARIS_SYMLINK,
                _ => n(f.maxsymlinklen),
            },
            maxfilesize: f.maxfilesize,
            contigsumsize: n(f.contigsumsize),
            maxcontig: n(f.maxcontig).clamp(1, 1024),
            maxbpg: if f.maxbpg > 0 { n(f.maxbpg) } else { n(f.bsize).checked_div(8).unwrap_or(1) },
            metaspace: match sb.dialect {
                Dialect::FreeBsd => u32::try_from(f.metaspace).unwrap_or(0).min(half),
                Dialect::OpenBsd => reserve,
                Dialect::NetBsd | Dialect::OldBsd | Dialect::Apple | Dialect::Solaris => 0,
            },
            minfree: n(f.minfree).min(99),
            cgsize: n(f.cgsize),
            cssize: n(f.cssize),
            csaddr: FragNo(bits64(f.csaddr)),
            sbsize: n(f.sbsize),
            sblockloc: ByteOff(u64::try_from(f.sblockloc).unwrap_or(0)),
            dirblksiz: if apple { 1024 } else { 512 },
            old_dirent: f.maxsymlinklen <= 0 && !apple,
            old_inode: ufs1 && f.old_inodefmt < 2,
            old_cg: ufs1 && f.old_postblformat == -1,
            cg_hash: sb.hashes() & ck::CYLGRP != 0,
            inode_hash: sb.hashes() & ck::INODE != 0,
            rotdelay: old(f.old_rotdelay),
            rps: old(f.old_rps),
            nsect: old(f.old_nsect),
            nspf: old(f.old_nspf),
            cpg: old(f.old_cpg),
            nrpos: old(f.old_nrpos),
            avgfilesize: f.avgfilesize,
            avgfpdir: f.avgfpdir,
        }
    }
}
