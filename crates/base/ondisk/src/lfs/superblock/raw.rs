//! The field tables of the two superblocks (`struct dlfs` and `struct dlfs64`), 512 bytes each.

use crate::field::on_disk;

/// Bytes of a superblock that have a meaning.
pub const SIZE: usize = 512;

on_disk! {
    /// The superblock with 32-bit addresses: versions 1 and 2.
    pub struct RawSb32, 512 bytes {
        /// 0x00070162
        0 magic: u32,
        /// 1 or 2.
        4 version: u32,
        /// Fragments of the volume. Version 1: blocks or sectors, depending on the program that wrote it.
        8 size: u32,
        /// Bytes of a segment. Version 1: blocks.
        12 ssize: u32,
        /// Fragments that can hold data.
        16 dsize: u32,
        /// Bytes of a block.
        20 bsize: u32,
        /// Bytes of a fragment.
        24 fsize: u32,
        /// Fragments of a block.
        28 frag: u32,
        /// First of the free inodes.
        32 freehd: u32,
        /// Free fragments.
        36 bfree: i32,
        /// Allocated inodes; newfs leaves 0.
        40 nfiles: u32,
        /// Fragments that can be written without cleaning.
        44 avail: i32,
        /// Changed inodes in memory; no meaning on disk.
        48 uinodes: i32,
        /// Address of the inode block that holds the ifile's inode.
        52 idaddr: i32,
        /// Number of the ifile's inode: 1.
        56 ifile: u32,
        /// Start of the segment written before the current one.
        60 lastseg: i32,
        /// Start of the segment written after the current one.
        64 nextseg: i32,
        /// Start of the segment being written.
        68 curseg: i32,
        /// Where the next summary will be.
        72 offset: i32,
        /// Start of the last partial segment; kernels store `offset`.
        76 lastpseg: i32,
        /// Inodes in a sector. Version 1: time of this superblock, seconds.
        80 inopf: u32,
        /// Percent of the data space kept for the privileged.
        84 minfree: u32,
        /// Largest file in bytes.
        88 maxfilesize: u64,
        /// Fragments of a segment. Version 1: sectors.
        96 fsbpseg: u32,
        /// Inodes in an inode block.
        100 inopb: u32,
        /// Entries of the inode map in a block.
        104 ifpb: u32,
        /// Entries of the segment usage table in a block.
        108 sepb: u32,
        /// Pointers in an indirect block.
        112 nindir: u32,
        /// Segments.
        116 nseg: u32,
        /// Sectors of a fragment; 0.
        120 nspf: u32,
        /// Blocks of the cleaner information: 1.
        124 cleansz: u32,
        /// Blocks of the segment usage table.
        128 segtabsz: u32,
        /// Version 1: bytes of a segment, less 1.
        132 segmask: u32,
        /// Version 1: log2 of the bytes of a segment.
        136 segshift: u32,
        /// log2 of `bsize`.
        140 bshift: u32,
        /// log2 of `fsize`.
        144 ffshift: u32,
        /// log2 of `frag`.
        148 fbshift: u32,
        /// `bsize - 1`
        152 bmask: u64,
        /// `fsize - 1`
        160 ffmask: u64,
        /// `frag - 1`
        168 fbmask: u64,
        /// log2 of the sectors in a block.
        176 blktodb: u32,
        /// Version 1: log2 of `sepb`.
        180 sushift: u32,
        /// Shortest symbolic link that is not in the inode: 60.
        184 maxsymlinklen: i32,
        /// Addresses of the copies of the superblock; 0 where there is none.
        188 sboffs: [i32; 10],
        /// Clean segments.
        228 nclean: u32,
        /// Where it was mounted last, padded with NULs.
        232 fsmnt: [u8; 90],
        /// 1: unmounted orderly.
        322 pflags: u16,
        /// Fragments of summaries and inode blocks in dirty segments.
        324 dmeta: i32,
        /// Segments that `dsize` does not count.
        328 minfreeseg: u32,
        /// Bytes of a summary. Version 1: 0, which means 512.
        332 sumsize: u32,
        /// Serial number of the last partial segment.
        336 serial: u64,
        /// Bytes of an inode block. Version 1: 0, which means a block.
        344 ibsize: u32,
        /// Start of segment 0. Version 1: 0, which means `sboffs[0]`.
        348 s0addr: i32,
        /// Time of this superblock, seconds. Version 1: 0.
        352 tstamp: u64,
        /// Form of the inodes: 0.
        360 inodefmt: u32,
        /// Segments that are skipped when the next one is chosen.
        364 interleave: u32,
        /// Random number that the volume's summaries repeat.
        368 ident: u32,
        /// log2 of the sectors in a fragment.
        372 fsbtodb: u32,
        /// Segments kept for the cleaner.
        376 resvseg: u32,
        /// 0
        380 pad: [u8; 128],
        /// Checksum of the bytes before it.
        508 cksum: u32,
    }
}

on_disk! {
    /// The superblock with 64-bit addresses.
    pub struct RawSb64, 512 bytes {
        /// 0xE69DF8FE
        0 magic: u32,
        /// 2
        4 version: u32,
        /// Fragments of the volume.
        8 size: u64,
        /// Fragments that can hold data.
        16 dsize: u64,
        /// Bytes of a segment.
        24 ssize: u32,
        /// Bytes of a block.
        28 bsize: u32,
        /// Bytes of a fragment.
        32 fsize: u32,
        /// Fragments of a block.
        36 frag: u32,
        /// First of the free inodes.
        40 freehd: u64,
        /// Allocated inodes.
        48 nfiles: u64,
        /// Free fragments.
        56 bfree: i64,
        /// Fragments that can be written without cleaning.
        64 avail: i64,
        /// Address of the inode block that holds the ifile's inode.
        72 idaddr: i64,
        /// Changed inodes in memory; no meaning on disk.
        80 uinodes: i32,
        /// 0
        84 unused: u32,
        /// Start of the segment written before the current one.
        88 lastseg: i64,
        /// Start of the segment written after the current one.
        96 nextseg: i64,
        /// Start of the segment being written.
        104 curseg: i64,
        /// Where the next summary will be.
        112 offset: i64,
        /// Start of the last partial segment; kernels store `offset`.
        120 lastpseg: i64,
        /// Inodes in a sector.
        128 inopf: u32,
        /// Percent of the data space kept for the privileged.
        132 minfree: u32,
        /// Largest file in bytes.
        136 maxfilesize: u64,
        /// Fragments of a segment.
        144 fsbpseg: u32,
        /// Inodes in an inode block.
        148 inopb: u32,
        /// Entries of the inode map in a block.
        152 ifpb: u32,
        /// Entries of the segment usage table in a block.
        156 sepb: u32,
        /// Pointers in an indirect block.
        160 nindir: u32,
        /// Segments.
        164 nseg: u32,
        /// Sectors of a fragment; 0.
        168 nspf: u32,
        /// Blocks of the cleaner information: 1.
        172 cleansz: u32,
        /// Blocks of the segment usage table.
        176 segtabsz: u32,
        /// log2 of `bsize`.
        180 bshift: u32,
        /// log2 of `fsize`.
        184 ffshift: u32,
        /// log2 of `frag`.
        188 fbshift: u32,
        /// `bsize - 1`
        192 bmask: u64,
        /// `fsize - 1`
        200 ffmask: u64,
        /// `frag - 1`
        208 fbmask: u64,
        /// log2 of the sectors in a block.
        216 blktodb: u32,
        /// 0
        220 sushift: u32,
        /// Addresses of the copies of the superblock; 0 where there is none.
        224 sboffs: [i64; 10],
        /// Shortest symbolic link that is not in the inode: 120.
        304 maxsymlinklen: i32,
        /// Clean segments.
        308 nclean: u32,
        /// Where it was mounted last, padded with NULs.
        312 fsmnt: [u8; 90],
        /// 1: unmounted orderly.
        402 pflags: u16,
        /// Fragments of summaries and inode blocks in dirty segments.
        404 dmeta: i32,
        /// Segments that `dsize` does not count.
        408 minfreeseg: u32,
        /// Bytes of a summary.
        412 sumsize: u32,
        /// Bytes of an inode block.
        416 ibsize: u32,
        /// Form of the inodes: 0.
        420 inodefmt: u32,
        /// Serial number of the last partial segment.
        424 serial: u64,
        /// Start of segment 0.
        432 s0addr: i64,
        /// Time of this superblock, seconds.
        440 tstamp: u64,
        /// Segments that are skipped when the next one is chosen.
        448 interleave: u32,
        /// Random number that the volume's summaries repeat.
        452 ident: u32,
        /// log2 of the sectors in a fragment.
        456 fsbtodb: u32,
        /// Segments kept for the cleaner.
        460 resvseg: u32,
        /// 0
        464 pad: [u8; 44],
        /// Checksum of the bytes before it.
        508 cksum: u32,
    }
}
