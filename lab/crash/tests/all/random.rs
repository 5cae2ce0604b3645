//! Random scripts: most dropped rules of soft updates are found by them alone; the results do not depend on threads; an
//! id reproduces what they found.

use crate::common;

use ordo_crash::{Budget, Case, Counters, Device, Id, Plan, Report, replay, sweep};
use ordo_workload::script::Script;
use ordo_workload::script::random::{self, Ground, Profile};

/// Script number `at` of a seed, on the volume that its own seed says.
fn case(profile: Option<Profile>, seed: u64, at: u64) -> Case {
    let seed = random::seeds(seed, at + 1)[at as usize];
    let ground = Ground::of(seed, 512);
    Case { script: random::on(ground, profile.unwrap_or(random::by_turns(at)), seed), shape: Some(ground.into()) }
}

fn explored(plan: &Plan, profile: Option<Profile>, count: u64, jobs: u32) -> Report {
    let swept = sweep(plan, &|at| case(profile, plan.budget.seed, at), 0..count, jobs, &Counters::default());
    swept.unwrap_or_else(|error| panic!("{}: {error}", plan.subject.scheme)).expect("there are scripts")
}

fn plan(scheme: &str) -> Plan {
    let device = Device::by_name("sata").expect("it comes ready");
    Plan {
        budget: Budget { states: 60, recovery_cuts: 0, enough: 1, ..Budget::default() },
        ..Plan::new(scheme, Script::default(), device)
    }
}

/// Rules that 300 scripts of 60 states each do not reach. `benches/mutants.py` finds the last two with some 800 scripts
/// of 120 states, and the first not with 9,000; other tests detect them (`softupdates.rs`, `found.rs`).
const NOT_BY_CHANCE: [&str; 3] = ["inodes-initialised", "renamed-above", "same-name"];

/// A rule, and the profile of scripts that tests it.
const RULES: &[(&str, Profile)] = &[
    ("inode-marked", Profile::Names),
    ("block-allocation", Profile::Sizes),
    ("link-addition", Profile::Moves),
    ("link-removal", Profile::Moves),
    ("block-deallocation", Profile::Sizes),
    ("moved-fragment", Profile::Sizes),
    ("moved-entry", Profile::Names),
    ("moved-directory", Profile::Moves),
    ("cut-run", Profile::Sizes),
];

#[test]
fn a_rule_that_is_dropped_is_found_by_random_scripts_alone() {
    let declared = plan("softupdates").subject.promises().unwrap().rules;
    assert_eq!(declared.len(), RULES.len() + NOT_BY_CHANCE.len(), "a rule has no line here: {declared:?}");
    for (report, (rule, _)) in common::by_two(RULES.len(), |at| {
        let (rule, profile) = RULES[at];
        let mut plan = plan("softupdates");
        plan.subject.settings.without.insert(rule.to_owned());
        explored(&plan, Some(profile), 300, 1)
    })
    .into_iter()
    .zip(RULES)
    {
        let found = report.violations.first().unwrap_or_else(|| panic!("nothing was found without {rule}"));
        let again = found.id.parse::<Id>().and_then(|id| replay(&id)).unwrap();
        assert_eq!(again.map(|again| again.oracle), Some(found.oracle), "{}", found.id);
    }
}

#[test]
fn what_they_say_does_not_depend_on_threads_and_steering_is_repeated() {
    // `async` keeps no order, so there are violations.
    let mut plan = plan("async");
    (plan.budget.states, plan.budget.enough) = (12, usize::MAX);
    let on = |plan: &Plan, jobs| explored(plan, None, 70, jobs);
    let one = on(&plan, 1);
    assert!(one.violations_total > 0);
    assert_eq!(one, on(&plan, 3));
    let steered = Plan { budget: Budget { steered: true, ..plan.budget }, ..plan.clone() };
    let (blind, first) = (on(&plan, 1), on(&steered, 1));
    assert_eq!((blind.reached, first.reached > 100), (0, true));
    assert_eq!(first, on(&steered, 2));
    assert_ne!(first.states, blind.states, "other scripts were run");
    for found in &first.violations {
        let again = found.id.parse::<Id>().and_then(|id| replay(&id)).unwrap();
        assert_eq!(again.map(|again| again.is), Some(found.is.clone()), "{}", found.id);
    }
}
