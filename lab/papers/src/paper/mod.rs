//! Papers whose experiments are run again: our results beside theirs, and every claim judged.

mod aj;
mod claims;
pub mod features;
mod jsu2000;
mod judge;
mod lvc1995;
mod mup1994;
mod parallel;
mod printed;
mod query;
mod recovery;
mod set_up;
mod write_cost;

pub use claims::{Claim, claims_of};
pub use ordo_report::results::Document;
pub use parallel::run_all;
pub use set_up::{FEATURES, Paper, SetUp};

use crate::error::{LabError, Result};
use features::Features;

/// All of them.
pub const PAPERS: [Paper; 6] = [
    Paper { key: "mup1994", what: "Ganger, Patt: Metadata Update Performance in File Systems (OSDI 1994)" },
    Paper { key: "lvc1995", what: "Seltzer, Smith and others: File System Logging versus Clustering (USENIX 1995)" },
    Paper {
        key: "jsu2000",
        what: "Seltzer, Ganger, McKusick, Smith, Soules, Stein: Journaling versus Soft Updates (USENIX 2000)",
    },
    Paper { key: "aj", what: "Not Just a Log: Activate Your File System Journaling (in its simulator)" },
    recovery::RECOVERY,
    write_cost::WRITE_COST,
];

/// The systems of jsu2000 whose features can be determined.
pub fn set_ups() -> Vec<SetUp> {
    jsu2000::set_ups()
}

/// Adds the features found to a re-run of jsu2000, and judges the claims that depend on them.
pub fn judge_features(document: &mut Document, found: Features) {
    jsu2000::judge(document, found);
}

/// The modes of ext3's journal, as far as there is a scheme for them.
pub fn set_ups_of_aj() -> Vec<SetUp> {
    aj::set_ups()
}

/// Judges the claims of aj about crashes by the features found, which are added to the document.
pub fn judge_crashes_of_aj(document: &mut Document, found: Features) {
    aj::judge(document, found);
}

/// A document of the features alone, with the claims that depend on them.
pub fn features_alone(found: Features) -> Document {
    jsu2000::features_alone(found)
}

/// The systems that a paper compares: its name for each, and the scheme's here. Empty for an unknown paper.
pub fn systems(key: &str) -> Vec<(&'static str, String)> {
    match key {
        "mup1994" => mup1994::systems(),
        "jsu2000" => jsu2000::systems(),
        "lvc1995" => lvc1995::systems(),
        _ => Vec::new(),
    }
}

/// Runs the paper with key `key`. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// `NoPaper`; else the first failure of a run.
pub fn run(key: &str, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    match key {
        "mup1994" => mup1994::run(progress),
        "jsu2000" => jsu2000::run(progress),
        "lvc1995" => lvc1995::run(progress),
        "aj" => aj::run(progress),
        "recovery" => recovery::run(progress),
        "write-cost" => write_cost::run(progress),
        other => Err(LabError::NoPaper(other.to_owned())),
    }
}
