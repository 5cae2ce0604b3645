//! The result of a check.

use crate::{Finding, Severity};
use ordo_recover::Replayed;

/// The maximum number of findings in a report; the others are only counted, because a hostile volume has room for
/// millions.
pub const FINDINGS_MAX: usize = 10_000;

/// A finding and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is wrong.
    pub finding: Finding,
    /// Whether an unattended check may repair it, in this situation.
    pub severity: Severity,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// Usage of the volume, counted and not read from its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Inodes in use.
    pub files: u64,
    /// Of these, directories.
    pub directories: u64,
    /// Fragments of data, directories and indirect blocks.
    pub used_frags: u64,
    /// Free whole blocks.
    pub free_blocks: u64,
    /// Free fragments outside free whole blocks.
    pub free_frags: u64,
    /// Free inodes.
    pub free_inodes: u64,
    /// Fragments that can hold data.
    pub data_frags: u64,
    /// Bytes of a fragment.
    pub frag_bytes: u32,
}

impl Usage {
    /// Free fragments outside free blocks, in percent of the data space.
    pub fn fragmentation(&self) -> f64 {
        if self.data_frags == 0 { 0.0 } else { self.free_frags as f64 * 100.0 / self.data_frags as f64 }
    }
}

/// What happened to the journal or the log of a volume that was not unmounted cleanly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// It waits for a preen, which would replay it.
    Waits,
    /// The same; what was checked is the volume as it is after that replay, which was done in memory.
    SeenReplayed,
    /// It was replayed, and no phase ran.
    Replayed(Replayed),
    /// It could not be used, so all phases ran.
    NotReplayed(String),
    /// It was ignored, because a full check was requested.
    PassedOver,
    /// Of a log-structured volume: this many partial segments follow the checkpoint. They were part of what was
    /// checked.
    LogWaits {
        /// Partial segments.
        psegs: u64,
    },
    /// The same, and a new checkpoint has them.
    RolledForward {
        /// Partial segments.
        psegs: u64,
    },
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, in the order of the phases; at most [`FINDINGS_MAX`].
    pub findings: Vec<Found>,
    /// The number of findings that are not listed.
    pub unlisted: u64,
    /// The volume's clean flag; set after a repair.
    pub clean: bool,
    /// `false` if the check ended at the clean flag (`-p`).
    pub scanned: bool,
    /// Something was written.
    pub modified: bool,
    /// Some findings were not repaired.
    pub left: bool,
    /// Why nothing was repaired although that was requested.
    pub refused: Option<String>,
    /// What happened to the soft updates journal, if the volume was waiting for its replay.
    pub journal: Option<Journal>,
    /// How often all phases ran.
    pub rounds: u32,
    /// Usage of the volume; all zero if it was not scanned.
    pub usage: Usage,
}

impl Report {
    /// Exit status of fsck(8): 0 nothing wrong, 1 errors corrected, 4 errors left. Operational errors (8) and wrong
    /// usage (16) are not results of a check.
    pub fn exit_code(&self) -> u8 {
        let corrected = self.findings.iter().any(|found| found.repaired);
        u8::from(corrected) | if self.left { 4 } else { 0 }
    }

    /// The number of findings.
    pub fn count(&self) -> u64 {
        self.findings.len() as u64 + self.unlisted
    }

    /// The report for a volume whose journal was replayed.
    pub(crate) fn of_replay(done: Replayed) -> Report {
        Report { clean: true, modified: true, journal: Some(Journal::Replayed(done)), ..Report::default() }
    }

    pub(crate) fn note(&mut self, finding: Finding, severity: Severity) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Found { finding, severity, repaired: false });
        } else {
            self.unlisted += 1;
        }
        self.left = true;
    }

    /// Marks all findings so far as repaired.
    pub(crate) fn repaired(&mut self) {
        for found in &mut self.findings {
            found.repaired = true;
        }
        (self.left, self.modified) = (false, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_fsck() {
        let mut report = Report::default();
        assert_eq!(report.exit_code(), 0);
        report.note(Finding::Totals { field: "fs_cstotal", found: 3, right: 4 }, Severity::Manual);
        assert_eq!(report.exit_code(), 4);
        report.repaired();
        assert_eq!(report.exit_code(), 1);
        report.note(Finding::Totals { field: "fs_cstotal", found: 3, right: 4 }, Severity::Manual);
        assert_eq!(report.exit_code(), 5);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let mut report = Report::default();
        for _ in 0..FINDINGS_MAX + 3 {
            report.note(Finding::Totals { field: "fs_cstotal", found: 3, right: 4 }, Severity::Manual);
        }
        assert_eq!(
            (report.findings.len(), report.unlisted, report.count()),
            (FINDINGS_MAX, 3, FINDINGS_MAX as u64 + 3)
        );
    }
}
