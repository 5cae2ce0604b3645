//! Benchmarks and lists, wrong names, and what shells are answered about them.

use crate::common::{command, fails, ok, ordo};

#[test]
fn workloads_are_listed_and_run() {
    assert!(ok(ordo(["workloads", "-p"])).contains("pairs="));
    let rows = ok(ordo(["bench", "--workload", "create-delete", "--param", "pairs=20", "--json", "--runs", "2"]));
    // The work, the sync after it, and the total.
    assert_eq!(rows.matches("\"phase\"").count(), 6 * ordofs::schemes::to_use().count(), "{rows}");
    assert!(ok(ordo(["bench", "--workload", "create-delete", "--param", "pairs=20"])).contains("ops/s"));
}

#[test]
fn wrong_names_are_wrong_usage_and_are_named_first() {
    fails(2, ordo(["bench", "--workload", "none"]));
    fails(2, ordo(["bench", "--scheme", "none", "--workload", "postmark"]));
    for scheme in ["nope", "sync,nope"] {
        let said = fails(2, ordo(["crash", "--scheme", scheme]));
        assert!(said.contains("nope") && !said.contains("--workload <"), "{said}");
    }
}

#[test]
fn names_of_schemes_workloads_and_drives_are_completed() {
    let answers = |words: &[&str]| {
        let mut asking = command([&["--", "ordo"], words].concat());
        asking.env("ORDO_COMPLETE", "bash").env("_CLAP_IFS", "\n");
        asking.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        ok(asking.output().unwrap())
    };
    assert_eq!(answers(&["bench", "--scheme", "sync,softu"]), "sync,softupdates");
    assert_eq!(answers(&["bench", "--workload", "postm"]), "postmark");
    assert_eq!(answers(&["bench", "--disk", "sim:hp_c244"]), "sim:hp_c2447");
    assert_eq!(answers(&["mount", "-o", "noat"]), "noatime", "the rest is ordo's");
}

#[test]
fn the_manual_pages_of_the_laboratory_can_be_made() {
    let dir = tempfile::tempdir().unwrap();
    ok(ordo(["man", dir.path().to_str().unwrap()]));
    let page = std::fs::read_to_string(dir.path().join("ordo-crash.8")).unwrap();
    assert!(page.contains(".SH NAME") && page.contains(".SH SEE ALSO"), "{page}");
}
