//! A journal keeps what it declares with its log on a separate disk: an honest device for each, with the power cut
//! everywhere for both at once, and each disk with its own cache and flushes.

use crate::common;

use ordo_crash::{Budget, Counters, DEVICES, Device, Memory, Plan, Report, explore_with, replay};
use ordo_workload::script;

/// A scheme and one setting of it.
type Case = (&'static str, &'static str, &'static str);

const CASES: [Case; 7] = [
    ("wafs", "logmode", "sync"),
    ("wafs", "logmode", "async"),
    ("wafs", "logmode", "group"),
    ("journal-file", "logmode", "async"),
    ("block-journal", "data", "ordered"),
    ("block-journal", "data", "journal"),
    ("block-journal", "data", "writeback"),
];

/// Every kind of call that changes names, and contents that move.
const SCRIPTS: [&str; 8] = ["create", "remove", "rename", "mkdir-rmdir", "append", "truncate", "mixed", "overwrite"];

fn plan(name: &str, (scheme, setting, value): Case, device: &Device) -> Plan {
    let script = script::find(name).unwrap_or_else(|| panic!("{name} does not come ready"));
    let mut plan = Plan {
        budget: Budget { states: 60, recovery_cuts: 12, ..Budget::default() },
        ..Plan::new(scheme, script, device)
    };
    plan.subject.separate_log = true;
    plan.subject.settings.set(setting, value).expect("a setting").expect("a value of it");
    plan
}

fn explored(device: &Device, case: Case) -> Vec<Report> {
    let mut memory = Memory::default();
    let explore = |name: &&str| {
        let report = explore_with(&plan(name, case, device), &mut memory, &Counters::default());
        report.unwrap_or_else(|error| panic!("{name}, {case:?}, on {}: {error}", device.name))
    };
    SCRIPTS.iter().map(explore).collect()
}

#[test]
fn a_log_on_a_disk_of_its_own_loses_nothing_that_was_promised() {
    let honest: Vec<&Device> = DEVICES.iter().filter(|device| device.honest).collect();
    // In the short form each case is on two devices, and each device has half of the cases.
    let all = honest
        .iter()
        .enumerate()
        .flat_map(|(n, device)| CASES.iter().enumerate().map(move |(m, case)| (n + m, (*device, *case))));
    let all: Vec<_> = all.filter(|(sum, _)| sum % common::short(1, 2) == 0).map(|(_, run)| run).collect();
    let mut violations = Vec::new();
    let found = common::by_two(all.len(), |at| explored(all[at].0, all[at].1));
    for ((_, case), reports) in all.iter().zip(found) {
        let of = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
        let (distinct, nested) = (of(|report| report.distinct), of(|report| report.nested));
        println!("{:?}, {}: {distinct} distinct images, {nested} recoveries cut", case, reports[0].disk);
        assert!(distinct > 100 && nested > 10, "{distinct} images, {nested} recoveries cut");
        violations.extend(reports.into_iter().flat_map(|report| report.violations));
    }
    let told: Vec<String> = violations.iter().map(|found| serde_json::to_string_pretty(found).unwrap()).collect();
    assert!(told.is_empty(), "{} violations: {}", told.len(), told.join("\n"));
}

/// The write-ahead rule then is a rule between two disks.
#[test]
fn a_rule_that_is_dropped_is_missed() {
    let sata = Device::by_name("sata").expect("it comes ready");
    let (wafs, file) = (("wafs", "logmode", "async"), ("journal-file", "logmode", "async"));
    let blocks = ("block-journal", "data", "ordered");
    // With a log that is written late the syncer writes first.
    let dropped = [
        (wafs, "log-before-buf", "mixed", "300"),
        (wafs, "home-before-reclaim", "mixed", "1"),
        (wafs, "data-before-log", "append", "1"),
        (file, "log-before-buf", "mixed", "300"),
        (blocks, "log-before-buf", "mixed", "300"),
        (blocks, "data-before-log", "append", "1"),
    ];
    for (case, rule, name, commit) in dropped {
        let budget = Budget { states: 1500, recovery_cuts: 0, enough: 1, ..Budget::default() };
        let mut plan = Plan { budget, pauses: true, ..plan(name, case, sata) };
        plan.subject.settings.set("commit", commit).expect("a setting").expect("seconds");
        plan.subject.settings.without.insert(rule.into());
        let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it can be explored");
        let told = report.violations.first().unwrap_or_else(|| panic!("{case:?} without {rule}: {name} shows nothing"));
        assert!(told.id.contains("+log=separate!"), "{}", told.id);
        let again = told.id.parse::<ordo_crash::Id>().and_then(|id| replay(&id)).expect("the id leads to it");
        assert_eq!(again.map(|found| found.oracle), Some(told.oracle));
    }
}

#[test]
fn a_scheme_without_such_a_log_is_refused() {
    let sata = Device::by_name("sata").expect("it comes ready");
    let mut plan = plan("create", CASES[0], sata);
    plan.subject.scheme = "suj".into();
    let error = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect_err("suj has a journal");
    assert!(error.to_string().contains("log=separate"), "{error}");
}
