//! The blocks of README, run as they stand, in their order and in one directory, which is empty but for what README
//! says that its reader has. A unit test of the program gives every line of them to its parser (`documented.rs`).

use crate::common::{Scratch, ok, ordo};
use crate::mounted::can_mount;
use std::path::Path;
use std::process::Command;

/// Lines that are not run here, by their beginning, and why.
const NOT_RUN: [(&str, &str); 15] = [
    ("cargo install", "builds the program"),
    ("cargo test", "runs this"),
    ("ordo demo", "minutes; toured.rs runs a short one"),
    ("ordo mkfs /dev/sdb2", "a disk of the reader; disks.rs has one"),
    ("ordo paper", "minutes; paper.rs runs a part"),
    ("ordo sim", "half a minute; sim.rs runs others"),
    ("ordo age", "nine months of use take minutes in a debug build; aged.rs runs twelve days"),
    ("ordo mount 'nbd+unix:", "needs a server of network block devices; served_nbd.rs has one"),
    ("ordo tune -o mmp=on nbd:", "needs a server; one_writer.rs has one"),
    ("ordo serve nbd", "serves until it is stopped; served_nbd.rs"),
    ("ordo serve nfs", "serves until it is stopped; serve_nfs.rs"),
    ("ordo mount -o scheme=wafs,log=nats:", "needs three servers of NATS; beyond/jetstream starts them"),
    ("ordo crash --shard", "a two hundredth of a sweep of hours; sweeps.rs runs others"),
    ("/images/bsd.img", "a line of fstab"),
    ("ordo report --aged-log", "report.rs runs it, and reads its page"),
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

#[test]
fn every_block_of_readme_works_in_its_order_and_in_one_directory() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```\n").skip(1).step_by(2).collect();
    let scratch = Scratch::new();
    let place = scratch.path("here");
    std::fs::create_dir(&place).unwrap();
    make_what_the_reader_has(Path::new(&place));
    let program = Path::new(env!("CARGO_BIN_EXE_ordo")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
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
