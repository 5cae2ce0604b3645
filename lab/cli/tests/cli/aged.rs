//! Aging a volume in an image: it is whole afterwards, and says how its files lie.

use crate::common::{Scratch, command, fails, ok, ordo};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// The byte of UFS2's superblock that says "clean".
const CLEAN: u64 = 65536 + 209;

fn aged(image: &str, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["age", "--json"];
    all.extend(arguments);
    all.push(image);
    serde_json::from_str(&ok(ordo(all))).unwrap()
}

#[test]
fn an_aged_volume_passes_fsck_and_the_layout_is_of_its_files() {
    let scratch = Scratch::new();
    let (old, new) = (scratch.path("ufs1.img"), scratch.path("ufs2.img"));
    let shape = ["--type", "ufs1", "--block-size", "8k", "--frag-size", "1k", "--size", "48M"];
    ok(ordo([&["mkfs", "-q"], &shape[..], &[&old]].concat()));
    ok(ordo(["mkfs", "-q", "--size", "64M", &new]));
    // A journal stays as it was.
    ok(ordo(["tune", "-o", "journal=on", &new]));
    for (image, profile) in [(&old, "white"), (&new, "neutral")] {
        let said = aged(image, &["--profile", profile, "--days", "12"]);
        ok(ordo(["fsck", "-n", "-f", image]));
        // From day 0 to day 12.
        assert_eq!(said["days"].as_u64(), said["days_before"].as_u64().map(|before| before + 13), "{said}");
        let listed: serde_json::Value =
            serde_json::from_str(&ok(ordo(["ls", "-R", "--json", &format!("{image}:/aged")]))).unwrap();
        let files = listed.as_array().unwrap().iter().filter(|entry| entry["kind"] == "file");
        let (made, removed) = (said["files_made"].as_u64().unwrap(), said["files_removed"].as_u64().unwrap());
        // The journal is no file of the users.
        assert_eq!((files.count() as u64, said["layout"]["files"].as_u64()), (made - removed, Some(made - removed)));
        let score = said["layout"]["score"]["share"].as_f64().unwrap();
        assert!((0.3..0.99).contains(&score), "{said}");
        let told = fails(2, ordo(["age", image]));
        assert!(told.contains("/aged exists already") && told.lines().count() == 1, "{told}");
        ok(ordo(["fsck", "-n", "-f", image]));
    }
    assert!(ok(ordo(["info", "--json", &new])).contains("softupdates-journal"));
}

#[test]
fn a_seed_decides_and_people_can_read_it() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    let mut said = Vec::new();
    for seed in ["1", "1", "2"] {
        ok(ordo(["mkfs", "-q", "--force", "--size", "48M", &image]));
        said.push(ok(ordo(["age", "--days", "2", "--profile", "usr4", "--seed", seed, &image])));
    }
    // Where new directories go is random where the volume's own policy says so; what was done is not.
    let done = |text: &str| text.lines().find(|line| line.starts_with("done")).map(str::to_owned);
    assert!(done(&said[0]).is_some() && done(&said[0]) == done(&said[1]) && done(&said[1]) != done(&said[2]));
    for line in ["profile", "played", "in use", "two blocks", "free at"] {
        assert!(said[0].lines().any(|has| has.starts_with(line)), "{line}: {}", said[0]);
    }
}

#[test]
fn a_log_is_aged_too_and_has_no_groups() {
    let scratch = Scratch::new();
    let image = scratch.path("log.img");
    ok(ordo(["mkfs", "-q", "--type", "lfs", "--size", "64M", &image]));
    let said = aged(&image, &["--days", "3"]);
    assert!(said["operations"].as_u64() > Some(1000) && said.get("layout").is_none(), "{said}");
    ok(ordo(["fsck", "-n", "-f", &image]));
}

#[test]
fn what_cannot_be_aged_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    assert!(fails(2, ordo(["age", "--profile", "mine", &image])).contains("cnews"));
    fails(2, ordo(["age", "--days", "0", &image]));
    fails(3, ordo(["age", &scratch.path("none.img")]));
    assert!(!ok(ordo(["ls", &image])).contains("aged"));
}

#[test]
fn an_interrupted_aging_leaves_a_clean_volume_and_a_killed_one_is_refused() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    for signal in [Signal::INT, Signal::KILL] {
        ok(ordo(["mkfs", "-q", "--force", "--size", "256M", &image]));
        let mut child = command(["age", "--days", "9000", &image]).stderr(Stdio::piped()).spawn().unwrap();
        let file = fs::File::open(&image).unwrap();
        let in_use = || {
            let mut byte = [1];
            file.read_exact_at(&mut byte, CLEAN).unwrap();
            byte == [0]
        };
        while !in_use() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.signal(), Some(signal.as_raw()));
        if signal == Signal::INT {
            let said = String::from_utf8(ended.stderr).unwrap();
            assert!(said.contains("SIGINT: ") && said.contains(" days were played"), "{said}");
            ok(ordo(["fsck", "-n", "-f", &image]));
        } else {
            assert!(fails(3, ordo(["age", &image])).contains("run ordo fsck"));
        }
    }
}
