// What of the paper needs no long run: tables as printed, claims without data, and thresholds.

use super::engine::{self, Engine};
use super::experiments::Results;
use super::thresholds::{self, Thresholds};
use super::{claims, crashes, experiments, figures, tables};
use crate::paper::claims::claims_of;
use crate::paper::features::{Answer, Asked, Features, Recovery, System};
use ordo_report::results::Document;

#[test]
fn without_a_run_no_claim_about_one_is_judged() {
    let verdicts = claims::verdicts(&Results::default(), &Thresholds::default(), &Engine::default());
    assert_eq!(verdicts.len(), 80);
    let tested: Vec<_> = verdicts.iter().filter(|verdict| verdict.tested).map(|verdict| &*verdict.id).collect();
    // These rest on the thresholds alone, and on the engine alone.
    let thresholds = ["s3.zero_distance", "s3.window_gap", "s3.dock", "s4.zero_overhead_replicas"];
    let engine = ["s2.latest_wins", "s3.versions", "s3.self_heal", "s3.passive_no_heal", "s3.recovery_vmap"];
    let mut alone = [&thresholds[..], &engine, &["s3.upgradable"]].concat();
    let mut tested: Vec<_> = tested.iter().filter_map(|id| id.strip_prefix("aj.")).collect();
    alone.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, alone);
    assert!(verdicts.iter().all(|verdict| verdict.tested || !verdict.why.is_empty()));
}

#[test]
fn the_thresholds_of_the_learning_are_found_from_outside() {
    let found = thresholds::find().unwrap();
    let right = Thresholds { dock_blocks: 15, distance_blocks: 32_768, gap_ms: 100, copy_cost: 0.0 };
    assert_eq!(found, right);
}

#[test]
fn the_engine_heals_what_a_passive_journal_does_not_notice_and_goes_both_ways() {
    let found = engine::ask().unwrap();
    let (damaged, versions) = (17, found.versions);
    assert!(versions >= 2, "{found:?}");
    let right = Engine {
        damaged,
        healed: damaged,
        unnoticed: damaged,
        versions,
        switched: true,
        newest_wins: true,
        home_at_recovery: true,
    };
    assert_eq!(found, right);
}

#[test]
fn every_row_has_a_number_or_none_for_each_column() {
    let tables = tables::tables(&Results::default());
    for table in &tables {
        let wide = |row: &ordo_report::results::TableRow| {
            row.ours.len() == table.columns.len() && row.theirs.len() == table.columns.len()
        };
        assert!(table.rows.iter().all(wide), "{}", table.id);
    }
    let second = &tables[1];
    assert_eq!((second.rows.len(), second.rows[1].theirs[0]), (14, Some(7769.0)));
    assert_eq!(figures::figures(&Results::default()).len(), 6);
}

#[test]
fn what_is_set_is_what_table_one_prints() {
    let table = tables::tables(&Results::default()).swap_remove(0);
    let both = table.rows.iter().filter_map(|row| row.ours[0].zip(row.theirs[0])).collect::<Vec<_>>();
    assert!(both.iter().all(|(ours, theirs)| ours == theirs), "{both:?}");
    assert!(both.contains(&(8192.0, 8192.0)) && both.len() == 12, "{both:?}");
    let usual = ordo_sim::Setting::default();
    assert!(!usual.prefetch && usual.segment.is_none(), "off, and each system's own");
}

#[test]
fn a_trace_is_played_on_a_disk_with_the_files_of_all() {
    let files = |name| match experiments::made(name, 1).unwrap().contents {
        ordo_sim::Contents::Files(files) => files.files.len(),
        ordo_sim::Contents::Device(_) => 0,
    };
    let of_all = files("multi2");
    assert!(of_all > 30_000, "{of_all} files of cscope, gcc and viewperf");
    assert_eq!(["cscope", "gcc", "viewperf", "multi1"].map(files), [of_all; 4]);
    assert!(files("tpc-r") > of_all, "its drive has room for the others, too");
}

#[test]
fn claims_about_crashes_are_judged_by_what_power_cuts_show() {
    let names = ["on-return", "atomic", "data-first", "recovers"];
    let asked = names.map(|name| Asked { name: name.to_owned(), says: String::new() }).to_vec();
    let answer = |yes| Answer { yes, states: 1, against: 0, witness: String::new(), shows: String::new() };
    let system = |name: &str, data_first| System {
        name: name.to_owned(),
        scheme: String::new(),
        recovery: Recovery::Replay.name().to_owned(),
        answers: [false, true, data_first, true].map(answer).to_vec(),
    };
    let judge = |writeback| {
        let systems = crashes::set_ups().into_iter().map(|s| system(s.name, s.name != "ext3-writeback" || writeback));
        let features = Features { asked: asked.clone(), systems: systems.collect(), ..Features::default() };
        let claims = claims::verdicts(&Results::default(), &Thresholds::default(), &Engine::default());
        let mut document = Document { claims, ..Document::default() };
        crashes::judge(&mut document, features);
        let of = |id: &str| document.claims.iter().find(|claim| claim.id == id).cloned().unwrap();
        ["aj.s2.mode_safety", "aj.s2.no_durability", "aj.s2.atomic", "aj.s2.redo_only_committed"]
            .map(|id| (of(id).tested, of(id).is_held()))
    };
    assert_eq!(judge(false), [(true, true); 4]);
    assert_eq!(judge(true)[0], (true, false), "writeback that shows no stale data is not what the paper says");
    assert_eq!(claims_of("aj").len(), 80);
}
