//! `sync` keeps what it declares: every ready-made script and every sequence of one operation, on every honest device,
//! with the power cut everywhere (the part of every commit).
//!
//! All subsets of up to ten undurable writes are tried where a script's budget of states allows, torn writes, and
//! interrupted recoveries: all of them on the known bugs of other file systems.

use crate::common;

use ordo_crash::{Budget, Counters, DEVICES, Device, Memory, Plan, Report, explore_with};
use ordo_workload::script::{self, Script, ace};

/// Scripts, the states for each, and which recoveries are cut (one in so many).
struct Set {
    scripts: Vec<Script>,
    states: u64,
    recovery_cuts: u32,
}

/// The scripts whose recoveries are all cut come first, before other scripts have made their images known.
fn sets() -> Vec<Set> {
    let set = |scripts, states, recovery_cuts| Set { scripts, states, recovery_cuts };
    let single = ace::sequences(&ace::Bounds::length(1)).collect();
    let (bugs, all) = (set(script::bugs(), 1000, 1), set(script::all(), common::short(3000, 1000), 2));
    vec![bugs, all, set(script::ufs(), common::short(400, 150), 1), set(single, common::short(500, 150), 2)]
}

/// Explores all sets on a device, with one memory.
fn explored(device: &Device) -> Vec<Report> {
    let mut memory = Memory::default();
    let mut reports = Vec::new();
    for Set { scripts, states, recovery_cuts } in sets() {
        for script in scripts {
            let name = script.name.clone();
            let plan = Plan {
                budget: Budget { states, recovery_cuts, ..Budget::default() },
                ..Plan::new("sync", script, device)
            };
            let report = explore_with(&plan, &mut memory, &Counters::default());
            reports.push(report.unwrap_or_else(|error| panic!("{name} on {}: {error}", device.name)));
        }
    }
    reports
}

#[test]
fn sync_keeps_what_it_declares() {
    let honest: Vec<&Device> = DEVICES.iter().filter(|device| device.honest).collect();
    let (mut distinct, mut nested, mut violations) = (0, 0, Vec::new());
    for reports in common::by_two(honest.len(), |at| explored(honest[at])) {
        let of = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
        let (here, again, states) =
            (of(|report| report.distinct), of(|report| report.nested), of(|report| report.states));
        println!("{}: {states} states, {here} distinct, {again} recoveries cut", reports[0].disk);
        (distinct, nested) = (distinct + here, nested + again);
        violations.extend(reports.into_iter().flat_map(|report| report.violations));
    }
    let told: Vec<String> = violations.iter().map(|found| serde_json::to_string_pretty(found).unwrap()).collect();
    assert!(told.is_empty(), "{} violations: {}", told.len(), told.join("\n"));
    let least = common::short(100_000, 40_000);
    assert!(distinct >= least && nested > 0, "only {distinct} distinct images, {nested} recoveries cut");
}

/// After twelve blocks, a new block of a directory is reached through an indirect block, which must be durable, too.
#[test]
fn names_behind_an_indirect_block_are_durable_on_return() {
    let text = "# A directory grows behind its indirect block.\n\nmkdir d 755\n\
        create d/{100..310}{x*200}\n---\ncreate d/{1000..1018}{x*200}\n";
    let script = Script::parse("indirect", text).expect("a script");
    let device = Device::by_name("plp").expect("it comes ready");
    let plan = Plan {
        budget: Budget { states: 120, recovery_cuts: 0, enough: 1, ..Budget::default() },
        ..Plan::new("sync", script, device)
    };
    let report = explore_with(&plan, &mut Memory::default(), &Counters::default()).expect("it runs");
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(report.states > 60, "{} states", report.states);
}
