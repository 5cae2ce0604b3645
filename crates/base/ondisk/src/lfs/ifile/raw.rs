//! The field tables of the ifile's structures.

use crate::field::on_disk;

on_disk! {
    /// Cleaner information of version 1.
    pub struct RawCleanerInfo1, 8 bytes {
        /// Clean segments.
        0 clean: u32,
        /// Dirty segments.
        4 dirty: u32,
    }
}

on_disk! {
    /// Cleaner information of version 2 (`struct _cleanerinfo32`).
    pub struct RawCleanerInfo2, 28 bytes {
        /// Clean segments.
        0 clean: u32,
        /// Dirty segments.
        4 dirty: u32,
        /// Copy of the superblock's `bfree`.
        8 bfree: i32,
        /// Copy of the superblock's `avail`, less reservations in memory.
        12 avail: i32,
        /// First of the free inodes.
        16 free_head: u32,
        /// Last of the free inodes.
        20 free_tail: u32,
        /// 1: the cleaner must run.
        24 flags: u32,
    }
}

on_disk! {
    /// Cleaner information with 64-bit addresses (`struct _cleanerinfo64`).
    pub struct RawCleanerInfo64, 48 bytes {
        /// Clean segments.
        0 clean: u32,
        /// Dirty segments.
        4 dirty: u32,
        /// Copy of the superblock's `bfree`.
        8 bfree: i64,
        /// Copy of the superblock's `avail`, less reservations in memory.
        16 avail: i64,
        /// First of the free inodes.
        24 free_head: u64,
        /// Last of the free inodes.
        32 free_tail: u64,
        /// 1: the cleaner must run.
        40 flags: u32,
        /// 0
        44 pad: u32,
    }
}

on_disk! {
    /// Usage of a segment, version 1 (`SEGUSE_V1`).
    pub struct RawSegUse1, 16 bytes {
        /// Live bytes.
        0 nbytes: u32,
        /// Last write into the segment, seconds.
        4 lastmod: u32,
        /// Partial segments.
        8 nsums: u16,
        /// Inode blocks.
        10 ninos: u16,
        /// Flags.
        12 flags: u32,
    }
}

on_disk! {
    /// Usage of a segment (`SEGUSE`), with 32-bit and with 64-bit addresses.
    pub struct RawSegUse2, 24 bytes {
        /// Live bytes.
        0 nbytes: u32,
        /// Unused: version 1 had the time here.
        4 olastmod: u32,
        /// Partial segments.
        8 nsums: u16,
        /// Inode blocks.
        10 ninos: u16,
        /// Flags.
        12 flags: u32,
        /// Last write into the segment, seconds.
        16 lastmod: u64,
    }
}

on_disk! {
    /// Entry of the inode map, version 1 (`IFILE_V1`).
    pub struct RawEntry1, 12 bytes {
        /// Generation.
        0 version: u32,
        /// Address of the inode block; 0 for a free inode.
        4 daddr: i32,
        /// Next free inode.
        8 nextfree: u32,
    }
}

on_disk! {
    /// Entry of the inode map, version 2 (`IFILE32`).
    pub struct RawEntry2, 20 bytes {
        /// Generation.
        0 version: u32,
        /// Address of the inode block; 0 for a free inode.
        4 daddr: i32,
        /// Next free inode; all ones for an orphan.
        8 nextfree: u32,
        /// Last read of the file, seconds.
        12 atime_sec: u32,
        /// Last read of the file, nanoseconds.
        16 atime_nsec: u32,
    }
}

on_disk! {
    /// Entry of the inode map with 64-bit addresses (`IFILE64`).
    pub struct RawEntry64, 32 bytes {
        /// Generation.
        0 version: u32,
        /// Last read of the file, nanoseconds.
        4 atime_nsec: u32,
        /// Last read of the file, seconds.
        8 atime_sec: i64,
        /// Address of the inode block; 0 for a free inode.
        16 daddr: i64,
        /// Next free inode; all ones for an orphan.
        24 nextfree: u64,
    }
}
