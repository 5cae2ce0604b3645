//! What can be wrong with a superblock and its copies.
//!
//! A replay refuses a volume with most of it, and fsck reports it: there each is a finding, with a rule and a severity.

use ordo_ondisk::Dialect;

/// What is wrong with a superblock or a copy of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[allow(missing_docs)]
pub enum SuperblockDamage {
    /// The primary superblock cannot be used.
    #[error("superblock unusable ({why}); taken from the copy at byte {from}")]
    SuperblockRestored { from: u64, why: String },
    /// Its check hash is wrong.
    #[error("superblock at byte {at}: wrong check hash")]
    SuperblockHash { at: u64 },
    /// A field that never changes differs from the last group's copy.
    #[error("superblock: field {field} is {found}, in its last copy {backup}")]
    SuperblockDiffers { field: &'static str, found: i64, backup: i64 },
    /// The system that keeps the volume, as its superblock and a copy tell.
    #[error("superblock: its fields have the form of {found}, those of its copies that of {backup}")]
    SuperblockForm { found: Dialect, backup: Dialect },
    /// The check hash of a copy of the superblock.
    #[error("copy of the superblock in group {group}: wrong check hash")]
    BackupHash { group: u32 },
    /// A copy of the superblock cannot be used.
    #[error("copy of the superblock in group {group} unusable: {why}")]
    BackupUnusable { group: u32, why: String },
    /// `fs_optim`.
    #[error("superblock: field fs_optim is {found}, must be 0 or 1")]
    Optim { found: i32 },
    /// `fs_minfree`.
    #[error("superblock: field fs_minfree is {found}, must be 0 to 99")]
    Minfree { found: i32 },
    /// Another field with a value that no kernel would accept or write.
    #[error("superblock: field {field} is {found}, should be {right}")]
    SuperblockField { field: &'static str, found: i64, right: i64 },
    /// A clean volume has counts of pending frees.
    #[error("superblock: {blocks} sectors and {inodes} inodes are pending on a clean volume")]
    PendingFrees { blocks: i64, inodes: u32 },
    /// A clean volume has a list of files that were open without a name.
    #[error("superblock: list of unlinked inodes begins at {head} on a clean volume")]
    UnlinkedList { head: i32 },
}
