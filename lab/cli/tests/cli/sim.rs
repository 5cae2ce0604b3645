//! `ordo sim`, on files: the traces that are made are covered by the tests of the simulator.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;

#[test]
fn a_file_is_played_on_the_systems_that_are_named() {
    let scratch = Scratch::new();
    let path = scratch.path("disk.trace");
    let lines: Vec<_> = (0..200).map(|at| format!("{}.5 0 {} 8 {}", at * 10, at * 80_000, at % 2)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let path = path.as_str();
    let text = ok(ordo(["sim", "--system", "ext2,active", "--trace", path, "--cache", "1M", "--json"]));
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["system"].as_str().unwrap()).collect::<Vec<_>>(), ["ext2", "active"]);
    assert!(rows.iter().all(|row| row["trace"] == "disk" && row["requests"] == 200), "{text}");
    assert_eq!(text, ok(ordo(["sim", "--system", "ext2,active", "--trace", path, "--cache", "1M", "--json"])));
    let table = ok(ordo(["sim", "--trace", path, "--scheduler", "fifo"]));
    assert_eq!(table.lines().count(), 7, "a heading, and six systems: {table}");
}

#[test]
fn what_cannot_be_played_is_one_line() {
    let scratch = Scratch::new();
    let path = scratch.path("bad.trace");
    fs::write(&path, "0.0 0 100 8 1\nnot a request\n").unwrap();
    let said = fails(3, ordo(["sim", "--trace", &path, "--json"]));
    assert!(said.contains("line 2") && said.contains("bad.trace"), "{said}");
    assert!(fails(2, ordo(["sim", "--trace", "nothing"])).contains("ordo sim list"));
    assert!(fails(2, ordo(["sim", "--system", "minix"])).contains("ext2"));
    assert!(fails(2, ordo(["sim", "--scheduler", "none"])).contains("deadline"));
}

#[test]
fn what_a_mount_recorded_is_played_and_the_recorded_traces_are_listed() {
    let list: serde_json::Value = serde_json::from_str(&ok(ordo(["sim", "list", "--recorded", "--json"]))).unwrap();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|row| row["trace"].as_str().unwrap()).collect();
    assert_eq!(names, ["source-build", "pgbench", "git-clone"]);
    let scratch = Scratch::new();
    let path = scratch.path("work.trace");
    fs::write(&path, "ordofs-file-trace 1\n0 create 1 a = 7 f 0\n9 write 7 0 5000\n20 getattr 7\n").unwrap();
    for trace in [&*path, "source-build"] {
        let text = ok(ordo(["sim", "--system", "ext3", "--trace", trace, "--json"]));
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(rows[0]["requests"].as_u64() >= Some(2), "{text}");
    }
    fs::write(&path, "ordofs-file-trace 1\n0 create 1 a\n").unwrap();
    let said = fails(3, ordo(["sim", "--trace", &path]));
    assert!(said.contains("line 2") && said.contains("work.trace"), "{said}");
}

#[test]
fn each_number_of_the_paper_can_be_another_and_a_bad_one_is_refused() {
    let played = |more: &[&str]| {
        let words = ["sim", "--system", "ext3,lfs", "--trace", "gcc", "--requests", "2000", "--json"];
        ok(ordo(words.iter().chain(more)))
    };
    let usual = played(&[]);
    let same = ["--commit", "5", "--full", "90", "--journal", "8192", "--group", "32768", "--layout", "all"];
    assert_eq!(usual, played(&same));
    let others = [
        ["--commit", "0.5"],
        ["--full", "50"],
        ["--journal", "102400"],
        ["--group", "8192"],
        ["--segment", "16"],
        ["--layout", "own"],
    ];
    for other in others {
        assert_ne!(usual, played(&other), "{other:?}");
    }
    assert_ne!(usual, played(&["--prefetch"]));
    let bad = [
        ("--commit", "0", "0.001 to 3600"),
        ("--commit", "soon", "0.001 to 3600"),
        ("--full", "101", "1 to 100"),
        ("--journal", "15", "16..=102400"),
        ("--group", "32769", "8192..=32768"),
        ("--segment", "1", "16..=32768"),
        ("--layout", "none", "own"),
    ];
    for (option, value, choose) in bad {
        let said = fails(2, ordo(["sim", option, value]));
        assert!(said.contains(choose) && said.contains(value), "{said}");
    }
}
