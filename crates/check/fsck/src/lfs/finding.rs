//! Findings of log-structured volumes that no other volume has; for inodes, pointers and names, those of
//! [`crate::Finding`] serve.
//!
//! The rule is 60 more than the number of the invariant in `docs/fsck.md`, section "Log-structured volumes".

use crate::Severity;
use crate::rule::{Inner, findings};

impl LfsFinding {
    /// Holds no other finding; see [`crate::Finding`].
    fn inner(&self) -> Option<Inner> {
        None
    }
}

findings! {
    /// A broken rule of a log-structured volume.
    LfsFinding:

    /// One of the two superblocks cannot be used.
    SuperblockUnusable { copy: u32, why: String }, 61, Manual, "superblock {copy} unusable: {why}";
    /// A superblock does not lead to the ifile.
    IfileLost { at: u64, why: &'static str }, 61, Manual, "ifile: {why} at address {at}; taken from the log";
    /// A field of the ifile's inode.
    IfileInode { field: &'static str, found: u64, right: u64 }, 61, Manual, "ifile: field {field} of its inode is {found}, should be {right}";
    /// A block of the ifile.
    IfileBlock { lbn: u64, why: &'static str }, 61, Manual, "ifile: block {lbn} {why}";
    /// A field of a superblock that newfs set.
    SuperblockField { copy: u32, field: &'static str, found: i128, right: i128 }, 62, Manual,
        "superblock {copy}: field {field} is {found}, should be {right}";
    /// After an orderly unmount both superblocks are the same.
    SuperblocksDiffer { field: &'static str, first: i128, second: i128 }, 88, Manual,
        "superblocks of a clean volume differ: field {field} is {first} and {second}";

    /// The list of free inodes leaves the inode map.
    FreeListRange { ino: u32 }, 63, Preen, "list of free inodes: {ino} does not exist";
    /// It has a loop.
    FreeListTwice { ino: u32 }, 64, Preen, "list of free inodes: {ino} is listed twice";
    /// It names an inode in use.
    FreeListInUse { ino: u32 }, 65, Preen, "list of free inodes: {ino} is in use";
    /// It lacks free inodes.
    FreeListMisses { first: u32, count: u64 }, 66, Preen, "list of free inodes: {count} are missing, first {first}";
    /// Superblock and ifile begin it at different inodes.
    FreeListHead { superblock: u32, ifile: u32 }, 67, Preen,
        "list of free inodes: begins at {superblock} by the superblock, at {ifile} by the ifile";
    /// Its last inode.
    FreeListTail { found: u32, right: u32 }, 68, Preen, "list of free inodes: ends at {found}, should at {right}";
    /// It is empty.
    FreeListEmpty {}, 69, Preen, "list of free inodes: empty";

    /// The inode map leads to no inode.
    InodeNotThere { ino: u32, at: u64 }, 70, Manual, "inode {ino}: not at address {at}, where the inode map says";
    /// The inode's generation is not that of the inode map.
    Generation { ino: u32, inode: u32, map: u32 }, 88, Manual, "inode {ino}: generation {inode}, in the inode map {map}";
    /// A field of the inode map that no kernel writes.
    MapEntry { ino: u32, why: &'static str }, 88, Manual, "inode map, entry {ino}: {why}";
    /// An inode without a name that was not freed.
    Orphan { ino: u32 }, 77, Preen, "inode {ino}: has lost its last name and was not freed";
    /// The mark of an orphan on an inode that has names.
    OrphanMark { ino: u32 }, 77, Preen, "inode {ino}: marked as without a name, but has one";

    /// A segment that may be overwritten has live data.
    CleanSegmentInUse { segment: u32, bytes: u64 }, 81, Manual, "segment {segment}: marked clean with {bytes} live bytes";
    /// Live bytes of a segment.
    SegmentBytes { segment: u32, found: u64, right: u64 }, 82, Preen, "segment {segment}: {found} live bytes, should be {right}";
    /// Counts of a segment that cannot be.
    SegmentCounts { segment: u32, summaries: u16, inode_blocks: u16 }, 83, Manual,
        "segment {segment}: {summaries} summaries and {inode_blocks} inode blocks do not fit";
    /// A flag of a segment.
    SegmentFlag { segment: u32, flag: &'static str, right: bool }, 89, Preen, "segment {segment}: flag {flag} should be {right}";
    /// A count of the superblock.
    Count { field: &'static str, found: i64, least: i64, most: i64 }, 85, Preen,
        "superblock: count {field} is {found}, should be {least} to {most}";
    /// A count of the ifile's first block.
    CleanerCount { field: &'static str, found: u32, right: u32 }, 89, Preen, "ifile: count {field} is {found}, should be {right}";

    /// The place of the log's end.
    LogEnd { field: &'static str, at: u64, why: &'static str }, 90, Manual, "superblock: {field} is {at}, {why}";
    /// The log breaks before the checkpoint of the newer superblock.
    LogBreaks { at: u64, why: String }, 87, Preen, "log: breaks at address {at}, before its newer checkpoint ({why})";
    /// Repairs must be written to clean space, and the volume has none.
    NoCleanSegment {}, 91, Manual, "no clean segment into which repairs could be written";
}
