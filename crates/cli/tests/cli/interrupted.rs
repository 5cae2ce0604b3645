//! Commands that change an image are interrupted: the image stays consistent, and the next command works.
//!
//! A signal is sent once the image's superblock says that the volume is in use; a removal, of which the image sees
//! nothing until its end, gets it after a while. A command that finished before the signal arrived is run again.

use crate::common::{Scratch, command, fails, ok, ordo};
use ordofs::rt::Rt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::time::Duration;

/// The byte of UFS2's superblock that says "clean".
const CLEAN: u64 = 65536 + 209;

/// Enough files that a command is interrupted in the middle.
fn tree(scratch: &Scratch) -> String {
    let tree = scratch.path("tree");
    for dir in 0..20 {
        fs::create_dir_all(format!("{tree}/d{dir}")).unwrap();
        for file in 0..100 {
            let len = [100, 3000, 9000, 40_000][(dir + file) % 4];
            fs::write(format!("{tree}/d{dir}/f{file}"), vec![file as u8; len]).unwrap();
        }
    }
    tree
}

/// Runs a command on a copy of `image`, and sends it a signal when it has begun; repeats if it finished before.
fn interrupted(base: &str, image: &str, signal: Signal, arguments: &[&str]) -> Output {
    let rt = Rt::real_time();
    for tried in 0..50u32 {
        fs::copy(base, image).unwrap();
        let mut child = command(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let file = fs::File::open(image).unwrap();
        let in_use = || {
            let mut byte = [1];
            file.read_exact_at(&mut byte, CLEAN).unwrap();
            byte == [0]
        };
        let (begun, most) = (rt.now(), Duration::from_millis(5) * (tried + 1));
        let waits = |arguments: &[&str]| arguments[0] != "rm" || rt.now().since(begun) < most;
        while !in_use() && waits(arguments) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // If it has already finished, it gets no signal.
        let _ = kill_process(Pid::from_child(&child), signal);
        let ended = child.wait_with_output().unwrap();
        // Without a word it was ended before it caught signals.
        let too_early = signal != Signal::KILL && ended.stderr.is_empty();
        if ended.status.signal().is_some() && !too_early {
            return ended;
        }
        assert!(ended.status.success() || too_early, "{ended:?}");
    }
    panic!("50 times it was through before the signal reached it");
}

fn volume(scratch: &Scratch, journal: bool) -> String {
    let base = scratch.path(if journal { "journaled.img" } else { "base.img" });
    ok(ordo(["mkfs", "-q", "--size", "128M", &base]));
    if journal {
        ok(ordo(["tune", "-o", "journal=on", &base]));
    }
    base
}

#[test]
fn a_copy_that_is_interrupted_says_how_far_it_came_and_leaves_a_clean_volume() {
    let scratch = Scratch::new();
    let (tree, base, image) = (tree(&scratch), volume(&scratch, false), scratch.path("v.img"));
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let ended = interrupted(&base, &image, signal, &["cp", "-r", &tree, &format!("{image}:/new")]);
        assert_eq!(ended.status.signal(), Some(signal.as_raw()));
        let said = String::from_utf8(ended.stderr).unwrap();
        // On a busy machine the signal may come within the first file.
        let none = said.contains("nothing is copied");
        assert!(said.contains(name) && (none || said.contains(" files with ")) && said.lines().count() == 1, "{said}");
        assert!(ok(ordo(["info", "--json", &image])).contains("\"clean\": true"));
        ok(ordo(["fsck", "-n", "-f", &image]));
        let number = said.split(": ").nth(2).unwrap().split(' ').next().unwrap();
        let copied: u64 = if none { 0 } else { number.parse().unwrap() };
        let listed = ordo(["ls", "-R", "--json", &format!("{image}:/new")]);
        let files: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        let there = files.as_array().map_or(0, |files| files.len() as u64) + u64::from(listed.status.success());
        assert_eq!(there, copied, "what is said is what is there");
    }
}

#[test]
fn the_next_command_reclaims_the_leaks_of_a_killed_one() {
    let scratch = Scratch::new();
    let tree = tree(&scratch);
    for journal in [false, true] {
        let (base, image) = (volume(&scratch, journal), scratch.path("v.img"));
        interrupted(&base, &image, Signal::KILL, &["cp", "-r", &tree, &format!("{image}:/new")]);
        assert!(ok(ordo(["info", "--json", &image])).contains("\"clean\": false"));
        let listed = ordo(["ls", &image]);
        let said = String::from_utf8(listed.stderr).unwrap();
        assert!(listed.status.success() && said.contains("a crash left a log") == journal, "{said}");
        ok(ordo(["mkdir", &format!("{image}:/next")]));
        assert!(ok(ordo(["info", "--json", &image])).contains("\"clean\": true"));
        ok(ordo(["fsck", "-n", "-f", &image]));
    }
}

#[test]
fn a_removal_is_interrupted_between_two_files() {
    let scratch = Scratch::new();
    let (tree, base, image) = (tree(&scratch), volume(&scratch, false), scratch.path("v.img"));
    ok(ordo(["cp", "-r", &tree, &format!("{base}:/t")]));
    let ended = interrupted(&base, &image, Signal::INT, &["rm", "-r", &format!("{image}:/t")]);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("SIGINT: ") && said.contains(" files are removed, the rest is not"), "{said}");
    ok(ordo(["fsck", "-n", "-f", &image]));
    ok(ordo(["rm", "-r", &format!("{image}:/t")]));
    ok(ordo(["fsck", "-n", "-f", &image]));
    fails(3, ordo(["ls", &format!("{image}:/t")]));
    interrupted(&base, &image, Signal::KILL, &["rm", "-r", &format!("{image}:/t")]);
    ok(ordo(["rm", "-r", &format!("{image}:/t")]));
    ok(ordo(["fsck", "-n", "-f", &image]));
}
