//! The field tables of a summary's header and of a file's record.

use crate::field::on_disk;

on_disk! {
    /// Header of version 1 (`SEGSUM_V1`).
    pub struct RawSummary1, 28 bytes {
        /// Checksum of the summary from byte 4 on.
        0 sumsum: u32,
        /// Checksum of the blocks.
        4 datasum: u32,
        /// 0x00061561
        8 magic: u32,
        /// Start of the next segment.
        12 next: i32,
        /// Time of writing, seconds.
        16 create: u32,
        /// Records of files.
        20 nfinfo: u16,
        /// Inodes.
        22 ninos: u16,
        /// Flags.
        24 flags: u16,
        /// 0
        26 pad: u16,
    }
}

on_disk! {
    /// Header of version 2 (`SEGSUM32`).
    pub struct RawSummary2, 48 bytes {
        /// Checksum of the summary from byte 4 on.
        0 sumsum: u32,
        /// Checksum of the blocks.
        4 datasum: u32,
        /// 0x00061561
        8 magic: u32,
        /// Start of the next segment.
        12 next: i32,
        /// The volume's random number.
        16 ident: u32,
        /// Records of files.
        20 nfinfo: u16,
        /// Inodes.
        22 ninos: u16,
        /// Flags.
        24 flags: u16,
        /// 0
        26 pad: u16,
        /// Inode that was reclaimed.
        28 reclino: u32,
        /// Serial number.
        32 serial: u64,
        /// Time of writing, seconds.
        40 create: u64,
    }
}

on_disk! {
    /// Header with 64-bit addresses (`SEGSUM64`).
    pub struct RawSummary64, 56 bytes {
        /// Checksum of the summary from byte 4 on.
        0 sumsum: u32,
        /// Checksum of the blocks.
        4 datasum: u32,
        /// 0x00061561
        8 magic: u32,
        /// The volume's random number.
        12 ident: u32,
        /// Start of the next segment.
        16 next: i64,
        /// Records of files.
        24 nfinfo: u16,
        /// Inodes.
        26 ninos: u16,
        /// Flags.
        28 flags: u16,
        /// 0
        30 pad: u16,
        /// Inode that was reclaimed.
        32 reclino: u64,
        /// Serial number.
        40 serial: u64,
        /// Time of writing, seconds.
        48 create: u64,
    }
}

on_disk! {
    /// A file's record (`FINFO32`), before its block numbers of 32 bits.
    pub struct RawFinfo32, 16 bytes {
        /// Blocks; not 0.
        0 nblocks: u32,
        /// Generation of the file; not 0.
        4 version: u32,
        /// The file.
        8 ino: u32,
        /// Bytes of the last block.
        12 lastlength: u32,
    }
}

on_disk! {
    /// A file's record with 64-bit addresses (`FINFO64`), before its block numbers of 64 bits.
    pub struct RawFinfo64, 24 bytes {
        /// Blocks; not 0.
        0 nblocks: u32,
        /// Generation of the file; not 0.
        4 version: u32,
        /// The file.
        8 ino: u64,
        /// Bytes of the last block.
        16 lastlength: u32,
        /// 0
        20 pad: u32,
    }
}
