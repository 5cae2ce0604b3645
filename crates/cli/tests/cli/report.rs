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
    for shown in ["create-delete", "After a power cut", "until durable:", "rolled back", "</html>"] {
        assert!(page.contains(shown), "{shown}");
    }
    for other in ["<script", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(other), "the page asks for something else: {other}");
    }
    ok(ordo(&arguments));
    assert_eq!(page, fs::read_to_string(said.trim_end()).unwrap());
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
