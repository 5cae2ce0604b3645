//! The power-cut explorer from the command line.

use crate::common::{Scratch, fails, ok, ordo};
use serde_json::Value;

/// Runs `ordo crash` and reads its document; it must have ended with `status`.
fn crash(status: i32, arguments: &[&str]) -> Value {
    let output = ordo([&["crash", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Removes what depends on the machine, and the command line.
fn timeless(mut report: Value) -> Value {
    let speed = report.as_object_mut().unwrap().remove("states_per_second").unwrap();
    assert!(speed.as_f64().unwrap() > 0.0);
    let made = report.as_object_mut().unwrap().remove("made").unwrap();
    assert!(
        made["command"].as_str().unwrap().starts_with("ordo crash --json ") && made.get("date").is_none(),
        "{made}"
    );
    report
}

/// Also removes counts that depend on the threads and shards: an image left by a cut recovery is remembered by one of
/// them, and counted again by another that meets it.
fn of_any_thread(report: Value) -> Value {
    let mut report = timeless(report);
    for count in ["distinct", "nested"] {
        report.as_object_mut().unwrap().remove(count).unwrap();
    }
    report
}

fn len(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

#[test]
fn sync_is_cleared_and_async_convicted() {
    let cleared = crash(0, &["--scheme", "sync", "--workload", "create", "--states", "400"]);
    for key in ["scheme", "workload", "writes", "flushes", "states", "states_per_second", "violations", "leaks_only"] {
        assert!(cleared.get(key).is_some(), "{key}");
    }
    assert!(cleared["states"].as_u64().unwrap() > 200);
    assert_eq!((len(&cleared["violations"]), &cleared["disk"]), (0, &Value::from("sata")));
    let convicted = crash(1, &["--scheme", "async", "--workload", "remove", "--states", "300"]);
    let first = &convicted["violations"][0];
    for key in ["id", "oracle", "cut", "lost", "detail", "shrunk"] {
        assert!(first.get(key).is_some(), "{key}");
    }
    assert_eq!(first["shrunk"]["oracle"], first["oracle"]);
    let said = ok(ordo(["crash", "--scheme", "sync", "--workload", "create", "--states", "200"]));
    assert!(said.contains("sync keeps every promise in "), "{said}");
}

#[test]
fn connections_to_the_disk_are_lost_and_an_id_remembers_that() {
    let through = |scheme: &str| {
        vec![
            "--scheme".to_owned(),
            scheme.to_owned(),
            "--set".to_owned(),
            "through=nbd".to_owned(),
            "--seed=2".to_owned(),
        ]
    };
    let run = |status, scheme, more: &[&str]| {
        let arguments = through(scheme);
        crash(status, &arguments.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
    };
    for scheme in ["softupdates", "wafs"] {
        let cleared = run(0, scheme, &["--workload", "mixed,remove", "--states", "200"]);
        assert!(cleared["flushes_lost"].as_u64().unwrap() > 5, "{cleared}");
    }
    let convicted = run(1, "async", &["--workload", "rename", "--states", "300"]);
    let id = convicted["violations"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("async+through=nbd:rename:"), "{id}");
    let again = ordo(["crash", "--replay", id]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    fails(2, ordo(["crash", "--faults", "--set", "through=nbd", "--workload", "create"]));
}

#[test]
fn an_id_gives_the_same_violation_again() {
    let report = crash(1, &["--scheme", "async", "--workload", "rename", "--states", "300"]);
    let found = &report["violations"][0];
    for found in [found, &found["shrunk"]] {
        let again = crash(1, &["--replay", found["id"].as_str().unwrap()]);
        for key in ["id", "oracle", "cut", "detail", "calls", "writes"] {
            assert_eq!(again["violations"][0][key], found[key], "{key}");
        }
    }
    let output = ordo(["crash", "--replay", found["shrunk"]["id"].as_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("promise:") && said.contains("--replay"), "{said}");
}

#[test]
fn a_report_depends_on_no_number_of_threads() {
    for arguments in [
        &["--scheme", "async", "--workload", "rename,create", "--states", "300", "--no-shrink"][..],
        &["--scheme", "async", "--workload", "seq1", "--sample", "70", "--states", "20", "--no-shrink"],
        &["--scheme", "async", "--workload", "random", "--sample", "40", "--states", "20", "--no-shrink"],
    ] {
        let with = |jobs| of_any_thread(crash(1, &[arguments, &["--jobs", jobs]].concat()));
        assert_eq!(with("1"), with("3"), "{arguments:?}");
    }
}

#[test]
fn several_disks_are_one_report_and_the_liar_is_excused() {
    let report = crash(0, &["--workload", "create", "--states", "60", "--disk", "honest"]);
    let one = crash(0, &["--workload", "create", "--states", "60", "--disk", "plp"]);
    assert_eq!((&report["disk"], &report["scripts"]), (&Value::from("honest"), &Value::from(4)));
    assert!(report["states"].as_u64() > one["states"].as_u64());
    let output = ordo(["crash", "--workload", "create", "--states", "300", "--disk", "liar", "--no-shrink"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("not the scheme's fault") && output.status.code() == Some(1), "{said}");
}

#[test]
fn what_can_be_named_is_listed() {
    let rules = crash(0, &["--list-rules"]);
    assert!(len(&rules) >= 3);
    let keys: Vec<_> = rules[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["rule", "says", "scheme"]);
    let fewer = crash(0, &["--list-rules", "--set", "allocinit=none"]);
    assert!(len(&fewer) < len(&rules));
    assert_eq!(len(&crash(0, &["--list-disks"])), 5);
    let workloads = crash(0, &["--list-workloads"]);
    let mixed = workloads.as_array().unwrap().iter().find(|workload| workload["name"] == "mixed").unwrap();
    let scratch = Scratch::new();
    let file = scratch.path("own.txt");
    std::fs::write(&file, mixed["script"].as_str().unwrap()).unwrap();
    let own = crash(0, &["--script", &file, "--states", "100"]);
    let named = crash(0, &["--workload", "mixed", "--states", "100"]);
    assert_eq!((&own["workload"], &own["states"]), (&Value::from("own"), &named["states"]));
}

#[test]
fn a_rule_that_is_switched_off_is_missed() {
    let rule = crash(0, &["--list-rules"])[0]["rule"].as_str().unwrap().to_owned();
    let report =
        crash(1, &["--scheme", "sync", "--without", &rule, "--workload", "mixed", "--states", "5000", "--no-shrink"]);
    assert_eq!(report["without"][0], Value::from(rule));
}

#[test]
fn unknown_names_are_wrong_usage_and_the_known_ones_are_listed() {
    let scratch = Scratch::new();
    let bad = scratch.path("bad.txt");
    std::fs::write(&bad, "move a b\n").unwrap();
    for (arguments, named) in [
        (&["--workload", "creat"][..], "create"),
        (&["--workload", "mixed,seq1"], "hand"),
        (&["--workload", "create", "--scheme", "best"], "no scheme is called"),
        (&["--workload", "create", "--disk", "floppy"], "sata"),
        (&["--workload", "create", "--without", "none"], "its rules are"),
        (&["--workload", "create", "--set", "colour=red"], "allocinit"),
        (&["--workload", "create", "--set", "fsize=7"], "shape"),
        (&["--workload", "create", "--sample", "5"], "seq3"),
        (&["--workload", "create", "--shard", "3/2"], "2/8"),
        (&["--script", &bad], "a call is one of"),
        (&["--replay", "sync:create"], "seven parts"),
        (&[], "--workload"),
    ] {
        let said = fails(2, ordo([&["crash"], arguments].concat()));
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
    fails(3, ordo(["crash", "--script", &scratch.path("none.txt")]));
}
