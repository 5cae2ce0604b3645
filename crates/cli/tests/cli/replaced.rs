//! `mkfs` over an old volume, ended at many moments: what is left is the old volume, none, or the complete new one, and
//! never a part of one that looks whole. The message says which.

use crate::common::{Scratch, command, fails, ok, ordo};
use ordofs::rt::Rt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

/// Files of the new volume.
const FILES: usize = 300;

fn tree(scratch: &Scratch) -> String {
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    for file in 0..FILES {
        fs::write(format!("{tree}/f{file}"), vec![file as u8; 20_000]).unwrap();
    }
    tree
}

/// An old volume, with one file.
fn old(scratch: &Scratch, image: &str, arguments: &[&str]) {
    ok(ordo([&["mkfs", "-q", "--force"], arguments, &["--size", "32M", image]].concat()));
    let precious = scratch.path("precious");
    fs::write(&precious, "precious").unwrap();
    ok(ordo(["cp", &precious, &format!("{image}:/precious")]));
}

#[derive(Debug, PartialEq, Eq)]
enum Is {
    Old,
    Nothing,
    NotClean,
    New,
}

/// What the image holds. Panics for a part of the tree in a volume that looks whole.
fn what_is(image: &str) -> Is {
    let info = ordo(["info", "--json", image]);
    if !info.status.success() {
        assert!(!ordo(["mount", "-o", "ro", image, "/nonexistent"]).status.success());
        return Is::Nothing;
    }
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    if info["clean"] == serde_json::Value::Bool(false) {
        // The copies of a superblock come before it, when all the rest is durable: a repair completes it.
        let repaired = ordo(["fsck", "-y", image]);
        let names = String::from_utf8(ordo(["ls", &format!("{image}:/")]).stdout).unwrap();
        let files = names.lines().filter(|name| name.starts_with('f')).count();
        let is_complete = repaired.status.code() == Some(1) && files == FILES;
        return if is_complete { Is::New } else { Is::NotClean };
    }
    let names = String::from_utf8(ordo(["ls", &format!("{image}:/")]).stdout).unwrap();
    if names.lines().any(|name| name == "precious") {
        ok(ordo(["fsck", "-n", "-f", image]));
        assert_eq!(ok(ordo(["cat", &format!("{image}:/precious")])), "precious");
        return Is::Old;
    }
    assert_eq!(names.lines().filter(|name| name.starts_with('f')).count(), FILES, "a part of the tree, marked clean");
    ok(ordo(["fsck", "-n", "-f", image]));
    Is::New
}

/// Ends `mkfs` at moments from its start to beyond its end; says what was left each time, and what was said.
fn ended(image: &str, arguments: &[&str], tree: &str, prepare: impl Fn()) -> Vec<(Signal, Is, String)> {
    let rt = Rt::real_time();
    let all = [&["mkfs", "-q", "--force"], arguments, &["-d", tree, image]].concat();
    prepare();
    let begun = rt.now();
    ok(ordo(&all));
    let whole = rt.now().since(begun);
    assert_eq!(what_is(image), Is::New);
    let mut found = Vec::new();
    for step in 0..24u32 {
        let signal = if step % 2 == 0 { Signal::INT } else { Signal::KILL };
        prepare();
        let child = command(&all).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        rt.block_on(rt.sleep(whole * step / 20 + Duration::from_millis(1)));
        // If it has already finished, it gets no signal.
        let _ = kill_process(Pid::from_child(&child), signal);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let is = what_is(image);
        assert!(is == Is::New || ended.status.signal().is_some(), "{said}");
        found.push((signal, is, said));
    }
    found
}

#[test]
fn an_old_volume_in_a_file_stays_until_the_new_one_is_complete() {
    let scratch = Scratch::new();
    let (tree, image) = (tree(&scratch), scratch.path("v.img"));
    for arguments in [&["--type", "ufs2"][..], &["--type", "lfs"]] {
        let found = ended(&image, arguments, &tree, || old(&scratch, &image, arguments));
        for (signal, is, said) in &found {
            assert!(matches!(is, Is::Old | Is::New), "{signal:?}: {is:?}: {said}");
            let told = said.contains("no image was made, and") && said.contains("is as it was");
            assert!(*signal == Signal::KILL || *is == Is::New || told || said.is_empty(), "{said}");
        }
        assert!(found.iter().any(|(_, is, said)| *is == Is::Old && said.contains("is as it was")), "{found:?}");
        let beside = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".v.img.");
        for left in fs::read_dir(scratch.path(".")).unwrap().map(Result::unwrap).filter(beside) {
            // A kill leaves the unfinished one, which is no volume; or, before it has the name, the finished one, or
            // one that lacks nothing but its first superblock.
            let is = what_is(left.path().to_str().unwrap());
            assert!(matches!(is, Is::Nothing | Is::New), "{is:?}");
            fs::remove_file(left.path()).unwrap();
        }
    }
}

#[test]
fn where_the_old_volume_cannot_stay_nothing_looks_whole_until_the_new_one_is() {
    let scratch = Scratch::new();
    let (tree, image, other) = (tree(&scratch), scratch.path("v.img"), scratch.path("other.img"));
    for arguments in [&["--type", "ufs2"][..], &["--type", "ufs1"], &["--type", "lfs"]] {
        // A second name: a rename would leave the old volume under it.
        let prepare = || {
            let _ = fs::remove_file(&other);
            old(&scratch, &image, arguments);
            fs::hard_link(&image, &other).unwrap();
        };
        let found = ended(&image, arguments, &tree, prepare);
        for (signal, is, said) in &found {
            let lost = said.contains("held is gone, and there is no volume on it");
            match is {
                Is::Nothing if *signal == Signal::INT => assert!(lost, "{said}"),
                Is::Old | Is::New => assert!(!lost, "{said}"),
                Is::NotClean => panic!("a part of a volume: {signal:?}, {said}"),
                Is::Nothing => {}
            }
        }
        assert!(found.iter().any(|(_, is, _)| *is == Is::Nothing), "{found:?}");
    }
    // A part of a file is as a disk: nothing can be renamed.
    let disk = scratch.path("disk");
    let prepare = || {
        fs::write(&disk, vec![0; 1 << 20]).unwrap();
        fs::OpenOptions::new().write(true).open(&disk).unwrap().set_len(33 << 20).unwrap();
        ok(ordo(["mkfs", "-q", "--force", "--offset", "1M", &disk]));
    };
    let rt = Rt::real_time();
    for millis in [20, 60, 150, 300, 600] {
        prepare();
        let all = ["mkfs", "-q", "--force", "--offset", "1M", "-d", &tree, &disk];
        let mut child = command(all).stderr(Stdio::null()).spawn().unwrap();
        rt.block_on(rt.sleep(Duration::from_millis(millis)));
        let _ = child.kill();
        child.wait().unwrap();
        let names = String::from_utf8(ordo(["ls", "--offset", "1M", &format!("{disk}:/")]).stdout).unwrap();
        let files = names.lines().filter(|name| name.starts_with('f')).count();
        assert!([0, FILES].contains(&files), "{files} files after {millis} ms");
    }
}

#[test]
fn a_tree_that_cannot_be_read_or_does_not_fit_leaves_the_old_volume() {
    let scratch = Scratch::new();
    let (tree, image) = (tree(&scratch), scratch.path("v.img"));
    old(&scratch, &image, &[]);
    fs::set_permissions(&image, fs::Permissions::from_mode(0o604)).unwrap();
    let before = fs::read(&image).unwrap();
    let big = scratch.path("big");
    fs::create_dir(&big).unwrap();
    fs::write(format!("{big}/f"), vec![1; 40 << 20]).unwrap();
    for (arguments, status) in
        [(vec!["-d", &big], 3), (vec!["-d", &tree, "--free", "1G"], 3), (vec!["-d", "/nosuch"], 3)]
    {
        fails(status, ordo([&["mkfs", "-q", "--force"], &arguments[..], &[&image]].concat()));
        assert!(fs::read(&image).unwrap() == before, "{arguments:?}");
    }
    ok(ordo(["mkfs", "-q", "--force", "-d", &tree, &image]));
    assert_eq!(fs::metadata(&image).unwrap().permissions().mode() & 0o7777, 0o604);
    // An image is no tree, and no archive though it begins with zeroes, as an empty one does.
    let said = fails(3, ordo(["mkfs", "-q", "-d", &image, &scratch.path("new.img")]));
    assert!(said.contains("is no tar archive"), "{said}");
    fails(3, ordo(["tar", "x", &format!("{image}:/"), &image]));
    assert!(!fs::exists(scratch.path("new.img")).unwrap());
}
