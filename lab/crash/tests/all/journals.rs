//! The journals keep what they declare: every ready-made script and sequences of one operation, on the honest devices,
//! with the power cut everywhere. Before the log is replayed, the volume may be inconsistent; afterwards nothing is
//! wrong. A replay that is interrupted and begun again, and `fsck -p`, end in the same tree.

use crate::common;

use ordo_crash::{Budget, Counters, DEVICES, Device, Memory, Plan, Report, explore_with};
use ordo_workload::script::{self, Script, ace};

/// Each journal in each of its modes.
const CASES: &[(&str, &str)] = &[
    ("journal-file", ""),
    ("journal-file", "data=writeback"),
    ("wafs", "logmode=sync"),
    ("wafs", "logmode=async"),
    ("wafs", "logmode=group"),
    ("wafs", "logmode=async,data=journal"),
    ("block-journal", "data=journal"),
    ("block-journal", "data=ordered"),
    ("block-journal", "data=writeback"),
    ("block-journal", "data=ordered,checkpoint=now"),
];

fn plan(scheme: &str, settings: &str, script: Script, device: &Device) -> Plan {
    let mut plan = Plan::new(scheme, script, device);
    for (key, value) in settings.split(',').filter_map(|set| set.split_once('=')) {
        plan.subject.settings.set(key, value).expect("it is a setting of a scheme").expect("it can be set so");
    }
    plan
}

/// Scripts, how many states of each, and one in how many images has its recovery cut as well. Each run takes another
/// part of the sequences, and the two runs of a case share the lists of bugs.
fn sets(run: usize) -> Vec<(Vec<Script>, u64, u32)> {
    let bugs = script::bugs().into_iter().chain(script::ufs());
    let bugs = bugs.skip(run % common::short(2, 6)).step_by(common::short(2, 6)).collect();
    let single = ace::sequences(&ace::Bounds::length(1)).skip(run).step_by(2 * CASES.len()).collect();
    vec![(script::all(), common::short(40, 20), 32), (bugs, 4, 96), (single, 2, 96)]
}

fn explored(run: usize, (scheme, settings): (&str, &str), device: &Device) -> Vec<Report> {
    let (mut memory, mut reports) = (Memory::default(), Vec::new());
    for (scripts, states, recovery_cuts) in sets(run) {
        for script in scripts {
            let name = script.name.clone();
            // Every other script has pauses, so that bufs are written by the syncer.
            let pauses = reports.len() % 2 == 1;
            let budget = Budget { states, recovery_cuts, ..Budget::default() };
            let plan = Plan { budget, pauses, ..plan(scheme, settings, script, device) };
            let report = explore_with(&plan, &mut memory, &Counters::default());
            reports
                .push(report.unwrap_or_else(|error| panic!("{scheme} {settings} {name} on {}: {error}", device.name)));
        }
    }
    reports
}

#[test]
fn a_replay_leaves_nothing_wrong_in_any_mode() {
    let honest: Vec<&Device> = DEVICES.iter().filter(|device| device.honest).collect();
    let (mut distinct, mut nested, mut violations) = (0, 0, Vec::new());
    // A case is on two devices: on one with a volatile cache, and on one without.
    let runs: Vec<_> = CASES.iter().enumerate().flat_map(|(n, case)| [(case, n % 2), (case, 2 + n % 2)]).collect();
    let devices = |volatile: bool| honest.iter().filter(move |device| device.volatile == volatile);
    for reports in common::by_two(runs.len(), |at| {
        let (case, which) = (*runs[at].0, runs[at].1);
        let device = devices(which < 2).nth(which % 2).expect("there are two of each");
        explored(at, case, device)
    }) {
        distinct += reports.iter().map(|report| report.distinct).sum::<u64>();
        nested += reports.iter().map(|report| report.nested).sum::<u64>();
        violations.extend(reports.into_iter().flat_map(|report| report.violations));
    }
    println!("{distinct} distinct images, {nested} recoveries cut");
    let told: Vec<String> = violations.iter().map(|found| serde_json::to_string_pretty(found).unwrap()).collect();
    assert!(told.is_empty(), "{} violations: {}", told.len(), told.join("\n"));
    assert!(distinct > 3_000 && nested > 300, "{distinct} images, {nested} recoveries cut");
}

/// Each rule is detected when it is dropped.
#[test]
fn rules_that_are_dropped_are_missed() {
    let sata = Device::by_name("sata").expect("it comes ready");
    let dropped = [
        ("wafs", "logmode=async", "log-before-reuse", "mixed"),
        ("wafs", "logmode=async", "home-before-reclaim", "mixed"),
        ("wafs", "logmode=async,data=writeback", "data-before-log", "append"),
        ("wafs", "", "data-before-log", "truncate"),
        ("journal-file", "", "home-before-reclaim", "create"),
        ("block-journal", "data=ordered", "log-before-reuse", "remove"),
        ("block-journal", "data=ordered", "home-before-reclaim", "mixed"),
        ("block-journal", "data=ordered", "data-before-log", "truncate"),
    ];
    for (scheme, settings, rule, name) in dropped {
        let script = script::find(name).expect("it comes ready");
        let budget = Budget { states: 3000, recovery_cuts: 0, enough: 1, seed: 5, ..Budget::default() };
        let mut plan = Plan { budget, pauses: true, ..plan(scheme, settings, script, sata) };
        plan.subject.settings.without.insert(rule.into());
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it can be explored");
        assert!(!report.violations.is_empty(), "{scheme} {settings} without {rule}: {name} shows nothing");
    }
}

/// The write-ahead rule shows where bufs are written in place before their transaction is due: at a sync.
#[test]
fn bufs_that_go_home_before_the_log_are_convicted() {
    let text = "# Directories come and go, and a sync follows at once.\n\nmkdir d 755\nmkdir d/old 755\nsync\n---\n\
        mkdir d/new 755\ncreate d/new/a 644\nrmdir d/old\nrename d/new/a b replace\nsync\n";
    let sata = Device::by_name("sata").expect("it comes ready");
    for (scheme, settings) in CASES {
        let script = Script::parse("ahead", text).expect("a script");
        let budget = Budget { states: 2000, recovery_cuts: 0, enough: 1, ..Budget::default() };
        let mut plan = Plan { budget, ..plan(scheme, settings, script, sata) };
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it can be explored");
        assert!(report.violations.is_empty(), "{scheme} {settings}: {:?}", report.violations);
        // With durability on return, each call is in the log before the sync comes.
        if settings.contains("=sync") || settings.contains("group") {
            continue;
        }
        plan.subject.settings.without.insert("log-before-buf".into());
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it can be explored");
        assert!(!report.violations.is_empty(), "{scheme} {settings} without log-before-buf shows nothing");
    }
}
