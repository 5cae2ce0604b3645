//! `ordo report`, on what the built program itself prints.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;

/// Results of each kind that the program prints, as files.
fn results(scratch: &Scratch) -> Vec<String> {
    let runs: [(&str, &[&str]); 4] = [
        (
            "bench.json",
            &["bench", "--scheme", "sync,softupdates", "--workload", "create-delete", "--param", "pairs=20", "--json"],
        ),
        (
            "crash.json",
            &["crash", "--scheme", "suj", "--workload", "create", "--states", "50", "--set", "recovery=0", "--json"],
        ),
        ("sync.json", &["trace", "--explain", "--scheme", "sync", "--json", "mkdir", "/d"]),
        ("soft.json", &["trace", "--explain", "--scheme", "softupdates", "--at-once", "--json", "mkdir", "/d"]),
    ];
    let write = |(name, arguments): (&str, &[&str])| {
        let path = scratch.path(name);
        fs::write(&path, ok(ordo(arguments))).unwrap();
        path
    };
    runs.map(write).to_vec()
}

#[test]
fn one_page_shows_what_the_other_commands_print() {
    let scratch = Scratch::new();
    let dir = scratch.path("deep/er");
    let arguments = [vec!["report".to_owned(), "-o".to_owned(), dir.clone()], results(&scratch)].concat();
    let said = ok(ordo(&arguments));
    assert_eq!(said, format!("{dir}/index.html\n"));
    let page = fs::read_to_string(said.trim_end()).unwrap();
    for shown in [
        "create-delete",
        "After a power cut",
        "until durable:",
        "rolled back",
        "<code>ordo trace --explain --scheme sync --json mkdir /d</code>",
        "a disk",
        "mounted at once; leaked space is reclaimed",
        "a laptop, a machine that nobody watches",
        "</html>",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    for other in ["<script", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(other), "the page asks for something else: {other}");
    }
    ok(ordo(&arguments));
    assert_eq!(page, fs::read_to_string(said.trim_end()).unwrap());
}

/// The same arguments give the same document, also with how it was made: virtual time has no date and no machine.
#[test]
fn what_ran_in_virtual_time_names_neither_date_nor_machine() {
    let bench =
        ["bench", "--scheme", "sync,suj", "--workload", "create-delete", "--param", "pairs=20", "--json", "--disk"];
    let rows =
        |disk: &str| -> serde_json::Value { serde_json::from_str(&ok(ordo([&bench[..], &[disk]].concat()))).unwrap() };
    let modelled = rows("sim:hp_c2447");
    assert_eq!(modelled, rows("sim:hp_c2447"));
    let first = &modelled[0];
    assert_eq!((&first["disk_says"], first["made"].get("date")), (&"a disk of 1994, modelled: HP C2447".into(), None));
    assert_eq!(
        (&first["promises"]["crash_leaves"], &first["promises"]["name_added"]),
        (&"counts".into(), &"on-return".into())
    );
    let told =
        |row: &serde_json::Value| (row.get("made").is_some(), row["scheme"].clone(), row.get("promises").is_some());
    let rows = rows("ram");
    assert_eq!(told(&rows[0]), (true, "sync".into(), true));
    // Each scheme has three rows: the work, the sync and the total.
    assert_eq!(told(&rows[1]), (false, "sync".into(), false));
    assert_eq!(told(&rows[3]), (false, "suj".into(), true));
    assert!(rows[0]["made"]["machine"].as_str().unwrap().contains("Linux "), "{rows}");
    let trace = || ok(ordo(["trace", "--explain", "--json", "mkdir", "/d"]));
    assert_eq!(trace(), trace());
}

#[test]
fn a_page_of_what_the_program_makes_itself_says_how_it_was_made() {
    let scratch = Scratch::new();
    let dir = scratch.path("out");
    ok(ordo(["report", "--aged-log", "-o", &dir]));
    let page = fs::read_to_string(format!("{dir}/index.html")).unwrap();
    assert!(!page.contains("not said") && page.contains("ordo report --aged-log"), "{page}");
    // Of schemes it knows nothing: there is no section without anything in it.
    assert!(!page.contains("Which scheme for whom"), "{page}");
}

/// A file without a date has that of its last change, which SOURCE_DATE_EPOCH limits.
#[test]
fn a_page_has_a_date_and_the_environment_can_set_it() {
    let scratch = Scratch::new();
    let (path, dir) = (scratch.path("trace.json"), scratch.path("out"));
    fs::write(&path, ok(ordo(["trace", "--explain", "--json", "mkdir", "/d"]))).unwrap();
    let arguments = ["report", "-o", &dir, &path];
    ok(crate::common::command(arguments).env("SOURCE_DATE_EPOCH", "86400").output().unwrap());
    let page = fs::read_to_string(format!("{dir}/index.html")).unwrap();
    assert!(page.contains("<dd>1970-01-02 00:00 UTC</dd>") && page.contains("ordo trace --explain --json mkdir /d"));
}

#[test]
fn a_file_that_is_not_a_result_is_refused_by_name_and_nothing_is_written() {
    let scratch = Scratch::new();
    let (path, dir) = (scratch.path("odd.json"), scratch.path("out"));
    for text in ["{\"a\": 1}", "not json", "[]"] {
        fs::write(&path, text).unwrap();
        let said = fails(2, ordo(["report", "-o", &dir, &path]));
        assert!(said.lines().count() == 1 && said.contains("odd.json: ") && said.contains("ordo bench"), "{said}");
    }
    assert!(fails(3, ordo(["report", "-o", &dir, &scratch.path("none.json")])).contains("none.json: cannot read"));
    assert!(fs::metadata(&dir).is_err());
}
