//! Re-runs *Not Just a Log: Activate Your File System Journaling*, whose authors only simulated what they describe: in
//! our simulator, `ordo_sim`, over the same two drives.
//!
//! What the traces are made from, and what was chosen here, is in `docs/papers/aj.md`.

mod claims;
mod crashes;
mod engine;
mod experiments;
mod figures;
mod tables;
#[cfg(test)]
mod tests;
mod thresholds;

pub(super) use crashes::{judge, set_ups};

use crate::error::Result;
use ordo_report::results::Document;

/// The seed of the traces.
const SEED: u64 = 1;

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let results = experiments::run_all(SEED, progress)?;
    let thresholds = thresholds::find()?;
    Ok(Document {
        paper: "aj".to_owned(),
        title: "Not Just a Log: Activate Your File System Journaling".to_owned(),
        reference: "the print names neither authors nor year; its newest reference is of 2008".to_owned(),
        disk: "quantum_atlas_10k".to_owned(),
        seed: Some(SEED),
        notes: vec![
            "The paper's traces are not printed: ours are made from what it says of them, so only ratios can agree."
                .to_owned(),
            "The figures' own numbers were never printed; those shown are ours. tpc-r runs on seagate_cheetah_15k5."
                .to_owned(),
        ],
        tables: tables::tables(&results),
        figures: figures::figures(&results),
        claims: claims::verdicts(&results, &thresholds, &engine::ask()?),
        ..Document::default()
    })
}
