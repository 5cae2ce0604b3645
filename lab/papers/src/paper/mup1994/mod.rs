//! Re-runs Ganger and Patt, *Metadata Update Performance in File Systems* (OSDI 1994).
//!
//! The machine is [`Machine::of_1994`]; which parts are from the paper and which are derived is in
//! `docs/papers/mup1994.md`.

mod claims;
mod experiments;
mod figures;
mod systems;
mod tables;
mod timelines;

use crate::Machine;
use crate::error::Result;
use ordo_report::results::Document;

/// The first seed.
const SEED: u64 = 1;

/// The five systems of section 5.
pub(super) fn systems() -> Vec<(&'static str, String)> {
    systems::FIVE.iter().map(|name| (*name, systems::system(name).0)).collect()
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let machine = Machine::of_1994();
    let mut results = experiments::run_all(&machine, SEED, progress)?;
    Ok(Document {
        paper: "mup1994".to_owned(),
        title: "Metadata Update Performance in File Systems".to_owned(),
        reference: "G. R. Ganger, Y. N. Patt, OSDI 1994".to_owned(),
        disk: machine.drive.clone(),
        seed: Some(SEED),
        notes: vec![
            format!(
                "Of four users who copy or remove under the systems of section 5, and of Sdet, each number is the mean \
                 of {} runs in virtual time; every other is that of one run.",
                experiments::RUNS
            ),
            "The figures' own numbers were never printed; those shown are ours.".to_owned(),
        ],
        tables: tables::tables(&results),
        figures: figures::figures(&results),
        claims: claims::verdicts(&results),
        timelines: results.take_timelines(),
        ..Document::default()
    })
}
