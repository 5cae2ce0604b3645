//! Tests lab-crash-2 and lab-crash-4.

use ordo_crash::{
    Budget, Counters, DEVICES, Device, Id, Oracle, Plan, Report, Shard, Subject, Torn, Violation, explore, explore_on,
    replay, shrink, sweep,
};
use ordo_workload::script::{self, Script};

fn plan(scheme: &str, script: &str, device: &str) -> Plan {
    let mut plan = Plan::new(scheme, script::find(script).unwrap(), Device::by_name(device).unwrap());
    plan.budget.states = 600;
    plan
}

/// An image that several parts found counts in each of them.
fn but_for_distinct(report: Report) -> Report {
    Report { distinct: 0, nested: 0, findings: Default::default(), ..report }
}

#[test]
fn the_same_plan_gives_the_same_report() {
    for device in DEVICES {
        for scheme in ["sync", "async"] {
            let plan = plan(scheme, "rename", device.name);
            let report = explore(&plan).unwrap();
            assert!(report.states > 0);
            assert_eq!(report, explore(&plan).unwrap(), "{scheme} on {}", device.name);
        }
    }
}

#[test]
fn any_number_of_threads_says_the_same() {
    for scheme in ["sync", "async"] {
        let plan = plan(scheme, "mkdir-rmdir", "sata");
        let on = |jobs| but_for_distinct(explore_on(&plan, jobs, &Counters::default()).unwrap());
        let one = on(1);
        assert!(scheme == "sync" || one.violations_total > 0);
        assert_eq!(one, on(3));
    }
}

#[test]
fn shards_together_are_the_whole() {
    let whole = plan("async", "links", "sata");
    let parts: Vec<Report> = (0..3)
        .map(|index| {
            explore(&Plan { budget: Budget { shard: Shard { index, of: 3 }, ..whole.budget }, ..whole.clone() })
                .unwrap()
        })
        .collect();
    let all = explore(&whole).unwrap();
    assert!(parts.iter().all(|part| part.states > 0 && part.states < all.states));
    assert_eq!(parts.iter().map(|part| part.states).sum::<u64>(), all.states);
    // An image that an interrupted recovery left, too, is counted once where one shard meets both.
    let here = |report: &Report| report.distinct - report.nested;
    let apart = parts.iter().map(here).sum::<u64>();
    assert!((here(&all)..=here(&all) + all.nested).contains(&apart), "{apart} and {}", here(&all));
    let merged = parts.into_iter().reduce(Report::merge).unwrap();
    assert_eq!(but_for_distinct(merged), but_for_distinct(all));
}

#[test]
fn a_sweep_says_the_same_with_any_number_of_threads() {
    let some = |at: u64| script::ace::nth(&script::ace::Bounds::length(1), at * 3).unwrap().into();
    let mut plan = Plan::new("async", Script::default(), Device::by_name("nvme").unwrap());
    plan.budget.states = 60;
    let on = |jobs| but_for_distinct(sweep(&plan, &some, 0..100, jobs, &Counters::default()).unwrap().unwrap());
    let one = on(1);
    assert!(one.violations_total > 0);
    assert_eq!(one, on(3));
}

/// The ids of violations stand for the states.
#[test]
fn another_seed_tries_other_states() {
    let mut plan = plan("async", "mixed", "sata");
    plan.budget.exhaustive = 2;
    let by = |seed| {
        let report = explore(&Plan { budget: Budget { seed, enough: 20, ..plan.budget }, ..plan.clone() }).unwrap();
        let fates = |id: &str| id.rsplit_once(':').unwrap().1.to_owned();
        (report.distinct, report.violations.iter().map(|found| fates(&found.id)).collect::<Vec<_>>())
    };
    assert_eq!(by(1), by(1));
    assert_ne!(by(1), by(2));
}

#[test]
fn an_id_leads_to_the_same_violation() {
    for device in ["sata", "nvme", "plp", "scsi94", "liar"] {
        let report = explore(&plan("async", "rename", device)).unwrap();
        assert!(!report.violations.is_empty(), "{device}");
        for found in &report.violations {
            let again = found.id.parse::<Id>().and_then(|id| replay(&id)).unwrap().unwrap();
            // A replay cannot know how many states came before this one.
            let again = Violation { script: found.script, state: found.state, ..again };
            assert_eq!(&again, found);
        }
    }
}

#[test]
fn what_async_breaks_is_shown_in_three_calls() {
    let plan = plan("async", "rename", "sata");
    let report = explore(&plan).unwrap();
    for found in &report.violations[..2] {
        let small = shrink(&plan, found).unwrap();
        assert_eq!(small.oracle, found.oracle);
        let script = small.id.parse::<Id>().unwrap().plan().unwrap().script;
        assert!(script.calls.len() <= 3, "{:?}", script.calls);
        assert!(small.lost.len() <= found.lost.len().max(1));
    }
}

/// A disk may lose the sector that it was writing. Each state that breaks a promise has such a sector, the violation
/// says what could not be read, and nothing panics: fsck fails at an inode, and asks before it uses a copy of the
/// superblock. On a disk that keeps its sectors, the same script passes.
#[test]
fn a_sector_that_cannot_be_read_is_told_and_no_panic() {
    let whole = plan("sync", "rename", "scsi94");
    assert_eq!(explore(&whole).unwrap().violations, []);
    let torn = Device { torn: Torn::Unreadable, ..whole.subject.device.clone() };
    let report = explore(&Plan { subject: Subject { device: torn, ..whole.subject }, ..whole }).unwrap();
    for oracle in [Oracle::Recovers, Oracle::Structure] {
        assert!(report.violations.iter().any(|found| found.oracle == oracle), "{oracle}");
    }
    for found in &report.violations {
        println!("{}: {}", found.oracle, found.is);
        let fates = found.id.rsplit_once(':').unwrap().1;
        assert!(fates.contains('u'), "{}", found.id);
        assert!(found.is.contains("read") && !found.is.contains("panic"), "{}: {}", found.oracle, found.is);
    }
}
