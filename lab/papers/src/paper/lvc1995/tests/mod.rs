//! The machine and its systems, on runs that take a moment.

use super::aging::Aged;
use super::experiments::{Results, Work, run_some, run_with_cpc};
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
fn tables_of_positions_on_a_turn_change_nothing_and_no_turn_is_lost_between_new_files() {
    let without = run_with_cpc(Work::Files(1), M8R0, 0);
    assert_eq!(run_with_cpc(Work::Files(1), M8R0, 16), without);
    let (_, read) = without.iter().find(|(phase, _)| *phase == "read").expect("they are read");
    // A turn takes 11.1 ms.
    assert!(1000.0 / read.rate < 5.0, "{} ms a file", 1000.0 / read.rate);
}

#[test]
fn a_log_of_the_data_base_costs_half_a_turn_of_its_drive_for_each_write() {
    let works = [Work::Full(48), Work::Logged(Some(48), 1), Work::Logged(Some(48), 16)];
    let found = run_some(1, &works.map(|work| (work, M8R0))).unwrap();
    let [none, each, group] = works.map(|work| {
        let phase = found.phase(work, M8R0.key, "transactions").unwrap();
        (1000.0 / phase.rate, phase.writes / phase.ops)
    });
    // The arm stays where it is. The platter is anywhere after the two accesses of a transaction: half a turn of 11.1
    // ms, and the drive's overhead.
    assert!((7.0..11.0).contains(&(each.0 - none.0)), "{none:?} {each:?}");
    assert!((0.3..1.5).contains(&(group.0 - none.0)), "{none:?} {group:?}");
    assert!((each.1 - none.1 - 1.0).abs() < 0.02 && (group.1 - none.1 - 0.0625).abs() < 0.01, "{each:?} {group:?}");
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
