//! `softupdates` and `suj` keep what they declare: every ready-made script and every sequence of one operation, on
//! every honest device, with the power cut everywhere. The raw image has leaks and nothing worse; a mount reclaims them
//! all, by a scan or from the journal; `fsck -p` ends in the same tree.

use crate::common;

use ordo_crash::{Budget, Counters, DEVICES, Device, Memory, Plan, Report, explore_with};
use ordo_workload::script::{self, Script, ace};

/// Scripts, how many states of each, and one in how many images has its recovery cut as well.
type Sets = Vec<(Vec<Script>, u64, u32)>;

fn sets() -> Sets {
    let short = common::short::<u64>;
    let sets = [(script::bugs(), short(150, 50), 3), (script::all(), short(500, 150), 3)];
    sets.into_iter().chain([(script::ufs(), short(200, 50), 3), (single(), short(60, 20), 6)]).collect()
}

/// A replay and its cuts cost more than a scan does.
fn short_sets() -> Sets {
    vec![(script::all(), common::short(20, 10), 24), (script::ufs(), common::short(8, 3), 48)]
}

fn single() -> Vec<Script> {
    ace::sequences(&ace::Bounds::length(1)).collect()
}

/// Explores all scripts on a device, with one memory.
fn explored(scheme: &str, sets: Sets, device: &Device) -> Vec<Report> {
    let mut memory = Memory::default();
    let mut reports = Vec::new();
    for (scripts, states, recovery_cuts) in sets {
        for script in scripts {
            let name = script.name.clone();
            let plan = Plan {
                budget: Budget { states, recovery_cuts, ..Budget::default() },
                ..Plan::new(scheme, script, device)
            };
            let report = explore_with(&plan, &mut memory, &Counters::default());
            reports.push(report.unwrap_or_else(|error| panic!("{name} on {}: {error}", device.name)));
        }
    }
    reports
}

#[test]
fn soft_updates_leave_leaks_and_a_mount_takes_them_back() {
    holds("softupdates", sets);
}

#[test]
fn with_the_journal_a_replay_takes_them_back() {
    holds("suj", short_sets);
}

fn holds(scheme: &str, sets: fn() -> Sets) {
    let honest: Vec<&Device> = DEVICES.iter().filter(|device| device.honest).collect();
    let mut violations = Vec::new();
    for reports in common::by_two(honest.len(), |at| explored(scheme, sets(), honest[at])) {
        let of = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
        let (distinct, nested) = (of(|report| report.distinct), of(|report| report.nested));
        println!("{}: {distinct} distinct images, {nested} recoveries cut", reports[0].disk);
        assert!(distinct > 1000 && nested > 100, "{distinct} images, {nested} recoveries cut");
        assert!(reports.iter().all(|report| report.leaks_only), "leaks, and nothing worse");
        violations.extend(reports.into_iter().flat_map(|report| report.violations));
    }
    let told: Vec<String> = violations.iter().map(|found| serde_json::to_string_pretty(found).unwrap()).collect();
    assert!(told.is_empty(), "{} violations: {}", told.len(), told.join("\n"));
}

/// The rules that a script of a few calls shows; each is detected when it is dropped.
#[test]
fn rules_that_are_dropped_are_missed() {
    let sata = DEVICES.iter().find(|device| device.name == "sata").expect("it comes ready");
    let dropped = [
        ("softupdates", "inode-marked", "create"),
        ("softupdates", "block-allocation", "append"),
        ("softupdates", "link-addition", "create"),
        ("softupdates", "link-removal", "rename"),
        ("softupdates", "block-deallocation", "truncate"),
        ("suj", "records-first", "create"),
        ("suj", "link-removal", "rename"),
    ];
    for (scheme, rule, name) in dropped {
        let script = script::find(name).expect("it comes ready");
        let mut plan = Plan {
            budget: Budget { states: 3000, recovery_cuts: 0, enough: 1, ..Budget::default() },
            ..Plan::new(scheme, script, sata)
        };
        plan.subject.settings.without.insert(rule.into());
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it can be explored");
        assert!(!report.violations.is_empty(), "{scheme} without {rule}: {name} shows nothing");
    }
}
