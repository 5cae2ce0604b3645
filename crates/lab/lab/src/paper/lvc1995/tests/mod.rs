//! The machine and its systems, on runs that take a moment.

use super::aging::Aged;
use super::experiments::{Results, Work, run_some};
use super::systems::{LFS, M8R0, M8R2, SPRITE};
use super::{claims, figures, model};

#[test]
fn a_log_creates_small_files_many_times_as_fast_and_a_gap_makes_large_writes_faster() {
    let small = run_some(1, &[(Work::Files(1), LFS), (Work::Files(1), M8R0)]).unwrap();
    let rate = |results: &Results, work, system: &str| results.phase(work, system, "create").unwrap().rate;
    let lead = rate(&small, Work::Files(1), LFS.key) / rate(&small, Work::Files(1), M8R0.key);
    assert!((8.0..20.0).contains(&lead), "{lead}");
    let large = run_some(1, &[(Work::Files(2048), M8R0), (Work::Files(2048), M8R2)]).unwrap();
    let gain = rate(&large, Work::Files(2048), M8R2.key) / rate(&large, Work::Files(2048), M8R0.key);
    assert!((1.05..1.2).contains(&gain), "{gain}");
}

#[test]
fn the_same_run_is_the_same() {
    let one =
        || *run_some(1, &[(Work::Removed(1024), LFS)]).unwrap().phase(Work::Removed(1024), LFS.key, "delete").unwrap();
    assert_eq!(one(), one());
}

#[test]
fn the_simulation_of_transactions_agrees_with_the_closed_model() {
    let found = run_some(1, &[(Work::Fresh, LFS), (Work::Full(48), M8R0)]).unwrap();
    let tps = |work, system: &str| found.phase(work, system, "transactions").unwrap().rate;
    for (ours, model) in
        [(tps(Work::Fresh, LFS.key), model::without_cleaner()), (tps(Work::Full(48), M8R0.key), model::ffs())]
    {
        assert!((ours / model - 1.0f64).abs() < 0.1, "{ours} and {model}");
    }
}

#[test]
fn a_claim_about_what_was_not_run_is_not_tested() {
    let verdicts = claims::verdicts(&Results::default(), &Aged::default());
    assert_eq!(verdicts.len(), 145);
    let tested: Vec<_> = verdicts.iter().filter(|verdict| verdict.tested).map(|verdict| verdict.id.as_str()).collect();
    // Those that are arithmetic.
    assert!(tested.iter().all(|id| id.starts_with("lvc1995.s4.") || id.starts_with("lvc1995.t2.")), "{tested:?}");
    assert_eq!(figures::figures(&Results::default(), &Aged::default()).len(), 12);
    assert_eq!(SPRITE.scheme, LFS.scheme);
}
