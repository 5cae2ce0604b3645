//! C programs, compiled with `cc` against the header and the shared library, and run.

use ordofs::Volume;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no {tool}");
    }
    there
}

/// What the command says; its error fails the test.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Where packaging/c has installed the library, built here: no test links it, so cargo has not. `None` where a tool is
/// missing.
fn installed() -> Option<&'static Path> {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    if !["bash", "cc", "readelf", "pkg-config"].into_iter().all(has) {
        return None;
    }
    Some(PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix-for-c");
        let own = std::env::current_exe().unwrap();
        // The test lies in `deps` of its profile's directory.
        let target = own.ancestors().nth(3).unwrap();
        let mut install = Command::new(root().join("packaging/c"));
        // Where a released program is built as well, as in CI, the library shares with it what is compiled.
        let how = if std::env::var_os("ORDO_C_LIBRARY").is_some() { "--released" } else { "--quick" };
        said(install.arg(how).arg(&prefix).env("CARGO_TARGET_DIR", target).env_remove("DESTDIR"));
        prefix
    }))
}

fn pkg_config(prefix: &Path, asked: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(asked).arg("ordofs");
    said(&mut command).split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program in `scratch`, with these libraries, and gives the command that runs it.
fn compiled(source: &Path, scratch: &Path, prefix: &Path, libraries: &[String]) -> Command {
    let program = scratch.join("program");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-g"]);
    cc.arg(format!("-DVERSION=\"{}\"", env!("CARGO_PKG_VERSION"))).args(pkg_config(prefix, &["--cflags"]));
    said(cc.arg(source).args(libraries).args(["-lpthread", "-o"]).arg(&program));
    let mut run = Command::new(program);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    run
}

/// Compiles and runs a program with one argument; `None` where a tool is missing, with a message.
fn run(source: &Path, argument: &Path) -> Option<Output> {
    let (prefix, scratch) = (installed()?, tempfile::tempdir().unwrap());
    let libraries = pkg_config(prefix, &["--libs"]);
    Some(compiled(source, scratch.path(), prefix, &libraries).arg(argument).output().unwrap())
}

#[test]
fn the_example_keeps_notes_in_a_volume() {
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("notes.img");
    let Some(ran) = run(&root().join("examples/c/notes.c"), &image) else { return };
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

fn careless() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/careless.c")
}

fn went_well(ran: &Output) {
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn what_a_careless_caller_does_is_an_error_and_nothing_worse() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(ran) = run(&careless(), &scratch.path().join("v.img")) else { return };
    went_well(&ran);
}

#[test]
fn a_program_that_has_the_archive_in_it_needs_no_library() {
    let (Some(prefix), scratch) = (installed(), tempfile::tempdir().unwrap()) else { return };
    let mut libraries = vec![prefix.join("lib/libordofs.a").to_str().unwrap().to_owned()];
    libraries.extend(pkg_config(prefix, &["--static", "--libs-only-l"]).into_iter().filter(|one| one != "-lordofs"));
    let mut program = compiled(&careless(), scratch.path(), prefix, &libraries);
    went_well(&program.arg(scratch.path().join("v.img")).env_remove("LD_LIBRARY_PATH").output().unwrap());
}

/// The C library is found when a program runs, by a name that says which versions fit; the module for Python has a
/// name of its own, since one target directory may hold both, and one program may load both.
#[test]
fn each_library_has_a_name_of_its_own() {
    let name_of = |manifest: &str| {
        let text = std::fs::read_to_string(root().join(manifest)).unwrap();
        let lib = text.split("[lib]").nth(1).unwrap();
        lib.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"').to_owned()
    };
    assert_eq!(name_of("crates/face/capi/Cargo.toml"), "ordofs");
    assert_ne!(name_of("crates/face/python/Cargo.toml"), "ordofs");
    let Some(prefix) = installed() else { return };
    let dynamic = said(Command::new("readelf").arg("-d").arg(prefix.join("lib/libordofs.so")));
    let soname = dynamic.lines().find(|line| line.contains("(SONAME)")).expect("the library says no name");
    let soname = soname.split(['[', ']']).nth(1).unwrap();
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    assert_eq!(soname, format!("libordofs.so.{version}"));
    assert!(prefix.join("lib").join(soname).exists());
    assert_eq!(pkg_config(prefix, &["--modversion"]), [env!("CARGO_PKG_VERSION")]);
}

fn ordofs_again(image: &Path) -> Volume {
    Volume::open(image).unwrap().mount().unwrap()
}
