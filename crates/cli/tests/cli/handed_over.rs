//! The laboratory's commands are handed to `ordo-lab` as they are, or refused with where it is to be had.

use crate::PROGRAM;
use crate::common::Scratch;
use std::process::{Command, Output};

/// Copies a program, in another process: a child that another test forks meanwhile would hold the file open for
/// writing, and nobody may run what somebody writes.
fn install(from: &str, to: &str) {
    assert!(Command::new("install").args(["-m", "755", from, to]).status().unwrap().success());
}

/// A copy of the program, beside which there is nothing, and a search path.
fn alone(scratch: &Scratch, path: &str, arguments: &[&str]) -> Output {
    let copy = scratch.path("ordo");
    if !std::path::Path::new(&copy).exists() {
        install(PROGRAM, &copy);
    }
    Command::new(&copy).args(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn without_the_laboratory_one_line_says_how_to_get_it() {
    let scratch = Scratch::new();
    for arguments in [&["crash", "--scheme", "sync"][..], &["help", "bench"], &["report", "--help"]] {
        let said = alone(&scratch, "/nowhere", arguments);
        let text = String::from_utf8(said.stderr).unwrap();
        assert_eq!((said.status.code(), text.lines().count()), (Some(3), 1), "{text}");
        assert!(text.contains("ordo-lab") && text.contains("cargo"), "{text}");
    }
    let said = String::from_utf8(alone(&scratch, "/nowhere", &["crash", "--json"]).stderr).unwrap();
    let document: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(document["error"].as_str().unwrap().contains("ordo-lab"), "{document}");
    let said = alone(&scratch, "/nowhere", &["--help"]);
    assert!(said.status.success() && String::from_utf8(said.stdout).unwrap().contains("Cuts the power"));
}

#[test]
fn the_laboratory_gets_the_arguments_and_gives_the_status() {
    let scratch = Scratch::new();
    let bin = scratch.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let text = scratch.path("text");
    std::fs::write(&text, "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n").unwrap();
    install(&text, &format!("{bin}/ordo-lab"));
    let said = alone(&scratch, &bin, &["crash", "--set", "a b", "--json"]);
    assert_eq!(
        (said.status.code(), &*String::from_utf8(said.stdout).unwrap()),
        (Some(7), "<crash><--set><a b><--json>")
    );
}

/// mkfs(8), fsck(8) and mount(8) call the program by other names, and an image may have any.
#[test]
fn a_helper_takes_an_image_that_is_named_like_a_command_of_the_laboratory() {
    let scratch = Scratch::new();
    alone(&scratch, "/nowhere", &["--version"]);
    std::fs::File::create(scratch.path("bench")).unwrap().set_len(16 << 20).unwrap();
    for helper in ["mkfs.ordo", "fsck.ordo"] {
        std::os::unix::fs::symlink(scratch.path("ordo"), scratch.path(helper)).unwrap();
        let mut command = Command::new(scratch.path(helper));
        let said = command.arg("bench").current_dir(scratch.path("")).env("PATH", "/nowhere").output().unwrap();
        assert!(said.status.success(), "{helper}: {said:?}");
    }
}
