//! Messages for mistakes that people make: what is wrong, and what to type instead.

use crate::common::{Scratch, command, fails, ok, ordo};
use crate::mounting::can_mount;
use std::process::Stdio;

#[test]
fn an_image_that_is_taken_for_a_directory_is_known() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    for verb in [&["ls"][..], &["cat"], &["df"], &["stat"], &["info"]] {
        let said = fails(3, ordo([verb, &[&format!("{image}/docs/a")]].concat()));
        assert!(said.contains(&format!("write {image}:/docs/a")), "{verb:?}: {said}");
    }
}

#[test]
fn names_that_are_not_known_are_told_first_and_far_ones_are_not_suggested() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = fails(2, ordo(["setfattr", "-n", "foo", "-v", "1", &format!("{image}:/")]));
    assert!(said.contains("write user.foo"), "{said}");
    for (option, advice) in [("readonly", "write ro"), ("foo", "ordo mount --help")] {
        let said = fails(2, ordo(["mount", "-o", option, &image, &scratch.path("")]));
        assert!(said.contains(advice) && !said.contains("did you mean"), "{said}");
    }
}

#[test]
fn the_line_of_a_manifest_is_named_with_what_is_wrong_in_it() {
    let scratch = Scratch::new();
    let (tree, list, image) = (scratch.path("tree"), scratch.path("g.mtree"), scratch.path("n.img"));
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(&list, "#mtree\n. type=dir\nusr\\057lib type=dir\n").unwrap();
    let said = fails(3, ordo(["mkfs", "-q", "-d", &tree, "-F", &list, &image]));
    assert!(said.contains("line 3") && said.contains("slash"), "{said}");
}

#[test]
fn an_error_of_one_file_is_json_where_json_is_asked_for() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let nowhere = format!("{image}:/nosuch");
    let run = ordo(["ls", "--json", &nowhere, &format!("{image}:/")]);
    assert_eq!(run.status.code(), Some(3), "{run:?}");
    let error: serde_json::Value = serde_json::from_slice(&run.stderr).unwrap();
    assert!(error["error"].as_str().unwrap().contains("/nosuch"), "{error}");
    assert!(serde_json::from_slice::<serde_json::Value>(&run.stdout).is_ok(), "{run:?}");
    assert!(fails(3, ordo(["ls", &nowhere])).starts_with("ordo: "), "and a line where it is not");
}

#[test]
fn who_asks_of_a_volume_that_is_mounted_is_led_to_the_mount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (image, dir) = (scratch.volume(), scratch.path("m"));
    std::fs::create_dir(&dir).unwrap();
    ok(command(["mount", &image, &dir]).stdin(Stdio::null()).output().unwrap());
    let (of_image, of_dir) = (ordo(["ls", &image]), ordo(["df", &dir]));
    ok(ordo(["umount", &dir]));
    let said = fails(3, of_image);
    assert!(said.contains("is in use") && said.contains(&format!("it is mounted on {dir}")), "{said}");
    let said = fails(3, of_dir);
    assert!(said.contains("a volume is mounted there") && said.contains("df(1)"), "{said}");
}

/// Whoever interrupts a long command is told what it leaves.
#[test]
fn who_ends_a_copy_to_the_host_hears_what_is_left() {
    let scratch = Scratch::new();
    let (image, out) = (scratch.path("big.img"), scratch.path("out"));
    ok(ordo(["mkfs", "-q", "--size", "600M", &image]));
    let mut make = command(["cp", "-", &format!("{image}:/big")]);
    let mut child = make.stdin(Stdio::piped()).spawn().unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(7), 400 << 20), &mut child.stdin.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    let mut copy = command(["cp", &format!("{image}:/big"), &out]);
    let child = copy.stderr(Stdio::piped()).spawn().unwrap();
    let rt = ordofs::rt::Rt::real_time();
    while std::fs::metadata(&out).map_or(0, |there| there.len()) == 0 {
        rt.block_on(rt.sleep(std::time::Duration::from_millis(1)));
    }
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("interrupted by SIGINT: nothing is copied"), "{said}");
    assert!(std::fs::metadata(&out).is_err(), "the part of a file is removed");
}
