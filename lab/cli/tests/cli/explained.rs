//! `ordo trace --explain`, on the built program. `docs/runs` has what it prints (`explain.md`) and draws
//! (`explain.svg`), byte for byte; `ORDO_BLESS=1` rewrites both.

use crate::common::{Scratch, fails, ok, ordo};
use std::path::{Path, PathBuf};
use std::{env, fs};

const HEAD: &str = "\
# One call, explained

What `ordo trace --explain` prints: the steps of a call as the scheme gets them; what the scheme holds back, and which
bufs must be durable before it lets it go; which images leave, and what is rolled back in them; and when everything is
durable. Made from live runs by `lab/cli/tests/cli/explained.rs`; `ORDO_BLESS=1 cargo test -p ordo-lab --test cli
explained` rewrites it. The words are explained in the [glossary](../glossary.md).

The disk is modelled, time is virtual, and the same arguments give the same lines. `@n+m` means m fragments from
fragment n on. The images of a buf are numbered from the beginning of the call. The scheme's rules are in parentheses,
by their names in `ordo crash --list-rules`. `--svg` draws the same; [explain.svg](explain.svg) is the last run below.
";

/// The examples: arguments, and why they are interesting.
const RUNS: &[(&[&str], &str)] = &[
    (
        &["--scheme", "sync", "--setup", "mkdir /a", "create", "/a/f"],
        "The call waits twice, once for each ordering rule.",
    ),
    (
        &["--scheme", "async", "--setup", "mkdir /a", "create", "/a/f"],
        "Nothing waits. The syncer writes everything 30 seconds later, in any order, and does not flush.",
    ),
    (
        &["--scheme", "softupdates", "--setup", "mkdir /a", "create", "/a/f"],
        "Two dependencies and no wait: the syncer writes the three bufs in an order in which nothing is rolled back.",
    ),
    (
        &["--scheme", "softupdates", "--at-once", "--setup", "mkdir /a", "create", "/a/f"],
        "The same where all three bufs must leave at once: in two of them unsafe changes are rolled back.",
    ),
    (
        &["--scheme", "softupdates", "--setup", "create /f", "--setup", "write /f 0 5000", "unlink", "/f"],
        "The file's blocks and inode are freed only when nothing on the disk points to them.",
    ),
    (
        &["--layout", "lfs", "--setup", "mkdir /a", "create", "/a/f"],
        "A log-structured volume: everything leaves in one write, and what leads to it in the next; then a checkpoint.",
    ),
    (
        &["--scheme", "softupdates", "--at-once", "mkdir", "/d"],
        "A new directory: its map, its inode, its first block and its parent's link count, all before its name.",
    ),
];

fn explain(arguments: &[&str]) -> String {
    ok(ordo(["trace", "--explain"].iter().chain(arguments)))
}

fn shell(argument: &str) -> String {
    if argument.contains(' ') { format!("'{argument}'") } else { argument.to_owned() }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for (arguments, about) in RUNS {
        let line: Vec<String> = arguments.iter().map(|argument| shell(argument)).collect();
        text += &format!("\n{about}\n\n```text\n$ ordo trace --explain {}\n", line.join(" "));
        text += &format!("{}```\n", explain(arguments));
    }
    text
}

fn picture() -> String {
    let scratch = Scratch::new();
    let (path, (arguments, _)) = (scratch.path("x.svg"), RUNS[RUNS.len() - 1]);
    explain(&[&["--svg", path.as_str()], arguments].concat());
    fs::read_to_string(path).unwrap()
}

fn assert_kept(name: &str, made: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs").join(name);
    if env::var_os("ORDO_BLESS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(made.lines()).position(|(old, new)| old != new);
    assert!(kept == made, "docs/runs/{name} is old from line {differs:?} on; ORDO_BLESS=1 rewrites it:\n{made}");
}

#[test]
fn explained_calls_are_those_of_the_document() {
    assert_kept("explain.md", &document());
}

#[test]
fn the_picture_is_that_of_the_document_and_holds_together() {
    let picture = picture();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n") && !picture.contains("<script"));
    for mark in ["text", "title", "rect", "pattern", "marker", "defs", "svg"] {
        let (open, close) = (format!("<{mark}"), format!("</{mark}>"));
        let alone = picture.lines().filter(|line| line.starts_with(&open) && line.ends_with("/>")).count();
        let opened = picture.matches(&format!("{open} ")).count() + picture.matches(&format!("{open}>")).count();
        assert_eq!(opened - alone, picture.matches(&close).count(), "{mark}");
    }
    for part in ["url(#hatched)", "marker-end", ">inode block @4272<", ">image 1<", "link-addition", "30.0"] {
        assert!(picture.contains(part), "{part} in {picture}");
    }
    assert_kept("explain.svg", &picture);
}

#[test]
fn one_json_document_has_the_events_and_the_counts() {
    let json = explain(&["--json", "--scheme", "softupdates", "--at-once", "create", "/f"]);
    let trace: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&trace["scheme"], &trace["writes"], &trace["rollbacks"]),
        (&"softupdates".into(), &5.into(), &2.into())
    );
    let events = trace["events"].as_array().unwrap();
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((of("leaves"), of("landed"), of("returns"), of("durable")), (5, 5, 1, 1));
    let undone = events.iter().find(|event| event["rolled_back"] == true).unwrap();
    assert_eq!(undone["undone"][0]["until"][0]["rule"], "inode-marked");
}

#[test]
fn a_refused_call_is_no_and_what_means_nothing_is_wrong_usage() {
    let refused = ordo(["trace", "--explain", "rmdir", "/none"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("refused"));
    for arguments in [
        vec!["create", "/f"],
        vec!["--explain"],
        vec!["--explain", "--scheme", "none", "create", "/f"],
        vec!["--explain", "--disk", "none", "create", "/f"],
        vec!["--explain", "--setup", "rmdir /none", "create", "/f"],
        vec!["--explain", "move", "/a", "/b"],
    ] {
        fails(2, ordo(["trace"].iter().chain(&arguments)));
    }
    let said = fails(3, ordo(["trace", "--explain", "--svg", "/none/x.svg", "create", "/f"]));
    assert!(said.contains("/none/x.svg") && said.lines().count() == 1, "{said}");
}
