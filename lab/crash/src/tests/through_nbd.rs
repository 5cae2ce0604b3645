//! The engine behind the NBD client: connections are lost in the middle of flushes, servers die with what they had only
//! answered, and wherever the power is cut then, the scheme keeps what it declares. A client that believes too much is
//! convicted.

use crate::device::Device;
use crate::explore::{Counters, Exploration, explore_with};
use crate::plan::{Budget, Plan};
use crate::record::record_through;
use crate::report::Report;
use crate::verdict::Memory;
use ordo_rt::Rt;
use ordo_simdisk::{NbdFlaw, NbdLosses};
use ordo_workload::script;

fn plan(scheme: &str, sets: &[(&str, &str)], script: &str, device: &str, seed: u64) -> Plan {
    let device = Device::by_name(device).unwrap();
    let script = script::find(script).unwrap();
    let mut plan = Plan {
        budget: Budget { states: 60, recovery_cuts: 16, seed, ..Budget::default() },
        ..Plan::new(scheme, script, device)
    };
    sets.iter().for_each(|(key, value)| plan.subject.settings.set(key, value).unwrap().unwrap());
    plan
}

/// Explores the plan behind a client that may be wrong.
fn explored(plan: &Plan, flaw: Option<NbdFlaw>) -> (Report, NbdLosses) {
    let mut lost = None;
    let between = |rt: &Rt, disks: crate::disks::Disks| {
        let (behind, counted) = disks.behind_nbd(rt, plan.budget.seed, flaw);
        lost = Some(counted);
        behind
    };
    let recording = record_through(plan, between).unwrap();
    let (promises, mut memory, counters) = (plan.subject.promises().unwrap(), Memory::default(), Counters::default());
    let mut exploration = Exploration::new(plan, &recording, &promises, &mut memory, &counters);
    exploration.run();
    (exploration.report, lost.unwrap().count())
}

/// The scripts whose calls end with something durable.
const SCRIPTS: [&str; 5] = ["create", "remove", "rename", "append", "mixed"];

#[test]
fn soft_updates_and_wafs_keep_what_they_declare_behind_connections_that_are_lost() {
    let (mut distinct, mut lost) = (0, NbdLosses::default());
    for (scheme, sets) in [
        ("softupdates", &[][..]),
        ("wafs", &[("logmode", "sync")]),
        ("wafs", &[("logmode", "group"), ("data", "journal")]),
        ("wafs", &[("logmode", "async"), ("log", "separate")]),
    ] {
        let separate = sets.contains(&("log", "separate"));
        let sets: Vec<_> = sets.iter().copied().filter(|set| set.0 != "log").collect();
        for script in SCRIPTS {
            for (device, seed) in [("sata", 0), ("sata", 1), ("plp", 2)] {
                let mut plan = plan(scheme, &sets, script, device, seed);
                plan.subject.separate_log = separate;
                let (report, counted) = explored(&plan, None);
                assert_eq!(report.violations, [], "{scheme} {sets:?}, {script} on {device}, seed {seed}");
                distinct += report.states;
                lost = lost + counted;
            }
        }
    }
    assert!(distinct > 1000 && lost.in_flushes > 50 && lost.in_answers > 20, "{distinct} states, {lost:?}");
    assert!(lost.servers > 20 && lost.again > 100, "{lost:?}");
}

/// The explorer notices a client with this flaw, whatever most seeds lose.
fn is_convicted(flaw: NbdFlaw) {
    for scheme in ["softupdates", "wafs"] {
        let breaks = |seed: &u64| {
            let mut plan = plan(scheme, &[], "mixed", "sata", *seed);
            plan.budget.states = 300;
            !explored(&plan, Some(flaw)).0.violations.is_empty()
        };
        // The servers of even seeds have caches.
        let found = (0..12).step_by(2).filter(breaks).count();
        assert!(found >= 4, "{flaw:?}, {scheme}: {found} of 6");
    }
}

#[test]
fn a_client_that_believes_a_flush_that_was_not_answered_is_convicted() {
    is_convicted(NbdFlaw::BelievesFlush);
}

#[test]
fn a_client_that_does_not_send_again_what_was_answered_is_convicted() {
    is_convicted(NbdFlaw::ForgetsAnswered);
}

#[test]
fn an_exploration_behind_the_client_repeats_and_has_an_id() {
    let mut plan = plan("softupdates", &[], "mixed", "sata", 4);
    plan.subject.through_nbd = true;
    let explore = || explore_with(&plan, &mut Memory::default(), &Counters::default()).unwrap();
    let first = explore();
    assert!(first.connections_lost > Some(0) && first.flushes_lost > Some(0), "{first:?}");
    assert_eq!(first, explore());
    let mut direct = plan.clone();
    direct.subject.through_nbd = false;
    assert_eq!(explore_with(&direct, &mut Memory::default(), &Counters::default()).unwrap().connections_lost, None);
}
