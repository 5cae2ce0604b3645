//! The field tables of the two inode formats (`struct ufs1_dinode`, `struct ufs2_dinode`).

use crate::field::on_disk;

on_disk! {
    /// UFS1's inode.
    pub struct RawDinode1, 128 bytes {
        /// Type and permissions; 0 in a free inode.
        0 mode: u16,
        /// Links.
        2 nlink: u16,
        /// FreeBSD: next of the unlinked inodes, or depth of a directory. 4.2BSD: owner and group, 16 bits each.
        4 freelink: u32,
        /// Bytes.
        8 size: u64,
        /// Last read, seconds.
        16 atime: i32,
        /// Last read, nanoseconds.
        20 atimensec: i32,
        /// Last change of contents, seconds.
        24 mtime: i32,
        /// Last change of contents, nanoseconds.
        28 mtimensec: i32,
        /// Last change of anything, seconds.
        32 ctime: i32,
        /// Last change of anything, nanoseconds.
        36 ctimensec: i32,
        /// Direct pointers; or the start of a short symbolic link; or the number of a device.
        40 db: [u32; 12],
        /// Indirect pointers: single, double, triple.
        88 ib: [u32; 3],
        /// Flags of `chflags`.
        100 flags: u32,
        /// Sectors of 512 bytes.
        104 blocks: u32,
        /// Generation.
        108 gen_: u32,
        /// Owner.
        112 uid: u32,
        /// Group.
        116 gid: u32,
        /// Count of changes.
        120 modrev: u64,
    }
}

on_disk! {
    /// UFS2's inode.
    pub struct RawDinode2, 256 bytes {
        /// Type and permissions; 0 in a free inode.
        0 mode: u16,
        /// Links.
        2 nlink: u16,
        /// Owner.
        4 uid: u32,
        /// Group.
        8 gid: u32,
        /// Block size of this inode; 0.
        12 blksize: u32,
        /// Bytes.
        16 size: u64,
        /// Sectors of 512 bytes.
        24 blocks: u64,
        /// Last read, seconds.
        32 atime: i64,
        /// Last change of contents, seconds.
        40 mtime: i64,
        /// Last change of anything, seconds.
        48 ctime: i64,
        /// Creation, seconds.
        56 birthtime: i64,
        /// Last change of contents, nanoseconds.
        64 mtimensec: i32,
        /// Last read, nanoseconds.
        68 atimensec: i32,
        /// Last change of anything, nanoseconds.
        72 ctimensec: i32,
        /// Creation, nanoseconds.
        76 birthnsec: i32,
        /// Generation.
        80 gen_: u32,
        /// 0
        84 kernflags: u32,
        /// Flags of `chflags`.
        88 flags: u32,
        /// Bytes of the attribute area.
        92 extsize: u32,
        /// Pointers of the attribute area.
        96 extb: [u64; 2],
        /// Direct pointers; or the start of a short symbolic link; or the number of a device.
        112 db: [u64; 12],
        /// Indirect pointers: single, double, triple.
        208 ib: [u64; 3],
        /// Count of changes; in the journal of soft updates, when it is valid.
        232 modrev: u64,
        /// FreeBSD: next of the unlinked inodes, or depth of a directory.
        240 freelink: u32,
        /// FreeBSD: check hash.
        244 ckhash: u32,
        /// 0
        248 spare: [u32; 2],
    }
}
