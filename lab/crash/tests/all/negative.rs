//! Seeded bugs: an explorer that does not detect them cannot be trusted.
//!
//! Every mutant of `sync` runs through the ready-made scripts until one detects it. If none does, the mutant is not a
//! bug and does not belong in the list, or it shows a blind spot of the explorer.

use crate::common;

use ordo_crash::{Budget, Counters, Device, Memory, Oracle, Plan, Report, explore, explore_with};
use ordo_probe::{Mutant, MutantSpec, mutants};
use ordo_schemes::AllocInit;
use ordo_workload::script::{self, Script};
use std::sync::Arc;

/// States that are tried per script for a mutant.
const STATES: u64 = 600;

/// The scripts on which `tests/sync.rs` tests `sync` itself. Slow ones, with large files, come last.
fn scripts() -> Vec<Script> {
    let mut ufs = script::ufs();
    ufs.sort_by_key(|script| ["u20", "u04"].iter().position(|slow| script.name == *slow).map_or(0, |late| late + 1));
    [script::all(), ufs, script::bugs()].concat()
}

fn plan(script: &Script, device: &str) -> Plan {
    let plan = Plan::new("sync", script.clone(), Device::by_name(device).unwrap());
    Plan { budget: Budget { states: STATES, enough: 1, recovery_cuts: 0, ..plan.budget }, ..plan }
}

/// The script and the oracle that detect it.
fn convicted(spec: &MutantSpec, scripts: &[Script]) -> Option<(String, Oracle)> {
    let mut memory = Memory::default();
    scripts.iter().find_map(|script| {
        let (mut plan, spec) = (plan(script, "sata"), spec.clone());
        plan.subject.mutilate = Some(Arc::new(move |scheme| Mutant::new(scheme, spec.clone())));
        let report = explore_with(&plan, &mut memory, &Counters::default()).unwrap();
        report.violations.first().map(|found| (script.name.clone(), found.oracle))
    })
}

#[test]
fn every_seeded_bug_is_convicted() {
    let (specs, scripts) = (mutants("sync"), scripts());
    assert!(specs.len() >= 80);
    let by = common::by_two(specs.len(), |at| convicted(&specs[at], &scripts));
    let mut missed = Vec::new();
    for (spec, by) in specs.iter().zip(by) {
        match by {
            Some((script, oracle)) => println!("{}: {oracle}, in {script}", spec.name),
            None => missed.push(format!("{}: {}", spec.name, spec.says)),
        }
    }
    println!("missed: {missed:#?}");
    assert!(missed.len() * 20 <= specs.len(), "{} of {} missed: {missed:#?}", missed.len(), specs.len());
}

/// The disk is never flushed. That is a bug if its cache is volatile, and none if it is not.
#[test]
fn a_cache_that_nobody_flushes_is_convicted_where_it_is_volatile() {
    let run = |script: &Script, device: &str| -> Report {
        let mut plan = plan(script, device);
        plan.subject.trusts_cache = true;
        explore(&plan).unwrap()
    };
    for script in script::all() {
        for (device, volatile) in [("sata", true), ("nvme", true), ("plp", false), ("scsi94", false)] {
            let report = run(&script, device);
            assert_eq!(report.violations_total > 0, volatile, "{} on {device}: {:?}", script.name, report.violations);
            assert_eq!(report.flushes, 0);
        }
    }
}

/// Each rule that `sync` declares is needed, and the ready-made scripts show it: what they say without the rule.
#[test]
fn every_rule_that_is_dropped_is_missed_by_a_ready_made_script() {
    let scripts = scripts();
    let on = |alloc_init| {
        let mut plan = plan(&scripts[0], "sata");
        plan.subject.settings.alloc_init = Some(alloc_init);
        plan.subject.promises().unwrap().rules.into_iter().map(move |(rule, _)| (alloc_init, rule))
    };
    // With all initialised there is a rule more, and one less.
    let rules: Vec<_> = on(AllocInit::Directories).chain(on(AllocInit::All)).collect();
    assert!(rules.len() > 20, "{rules:?}");
    let found = common::by_two(rules.len(), |at| {
        let (alloc_init, rule) = rules[at];
        let mut memory = Memory::default();
        scripts.iter().find_map(|script| {
            let mut plan = plan(script, "sata");
            plan.subject.settings.alloc_init = Some(alloc_init);
            plan.subject.settings.without.insert(rule.to_owned());
            let report = explore_with(&plan, &mut memory, &Counters::default()).unwrap();
            report.violations.first().map(|_| script.name.clone())
        })
    });
    let missed: Vec<_> = rules.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(rule, _)| rule).collect();
    println!("{:?}", rules.iter().zip(&found).collect::<Vec<_>>());
    assert!(missed.is_empty(), "no ready-made script shows these: {missed:?}");
}

/// What shows these two in the fewest states.
#[test]
fn targets_and_attributes_have_scripts_of_their_own() {
    for (rule, name) in [("target-initialised", "u22"), ("attributes-initialised", "u23")] {
        for device in ["sata", "nvme", "plp", "scsi94"] {
            let mut plan = plan(&script::find(name).unwrap(), device);
            plan.budget.enough = 1;
            assert_eq!(explore(&plan).unwrap().violations_total, 0, "{name} on {device}");
            plan.subject.settings.without.insert(rule.to_owned());
            assert!(explore(&plan).unwrap().violations_total > 0, "{name} on {device} without {rule}");
        }
    }
}
