//! The field tables of the log (`struct wapbl_wc_header`, `wapbl_wc_blocklist`, `wapbl_wc_inodelist`).

use crate::field::on_disk;

on_disk! {
    /// A commit header, at the beginning of each of the first two blocks of the log.
    pub struct RawHeader, 80 bytes {
        /// `WABL`.
        0 kind: u32,
        /// Bytes of the header: a block of the log.
        4 len: i32,
        /// 0: NetBSD computes none.
        8 checksum: u32,
        /// One more than in the header before; the lowest bit is the block.
        12 generation: u32,
        /// 0; not checked.
        16 fsid: [u32; 2],
        /// When it was written: seconds.
        24 time: u64,
        /// And nanoseconds.
        32 nsec: u32,
        /// 1
        36 version: u32,
        /// Base-2 logarithm of the bytes of a block of the log.
        40 log_shift: u32,
        /// The same of the units in which blocks are replayed.
        44 unit_shift: u32,
        /// Byte of the log behind the last record; 0 if there is none.
        48 head: i64,
        /// Byte of the log at which the oldest record begins; 0 if there is none.
        56 tail: i64,
        /// First byte of the circle in which the records lie.
        64 circ_off: i64,
        /// Its bytes.
        72 circ_size: i64,
    }
}

on_disk! {
    /// The head of a record.
    pub struct RawRecord, 16 bytes {
        /// `WABO` blocks, `WABN` revocations, `WABM` inodes.
        0 kind: u32,
        /// Bytes of the record, in whole blocks of the log.
        4 len: i32,
        /// Entries.
        8 count: i32,
        /// Of a list of inodes: it replaces the lists before. Otherwise 0.
        12 clear: u32,
    }
}

on_disk! {
    /// An entry of a record of blocks or revocations.
    pub struct RawExtent, 16 bytes {
        /// Where it belongs, in sectors of 512 bytes from the start of the partition.
        0 daddr: i64,
        /// 0
        8 unused: u32,
        /// Bytes.
        12 dlen: i32,
    }
}

on_disk! {
    /// An entry of a list of inodes.
    pub struct RawUnlinked, 8 bytes {
        /// The inode.
        0 ino: u32,
        /// Its mode.
        4 mode: u32,
    }
}
