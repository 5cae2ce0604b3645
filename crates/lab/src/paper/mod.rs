//! Papers whose results are run again: ours beside theirs, and every claim judged.

mod claims;
pub mod document;
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
pub const PAPERS: [Paper; 1] =
    [Paper { key: "mup1994", what: "Ganger, Patt: Metadata Update Performance in File Systems (OSDI 1994)" }];

/// The systems that a paper compares: its name for each, and the scheme's here. None of a paper that is not there.
pub fn systems(key: &str) -> Vec<(&'static str, String)> {
    match key {
        "mup1994" => mup1994::systems(),
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
        other => Err(LabError::NoPaper(other.to_owned())),
    }
}
