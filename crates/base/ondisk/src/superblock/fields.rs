//! The superblock's field table (`struct fs`).

use crate::field::on_disk;

/// Bytes to read for a superblock.
pub const SBLOCKSIZE: usize = 8192;

on_disk! {
    /// Every field of a superblock, in the host's order. [`crate::Superblock`] knows which of them are valid on a
    /// volume.
    pub struct SbFields, 1376 bytes {
        /// Historic link of the kernel's list; 0.
        0 firstfield: i32,
        /// As `firstfield`.
        4 unused_1: i32,
        /// Fragment, within a group, of the backup superblock.
        8 sblkno: i32,
        /// Fragment, within a group, of the group's own block.
        12 cblkno: i32,
        /// Fragment, within a group, of the first inode.
        16 iblkno: i32,
        /// Fragment, within a group, of the first data after the inodes.
        20 dblkno: i32,
        /// UFS1: fragments by which the metadata of each group starts later than that of the previous one.
        24 old_cgoffset: i32,
        /// UFS1: number of groups after which that starts over, as a mask.
        28 old_cgmask: i32,
        /// UFS1: copy of `time`.
        32 old_time: i32,
        /// UFS1: copy of `size`.
        36 old_size: i32,
        /// UFS1: copy of `dsize`.
        40 old_dsize: i32,
        /// Cylinder groups.
        44 ncg: u32,
        /// Bytes of a block.
        48 bsize: i32,
        /// Bytes of a fragment.
        52 fsize: i32,
        /// Fragments of a block.
        56 frag: i32,
        /// Percent of the data space reserved for privileged callers.
        60 minfree: i32,
        /// UFS1: milliseconds to service an interrupt and start the next transfer.
        64 old_rotdelay: i32,
        /// UFS1: revolutions of the disk in a second.
        68 old_rps: i32,
        /// `!(bsize - 1)`
        72 bmask: i32,
        /// `!(fsize - 1)`
        76 fmask: i32,
        /// log2 of `bsize`.
        80 bshift: i32,
        /// log2 of `fsize`.
        84 fshift: i32,
        /// Most blocks in one transfer.
        88 maxcontig: i32,
        /// Most blocks of one file in a group before the file continues in another.
        92 maxbpg: i32,
        /// log2 of `frag`.
        96 fragshift: i32,
        /// log2 of `fsize / 512`.
        100 fsbtodb: i32,
        /// Bytes of the superblock that are written and hashed.
        104 sbsize: i32,
        /// Historic: paging of the summary array in memory.
        108 spare1: [i32; 2],
        /// Pointers in an indirect block.
        116 nindir: i32,
        /// Inodes in a block.
        120 inopb: u32,
        /// UFS1: sectors in a fragment.
        124 old_nspf: i32,
        /// What the allocator optimises: 0 time, 1 space.
        128 optim: i32,
        /// UFS1: sectors of a track, spares included.
        132 old_npsect: i32,
        /// UFS1: hardware interleave.
        136 old_interleave: i32,
        /// UFS1: skew of the first sector from track to track.
        140 old_trackskew: i32,
        /// Time of creation and a random number.
        144 id: [u32; 2],
        /// UFS1: copy of `csaddr`.
        152 old_csaddr: i32,
        /// Bytes of the summary array.
        156 cssize: i32,
        /// Bytes of a group's block that are in use.
        160 cgsize: i32,
        /// Historic: tracks of a cylinder.
        164 spare2: i32,
        /// UFS1: sectors of a track.
        168 old_nsect: i32,
        /// UFS1: sectors of a cylinder.
        172 old_spc: i32,
        /// UFS1: cylinders.
        176 old_ncyl: i32,
        /// UFS1: cylinders of a group.
        180 old_cpg: i32,
        /// Inodes of a group.
        184 ipg: u32,
        /// Fragments of a group.
        188 fpg: i32,
        /// UFS1: directories, free blocks, free inodes, free fragments; copies of `cs_*`.
        192 old_cstotal: [i32; 4],
        /// Changed in memory; 0 on disk.
        208 fmod: i8,
        /// 1 after a clean unmount.
        209 clean: i8,
        /// Mounted read-only, in memory; ignored on disk.
        210 ronly: i8,
        /// Flags before they moved to `flags`; 0x80 means that they have moved.
        211 old_flags: u8,
        /// The last mount point, padded with NULs.
        212 fsmnt: [u8; 468],
        /// Label, padded with NULs.
        680 volname: [u8; 32],
        /// Unused.
        712 swuid: u64,
        /// 0
        720 pad: i32,
        /// Group in which the last block of a new section was placed.
        724 cgrotor: i32,
        /// Pointers of the kernel that wrote it; zero when written.
        728 ocsp: [u8; 128],
        /// UFS1: cylinders after which the rotational tables start over; 0 without tables.
        856 old_cpc: i32,
        /// Equal to `bsize` if the 64-bit fields below are valid.
        860 maxbsize: i32,
        /// FreeBSD: unreferenced inodes (gjournal). NetBSD: journal version, location and flags.
        864 unrefs: i64,
        /// FreeBSD: fragments of the device. NetBSD: place of the journal.
        872 providersize: i64,
        /// FreeBSD: fragments at the start of each data area reserved for metadata. NetBSD: length of the journal.
        880 metaspace: i64,
        /// FreeBSD: 0. NetBSD: rest of the journal's place, then the quota.
        888 sparecon64: [i64; 13],
        /// FreeBSD: byte offset of this copy, or 0.
        992 sblockactualloc: i64,
        /// Byte offset of the primary superblock.
        1000 sblockloc: i64,
        /// Directories.
        1008 cs_ndir: i64,
        /// Free whole blocks.
        1016 cs_nbfree: i64,
        /// Free inodes.
        1024 cs_nifree: i64,
        /// Free fragments outside free whole blocks.
        1032 cs_nffree: i64,
        /// Unused, 0.
        1040 cs_numclusters: i64,
        /// 0
        1048 cs_spare: [i64; 3],
        /// When the superblock was last written, in seconds.
        1072 time: i64,
        /// Fragments of the volume.
        1080 size: i64,
        /// Fragments that can hold data.
        1088 dsize: i64,
        /// Fragment at which the summary array starts.
        1096 csaddr: i64,
        /// Sectors that are being freed, not yet on disk.
        1104 pendingblocks: i64,
        /// Inodes that are being freed, not yet on disk.
        1112 pendinginodes: u32,
        /// Inodes of the snapshots, oldest first, then zeros.
        1116 snapinum: [u32; 20],
        /// Expected size of a file.
        1196 avgfilesize: u32,
        /// Expected number of files in a directory.
        1200 avgfpdir: u32,
        /// 0
        1204 save_cgsize: i32,
        /// FreeBSD: when it was last mounted for writing or checked.
        1208 mtime: i64,
        /// FreeBSD: first of the unlinked inodes that were open.
        1216 sujfree: i32,
        /// 0
        1220 sparecon32: [i32; 21],
        /// Check hash of the superblock.
        1304 ckhash: u32,
        /// FreeBSD: which structures have check hashes. OpenBSD: the flags.
        1308 metackhash: u32,
        /// Flags. OpenBSD: time of the last check.
        1312 flags: u32,
        /// Entries of the groups' cluster summaries; 0 without clusters.
        1316 contigsumsize: i32,
        /// Shortest symbolic link that is not in the inode; 0 or less in the 4.2BSD format.
        1320 maxsymlinklen: i32,
        /// UFS1: 2 with 4.4BSD inodes, -1 with 4.2BSD ones.
        1324 old_inodefmt: i32,
        /// Largest file in bytes.
        1328 maxfilesize: u64,
        /// `bsize - 1`
        1336 qbmask: i64,
        /// `fsize - 1`
        1344 qfmask: i64,
        /// 4.4BSD: confirms `clean`.
        1352 state: i32,
        /// UFS1: 1 with dynamic rotational tables, -1 with those of 4.2BSD.
        1356 old_postblformat: i32,
        /// UFS1: rotational positions.
        1360 old_nrpos: i32,
        /// Historic: places of the rotational tables.
        1364 spare5: [i32; 2],
        /// Magic of the format.
        1372 magic: u32,
    }
}

/// `fs_flags`, in FreeBSD's meaning; [`crate::Features`] handles the differences of other systems.
#[allow(missing_docs)]
pub mod flag {
    pub const UNCLEAN: u32 = 0x01;
    pub const DOSOFTDEP: u32 = 0x02;
    pub const NEEDSFSCK: u32 = 0x04;
    pub const SUJ: u32 = 0x08;
    pub const ACLS: u32 = 0x10;
    pub const MULTILABEL: u32 = 0x20;
    pub const GJOURNAL: u32 = 0x40;
    pub const FLAGS_UPDATED: u32 = 0x80;
    pub const NFS4ACLS: u32 = 0x100;
    pub const METACKHASH: u32 = 0x200;
    pub const TRIM: u32 = 0x400;
    /// Bits that FreeBSD preserves.
    pub const SUPPORTED: u32 = 0x00ff_ffff;
    /// NetBSD: write-ahead physical block log.
    pub const NETBSD_WAPBL: u32 = 0x100;
    /// NetBSD: quotas in inodes of their own.
    pub const NETBSD_QUOTA2: u32 = 0x200;
    /// NetBSD: NFSv4 access control lists.
    pub const NETBSD_NFS4ACLS: u32 = 0x800;
}

/// `fs_metackhash`: which structures have a check hash.
#[allow(missing_docs)]
pub mod ck {
    pub const SUPERBLOCK: u32 = 0x01;
    pub const CYLGRP: u32 = 0x02;
    pub const INODE: u32 = 0x04;
    pub const SUPPORTED: u32 = 0x07;
}
