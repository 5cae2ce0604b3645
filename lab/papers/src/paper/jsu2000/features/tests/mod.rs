//! The rules, on made-up findings: the table as printed, and one with a feature too many and one too few.

use super::*;
use crate::paper::features::{Answer, Asked, System};

const ASKED: [&str; 6] = ["on-return", "atomic", "named", "freed-later", "data-first", "as-it-is"];

/// What the paper says of a system.
fn printed(name: &str) -> System {
    let journal = name.starts_with("lffs");
    let soft = name == "soft-updates";
    let yes = [name == "ffs" || name.ends_with("sync") && !name.ends_with("async"), journal, true, soft, soft, soft];
    let answer = |yes| Answer {
        yes,
        states: 9,
        against: u64::from(!yes),
        witness: if yes { String::new() } else { format!("{name}:id") },
        shows: String::new(),
    };
    let recovery = match name {
        "ffs" => Recovery::Scan,
        "ffs-async" => Recovery::MaybeImpossible,
        "soft-updates" => Recovery::Nothing,
        _ => Recovery::Replay,
    };
    let recovers = answer(name != "ffs-async");
    let answers = yes.map(answer).into_iter().chain([recovers]).collect();
    System { name: name.to_owned(), scheme: String::new(), recovery: recovery.name().to_owned(), answers }
}

fn features() -> Features {
    let asked = ASKED.iter().chain(&["recovers"]).map(|name| Asked { name: (*name).to_owned(), says: String::new() });
    let systems = eight().map(|system| printed(system.key)).collect();
    Features { asked: asked.collect(), systems, ..Features::default() }
}

fn broken(features: Features) -> Vec<String> {
    let claims = document(features).claims;
    assert!(claims.iter().all(|claim| claim.tested));
    claims.into_iter().filter(|claim| !claim.is_held()).map(|claim| claim.id).collect()
}

#[test]
fn the_table_as_it_is_printed_holds() {
    assert_eq!(broken(features()), [""; 0]);
    assert_eq!(document(features()).claims.len(), 16);
}

#[test]
fn a_feature_too_many_and_one_too_few_are_told_with_a_state_that_shows_it() {
    let mut found = features();
    let at = |features: &Features, name: &str| features.systems.iter().position(|system| system.name == name).unwrap();
    let (soft, file) = (at(&found, "soft-updates"), at(&found, "lffs-file"));
    found.systems[soft].answers[1] =
        Answer { yes: true, witness: String::new(), ..found.systems[soft].answers[1].clone() };
    found.systems[file].answers[1].yes = false;
    found.systems[file].answers[1].witness = "the-state".to_owned();
    let claims = document(found.clone()).claims;
    let row = claims.iter().find(|claim| claim.id == "jsu2000.t2.row3").unwrap();
    assert!(!row.is_held() && row.ours.contains("soft-updates") && !row.ours.contains("lffs-file"));
    assert!(row.why.contains("lffs-file: the-state"), "{}", row.why);
    assert_eq!(broken(found), ["jsu2000.s6.rename_atomic", "jsu2000.s6.rename_su_both", "jsu2000.t2.row3"]);
}

#[test]
fn a_missing_system_is_not_judged() {
    let mut found = features();
    found.systems.retain(|system| system.name != "ffs");
    let ids: Vec<String> = document(found).claims.into_iter().map(|claim| claim.id).collect();
    // Row 2 says something of the systems that it names only, and FFS is not one of them.
    let of_ffs = |id: &&String| id.contains("t2.") && !id.ends_with("row2") || id.contains("ffs_sync_ops");
    assert!(!ids.iter().any(|id| of_ffs(&id)), "{ids:?}");
    assert!(ids.iter().any(|id| id.contains("su_no_stale_data")));
}
