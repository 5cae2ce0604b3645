//! The field tables of the journal (`struct jsegrec`, `jrefrec`, `jmvrec`, `jblkrec`, `jtrncrec`). Every record begins
//! with its kind and an inode.

use crate::field::on_disk;

on_disk! {
    /// The head of each sector of a segment.
    #[derive(Copy)]
    pub struct RawSegment, 32 bytes {
        /// Number of the segment; each has one more than the one before.
        0 seq: u64,
        /// The oldest segment that was still needed when this one was written.
        8 oldest: u64,
        /// Records of the segment.
        16 cnt: u16,
        /// Sectors of the segment.
        18 blocks: u16,
        /// 0; not checked.
        20 crc: u32,
        /// `mtime` of the superblock while the journal is in use.
        24 time: i64,
    }
}

on_disk! {
    /// A link is added (1) or removed (2).
    pub struct RawReference, 32 bytes {
        /// 1 or 2.
        0 op: u32,
        /// The inode whose links change.
        4 ino: u32,
        /// The directory with the entry.
        8 parent: u32,
        /// Links before the change.
        12 nlink: u16,
        /// Mode of the inode.
        14 mode: u16,
        /// Byte of the directory at which the entry is.
        16 diroff: i64,
        /// 0
        24 unused: u64,
    }
}

on_disk! {
    /// A block or fragments are allocated (3) or freed (4).
    pub struct RawBlock, 32 bytes {
        /// 3 or 4.
        0 op: u32,
        /// The inode.
        4 ino: u32,
        /// The first fragment.
        8 blkno: i64,
        /// Which block of the inode; negative for indirect and attribute blocks.
        16 lbn: i64,
        /// Fragments.
        24 frags: u16,
        /// Of these, the ones that the inode had before.
        26 oldfrags: u16,
        /// 0
        28 unused: u32,
    }
}

on_disk! {
    /// An entry moves within its directory block (5).
    pub struct RawMove, 32 bytes {
        /// 5
        0 op: u32,
        /// The inode that the entry names.
        4 ino: u32,
        /// The directory.
        8 parent: u32,
        /// 0
        12 unused: u16,
        /// 0
        14 pad: u16,
        /// Byte of the directory where it was.
        16 oldoff: i64,
        /// Byte of the directory where it is now.
        24 newoff: i64,
    }
}

on_disk! {
    /// A file is truncated (6), or its contents are safe (7).
    pub struct RawTruncation, 32 bytes {
        /// 6 or 7.
        0 op: u32,
        /// The inode.
        4 ino: u32,
        /// Bytes of the file afterwards.
        8 size: i64,
        /// Bytes of the attribute area afterwards.
        16 extsize: u32,
        /// 0
        20 pad: [u32; 3],
    }
}
