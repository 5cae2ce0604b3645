//! `ordo wafs`: a log from one command to the next.

use crate::common::{Scratch, command, fails, ok, ordo};
use ordo_wafs::service::Client;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

fn append(log: &str, record: &[u8]) -> u64 {
    let mut child = command(["wafs", "append", log]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(record).unwrap();
    ok(child.wait_with_output().unwrap()).trim().parse().unwrap()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&ok(ordo([&["wafs"], arguments, &["--json"]].concat()))).unwrap()
}

#[test]
fn records_are_kept_from_command_to_command_and_given_back() {
    let scratch = Scratch::new();
    let log = &scratch.path("log.wafs");
    ok(ordo(["wafs", "mkfs", "--size", "1M", log]));
    let numbers: Vec<u64> = (0..5u8).map(|i| append(log, &[b'a' + i; 10])).collect();
    assert!(numbers.is_sorted());
    let read = |lsn: u64| ordo(["wafs", "read", log, &lsn.to_string()]);
    assert_eq!(ok(read(numbers[2])), "cccccccccc");
    assert!(fails(3, read(numbers[2] + 8)).contains("no record has the sequence number"));
    let rows = json(&["scan", log]);
    let listed: Vec<u64> = rows.as_array().unwrap().iter().map(|row| row["lsn"].as_u64().unwrap()).collect();
    assert_eq!((&listed, &rows[4]["length"]), (&numbers, &10.into()));
    assert_eq!(json(&["scan", log, "--backward"])[0], rows[4]);
    assert_eq!(json(&["scan", log, "--from", &numbers[3].to_string()])[0], rows[3]);
    assert!(ok(ordo(["wafs", "scan", log])).lines().count() == 5);
    ok(ordo(["wafs", "reclaim", log, &numbers[4].to_string()]));
    let info = json(&["info", log]);
    assert_eq!((&info["records"], &info["low"], &info["mounts"]), (&1.into(), &numbers[4].into(), &6.into()));
    assert!(ok(ordo(["wafs", "info", log])).contains("records:    1 from"));
    assert!(fails(3, read(numbers[0])).contains("no record"));
}

#[test]
fn a_volume_that_is_named_as_the_place_of_a_log_stays() {
    let scratch = Scratch::new();
    let (image, other) = (scratch.path("a.img"), scratch.path("b.img"));
    for path in [&image, &other] {
        ok(ordo(["mkfs", "-q", "--size", "16M", path]));
    }
    let before = std::fs::read(&other).unwrap();
    let there = scratch.path("m");
    std::fs::create_dir(&there).unwrap();
    let refused = ordo(["mount", "-o", &format!("scheme=wafs,log={other}"), &image, &there]);
    assert!(fails(3, refused).contains("is to hold a log, and holds UFS"));
    assert!(std::fs::read(&other).unwrap() == before);
}

#[test]
fn damage_and_what_is_no_log_are_told() {
    let scratch = Scratch::new();
    let (log, empty) = (&scratch.path("log.wafs"), &scratch.path("empty"));
    std::fs::write(empty, vec![0; 100_000]).unwrap();
    assert!(fails(3, ordo(["wafs", "scan", empty])).contains("no log is there"));
    ok(ordo(["wafs", "mkfs", empty]));
    assert!(fails(3, ordo(["wafs", "mkfs", empty])).contains("--force"));
    ok(ordo(["wafs", "mkfs", "--force", "--unit", "512", empty]));
    std::fs::write(log, "the only copy").unwrap();
    assert!(fails(3, ordo(["wafs", "mkfs", "--size", "1M", log])).contains("--force"));
    for (unit, size, why) in [("100", "1M", "power of two"), ("4k", "9k", "at least")] {
        assert!(fails(3, ordo(["wafs", "mkfs", "--force", "--unit", unit, "--size", size, log])).contains(why));
    }
    assert_eq!(std::fs::read(log).unwrap(), b"the only copy", "nothing is lost before a log can be made");
    ok(ordo(["wafs", "mkfs", "--force", "--size", "1M", log]));
    let numbers: Vec<u64> = (0..4).map(|i| append(log, format!("record {i}").as_bytes())).collect();
    let mut bytes = std::fs::read(log).unwrap();
    bytes[8192 + numbers[1] as usize + 50] ^= 1;
    std::fs::write(log, bytes).unwrap();
    let output = ordo(["wafs", "scan", log]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    assert!(fails(3, output).contains("the log is damaged at"));
    assert!(String::from_utf8(ordo(["wafs", "info", log]).stdout).unwrap().contains("damaged"));
    assert!(fails(3, ordo(["wafs", "append", log])).contains("damaged"));
}

#[test]
fn a_served_log_takes_many_clients_until_a_signal() {
    let scratch = Scratch::new();
    let (log, socket) = (&scratch.path("log.wafs"), &scratch.path("log.socket"));
    ok(ordo(["wafs", "mkfs", "--size", "1M", log]));
    for mode in ["group", "async"] {
        let mut served = command(["wafs", "serve", log, "--socket", socket, "--mode", mode]);
        let mut served = served.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(served.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("served on"), "{line}");
        assert!(fails(3, ordo(["wafs", "append", log])).contains("in use"));
        let (mut one, mut two) = (Client::connect(socket, "one").unwrap(), Client::connect(socket, "two").unwrap());
        let lsn = one.commit(mode.as_bytes()).unwrap();
        two.append(b"two").unwrap();
        assert_eq!(one.read(lsn).unwrap().data, mode.as_bytes());
        kill_process(Pid::from_child(&served), Signal::TERM).unwrap();
        assert!(served.wait().unwrap().success());
        assert!(one.commit(b"too late").is_err() && !std::path::Path::new(socket).exists());
    }
    assert_eq!(json(&["scan", log]).as_array().unwrap().len(), 2 + 4, "two streams, and what they appended");
}

/// What is wrong with the place of a log in a stream is said without a server.
#[cfg(feature = "nats")]
#[test]
fn a_stream_that_cannot_be_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    let (image, log) = (&scratch.path("copy.img"), &scratch.path("log.wafs"));
    ok(ordo(["mkfs", "--size", "16M", image]));
    ok(ordo(["wafs", "mkfs", "--size", "1M", log]));
    for command in [&["info"][..], &["scan"], &["follow", image]] {
        let to = |stream: &str| ordo([&["wafs"], command, &[stream]].concat());
        // Nobody listens at port 1.
        assert!(fails(3, to("nats://127.0.0.1:1/LOG")).contains("no server can be used"));
        assert!(fails(3, to("nats://127.0.0.1")).contains("the name of the stream is missing"));
        assert!(fails(3, to("nats://127.0.0.1/LOG?timeout=0")).contains("?timeout=SECONDS"));
    }
    assert!(fails(3, ordo(["wafs", "follow", image, log])).contains("no stream"));
    let even = ordo(["wafs", "mkfs", "--size", "1M", "--replicas", "2", "nats://127.0.0.1:1/LOG"]);
    assert!(fails(2, even).contains("an odd number"));
}

/// A program without the client says so, and how to get one that has it.
#[cfg(not(feature = "nats"))]
#[test]
fn a_stream_needs_a_program_that_was_built_with_its_client() {
    for command in ["info", "scan"] {
        assert!(fails(3, ordo(["wafs", command, "nats://127.0.0.1:1/LOG"])).contains("--features nats"), "{command}");
    }
}

#[test]
fn a_stream_is_not_written_by_hand() {
    let log = "nats://127.0.0.1:1/LOG";
    for arguments in
        [&["append", log][..], &["read", log, "1"], &["reclaim", log, "1"], &["serve", "--socket", "s", log]]
    {
        let said = fails(2, ordo([&["wafs"], arguments].concat()));
        assert!(said.contains("a stream is a volume's log"), "{arguments:?}: {said}");
    }
}
