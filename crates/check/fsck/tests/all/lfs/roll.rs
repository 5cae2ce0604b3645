//! The log behind the checkpoint: what counts is part of the volume, what does not is not.

use super::build::{Built, Put, directory, file};
use super::run;
use crate::common;
use ordo_fsck::{Journal, Mode, Report};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::SumFlags;
use ordo_ondisk::lfs::{Serial, Superblock};

const REG: u16 = mode::REG;

/// The same volume, not marked clean.
fn dirty() -> Built {
    let mut built = Built::filled();
    built.superblocks(|sb| sb.set_clean(false));
    built
}

/// The root with a further file.
fn root(more: &[(u32, u16, &str)]) -> Put {
    let names = [(3, REG, "a"), (4, mode::DIR, "dir"), (6, REG, "big")];
    directory(2, 2, &[&names, more].concat())
}

fn psegs(report: &Report) -> u64 {
    match report.journal {
        Some(Journal::LogWaits { psegs } | Journal::RolledForward { psegs }) => psegs,
        _ => 0,
    }
}

/// `-n`, then `-p`, then `-n`: nothing is wrong, and this many partial segments and files count.
fn rolls(built: &Built, count: u64, files: u64) -> Built {
    let disk = built.disk();
    let check = run(&disk, Mode::Check);
    assert_eq!((check.exit_code(), psegs(&check), check.clean), (0, count, false), "{}", common::told(&check));
    assert!(disk.to_vec() == built.bytes, "-n wrote");
    let preen = run(&disk, Mode::Preen);
    assert_eq!((preen.exit_code(), psegs(&preen), preen.clean), (0, count, true), "{}", common::told(&preen));
    let after = run(&disk, Mode::Check);
    assert_eq!((after.exit_code(), after.clean), (0, true), "{}", common::told(&after));
    assert_eq!((check.usage.files, after.usage.files), (files, files));
    Built::of(&disk)
}

#[test]
fn files_behind_the_checkpoint_are_part_of_the_volume() {
    for sealed in [true, false] {
        let mut built = dirty();
        built.append(SumFlags::DIROP, sealed, &[root(&[(7, REG, "new")]), file(7, b"new")]);
        built.append(SumFlags::default(), sealed, &[file(3, b"longer than before")]);
        let done = rolls(&built, 2, 6);
        assert_eq!(done.inode(3).1.size, 18);
        let at = done.place(done.inode(3).1.db[0].into());
        assert_eq!(&done.bytes[at..at + 18], b"longer than before");
    }
}

#[test]
fn unfinished_directory_operations_do_not_count() {
    let mut built = dirty();
    built.append(SumFlags::default(), true, &[file(3, b"counts")]);
    built.append(SumFlags::DIROP.with(SumFlags::CONT), true, &[root(&[(7, REG, "new")])]);
    let without = rolls(&built, 1, 5);
    assert_eq!(without.inode(3).1.size, 6);
    built.append(SumFlags::DIROP, true, &[file(7, b"new")]);
    rolls(&built, 3, 6);
}

#[test]
fn torn_partial_segment_ends_the_log() {
    let mut built = dirty();
    let at = built.append(SumFlags::default(), true, &[file(3, &[5; 2_000])]);
    // A byte that only the seal covers: not among the first 4 of its block.
    built.bytes[at + 512 + 700] ^= 1;
    let done = rolls(&built, 0, 5);
    assert_eq!(done.inode(3).1.size, 5);
}

#[test]
fn large_file_and_a_removed_one_are_rolled_forward() {
    let mut built = dirty();
    let root = directory(2, 2, &[(3, REG, "a"), (4, mode::DIR, "dir"), (6, REG, "big")]);
    let empty = directory(4, 2, &[]);
    let gone = Put::File { ino: 5, version: 1, kind: REG | 0o644, bytes: vec![], nlink: 0, inode: true };
    built.append(SumFlags::DIROP, true, &[root, empty, gone]);
    built.append(SumFlags::default(), true, &[file(6, &[8; 20 * 1024])]);
    let done = rolls(&built, 2, 4);
    assert_eq!((done.inode(6).1.size, done.entry(5).1.version), (20 * 1024, 2));
    assert!(done.entry(5).1.daddr.is_hole());
}

#[test]
fn blocks_whose_inode_comes_later_are_taken() {
    let mut built = dirty();
    let part = Put::File { ino: 7, version: 1, kind: REG | 0o644, bytes: vec![3; 4096], nlink: 1, inode: false };
    built.append(SumFlags::DIROP.with(SumFlags::CONT), true, &[part]);
    built.append(SumFlags::DIROP, true, &[root(&[(7, REG, "new")]), file(7, &[4; 1024])]);
    let done = rolls(&built, 2, 6);
    assert_eq!(done.inode(7).1.size, 1024);
}

#[test]
fn log_that_does_not_reach_the_newer_superblock_is_found() {
    let mut built = dirty();
    let serial = built.sb.fields.serial.0;
    built.superblock(1, |sb| sb.fields.serial = Serial(serial + 3));
    let disk = built.disk();
    let check = run(&disk, Mode::Check);
    assert!(check.findings.iter().any(|found| found.finding.name() == "LogBreaks"), "{}", common::told(&check));
    assert_eq!(run(&disk, Mode::Preen).exit_code(), 1);
    assert_eq!(run(&disk, Mode::Check).exit_code(), 0);
}

#[test]
fn numbers_that_a_roll_forward_left_out_are_no_break() {
    let mut built = dirty();
    let serial = built.sb.fields.serial.0;
    let disk = built.disk();
    built.skip_numbers(100);
    built.append(SumFlags::RFW, true, &[file(3, b"later")]);
    built.superblock(1, |sb| sb.fields.serial = Serial(serial + 101));
    rolls(&built, 0, 5);
    assert!(disk.to_vec() != built.bytes);
}

#[test]
fn full_volume_is_not_overwritten() {
    let mut built = Built::filled();
    let current = built.segment(built.sb.fields.offset);
    for n in (0..built.g.nseg).filter(|n| *n != current) {
        // What cannot be read is not written either, even if nothing in it is alive.
        built.change_usage(n, |usage| usage.flags = usage.flags.with(SegFlags::DIRTY).with(SegFlags::ERROR));
    }
    let disk = built.disk();
    let report = run(&disk, Mode::Repair);
    assert!(report.refused.is_some(), "{}", common::told(&report));
    assert!(report.findings.iter().any(|found| found.finding.name() == "NoCleanSegment"));
    assert!(disk.to_vec() == built.bytes, "it was written to");
}

/// The log has gone round: all segments are dirty, and in most of them nothing is alive.
#[test]
fn dirty_segments_without_anything_alive_take_repairs() {
    let mut built = dirty();
    let tail = built.append(SumFlags::default(), true, &[file(3, b"later")]);
    for n in 0..built.g.nseg {
        built.change_usage(n, |usage| usage.flags = usage.flags.with(SegFlags::DIRTY));
    }
    let before = built.bytes.clone();
    let disk = built.disk();
    let report = run(&disk, Mode::Preen);
    assert_eq!((report.exit_code(), report.clean), (0, true), "{}", common::told(&report));
    let after = run(&disk, Mode::Check);
    assert_eq!(after.exit_code(), 0, "{}", common::told(&after));
    let repaired = Built::of(&disk);
    let (place, later) = repaired.inode(3);
    assert_eq!(later.size, 5, "at byte {place}");
    // What the checkpoint leads to, and what was rolled forward, is where it was: a repair that is cut needs it.
    assert!(disk.to_vec()[16384..tail + 1024] == before[16384..tail + 1024], "what the log has was overwritten");
}

#[test]
fn repair_can_be_cut_at_any_write_and_done_again() {
    let mut built = dirty();
    built.append(SumFlags::DIROP, true, &[root(&[(7, REG, "new")]), file(7, b"new")]);
    built.change_inode(4, |inode| inode.nlink = 9);
    let damaged = built.disk();
    let mut cuts = 0;
    for (nth, seed) in (1..).flat_map(|nth| (0..4).map(move |seed| (nth, seed))) {
        let ram = damaged.snapshot().volatile(true);
        if !crate::alone::cut(&ram, nth, seed) {
            break;
        }
        cuts += 1;
        let again = run(&ram, Mode::Repair);
        assert!(again.exit_code() <= 1, "write {nth}, seed {seed}: {}", common::told(&again));
        let after = run(&ram, Mode::Check);
        assert_eq!(
            (after.exit_code(), after.usage.files),
            (0, 6),
            "write {nth}, seed {seed}: {}",
            common::told(&after)
        );
    }
    assert!(cuts >= 8, "{cuts}");
    let one = Superblock::decode(&damaged.to_vec()[8192..]).expect("a superblock");
    assert!(!one.is_clean());
}
