//! What fsck may find after a power cut, by what a scheme declares.

use buf::CrashLeaves;
use fsck::{Finding, Severity};
use std::fmt;

/// How bad a finding is, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing was found.
    Nothing,
    /// Space, inodes or links that are marked used and are not: the volume may be written as it is.
    Leak,
    /// Maps and counts that are behind what the inodes say: nothing is lost, but they must be mended before the volume is
    /// written.
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
        CrashLeaves::Anything => Class::Damage,
    }
}

/// How bad this is.
pub(crate) fn classify(finding: &Finding, severity: Severity) -> Class {
    match finding {
        Finding::FragmentsLeaked { .. } | Finding::Unreferenced { .. } => Class::Leak,
        Finding::LinkCount { found, right, .. } if found > right => Class::Leak,
        // More names than links: the next unlink would free a file that still has a name.
        Finding::LinkCount { .. } => Class::Damage,
        // A name that leads to nothing, however easily it is taken away, was shown to somebody.
        Finding::EntryToEmpty { .. } | Finding::DirectorySize { .. } | Finding::InodeHash { .. } => Class::Damage,
        _ if severity == Severity::Manual => Class::Damage,
        _ => Class::Behind,
    }
}
