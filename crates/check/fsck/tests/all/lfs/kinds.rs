//! Every kind of finding: the rule is broken once, found by `-n`, repaired by `-y`, and then nothing is found.

use super::build::Built;
use super::run;
use crate::common;
use ordo_fsck::{LfsFinding, Mode};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{CleanerInfo, Daddr, IFILE, NextFree, Serial};
use ordo_ondisk::{FragNo, Ino};

type Case = (&'static str, fn(&mut Built));

/// Makes `free` the successor of a free inode.
fn next(built: &mut Built, ino: u32, free: NextFree) {
    built.change_entry(ino, |entry| entry.nextfree = free);
}

fn cleaner(built: &mut Built, change: impl FnOnce(&mut CleanerInfo)) {
    let place = built.ifile(built.g.cleaner_info_place());
    let (version, e) = (built.g.version, built.g.endian);
    let mut info = CleanerInfo::decode(&built.bytes[place..], version, e).expect("cleaner information");
    change(&mut info);
    info.encode(&mut built.bytes[place..], version, e).expect("room");
}

const OF_THE_LOG: &[Case] = &[
    ("SuperblockUnusable", |b| b.bytes[8192 + 20] ^= 1),
    ("SuperblockUnusable", |b| b.bytes[8192] ^= 1),
    ("SuperblockUnusable", |b| b.superblock(0, |sb| sb.fields.sboffs[1] = Daddr(2))),
    ("SuperblockUnusable", |b| b.superblock(0, |sb| sb.fields.sboffs[1] = Daddr(110))),
    // In all copies, which nothing but the rule of the format contradicts.
    ("SuperblockUnusable", |b| {
        let copies: Vec<_> = (0..10).filter(|copy| !b.g.sboffs[*copy].is_hole()).collect();
        for copy in copies {
            b.superblock(copy, |sb| sb.fields.sboffs[1] = Daddr(2));
        }
    }),
    ("SuperblockField", |b| b.superblock(1, |sb| sb.fields.dsize -= 1)),
    ("SuperblocksDiffer", |b| b.superblock(1, |sb| sb.fields.serial = Serial(1))),
    ("IfileLost", |b| b.superblocks(|sb| sb.fields.idaddr = Daddr(60))),
    ("IfileInode", |b| b.change_inode(IFILE.0, |inode| inode.mode = 0o100)),
    ("IfileInode", |b| b.change_inode(IFILE.0, |inode| inode.size += 1024)),
    ("IfileBlock", |b| b.change_inode(IFILE.0, |inode| inode.db[3] = FragNo(0x7fff_ffff))),
    ("IfileBlock", |b| b.change_inode(IFILE.0, |inode| inode.db[0] = FragNo(0))),
    ("FreeListRange", |b| next(b, 8, NextFree::Ino(Ino(1_000_000)))),
    ("FreeListTwice", |b| next(b, 9, NextFree::Ino(Ino(8)))),
    ("FreeListInUse", |b| next(b, 8, NextFree::Ino(Ino(3)))),
    ("FreeListMisses", |b| next(b, 8, NextFree::Ino(Ino(11)))),
    ("FreeListHead", |b| b.superblocks(|sb| sb.fields.freehd = Ino(8))),
    ("FreeListTail", |b| cleaner(b, |info| info.free_tail = Ino(8))),
    ("FreeListEmpty", |b| b.superblocks(|sb| sb.fields.freehd = Ino(0))),
    ("InodeNotThere", |b| b.change_entry(3, |entry| entry.daddr = Daddr(5_000))),
    ("Generation", |b| b.change_inode(3, |inode| inode.gen_ = 9)),
    ("MapEntry", |b| b.change_entry(20, |entry| entry.version = 0)),
    ("MapEntry", |b| {
        let (at, _) = b.entry(0);
        b.bytes[at + 4..at + 8].fill(0xff);
    }),
    ("Orphan", |b| {
        b.change_entry(3, |entry| entry.nextfree = NextFree::Orphan);
        b.change_inode(3, |inode| inode.nlink = 0);
    }),
    ("OrphanMark", |b| b.change_entry(3, |entry| entry.nextfree = NextFree::Orphan)),
    ("CleanSegmentInUse", |b| {
        let n = b.segment(b.sb.fields.idaddr);
        b.change_usage(n, |usage| usage.flags = usage.flags.without(SegFlags::DIRTY));
    }),
    ("SegmentBytes", |b| b.change_usage(7, |usage| usage.nbytes = 512)),
    ("SegmentCounts", |b| b.change_usage(0, |usage| usage.nsums = 9_000)),
    ("SegmentFlag", |b| b.change_usage(0, |usage| usage.flags = usage.flags.without(SegFlags::SUPERBLOCK))),
    ("SegmentFlag", |b| b.change_usage(0, |usage| usage.flags = usage.flags.with(SegFlags::EMPTY))),
    ("Count", |b| b.superblocks(|sb| sb.fields.avail += 1)),
    ("Count", |b| b.superblocks(|sb| sb.fields.bfree += 100_000)),
    ("Count", |b| b.superblocks(|sb| sb.fields.dmeta += 1)),
    ("Count", |b| b.superblocks(|sb| sb.fields.nclean += 1)),
    ("CleanerCount", |b| cleaner(b, |info| info.dirty += 1)),
    ("LogEnd", |b| b.superblocks(|sb| sb.fields.offset = Daddr(sb.fields.offset.0 - 1))),
    ("LogEnd", |b| b.superblocks(|sb| sb.fields.serial = Serial(2))),
    ("LogEnd", |b| b.superblocks(|sb| sb.fields.nextseg = sb.fields.curseg)),
    ("LogEnd", |b| b.superblocks(|sb| sb.fields.serial = Serial(u64::MAX >> 1))),
];

const OF_FILES: &[Case] = &[
    ("UnknownFileType", |b| b.change_inode(3, |inode| inode.mode = 0o644)),
    ("DirectoryModeLost", |b| b.change_inode(4, |inode| inode.mode = 0o644)),
    ("FileTooLarge", |b| b.change_inode(6, |inode| inode.size = 1 << 60)),
    ("SizeTooSmall", |b| b.change_inode(6, |inode| inode.size = 1)),
    ("PointerBeyondSize", |b| b.change_inode(3, |inode| inode.db[5] = FragNo(4_000))),
    ("BadPointer", |b| b.change_inode(3, |inode| inode.db[0] = FragNo(0x7fff_ffff))),
    ("BadPointer", |b| b.change_inode(6, |inode| inode.ib[0] = FragNo(1))),
    ("DuplicatePointer", |b| {
        let (_, big) = b.inode(6);
        b.change_inode(5, |inode| inode.db[0] = big.db[3]);
    }),
    ("BlockCount", |b| b.change_inode(6, |inode| inode.blocks += 2)),
    ("RootMissing", |b| b.change_inode(2, |inode| (inode.mode, inode.db[0]) = (0, FragNo(0)))),
    ("DirectoryTooShort", |b| b.change_inode(4, |inode| (inode.size, inode.blocks) = (0, 0))),
    ("DirectoryHole", |b| b.change_inode(4, |inode| inode.db[0] = FragNo(0))),
    ("DirectoryDamaged", |b| in_directory(b, 4, 28, 3)),
    ("Dot", |b| in_directory(b, 4, 0, 9)),
    ("DotDot", |b| in_directory(b, 4, 20, b'x')),
    ("EntryUnallocated", |b| in_directory(b, 4, 24, 40)),
    ("EntryOutOfRange", |b| in_directory(b, 4, 26, 9)),
    ("EntryType", |b| in_directory(b, 4, 30, 4)),
    ("ExtraName", |b| in_directory(b, 4, 24, 4)),
    ("WrongParent", |b| in_directory(b, 4, 12, 4)),
    ("DirectoryUnconnected", |b| in_directory(b, 2, 36, 3)),
    ("LinkCount", |b| b.change_inode(3, |inode| inode.nlink = 4)),
    ("Unreferenced", |b| in_directory(b, 4, 24, 3)),
];

/// Changes a byte of a directory's first block.
fn in_directory(built: &mut Built, ino: u32, at: usize, to: u8) {
    let (_, inode) = built.inode(ino);
    let place = built.place(inode.db[0].into());
    built.bytes[place + at] = to;
}

fn check(case: usize, (name, damage): &Case) {
    eprintln!("case {case}, {name}");
    let mut built = Built::filled();
    damage(&mut built);
    let disk = built.disk();
    let report = run(&disk, Mode::Check);
    let found = report.findings.iter().any(|found| found.finding.name() == *name);
    assert!(found, "case {case}, {name}:\n{}", common::told(&report));
    assert_eq!(report.exit_code(), 4, "{name}");
    assert!(disk.to_vec() == built.bytes, "{name}: -n wrote");
    let repair = run(&disk, Mode::Repair);
    assert_eq!(repair.exit_code(), 1, "case {case}, {name}:\n{}", common::told(&repair));
    let after = run(&disk, Mode::Check);
    assert_eq!(after.exit_code(), 0, "case {case}, {name}, after -y:\n{}", common::told(&after));
    assert!(after.clean, "{name}");
}

#[test]
fn damage_of_the_log_is_found_and_repaired() {
    for (n, case) in OF_THE_LOG.iter().enumerate() {
        check(n, case);
    }
}

#[test]
fn damage_of_files_and_names_is_found_and_repaired() {
    for (n, case) in OF_FILES.iter().enumerate() {
        check(n, case);
    }
}

#[test]
fn every_kind_of_finding_has_a_case() {
    // The last two have tests of their own (roll.rs).
    let apart = ["LogBreaks", "NoCleanSegment"];
    let cases: Vec<&str> = OF_THE_LOG.iter().map(|case| case.0).chain(apart).collect();
    let missing: Vec<_> = LfsFinding::NAMES.iter().filter(|name| !cases.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
