//! `ordo disks`, on the built program.

use crate::common::{Scratch, command, fails, ok, ordo};
use ordofs::rt::Rt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// A trace of a real drive, one of those by which the model is validated.
fn trace(drive: &str) -> String {
    format!("{}/../../lab/drive/tests/data/traces/{drive}.trace.gz", env!("CARGO_MANIFEST_DIR"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_drive_is_listed_with_what_it_is() {
    let drives = json(&ok(ordo(["disks", "--json"])));
    assert_eq!(drives, json(&ok(ordo(["disks", "list", "--json"]))));
    let drives = drives.as_array().unwrap();
    assert_eq!(drives.len(), ordo_drive::names().count());
    let of = |name: &str| drives.iter().find(|drive| drive["name"] == name).unwrap();
    let old = of("hp_c2247a");
    assert_eq!((&old["kind"], &old["volatile"]), (&"disk".into(), &false.into()));
    assert!(old["rpm"].as_f64().unwrap() > 5000.0 && old["bytes"].as_u64().unwrap() > 1_000_000_000, "{old}");
    assert_eq!(of("nearline_sata_7200")["volatile"], true);
    let flash = of("nvme_ssd_plp");
    assert!(flash["kind"] == "flash" && flash.get("rpm").is_none() && flash["volatile"] == false, "{flash}");

    let lines = ok(ordo(["disks"]));
    assert_eq!(lines.lines().count(), drives.len() + 1, "a heading, and a line each: {lines}");
    assert!(drives.iter().all(|drive| lines.contains(drive["name"].as_str().unwrap())), "{lines}");
}

#[test]
fn a_model_is_compared_with_its_drive() {
    let found = json(&ok(ordo(["disks", "validate", "hp_c2247a", "--trace", &trace("hp_c2247a"), "--json"])));
    assert_eq!((&found["drive"], &found["requests"]), (&"hp_c2247a".into(), &9999.into()));
    let near = |key: &str, value: f64| (found[key].as_f64().unwrap() - value).abs() < 0.001;
    // DiskSim's values: lab/drive/tests/data/expected.csv.
    assert!(near("real_mean_ms", 15.298) && near("mean_ms", 15.315) && near("demerit_ms", 0.0899), "{found}");
    assert!((found["demerit_percent"].as_f64().unwrap() - 0.588).abs() < 0.01, "{found}");
    let lines = ok(ordo(["disks", "validate", "hp_c2247a", "--trace", &trace("hp_c2247a")]));
    assert!(lines.contains("15.298 ms") && lines.lines().count() == 2, "{lines}");
}

#[test]
fn a_trace_may_be_plain_text() {
    let scratch = Scratch::new();
    let path = scratch.path("plain.trace");
    fs::write(&path, "R - 1000 16 12000 5000\nW - 500000 8 15000.5 0\n").unwrap();
    assert_eq!(json(&ok(ordo(["disks", "validate", "--json", "hp_c2247a", "--trace", &path])))["requests"], 2);
}

#[test]
fn a_trace_that_cannot_be_compared_is_one_line_of_error() {
    let scratch = Scratch::new();
    let validate = |status, name: &str, path: &str| {
        let said = fails(status, ordo(["disks", "validate", name, "--trace", path]));
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    assert!(validate(2, "wren", &trace("hp_c2247a")).contains("\"wren\"; ordo disks lists them"));
    assert!(validate(3, "hp_c2247a", &scratch.path("none")).contains("none: cannot read the trace"));
    for (name, bytes, says) in [
        ("words", &b"R - 1 1 1 1\nX - 1 1 1 1\n"[..], "line 2 of the trace: field 1 is neither R nor W"),
        ("bytes", b"\xff\xfe", "neither text nor gzip"),
        ("cut", b"\x1f\x8b\x08\x00", "the gzip is damaged"),
        ("empty", b"", "the trace is empty"),
        ("far", b"R - 99999999999 1 1 1", "is it a trace of hp_c2247a?"),
    ] {
        let path = scratch.path(name);
        fs::write(&path, bytes).unwrap();
        let said = validate(3, "hp_c2247a", &path);
        assert!(said.contains(&path) && said.contains(says), "{said}");
    }
}

#[test]
fn a_modelled_drive_is_served_in_real_time_and_says_what_its_arm_did() {
    let scratch = Scratch::new();
    let socket = scratch.path("drive.socket");
    assert!(fails(3, ordo(["disks", "serve", "none", "--socket", &socket])).contains("none"));
    let mut serve = command(["disks", "serve", "quantum_atlas_10k", "--socket", &socket, "--json"]);
    let server = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let rt = Rt::real_time();
    while !fs::exists(&socket).unwrap() {
        rt.block_on(rt.sleep(Duration::from_millis(10)));
    }
    let url = format!("nbd+unix:///?socket={socket}");
    let begun = rt.now();
    ok(ordo(["mkfs", "-q", "--size", "64M", &url]));
    // Some dozens of requests, each of which waits for the platter.
    assert!(rt.now().since(begun) > Duration::from_millis(20), "as slow as the drive");
    ok(ordo(["fsck", "-n", "-f", &url]));
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    let ended = server.wait_with_output().unwrap();
    assert!(ended.status.success());
    let arm = json(&String::from_utf8(ended.stdout).unwrap());
    assert!(["reads", "writes", "cylinders"].iter().all(|what| arm[what].as_u64().unwrap() > 0), "{arm}");
}
