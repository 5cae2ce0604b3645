//! Re-runs Seltzer, Smith, Balakrishnan, Chang, McMains, Padmanabhan, *File System Logging versus Clustering: A
//! Performance Comparison* (USENIX 1995).
//!
//! The machine is [`Machine::of_1995`](crate::Machine::of_1995); which parts are from the paper and which are derived
//! is in `docs/papers/lvc1995.md`.

mod aging;
mod beds;
mod choice;
mod claims;
mod experiments;
mod figures;
mod model;
mod systems;
mod tables;
#[cfg(test)]
mod tests;

use crate::error::Result;
use ordo_report::results::Document;

/// The first seed.
const SEED: u64 = 1;

/// The paper's systems that we have, one for each scheme.
pub(super) fn systems() -> Vec<(&'static str, String)> {
    [systems::LFS, systems::M8R0].map(|system| (system.key, system.scheme.to_owned())).to_vec()
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let aged = aging::run(SEED, progress)?;
    let results = experiments::run_all(SEED, progress)?;
    Ok(Document {
        paper: "lvc1995".to_owned(),
        title: "File System Logging versus Clustering: A Performance Comparison".to_owned(),
        reference: "M. Seltzer, K. Smith, H. Balakrishnan, J. Chang, S. McMains, V. Padmanabhan, USENIX 1995"
            .to_owned(),
        disk: crate::Machine::of_1995().drive,
        seed: Some(SEED),
        notes: vec![
            "The figures' own numbers were never printed; those shown are ours.".to_owned(),
            "The use that aged the volumes of section 5 is simulated.".to_owned(),
        ],
        tables: tables::tables(&results, &aged),
        figures: figures::figures(&results, &aged),
        choice: Some(choice::choice(&results)),
        claims: claims::verdicts(&results, &aged),
        ..Document::default()
    })
}
