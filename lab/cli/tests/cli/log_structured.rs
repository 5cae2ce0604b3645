//! The laboratory takes log-structured volumes: traces, the explorer, benchmarks and the report.

use crate::common::{Scratch, fails, ok, ordo};
use serde_json::Value;
use std::fs;

#[test]
fn a_page_shows_the_segments_of_volumes_and_of_one_that_was_in_use() {
    let scratch = Scratch::new();
    let (path, map) = (&scratch.path("log.img"), &scratch.path("1.json"));
    ok(ordo(["mkfs", "-q", "--type", "lfs", "--size", "32M", "--segment-size", "256k", path]));
    fs::write(map, ok(ordo(["info", "--segments", "--json", path]))).unwrap();
    let page = ok(ordo(["report", "-o", &scratch.path("page"), map, "--aged-log"]));
    let page = fs::read_to_string(page.trim()).unwrap();
    assert_eq!(page.matches("<svg class=\"segments\" viewBox=\"0 0 384").count(), 3, "{}", page.len());
}

#[test]
fn a_trace_says_what_one_create_puts_into_a_segment() {
    let trace = ["trace", "--explain", "--layout", "lfs", "--setup", "mkdir /a"];
    for how in [&[][..], &["--at-once"]] {
        let json = ok(ordo([&trace[..], how, &["--json", "create", "/a/f"]].concat()));
        let trace: Value = serde_json::from_str(&json).unwrap();
        let events = trace["events"].as_array().unwrap();
        let at = |event: &Value| event["us"].as_u64().unwrap();
        assert!(events.is_sorted_by_key(at), "{events:?}");
        let durable = events.iter().position(|event| event["event"] == "durable").unwrap();
        assert_eq!(at(&events[durable]), trace["durable_us"].as_u64().unwrap());
        let written = |event: &Value| (event["event"] == "log").then(|| event["says"].as_str().unwrap().to_owned());
        assert!(events[..durable].iter().filter_map(written).next().unwrap().starts_with("partial segment"));
        // What leaves at once needs no checkpoint; that of the log's own tick is seen to its end.
        let checkpoint = events[durable..].iter().filter_map(written).any(|says| says.starts_with("superblock"));
        let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
        assert_eq!((checkpoint, count("flush")), (how.is_empty(), if how.is_empty() { 2 } else { 1 }), "{events:?}");
        assert_eq!((count("flushed"), count("leaves")), (count("flush"), 3));
        assert!(count("sync") == 0);
    }
    let text = ok(ordo([&trace[..], &["create", "/a/f"]].concat()));
    for line in [
        "summary @",
        "1 file info, 1 block, 2 inodes; whole calls on directories, and their end",
        "file info: inode 3, generation 1, 1 block, the last of 512 bytes",
        "directory block 0 of inode 3 @",
        ": inodes 3, 4",
        "the segment usage table",
        "the inode of the ifile",
        ", a checkpoint",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn the_laboratory_takes_the_layout() {
    let rules: Value = serde_json::from_str(&ok(ordo(["crash", "--layout", "lfs", "--list-rules", "--json"]))).unwrap();
    let rules = rules.as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["scheme"] == "lfs" && rule["says"] != "") && rules.len() >= 8, "{rules:?}");
    assert!(!ok(ordo(["crash", "--list-rules"])).contains("lfs "));
    let states = ["--layout", "lfs", "--states", "150", "--jobs", "1", "--json"];
    for workload in ["create", "xattr", "clean"] {
        let is = ok(ordo([&["crash", "--workload", workload], &states[..]].concat()));
        let is: Value = serde_json::from_str(&is).unwrap();
        assert!(is["scheme"] == "lfs" && is["violations_total"] == 0, "{workload}: {}", is["violations"]);
        assert!(is["states"].as_u64() > Some(30) && is["nested"].as_u64() > Some(10), "{workload}: {is}");
        let cleaned = is["segments_cleaned"].as_u64().unwrap();
        assert_eq!(cleaned > 0, workload == "clean", "{workload}: {cleaned}");
    }
    let bench = ["bench", "--layout", "lfs", "--workload", "create-delete", "--param", "pairs=50", "--size", "64M"];
    let rows: Value = serde_json::from_str(&ok(ordo([&bench[..], &["--json"]].concat()))).unwrap();
    let row = &rows[0];
    assert!(row["segments_written"].is_u64() && row["segments_read"].is_u64(), "{row}");
    assert!(row["scheme"] == "lfs" && row["segments_cleaned"].is_u64() && row.get("write_cost").is_some(), "{row}");
    let trace: Value =
        serde_json::from_str(&ok(ordo(["trace", "--explain", "--layout", "lfs", "--json", "create", "/f"]))).unwrap();
    let named = |event: &Value, name| event["event"] == name;
    let events = trace["events"].as_array().unwrap();
    assert!(trace["scheme"] == "lfs" && trace.get("refused").is_none());
    assert!(events.iter().any(|event| named(event, "step")) && events.iter().any(|event| named(event, "landed")));
    assert!(ok(ordo(["schemes"])).contains("lfs "));
}

#[test]
fn the_laboratory_refuses_what_is_for_schemes() {
    for (line, named) in [
        ("crash --layout lfs --scheme sync --workload create", "takes no scheme"),
        ("crash --layout ffs --scheme lfs --workload create", "not for --layout ffs"),
        ("crash --layout lfs --mutants", "--mutants"),
        ("crash --layout lfs --faults --workload create", "--faults"),
        ("crash --layout lfs --set format=ufs1 --workload create", "format="),
        ("crash --layout lfs --set logmode=sync --workload create", "logmode=sync"),
        ("crash --layout lfs --without no-such-rule --workload create", "no-such-rule"),
        ("bench --layout lfs --scheme sync --workload postmark", "takes no scheme"),
        ("trace --explain --layout lfs --scheme sync create /f", "takes no scheme"),
    ] {
        let said = fails(2, ordo(line.split(' ')));
        assert!(said.contains(named) && said.lines().count() == 1, "{line}: {said}");
    }
}
