//! The blocks of README and of docs/laboratory.md, run as they stand, in their order and in one directory, which is
//! empty but for what README says that its reader has; and what README shows of a conviction. A unit test of the
//! program gives every line of them to its parser (`lab/cli/src/tests`).

use crate::common::{Scratch, ok, ordo};
use crate::mounting::can_mount;
use std::path::Path;
use std::process::Command;

/// Lines that are not run here, by their beginning, and why.
const NOT_RUN: [(&str, &str); 7] = [
    ("cargo install", "builds the program"),
    ("cargo test", "runs this"),
    ("cargo run", "builds the program, and runs for minutes; toured.rs runs a short one"),
    ("ordo mkfs /dev/sdb2", "a disk of the reader; disks.rs has one"),
    ("ordo paper", "minutes; paper.rs runs a part"),
    ("ordo sim", "half a minute; sim.rs runs others"),
    ("ordo age", "nine months of use take minutes in a debug build; aged.rs runs twelve days"),
];

/// What the reader has: a disk with some files, a place to mount it, and a tree with its manifest.
fn make_what_the_reader_has(place: &Path) {
    let path = |name: &str| place.join(name).to_str().unwrap().to_owned();
    ok(ordo(["mkfs", "-q", "--size", "64M", &path("disk.img")]));
    for dir in ["etc", "home"] {
        ok(ordo(["mkdir", &format!("{}:/{dir}", path("disk.img"))]));
    }
    for dir in ["mnt", "tree"] {
        std::fs::create_dir(path(dir)).unwrap();
    }
    std::fs::write(path("tree/motd"), "hello\n").unwrap();
    std::fs::write(path("tree.mtree"), "#mtree\n. type=dir\nmotd type=file mode=0600\n").unwrap();
}

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

#[test]
fn the_conviction_that_readme_shows_is_what_the_program_says() {
    let readme = page("README.md");
    let command = readme.split('`').find(|code| code.starts_with("ordo crash") && code.contains("--without")).unwrap();
    let said = ordo(command.split_whitespace().skip(1));
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    let shown: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(shown.len() >= 5, "README shows {shown:?}");
    for line in shown {
        assert!(said.contains(line.trim_end()), "{line:?} is not in\n{said}");
    }
}

#[test]
fn every_block_of_readme_works_in_its_order_and_in_one_directory() {
    let pages = ["README.md", "docs/laboratory.md"].map(page).join("\n");
    let blocks: Vec<&str> = pages.split("```\n").skip(1).step_by(2).collect();
    let scratch = Scratch::new();
    let place = scratch.path("here");
    std::fs::create_dir(&place).unwrap();
    make_what_the_reader_has(Path::new(&place));
    let path = crate::path_with_ordo(&scratch);
    let (mut ran, mut left) = (0, Vec::new());
    for line in blocks.iter().flat_map(|block| block.lines()).filter(|line| !line.trim().is_empty()) {
        let not_run = NOT_RUN.iter().find(|(begin, _)| line.starts_with(begin));
        let mounts = ["ordo mount", "ordo umount", "ordo sync"].iter().any(|verb| line.starts_with(verb));
        if not_run.is_some() || mounts && !can_mount() {
            left.extend(not_run.map(|(begin, _)| *begin));
            continue;
        }
        let run = Command::new("sh").args(["-euc", line]).current_dir(&place).env("PATH", &path).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(run.status.success(), "{line}\n{}{}", text(&run.stdout), text(&run.stderr));
        ran += 1;
    }
    assert!(ran >= 20, "only {ran} lines ran");
    for (begin, _) in NOT_RUN {
        assert!(left.contains(&begin), "README has no line any more that begins with {begin}");
    }
}
