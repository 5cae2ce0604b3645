//! Papers whose results are run again: ours beside theirs, and every claim judged.

mod claims;
pub mod document;
mod jsu2000;
mod judge;
mod mup1994;
mod parallel;
mod printed;

pub use claims::{Claim, claims_of};
pub use document::Document;

use crate::error::{LabError, Result};

/// A paper that can be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Its key.
    pub key: &'static str,
    /// Its title and authors.
    pub what: &'static str,
}

/// All of them.
pub const PAPERS: [Paper; 2] = [
    Paper { key: "mup1994", what: "Ganger, Patt: Metadata Update Performance in File Systems (OSDI 1994)" },
    Paper {
        key: "jsu2000",
        what: "Seltzer, Ganger, McKusick, Smith, Soules, Stein: Journaling versus Soft Updates (USENIX 2000)",
    },
];

/// The systems that a paper compares: its name for each, and the scheme's here. None of a paper that is not there.
pub fn systems(key: &str) -> Vec<(&'static str, String)> {
    match key {
        "mup1994" => mup1994::systems(),
        "jsu2000" => jsu2000::systems(),
        _ => Vec::new(),
    }
}

/// Runs the paper called `key`. `progress` is told how many of how many runs are done.
///
/// # Errors
/// `NoPaper`; else the first failure of a run.
pub fn run(key: &str, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    match key {
        "mup1994" => mup1994::run(progress),
        "jsu2000" => jsu2000::run(progress),
        other => Err(LabError::NoPaper(other.to_owned())),
    }
}
