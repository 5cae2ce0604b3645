//! Properties of every recovery, on small volumes.

use super::case::{Case, Took};
use super::*;

fn took(scheme: &'static str, mib: u64, seconds: u64) -> Took {
    let case: Case = case(scheme, mib, None, seconds);
    case.run(&Machine::of_2000()).expect("it recovers")
}

#[test]
fn a_scan_grows_with_the_volume_and_soft_updates_need_none() {
    let (small, large) = (took("sync", 32, 3), took("sync", 128, 3));
    assert!(large.usable > 2.0 * small.usable, "{small:?} {large:?}");
    let (little, soft) = (took("softupdates", 32, 3), took("softupdates", 128, 3));
    assert!(soft.usable < large.usable / 4.0 && soft.usable < 1.5 * little.usable, "{little:?} {soft:?} {large:?}");
    assert!(soft.background > 0.0, "{soft:?}");
}

#[test]
fn a_replay_grows_with_what_was_logged_and_is_less_than_a_scan() {
    // A log that wraps has a checkpoint by then, so it is large.
    let after = |seconds| case("wafs", 256, Some(32), seconds).run(&Machine::of_2000()).expect("it recovers");
    let (early, late) = (after(1), after(20));
    assert!(late.usable > early.usable, "{early:?} {late:?}");
    assert!(early.usable < early.scan, "{early:?}");
}

#[test]
fn the_same_cut_takes_the_same_time() {
    assert_eq!(took("suj", 32, 2), took("suj", 32, 2));
}

#[test]
fn no_cut_is_made_twice() {
    let all = cases();
    assert!(all.iter().enumerate().all(|(at, case)| !all[..at].contains(case)));
    assert_eq!(all.len(), SCHEMES.len() * (SIZES.len() + SINCE.len() - 1) + JOURNALS.len() * LOGS.len());
}
