//! The tour, in its short form: in this process, and mounted.

use crate::common::{Scratch, command, ok};
use crate::mounting::can_mount;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// The document of a short tour, its page, and the number of schemes.
fn tour(more: &[&str]) -> (Value, String) {
    let scratch = Scratch::new();
    let page = scratch.path("page");
    let mut tour = command(["demo", "--short", "--json", "--dir", &scratch.path(""), "-o", &page]);
    let told = ok(tour.args(more).stdin(Stdio::null()).output().unwrap());
    let page = fs::read_to_string(page + "/index.html").unwrap();
    assert_eq!(fs::read_dir(scratch.path("")).unwrap().count(), 1, "only the page is left");
    (serde_json::from_str(&told).unwrap(), page)
}

#[test]
fn a_tour_in_this_process_works_cuts_the_power_compares_and_reports() {
    let (told, page) = tour(&["--no-mount"]);
    let schemes = ordofs::schemes::to_use().count();
    for leg in told["legs"].as_array().unwrap() {
        assert_eq!((&leg["files_compared"], &leg["findings"]), (&120.into(), &0.into()), "{leg}");
        assert!(leg["replaced"].as_f64().unwrap() > 0.0, "{leg}");
    }
    assert_eq!((told["legs"].as_array().unwrap().len(), told["mounted"].as_bool()), (schemes, Some(false)));
    assert!(told["skipped"][0].as_str().unwrap().contains("the ledger"), "{}", told["skipped"]);
    let cut = told["cut"].as_array().unwrap();
    let violations = |scheme: &str, without: bool| {
        let found = |one: &&Value| one["scheme"] == scheme && one["without"].as_array().unwrap().is_empty() != without;
        cut.iter().find(found).unwrap()["violations_total"].as_u64().unwrap()
    };
    assert_eq!((cut.len(), violations("softupdates", false), violations("wafs", false)), (schemes + 1, 0, 0));
    assert!(violations("softupdates", true) > 0 && violations("async", false) > 0, "the judge can convict");
    assert!(told["compared"].as_array().unwrap().len() >= schemes - 1);
    for shown in ["journal-file", "hp_c2447", "without its rule link-addition, removed on purpose", "files replaced"] {
        assert!(page.contains(shown), "{shown}");
    }
    says_all_of_itself(&page);
    assert!(!page.contains("broken by") && page.contains("active is left out: "), "{page}");
}

/// The page says when, where, how and by what it was made, for whom the schemes are, and what each row has cost.
fn says_all_of_itself(page: &str) {
    for missing in ["not said", "no date", "Made by an ordo that", "none given", "NaN"] {
        assert!(!page.contains(missing), "{missing}: {page}");
    }
    for there in ["<dt>machine</dt><dd>", " CPU", "<code>ordo demo --short", "<code>ordo crash --scheme", "For whom"] {
        assert!(page.contains(there), "{there}: {page}");
    }
    // A row that has cost nothing was not counted.
    let idle = |row: &&str| {
        let cells: Vec<&str> = row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap()).collect();
        matches!(cells[..], [_, seconds, _, cpu, reads, writes, ..]
            if seconds.contains('.') && cpu.contains('.') && [cpu, reads, writes].iter().all(|cell| cell.parse() == Ok(0.0)))
    };
    let idle: Vec<&str> = page.split("<tr>").filter(idle).collect();
    assert!(idle.is_empty(), "{idle:?}");
}

#[test]
fn a_tour_of_a_mount_builds_a_program_keeps_a_ledger_and_loses_nothing_to_a_kill() {
    if !can_mount() {
        return;
    }
    let (told, page) = tour(&["--scheme", "softupdates,wafs"]);
    assert_eq!(told["mounted"], true);
    let has_compiler = ["cc", "gcc", "clang"]
        .iter()
        .any(|name| std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|dir| dir.join(name).is_file()));
    for leg in told["legs"].as_array().unwrap() {
        assert_eq!((&leg["files_compared"], &leg["findings"]), (&120.into(), &0.into()), "{leg}");
        assert!(leg["entries"].as_f64().unwrap() > 0.0, "{leg}");
        // The archiver's own tests ran on the volume.
        assert_eq!(leg["checks"].as_u64(), has_compiler.then_some(2199), "{leg}");
    }
    let killed = told["killed"].as_array().unwrap();
    assert_eq!(killed.len(), 2);
    for one in killed {
        assert!(one["acknowledged"].as_u64().unwrap() > 0 && one["there"].as_u64() >= one["acknowledged"].as_u64());
        assert!(one.get("wrong").is_none() && one["findings"] == 0, "{one}");
    }
    assert!(page.contains("ledger entries"));
    says_all_of_itself(&page);
}
