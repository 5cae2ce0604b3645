//! C programs, compiled with `cc` against the header and the shared library, and run.

use ordofs::Volume;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The directory with `libordofs.so`, built here: no test links it, so cargo has not.
fn library() -> PathBuf {
    // The test lies in `deps` of its profile's directory.
    let own = std::env::current_exe().unwrap();
    let dir = own.ancestors().nth(2).unwrap().to_owned();
    let profile = match dir.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "-p", "ordofs-capi", "--profile", profile, "--target-dir"]);
    build.arg(dir.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().unwrap().success());
    assert!(dir.join("libordofs.so").is_file(), "{}", dir.display());
    dir
}

/// Compiles and runs a program with one argument; `None` without a C compiler, with a message.
fn run(source: &Path, argument: &Path) -> Option<Output> {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler (cc)");
        return None;
    }
    let (library, scratch) = (library(), tempfile::tempdir().unwrap());
    let (include, program) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("include"), scratch.path().join("program"));
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-I"]).arg(include).arg(source);
    let compiled = cc.arg("-L").arg(&library).args(["-lordofs", "-lpthread", "-o"]).arg(&program).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(Command::new(program).arg(argument).env("LD_LIBRARY_PATH", library).output().unwrap())
}

#[test]
fn the_example_keeps_notes_in_a_volume() {
    let scratch = tempfile::tempdir().unwrap();
    let (image, root) = (scratch.path().join("notes.img"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."));
    let Some(ran) = run(&root.join("examples/c/notes.c"), &image) else { return };
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let start = "read much\npread SO\n7 bytes, mode 100600\nlatest -> poem\nlog of 1380 bytes\n";
    assert!(said.starts_with(start), "{said}");
    for line in ["100000 poem", "120000 latest", "100000 log", "rmdir: the directory is not empty", "closed"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    // The library's own view of what C wrote.
    let volume = ordofs_again(&image);
    assert_eq!(volume.read("/notes/poem").unwrap(), b"SO much");
    let log = volume.read_to_string("/notes/log").unwrap();
    let whole =
        |line: &str| line.strip_prefix("one ").or(line.strip_prefix("two ")).is_some_and(|n| n.parse::<u8>().is_ok());
    assert!(log.lines().count() == 200 && log.lines().all(whole), "{log}");
    volume.unmount().unwrap();
}

#[test]
fn what_a_careless_caller_does_is_an_error_and_nothing_worse() {
    let scratch = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/careless.c");
    let Some(ran) = run(&source, &scratch.path().join("v.img")) else { return };
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}

fn ordofs_again(image: &Path) -> Volume {
    Volume::open(image).unwrap().mount().unwrap()
}
