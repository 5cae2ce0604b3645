//! Findings: one variant for each rule that a volume can break, with the place and the values.
//!
//! The numbers are those of `docs/fsck.md`. The severity is the default; where it depends on the situation, the phase
//! that reports the finding sets it.

use crate::Severity;
use crate::lfs::LfsFinding;
use crate::rule::{Inner, findings};
use ordo_recover::SuperblockDamage;

impl Finding {
    fn inner(&self) -> Option<Inner> {
        match self {
            Finding::Superblock { damage } => Some(of_superblock(damage)),
            Finding::Log { finding } => Some((finding.name(), finding.rule(), finding.severity())),
            _ => None,
        }
    }
}

impl From<SuperblockDamage> for Finding {
    fn from(damage: SuperblockDamage) -> Finding {
        Finding::Superblock { damage }
    }
}

macro_rules! superblock {
    ($( $name:ident, $rule:literal, $severity:ident; )*) => {
        impl Finding {
            /// Every kind of damage of a superblock, by name.
            pub const OF_SUPERBLOCK: &'static [&'static str] = &[$(stringify!($name)),*];
        }

        fn of_superblock(damage: &SuperblockDamage) -> Inner {
            match damage { $( SuperblockDamage::$name { .. } => (stringify!($name), $rule, Severity::$severity), )* }
        }
    };
}

superblock! {
    SuperblockRestored, 1, Manual;
    SuperblockHash, 2, Preen;
    SuperblockDiffers, 3, Manual;
    SuperblockForm, 3, Manual;
    BackupHash, 2, Preen;
    BackupUnusable, 3, Manual;
    Optim, 4, Manual;
    Minfree, 5, Manual;
    SuperblockField, 1, Manual;
    PendingFrees, 48, Preen;
    UnlinkedList, 48, Preen;
}

findings! {
    /// A broken rule.
    Finding:

    /// The superblock, or a copy of it.
    Superblock { damage: SuperblockDamage }, 1, Manual, "{damage}";
    /// A slot of the snapshot list names no snapshot.
    SnapshotSlot { slot: usize, ino: u32 }, 18, Preen, "superblock: snapshot slot {slot} names inode {ino}, which is none";
    /// A snapshot is in no list.
    SnapshotUnlisted { ino: u32 }, 18, Preen, "inode {ino}: a snapshot that is in no list, and so not complete; emptied";
    /// A snapshot cannot be read.
    SnapshotDamaged { ino: u32, why: &'static str }, 18, Manual, "inode {ino}: a damaged snapshot ({why}); emptied";
    /// A block of a snapshot was becoming a copy, or changed its snapshot.
    SnapshotTwice { ino: u32, lbn: u64, frag: u64 }, 18, Preen,
        "inode {ino}: block {lbn} of the snapshot is at fragment {frag}, which is a copy, or another snapshot's";

    /// The header of a cylinder group cannot be used to find its inodes.
    GroupHeader { group: u32, field: &'static str, found: i64, right: i64 }, 9, Manual,
        "cylinder group {group}: field {field} is {found}, should be {right}; the group is rebuilt";
    /// The check hash of an inode.
    InodeHash { ino: u32, found: u32, right: u32 }, 10, Preen, "inode {ino}: check hash {found:#010x}, should be {right:#010x}";
    /// A free inode is not empty.
    FreeInodeNotEmpty { ino: u32 }, 11, Manual, "inode {ino}: free, but has a size or pointers";
    /// The type is none of the seven.
    UnknownFileType { ino: u32, mode: u16 }, 12, Manual, "inode {ino}: mode {mode:#o} has an unknown type";
    /// The type was lost, but the contents are those of a directory.
    DirectoryModeLost { ino: u32, mode: u16 }, 12, Manual, "inode {ino}: mode {mode:#o}, but the contents are a directory";
    /// Larger than the format allows.
    FileTooLarge { ino: u32, size: u64, limit: u64 }, 12, Manual, "inode {ino}: size {size} exceeds {limit}";
    /// A device, pipe or socket with a size.
    SpecialFileSize { ino: u32, size: u64 }, 12, Manual, "inode {ino}: a special file of {size} bytes";
    /// A device, pipe or socket with block pointers.
    SpecialFilePointer { ino: u32 }, 12, Manual, "inode {ino}: a special file with block pointers";
    /// A device without a number.
    NoDevice { ino: u32 }, 12, Manual, "inode {ino}: a device without a device number";
    /// A direct pointer or an indirect root beyond the size.
    PointerBeyondSize { ino: u32, lbn: u64, size: u64 }, 12, Manual, "inode {ino}: block {lbn} is beyond the size of {size} bytes";
    /// The size is too small for the blocks, which are consistent.
    SizeTooSmall { ino: u32, size: u64, right: u64 }, 12, Manual, "inode {ino}: size {size}, but its blocks make {right}";
    /// Bytes after the end of a short symbolic link.
    ShortLinkTail { ino: u32, size: u64 }, 12, Manual, "inode {ino}: bytes follow the {size} of a short symbolic link";
    /// A pointer outside the data areas.
    BadPointer { ino: u32, lbn: u64, frag: u64, count: u32 }, 13, Manual,
        "inode {ino}: block {lbn} is at fragment {frag} ({count} fragments), where no data can be";
    /// Data that lies across the border of two blocks.
    AcrossBlocks { ino: u32, lbn: u64, frag: u64, count: u32 }, 13, Manual,
        "inode {ino}: block {lbn} is at fragment {frag} ({count} fragments), across the border of two blocks; it is moved";
    /// A fragment that already belongs to another pointer.
    DuplicatePointer { ino: u32, lbn: u64, frag: u64 }, 14, Manual,
        "inode {ino}: block {lbn} is at fragment {frag}, which is in use already";
    /// A pointer in an indirect block, beyond the size.
    IndirectBeyondSize { ino: u32, lbn: u64, size: u64 }, 15, Preen,
        "inode {ino}: an indirect block leads to block {lbn}, beyond the size of {size} bytes";
    /// `di_blocks`.
    BlockCount { ino: u32, found: u64, right: u64 }, 16, Preen, "inode {ino}: block count {found}, should be {right}";
    /// The file ends in a hole.
    SizeBeyondBlocks { ino: u32, size: u64, right: u64 }, 17, Manual, "inode {ino}: size {size} ends in a hole, should be {right}";
    /// Length of the attribute area.
    ExtSize { ino: u32, found: u32, right: u32 }, 49, Manual, "inode {ino}: attribute area of {found} bytes, should be {right}";
    /// A record of the attribute area.
    ExtRecord { ino: u32, at: u32, why: &'static str }, 49, Manual, "inode {ino}: attribute at byte {at}: {why}";

    /// There is no root directory.
    RootMissing { why: &'static str }, 20, Manual, "root directory: {why}";
    /// A directory without room for `.` and `..`.
    DirectoryTooShort { ino: u32, size: u64 }, 21, Manual, "directory {ino}: only {size} bytes";
    /// A directory that is not whole blocks.
    DirectorySize { ino: u32, size: u64, right: u64 }, 22, Preen, "directory {ino}: size {size}, should be {right}";
    /// A directory with a hole.
    DirectoryHole { ino: u32, lbn: u64 }, 23, Manual, "directory {ino}: block {lbn} is missing";
    /// An invalid entry.
    DirectoryDamaged { ino: u32, at: u64, why: &'static str }, 24, Manual, "directory {ino}, byte {at}: {why}";
    /// The first entry is not `.`, or is wrong.
    Dot { ino: u32, why: &'static str }, 25, Manual, "directory {ino}: \".\" {why}";
    /// The second entry is not `..`, or is wrong.
    DotDot { ino: u32, why: &'static str }, 26, Manual, "directory {ino}: \"..\" {why}";
    /// Another `.` or `..`.
    ExtraDot { ino: u32, at: u64 }, 27, Manual, "directory {ino}, byte {at}: one \".\" or \"..\" too many";
    /// An inode number beyond those of the volume.
    EntryOutOfRange { dir: u32, name: String, ino: u32 }, 28, Manual, "directory {dir}: \"{name}\" names inode {ino}, which does not exist";
    /// An entry with inode 1 must have type 14, and vice versa.
    Whiteout { dir: u32, name: String, ino: u32, kind: u8 }, 29, Manual, "directory {dir}: \"{name}\" with inode {ino} and type {kind} is an incomplete whiteout";
    /// A name of a free inode.
    EntryUnallocated { dir: u32, name: String, ino: u32 }, 30, Manual, "directory {dir}: \"{name}\" names inode {ino}, which is free";
    /// A name of a directory without contents.
    EntryToEmpty { dir: u32, name: String, ino: u32 }, 31, Preen, "directory {dir}: \"{name}\" names inode {ino}, a directory of no length";
    /// The type in the entry.
    EntryType { dir: u32, name: String, ino: u32, found: u8, right: u8 }, 32, Manual,
        "directory {dir}: \"{name}\" (inode {ino}) has type {found}, should be {right}";
    /// A directory with two names.
    ExtraName { dir: u32, name: String, ino: u32 }, 33, Preen, "directory {dir}: \"{name}\" is a second name of directory {ino}";
    /// More names than a link count can hold.
    TooManyNames { dir: u32, name: String, ino: u32 }, 38, Manual, "directory {dir}: \"{name}\" is one name too many of inode {ino}";
    /// `..` is not the parent.
    WrongParent { ino: u32, found: u32, right: u32 }, 34, Preen, "directory {ino}: \"..\" is {found}, should be {right}";

    /// A directory that is not reachable from the root.
    DirectoryUnconnected { ino: u32, named: u32 }, 36, Preen, "directory {ino}: not connected (its \"..\" is {named})";
    /// Directories that contain each other.
    DirectoryLoop { ino: u32 }, 37, Manual, "directory {ino}: contains itself";

    /// `di_nlink`.
    LinkCount { ino: u32, found: u32, right: u32 }, 38, Preen, "inode {ino}: link count {found}, should be {right}";
    /// An inode in use without a name.
    Unreferenced { ino: u32, size: u64 }, 39, Preen, "inode {ino}: {size} bytes without a name";
    /// A directory that lost its contents.
    EmptyDirectory { ino: u32 }, 40, Preen, "inode {ino}: a directory of no length";

    /// The check hash of a cylinder group.
    GroupHash { group: u32 }, 41, Preen, "cylinder group {group}: wrong check hash";
    /// A field of the header.
    GroupField { group: u32, field: &'static str, found: i64, right: i64 }, 42, Preen,
        "cylinder group {group}: field {field} is {found}, should be {right}";
    /// Counts.
    GroupCounts { group: u32, field: &'static str, found: i64, right: i64 }, 42, Preen,
        "cylinder group {group}: count {field} is {found}, should be {right}";
    /// Bytes between the maps.
    GroupGap { group: u32, wrong: u32, first: u32 }, 43, Preen,
        "cylinder group {group}: {wrong} bytes between its maps are not zero, first {first}";
    /// `cg_frsum`.
    FragmentSums { group: u32, run: u32, found: u32, right: u32 }, 42, Preen,
        "cylinder group {group}: {found} free runs of {run} fragments, should be {right}";
    /// Inode bitmap: `in_use` of the `wrong` inodes are in use and marked free, the others free and marked in use.
    InodeMap { group: u32, wrong: u32, first: u32, in_use: u32 }, 43, Preen,
        "cylinder group {group}: inode map wrong for {wrong} inodes, first {first}; {in_use} of them in use and marked free";
    /// Free-fragment bitmap: fragments marked free that are in use.
    FragmentsInUse { group: u32, wrong: u32, first: u64 }, 43, Preen,
        "cylinder group {group}: {wrong} fragments in use are marked free, first {first}";
    /// Free-fragment bitmap: free fragments marked in use.
    FragmentsLeaked { group: u32, wrong: u32, first: u64 }, 43, Preen,
        "cylinder group {group}: {wrong} free fragments are marked in use, first {first}";
    /// Cluster bitmap.
    ClusterMap { group: u32, wrong: u32, first: u32 }, 43, Preen,
        "cylinder group {group}: cluster map wrong for {wrong} blocks, first {first}";
    /// Cluster summary.
    ClusterSums { group: u32, run: u32, found: u32, right: u32 }, 43, Preen,
        "cylinder group {group}: {found} runs of {run} free blocks, should be {right}";
    /// More directories than the group recorded, which soft updates never leaves.
    LostDirectories { group: u32, found: u32, recorded: i32 }, 44, Manual,
        "cylinder group {group}: {found} directories, recorded {recorded}";
    /// The group's entry in the summary array.
    Summary { group: u32, field: &'static str, found: i64, right: i64 }, 45, Preen,
        "summary of group {group}: {field} is {found}, should be {right}";
    /// The superblock's totals.
    Totals { field: &'static str, found: i64, right: i64 }, 46, Preen, "superblock: total {field} is {found}, should be {right}";

    /// What a user or a group uses.
    QuotaUsage { whose: &'static str, id: u32, sectors: u64, inodes: u64, right_sectors: u64, right_inodes: u64 }, 50, Preen,
        "quota of {whose} {id}: {sectors} sectors and {inodes} inodes, should be {right_sectors} and {right_inodes}";
    /// NetBSD's table of quotas.
    QuotaTable { whose: &'static str, ino: u32, why: String }, 51, Manual, "table of {whose} quotas in inode {ino}: {why}";

    /// What the map of an active journal says of a block, and nothing on the disk is: the map is given up.
    MapOfCopies { reads: u64 }, 52, Preen,
        "the map of the active journal: {reads} reads met blocks of which neither home nor copy is what it says; given up";

    /// A rule that only log-structured volumes have.
    Log { finding: LfsFinding }, 60, Manual, "{finding}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_is_told_with_place_and_values() {
        let finding = Finding::LinkCount { ino: 5, found: 2, right: 1 };
        assert_eq!(finding.to_string(), "inode 5: link count 2, should be 1");
        assert_eq!((finding.name(), finding.rule(), finding.severity()), ("LinkCount", 38, Severity::Preen));
        assert!(Finding::NAMES.contains(&"LinkCount"));
    }
}
