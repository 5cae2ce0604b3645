//! Classes of fsck findings, and which of them a scheme may leave after a power cut.

use ordo_buf::CrashLeaves;
use ordo_fsck::{Finding, Severity};
use ordo_recover::SuperblockDamage;
use std::fmt;

/// How bad a finding is, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing was found.
    Nothing,
    /// What soft updates leave (McKusick and Ganger 1999): space, inodes or links that are marked used and are not, and
    /// counters, which a mount recomputes from the maps. The volume may be written to as it is.
    Leak,
    /// Maps that are stale against the inodes: nothing is lost, but they must be repaired before the volume is written
    /// to.
    Behind,
    /// Something that a crash must never leave.
    Damage,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Nothing => "nothing",
            Class::Leak => "leaks",
            Class::Behind => "leaks, and maps and counts that are behind",
            Class::Damage => "damage",
        })
    }
}

/// The worst that a scheme may leave.
pub(crate) fn allowed(leaves: CrashLeaves) -> Class {
    match leaves {
        CrashLeaves::Nothing => Class::Nothing,
        CrashLeaves::Leaks => Class::Leak,
        CrashLeaves::Counts => Class::Behind,
        CrashLeaves::Log | CrashLeaves::Anything => Class::Damage,
    }
}

/// The class of a finding. Its severity is whether a repair loses something; its class is whether the volume may be
/// written to before a repair.
pub(crate) fn classify(finding: &Finding, severity: Severity) -> Class {
    match finding {
        // More names than links: the next unlink would free a file that still has a name.
        Finding::LinkCount { found, right, .. } if found < right => Class::Damage,
        // A name that leads to an unallocated inode, however easily it is removed, was visible.
        Finding::EntryToEmpty { .. } | Finding::DirectorySize { .. } | Finding::InodeHash { .. } => Class::Damage,
        // A mount could not have read it.
        Finding::MapOfCopies { .. } => Class::Damage,
        _ if severity == Severity::Manual => Class::Damage,
        _ if leaks(finding) => Class::Leak,
        _ => Class::Behind,
    }
}

/// Whether soft updates may leave this, if its repair loses nothing.
fn leaks(finding: &Finding) -> bool {
    match finding {
        // An inode that is in use and marked free would be given to a second file.
        Finding::FragmentsLeaked { .. } | Finding::InodeMap { in_use: 0, .. } => true,
        // A directory has two names while it moves, and its `..` agrees with one of them; otherwise fsck reports that
        // as well.
        Finding::LinkCount { .. } | Finding::ExtraName { .. } => true,
        Finding::Unreferenced { .. } | Finding::DirectoryUnconnected { .. } | Finding::EmptyDirectory { .. } => true,
        // Only in a tree that is unreachable and being freed; elsewhere its repair needs a confirmation.
        Finding::EntryUnallocated { .. } => true,
        // Of a file with indirect blocks that was growing or being truncated.
        Finding::BlockCount { .. } | Finding::SizeBeyondBlocks { .. } | Finding::IndirectBeyondSize { .. } => true,
        Finding::GroupCounts { .. } | Finding::Summary { .. } | Finding::Totals { .. } => true,
        Finding::Superblock { damage: SuperblockDamage::PendingFrees { .. } } => true,
        Finding::FragmentSums { .. } | Finding::ClusterMap { .. } | Finding::ClusterSums { .. } => true,
        // A write of several sectors was torn. A mount does not allocate from such a group.
        Finding::GroupHash { .. } | Finding::Superblock { damage: SuperblockDamage::SuperblockHash { .. } } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
