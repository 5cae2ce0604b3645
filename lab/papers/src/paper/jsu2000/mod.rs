//! Re-runs Seltzer, Ganger, McKusick, Smith, Soules, Stein, *Journaling versus Soft Updates* (USENIX 2000).
//!
//! The machine is [`Machine::of_2000`]; which parts are from the paper and which are derived is in
//! `docs/papers/jsu2000.md`. A system whose scheme we do not have is left out, and claims about it are not tested.

mod claims;
mod experiments;
mod features;
mod figures;
mod micro;
mod systems;
mod tables;
#[cfg(test)]
mod tests;

use crate::Machine;
use crate::error::Result;
pub(super) use features::{document as features_alone, judge, set_ups};
use ordo_report::results::Document;
use systems::SYSTEMS;

/// The first seed.
const SEED: u64 = 1;

/// The paper's systems that we have, one for each scheme.
pub(super) fn systems() -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for system in SYSTEMS.iter().filter(|system| system.is_there()) {
        if !found.iter().any(|(_, scheme)| scheme == system.scheme) {
            found.push((system.key, system.scheme.to_owned()));
        }
    }
    found
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let machine = Machine::of_2000();
    let results = experiments::run_all(&machine, SEED, progress)?;
    let missing: Vec<&str> = SYSTEMS.iter().filter(|system| !system.is_there()).map(|system| system.key).collect();
    let mut notes = vec!["The figures' own numbers were never printed; those shown are ours.".to_owned()];
    if !missing.is_empty() {
        notes.push(format!("Not there yet: {}.", missing.join(", ")));
    }
    Ok(Document {
        paper: "jsu2000".to_owned(),
        title: "Journaling versus Soft Updates: Asynchronous Meta-data Protection in File Systems".to_owned(),
        reference: "M. Seltzer, G. Ganger, M. K. McKusick, K. Smith, C. Soules, C. Stein, USENIX 2000".to_owned(),
        disk: machine.drive.clone(),
        seed: Some(SEED),
        notes,
        tables: tables::tables(&results),
        figures: figures::figures(&results),
        claims: claims::verdicts(&results),
        ..Document::default()
    })
}
