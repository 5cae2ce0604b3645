//! `ordo trace flushes`, on the built program. `docs/runs/flushes.md` has what it prints, line for line; `ORDO_BLESS=1`
//! rewrites it, but not with more requests than before.

use crate::common::{fails, ok, ordo};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The runs of the document.
const RUNS: &[&[&str]] = &[&[], &["--scheme", "wafs,block-journal", "--set", "logmode=async"]];

const BEGIN: &str = "```text\n$ ordo trace flushes";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs/flushes.md")
}

fn run(arguments: &[&str]) -> String {
    let line: Vec<&str> = ["trace", "flushes"].iter().chain(arguments).copied().collect();
    let head: String = arguments.iter().map(|argument| format!(" {argument}")).collect();
    format!("{head}\n{}", ok(ordo(line)))
}

/// The document, with what the runs print now in place of what it has.
fn made(kept: &str) -> String {
    let mut parts = kept.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (arguments, part) in RUNS.iter().zip(parts) {
        let rest = part.split_once("```").map_or("", |(_, rest)| rest);
        text += &format!("{BEGIN}{}```{rest}", run(arguments));
    }
    text
}

#[test]
fn the_table_is_that_of_the_document() {
    let path = document();
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(kept.matches(BEGIN).count(), RUNS.len());
    let made = made(&kept);
    if env::var_os("ORDO_BLESS").is_some() {
        return fs::write(&path, &made).unwrap();
    }
    let changed: Vec<_> = kept.lines().zip(made.lines()).filter(|(old, new)| old != new).take(9).collect();
    assert!(kept == made, "docs/runs/flushes.md is old; ORDO_BLESS=1 rewrites it: {changed:#?}");
}

/// The schemes that may do more than is needed, by case. A new name here is a step back; docs/runs/flushes.md has the
/// reasons.
const ABOVE: &[(&str, &[&str])] = &[
    ("overwrite, fsync", &["journal-file", "wafs", "block-journal", "active"]),
    ("append, fdatasync", &["sync", "active"]),
    ("append, fsync", &["sync", "active"]),
    ("new empty file, fsync", &["sync", "active"]),
    ("new file, fdatasync", &["sync", "active"]),
    ("new file, fsync", &["sync", "active"]),
    ("rename over a file, fdatasync", &["sync", "wafs", "async"]),
    ("rename over a file, fsync", &["sync", "wafs"]),
    ("new file, sync", MOUNTED),
    (
        "two new files at once in two directories, fsync",
        &["sync", "softupdates", "suj", "block-journal", "active", "async"],
    ),
];

/// The schemes that are not only for study.
const MOUNTED: &[&str] =
    &["sync", "softupdates", "suj", "journal-file", "wafs", "block-journal", "active", "async", "lfs"];

#[test]
fn nothing_is_above_what_is_needed_that_was_not() {
    let json = ok(ordo(["trace", "flushes", "--json", "--scheme", &MOUNTED.join(",")]));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["needs"].is_object()), "each need is worked out");
    let number = |row: &serde_json::Value, of: &str, what: &str| row[of]["cost"][what].as_u64().unwrap();
    let above = |row: &&serde_json::Value| {
        let barriers = |of: &str| number(row, of, "forced") + number(row, of, "flushes");
        number(row, "does", "writes") > number(row, "needs", "writes") || barriers("does") > barriers("needs")
    };
    let name = |row: &serde_json::Value, of: &str| row[of].as_str().unwrap().to_owned();
    let found: Vec<_> = rows.iter().filter(above).map(|row| (name(row, "case"), name(row, "scheme"))).collect();
    let pairs =
        ABOVE.iter().flat_map(|(case, schemes)| schemes.iter().map(|scheme| ((*case).into(), (*scheme).into())));
    assert_eq!(found, pairs.collect::<Vec<(String, String)>>());
}

#[test]
fn what_means_nothing_is_wrong_usage() {
    fails(2, ordo(["trace", "flushes", "--scheme", "none"]));
    fails(2, ordo(["trace", "flushes", "--disk", "none"]));
    fails(2, ordo(["trace", "flushes", "--scheme", "sync", "--set", "log=separate"]));
}
