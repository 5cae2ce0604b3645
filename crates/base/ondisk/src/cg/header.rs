//! The header of a cylinder group's block.

use crate::field::on_disk;

on_disk! {
    /// The header, for documentation, and for `init`. Other code accesses it in place, see [`super::Cg`].
    pub struct CgHeader, 168 bytes {
        /// Historic link; 0.
        0 firstfield: i32,
        /// 0x00090255
        4 magic: u32,
        /// When it was last written; low half of `time` in UFS2.
        8 old_time: i32,
        /// Index of this group.
        12 cgx: u32,
        /// UFS1: cylinders of this group.
        16 old_ncyl: i16,
        /// UFS1: inodes of this group.
        18 old_niblk: i16,
        /// Fragments of this group.
        20 ndblk: u32,
        /// Directories.
        24 ndir: i32,
        /// Free whole blocks.
        28 nbfree: i32,
        /// Free inodes.
        32 nifree: i32,
        /// Free fragments outside free whole blocks.
        36 nffree: i32,
        /// Where the last block was allocated.
        40 rotor: u32,
        /// Where the last search of the map ended.
        44 frotor: u32,
        /// The last inode allocated.
        48 irotor: u32,
        /// Element k: runs of exactly k free fragments in blocks that are partly in use.
        52 frsum: [u32; 8],
        /// UFS1: offset of the free blocks of each cylinder.
        84 old_btotoff: i32,
        /// UFS1: offset of the free blocks of each rotational position.
        88 old_boff: i32,
        /// Offset of the map of used inodes.
        92 iusedoff: u32,
        /// Offset of the map of free fragments.
        96 freeoff: u32,
        /// First byte after the maps.
        100 nextfreeoff: u32,
        /// Offset of the cluster summary.
        104 clustersumoff: u32,
        /// Offset of the map of free blocks.
        108 clusteroff: u32,
        /// Whole blocks of this group.
        112 nclusterblks: u32,
        /// UFS2: inodes of this group.
        116 niblk: u32,
        /// UFS2: inodes that were ever written; the following ones are garbage.
        120 initediblk: u32,
        /// FreeBSD gjournal: unreferenced inodes.
        124 unrefs: u32,
        /// 0
        128 sparecon32: i32,
        /// FreeBSD: check hash.
        132 ckhash: u32,
        /// When it was last written.
        136 time: i64,
        /// 0
        144 sparecon64: [i64; 3],
    }
}
