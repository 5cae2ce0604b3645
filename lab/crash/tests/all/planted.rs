//! Two planted bugs, one in the allocator and one in rename: each is found, shrunk to a few calls, and explained.
//! Without a crash the system works correctly with both.
//!
//! They are behind the feature `planted` of `ufs` and `ffs`, which only the tests of this crate enable (the last test
//! checks that), and only in a thread that enables one. No other build has them: `cargo tree -p ordofs-cli -e
//! features,normal` names no `planted`.

use ordo_crash::{Budget, Device, Id, Oracle, Plan, Report, Violation, explore, replay, shrink};
use ordo_ufs::planted::{Bug, plant};
use ordo_workload::script::Script;
use std::path::Path;

/// Most calls that may be left of a script.
const FEW: usize = 3;

/// A file's fragment has to move, because another file's is behind it; its old place is given to the next file.
const FRAGMENTS: &str = "\
    create a\n write a 0 512\n create b\n write b 0 512\n create c\n\
    ---\n\
    create d\n write a 512 1024\n write c 0 512\n fsync c\n unlink d\n fsync a\n sync";

/// A file is renamed, followed by other calls.
const NAMES: &str = "\
    create a\n write a 0 600\n create b\n mkdir d\n\
    ---\n\
    create c\n rename c d/c\n rename a d/a\n write d/a 600 600\n fsync d/a\n unlink b\n sync";

fn plan(text: &str) -> Plan {
    let script = Script::parse("planted", text).unwrap();
    Plan {
        budget: Budget { states: 1500, ..Budget::default() },
        ..Plan::new("sync", script, Device::by_name("sata").unwrap())
    }
}

fn explored(plan: &Plan, bug: Option<Bug>) -> Report {
    let _planted = bug.map(plant);
    explore(plan).unwrap()
}

/// Finds the bug, and returns the shrunk violation.
fn found_and_shrunk(text: &str, bug: Bug) -> Violation {
    let plan = plan(text);
    let clean = explored(&plan, None);
    assert_eq!(clean.violations, [], "without the bug");
    let report = explored(&plan, Some(bug));
    assert!(report.violations_total > 0, "{bug:?}: not found in {} states", report.states);
    let _planted = plant(bug);
    let small = shrink(&plan, &report.violations[0]).unwrap();
    let left = small.id.parse::<Id>().unwrap().plan().unwrap().script;
    assert!(left.calls.len() <= FEW, "{:?}", left.calls);
    println!("{}", serde_json::to_string_pretty(&small).unwrap());
    small
}

/// The violation names the oracle, what was lost, what should be and what is; and its id reproduces it as long as the
/// bug is there.
fn explained(small: &Violation, bug: Bug) {
    assert!(small.promised && !small.promise.is_empty() && !small.calls.is_empty());
    assert!(!small.should.is_empty() && !small.is.is_empty());
    assert!(small.detail.contains("should be") && small.detail.contains(&small.is), "{}", small.detail);
    let id: Id = small.id.parse().unwrap();
    let again = |bug: Option<Bug>| {
        let _planted = bug.map(plant);
        replay(&id)
    };
    assert_eq!(again(Some(bug)).unwrap().as_ref(), Some(small));
    // Without the bug the state is right, or the run has another number of writes and no such state.
    assert!(!matches!(again(None), Ok(Some(_))));
}

#[test]
fn a_fragment_that_is_free_too_early_is_found() {
    let small = found_and_shrunk(FRAGMENTS, Bug::FragmentFreeAtOnce);
    explained(&small, Bug::FragmentFreeAtOnce);
    assert!(matches!(small.oracle, Oracle::Structure | Oracle::Foreign), "{:?}", small.oracle);
}

#[test]
fn a_rename_that_clears_the_old_name_first_is_found() {
    let small = found_and_shrunk(NAMES, Bug::OldNameFirst);
    explained(&small, Bug::OldNameFirst);
    assert_eq!(small.oracle, Oracle::Rename);
}

/// A planted bug must not get into a build that is used.
#[test]
fn nobody_else_asks_for_the_planted_bugs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders =
        |at: &Path| std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut asking = Vec::new();
    let mut manifests = 0;
    let groups = folders(&root.join("crates")).chain([root.join("lab")]);
    for folder in groups.flat_map(|group| folders(&group).chain([group.clone()]).collect::<Vec<_>>()) {
        let Ok(text) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        manifests += 1;
        let (mut package, mut section) = ("", "");
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            } else if let Some(name) = line.strip_prefix("name = ").filter(|_| section == "[package]") {
                package = name;
            } else if line.contains("\"planted\"") {
                asking.push(format!("{package} {section}"));
            }
        }
    }
    assert!(manifests > 30, "only {manifests} manifests were found");
    // The layout and its front, and the log; and the journal of blocks, for its own tests and those of the active disk.
    asking.sort_unstable();
    let of = |name: &str| format!("\"{name}\" [dev-dependencies]");
    assert_eq!(asking, ["ordo-active", "ordo-blockjournal", "ordo-crash", "ordo-crash", "ordo-crash"].map(of));
}
