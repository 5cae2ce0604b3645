//! The schemes that leave the order to the disk's queue keep what they declare: ready-made scripts, and sequences of
//! calls on directories, with the power cut everywhere. Dropped rules are detected.
//!
//! In every run each scheme is tested with a part of the scripts on each honest device; `ordo crash` runs all of them
//! (docs/schemes/ordered.md).

use crate::common;

use ordo_crash::{Budget, Counters, Device, Memory, Plan, Report, explore_with};
use ordo_schemes::AllocInit;
use ordo_workload::script::moves::Space;
use ordo_workload::script::{self, Script};

const SCHEMES: [&str; 9] = [
    "conventional",
    "flag-full-nr-cb",
    "flag-back-cb",
    "flag-part",
    "flag-part-nr-cb",
    "chains",
    "chains-cb",
    "chains-barrier",
    "chains-barrier-cb",
];

const HONEST: [&str; 4] = ["sata", "nvme", "plp", "scsi94"];

fn plan(scheme: &str, script: Script, device: &str, states: u64) -> Plan {
    let device = Device::by_name(device).expect("it comes ready");
    Plan {
        budget: Budget { states, recovery_cuts: 0, enough: 3, ..Budget::default() },
        ..Plan::new(scheme, script, device)
    }
}

fn explore(plan: &Plan, memory: &mut Memory) -> Report {
    let report = explore_with(plan, memory, &Counters::default());
    report.unwrap_or_else(|error| {
        panic!("{}, {} on {}: {error}", plan.subject.scheme, plan.script.name, plan.subject.device.name)
    })
}

fn must_be_silent(reports: impl IntoIterator<Item = Report>) {
    let found = reports.into_iter().flat_map(|report| report.violations);
    let told: Vec<String> = found.map(|found| serde_json::to_string_pretty(&found).unwrap()).collect();
    assert!(told.is_empty(), "{} violations: {}", told.len(), told.join("\n"));
}

#[test]
fn they_keep_what_they_declare() {
    let scripts = [script::all(), script::ufs(), script::bugs()].concat();
    let reports = common::by_two(SCHEMES.len(), |at| {
        let mut memory = Memory::default();
        let chosen = scripts.iter().zip(0..).filter(|(_, n)| n % 5 == at % 5);
        let mut run = |(script, n): (&Script, usize)| {
            explore(&plan(SCHEMES[at], script.clone(), HONEST[(at + n / 5) % 4], 40), &mut memory)
        };
        chosen.map(&mut run).collect::<Vec<_>>()
    });
    must_be_silent(reports.into_iter().flatten());
}

/// Calls on one directory rely on the writes that calls on another one have sent (chains-3, chains-4).
#[test]
fn calls_on_directories_lean_on_one_another() {
    let space = Space::new(2);
    let reports = common::by_two(2, |at| {
        let mut memory = Memory::default();
        let chosen = (at as u64 * 17..space.count()).step_by(61);
        let scripts = chosen.map(|n| space.nth(n).expect("a number within the space"));
        let plans = scripts.map(|script| plan(["chains", "chains-cb"][at], script, "sata", 100));
        plans.map(|plan| explore(&plan, &mut memory)).collect::<Vec<_>>()
    });
    must_be_silent(reports.into_iter().flatten());
}

/// A move between directories is many writes. A later move, and another directory's fsync, found only half of them
/// done.
#[test]
fn a_directory_that_moves_again_is_whole() {
    let scripts = [
        "mkdir d 755\nmkdir e 755\nmkdir d/f 755\n---\nrename d e exchange\nrename e/f d replace\n",
        "mkdir d 755\nmkdir e 755\nmkdir g 755\n---\nrename d e/f replace\nfsync e all\n",
    ];
    for text in scripts {
        let script = Script::parse("moves", &format!("# Directories move.\n\n{text}")).expect("a script");
        must_be_silent([explore(&plan("chains-cb", script, "sata", 2000), &mut Memory::default())]);
    }
}

/// The repair makes `lost+found` in an inode whose earlier file was never durable: it is not that file.
#[test]
fn a_new_lost_and_found_is_no_file_of_the_script() {
    let text = "# A file without a name, and then another one.\n\ncreate a\nwrite a 0 4096\ncreate c\ncreate b\n";
    let script = Script::parse("lost", text).expect("a script");
    must_be_silent([explore(&plan("flag-part-cb", script, "sata", 2000), &mut Memory::default())]);
}

/// Fourteen names fill seven pieces of 512 bytes. The name that moves here gets a new piece, beyond the end.
fn beyond_the_end() -> Script {
    let text = "# A file moves beyond the end of a directory.\n\nmkdir d 755\ncreate x\n\
        create d/{1..14}{x*200}\n---\nrename x d/new{x*200}\n";
    Script::parse("beyond", text).expect("a script")
}

/// The block with the name is in flight before the size is: the write that clears the old name must follow both.
#[test]
fn a_file_that_moves_beyond_the_end_of_a_directory_has_a_name() {
    for scheme in ["flag-part-nr-cb", "chains-cb", "chains", "chains-barrier-cb"] {
        must_be_silent([explore(&plan(scheme, beyond_the_end(), "sata", 600), &mut Memory::default())]);
    }
}

#[test]
fn with_all_initialised_no_file_shows_what_another_one_held() {
    let rows = [("sync", "sata"), ("flag-part-nr-cb", "sata"), ("flag-full", "scsi94"), ("chains-cb", "nvme")];
    let found = common::by_two(rows.len(), |at| {
        let run = |rule: &[&str], name: &str| {
            let mut plan = plan(rows[at].0, script::find(name).expect("it comes ready"), rows[at].1, 400);
            plan.subject.settings.alloc_init = Some(AllocInit::All);
            plan.subject.settings.without = rule.iter().map(|rule| (*rule).to_owned()).collect();
            explore(&plan, &mut Memory::default())
        };
        let names = ["append", "overwrite", "mixed", "truncate"];
        (names.map(|name| run(&[], name)), names.map(|name| run(&["data-initialised"], name).violations_total))
    });
    for ((scheme, device), (whole, broken)) in rows.iter().zip(found) {
        must_be_silent(whole);
        assert!(broken.iter().any(|n| *n > 0), "{scheme} on {device} without data-initialised shows nothing");
    }
}

#[test]
fn rules_that_are_dropped_are_missed() {
    let ready = |name| script::find(name).expect("it comes ready");
    let dropped = [
        ("inode-before-name", ready("create")),
        ("name-gone-before-link", ready("remove")),
        ("new-name-before-old", ready("rename")),
        ("link-before-free", ready("mixed")),
        ("directory-size", beyond_the_end()),
    ];
    for scheme in ["flag-part-nr-cb", "chains-cb"] {
        for (rule, script) in &dropped {
            let mut plan = plan(scheme, script.clone(), "sata", 800);
            (plan.budget.enough, plan.subject.settings.without) = (1, [(*rule).to_owned()].into());
            let report = explore(&plan, &mut Memory::default());
            assert!(!report.violations.is_empty(), "{scheme} without {rule}: {} shows nothing", script.name);
        }
    }
}

/// The same writes in no order: shows what the ordered schemes prevent.
#[test]
fn without_an_order_a_volume_may_be_beyond_repair() {
    let plan = plan("flag-ignore-nr-cb", script::find("mixed").expect("it comes ready"), "sata", 400);
    assert!(!explore(&plan, &mut Memory::default()).violations.is_empty());
}
