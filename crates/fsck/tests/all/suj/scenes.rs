//! Crashes in the middle of every kind of operation.

use super::build::*;
use super::replayed;
use crate::common::build::*;
use ondisk::dinode::mode;
use ondisk::suj::{Record, TruncRecord};
use ondisk::{Dinode, Endian, Format, FragNo, Ino};

/// A crash: the state that it leaves, with the records that tell of it, and what must hold after the replay.
pub(crate) struct Scene {
    pub(crate) what: &'static str,
    pub(crate) crash: fn(&Journaled) -> Vec<Record>,
    holds: fn(&Journaled),
}

fn free_inode(v: &Journaled, ino: u32) -> bool {
    v.get(ino).mode == 0
}

/// The records of a new directory: its name, its `..`, its `.`.
fn mkdir(ino: u32, parent: u32, at: u64, parent_links: u16) -> Vec<Record> {
    vec![add(ino, parent, at, 0, DIR_MODE), add(parent, ino, 12, parent_links, DIR_MODE), add(ino, ino, 0, 1, DIR_MODE)]
}

/// The records of a directory that goes.
fn rmdir(ino: u32, parent: u32, at: u64, parent_links: u16) -> Vec<Record> {
    vec![rem(ino, parent, at, 2, DIR_MODE), rem(parent, ino, 12, parent_links, DIR_MODE), rem(ino, ino, 0, 1, DIR_MODE)]
}

const CREATES: &[Scene] = &[
    Scene { what: "nothing happened", crash: |_| vec![], holds: |v| assert!(v.has(2, "file")) },
    Scene {
        what: "create: the name is not there",
        crash: |v| {
            v.new_file(NEW, 1, v.block(0), 2);
            vec![add(NEW, 2, 300, 0, FILE_MODE), new(NEW, 0, v.block(0), 2, 0)]
        },
        holds: |v| assert!(free_inode(v, NEW) && !v.frags_used(v.block(0), 2)),
    },
    Scene {
        what: "create: only the maps are there",
        crash: |v| {
            v.use_inode(NEW, true, false);
            v.use_inode(NEWER, true, true);
            v.use_frags(v.block(0), 2, true);
            vec![add(NEW, 2, 300, 0, FILE_MODE), new(NEW, 0, v.block(0), 2, 0), add(NEWER, 2, 320, 0, DIR_MODE)]
        },
        holds: |v| assert!(!v.frags_used(v.block(0), 2)),
    },
    Scene {
        what: "create: all is there but the maps",
        crash: |v| {
            let at = v.name(2, "new", NEW, 8);
            v.new_file(NEW, 1, v.block(0), 2);
            v.use_inode(NEW, false, false);
            v.use_frags(v.block(0), 2, false);
            vec![add(NEW, 2, at, 0, FILE_MODE), new(NEW, 0, v.block(0), 2, 0)]
        },
        holds: |v| assert!(v.get(NEW).nlink == 1 && v.has(2, "new") && v.frags_used(v.block(0), 2)),
    },
    Scene {
        what: "link: the name is not there",
        crash: |v| {
            v.inode(FILE, |d| d.nlink = 3);
            vec![add(FILE, 2, 300, 2, FILE_MODE)]
        },
        holds: |v| assert_eq!(v.get(FILE).nlink, 2),
    },
    Scene {
        what: "link: the name is there and not counted, as the inode is of an older write",
        crash: |v| vec![add(FILE, 2, v.name(2, "third", FILE, 8), 2, FILE_MODE)],
        holds: |v| assert_eq!(v.get(FILE).nlink, 3),
    },
    Scene {
        what: "mkdir: the name is not there",
        crash: |v| {
            v.new_dir(NEW, 2, v.block(0));
            v.inode(2, |d| d.nlink = 5);
            [mkdir(NEW, 2, 300, 4), vec![new(NEW, 0, v.block(0), 1, 0)]].concat()
        },
        holds: |v| assert!(free_inode(v, NEW) && v.get(2).nlink == 4 && !v.frags_used(v.block(0), 1)),
    },
    Scene {
        what: "mkdir: the parent does not count it yet",
        crash: |v| {
            v.new_dir(NEW, 2, v.block(0));
            let at = v.name(2, "new", NEW, 4);
            [mkdir(NEW, 2, at, 4), vec![new(NEW, 0, v.block(0), 1, 0)]].concat()
        },
        holds: |v| assert!(v.get(NEW).nlink == 2 && v.get(2).nlink == 5 && v.has(2, "new")),
    },
    Scene {
        what: "mkdir: the name is there and the contents are not",
        crash: |v| {
            v.new_dir(NEW, 2, v.block(0));
            v.inode(NEW, |d| (d.size, d.db, d.blocks, d.nlink) = (0, [FragNo::HOLE; 12], 0, 1));
            let at = v.name(2, "new", NEW, 4);
            [mkdir(NEW, 2, at, 4), vec![new(NEW, 0, v.block(0), 1, 0)]].concat()
        },
        holds: |v| assert!(free_inode(v, NEW) && v.get(2).nlink == 4 && !v.has(2, "new")),
    },
    Scene {
        what: "mkdir of a tree without its first name",
        crash: |v| {
            v.new_dir(NEW, 2, v.block(0));
            v.new_dir(NEWER, NEW, v.block(1));
            v.new_file(17, 1, v.block(2), 8);
            let (inner, file) = (v.name(NEW, "inner", NEWER, 4), v.name(NEWER, "file", 17, 8));
            v.inode(NEW, |d| d.nlink = 3);
            v.inode(2, |d| d.nlink = 5);
            let blocks = vec![
                new(NEW, 0, v.block(0), 1, 0),
                new(NEWER, 0, v.block(1), 1, 0),
                add(17, NEWER, file, 0, FILE_MODE),
                new(17, 0, v.block(2), 8, 0),
            ];
            [mkdir(NEW, 2, 300, 4), mkdir(NEWER, NEW, inner, 2), blocks].concat()
        },
        holds: |v| {
            assert!(free_inode(v, NEW) && free_inode(v, NEWER) && free_inode(v, 17) && v.get(2).nlink == 4);
            assert!(!v.frags_used(v.block(2), 8) && !v.frags_used(v.block(1), 1));
        },
    },
];

const REMOVES: &[Scene] = &[
    Scene {
        what: "unlink: one of two names is gone",
        crash: |v| vec![rem(FILE, 2, v.unname(2, "hard"), 2, FILE_MODE)],
        holds: |v| assert!(v.get(FILE).nlink == 1 && v.has(2, "file")),
    },
    Scene {
        what: "unlink: the last name is gone",
        crash: |v| {
            let at = v.get(INNER).db[0];
            vec![rem(INNER, DIR, v.unname(DIR, "inner"), 1, FILE_MODE), free(INNER, 0, at, 1)]
        },
        holds: |v| assert!(free_inode(v, INNER)),
    },
    Scene {
        what: "unlink: the name is still there",
        crash: |v| vec![rem(INNER, DIR, v.offset(DIR, "inner"), 1, FILE_MODE), free(INNER, 0, v.get(INNER).db[0], 1)],
        holds: |v| assert!(v.get(INNER).nlink == 1 && v.frags_used(v.get(INNER).db[0], 1)),
    },
    Scene {
        what: "unlink: all is gone but the maps",
        crash: |v| {
            let (at, off) = (v.get(INNER).db[0], v.unname(DIR, "inner"));
            v.inode(INNER, |d| *d = Dinode::free(d.gen_));
            vec![rem(INNER, DIR, off, 1, FILE_MODE), free(INNER, 0, at, 1)]
        },
        holds: |v| assert!(free_inode(v, INNER)),
    },
    Scene {
        what: "unlink of a large file: the inode is gone, the blocks of pointers are there",
        crash: |v| {
            let (big, off) = (v.get(BIG), v.unname(2, "big"));
            v.inode(BIG, |d| *d = Dinode::free(d.gen_));
            let direct = (0..12).map(|lbn| free(BIG, lbn, big.db[lbn as usize], 8));
            let mut records = vec![rem(BIG, 2, off, 1, FILE_MODE)];
            records.extend(direct.chain([free(BIG, -12, big.ib[0], 8)]));
            records
        },
        holds: |v| assert!(free_inode(v, BIG) && !v.frags_used(v.g.cgdmin(ondisk::Cgx(1)).plus(8 * 24), 8)),
    },
    Scene {
        what: "unlink of a large file: only the name is gone",
        crash: |v| {
            let (ib, off) = (v.get(BIG).ib[0], v.unname(2, "big"));
            vec![rem(BIG, 2, off, 1, FILE_MODE), free(BIG, -12, ib, 8)]
        },
        holds: |v| assert!(free_inode(v, BIG) && !v.frags_used(v.g.cgdmin(ondisk::Cgx(1)).plus(8 * 23), 8)),
    },
    Scene {
        what: "rmdir: the name is gone",
        crash: |v| rmdir(OTHER, 2, v.unname(2, "other"), 4),
        holds: |v| assert!(free_inode(v, OTHER) && v.get(2).nlink == 3),
    },
    Scene {
        what: "rmdir: the name is still there",
        crash: |v| {
            v.inode(2, |d| d.nlink = 4);
            rmdir(OTHER, 2, v.offset(2, "other"), 4)
        },
        holds: |v| assert!(v.get(OTHER).nlink == 2 && v.get(2).nlink == 4),
    },
    Scene {
        what: "rmdir: all is gone but the maps, and the count of the parent",
        crash: |v| {
            let (at, off) = (v.get(OTHER).db[0], v.unname(2, "other"));
            v.inode(OTHER, |d| *d = Dinode::free(d.gen_));
            [rmdir(OTHER, 2, off, 4), vec![free(OTHER, 0, at, 1)]].concat()
        },
        holds: |v| assert!(free_inode(v, OTHER) && v.get(2).nlink == 3),
    },
    Scene {
        what: "files without a name that were open",
        crash: |v| {
            v.new_file(NEW, 0, v.block(0), 2);
            v.new_file(NEWER, 0, v.block(1), 8);
            // Its last name was not removed yet.
            v.inode(FILE, |d| d.freelink = NEWER);
            v.inode(NEW, |d| d.freelink = FILE);
            v.superblock(|sb| sb.fields.sujfree = NEW as i32);
            vec![]
        },
        holds: |v| {
            assert!(free_inode(v, NEW) && free_inode(v, NEWER) && !v.frags_used(v.block(1), 8));
            assert_eq!((v.get(FILE).nlink, v.get(FILE).freelink, v.get(NEW).freelink), (2, 0, 0));
        },
    },
];

const RENAMES: &[Scene] = &[
    Scene {
        what: "rename: both names are there",
        crash: |v| {
            let new = v.name(DIR, "moved", INNER, 8);
            let old = v.offset(DIR, "inner");
            v.inode(INNER, |d| d.nlink = 2);
            vec![add(INNER, DIR, new, 1, FILE_MODE), rem(INNER, DIR, old, 2, FILE_MODE)]
        },
        holds: |v| assert!(v.get(INNER).nlink == 2 && v.has(DIR, "moved") && v.has(DIR, "inner")),
    },
    Scene {
        what: "rename: only the new name is there",
        crash: |v| {
            let new = v.name(2, "moved", INNER, 8);
            let old = v.unname(DIR, "inner");
            v.inode(INNER, |d| d.nlink = 2);
            vec![add(INNER, 2, new, 1, FILE_MODE), rem(INNER, DIR, old, 2, FILE_MODE)]
        },
        holds: |v| assert!(v.get(INNER).nlink == 1 && v.has(2, "moved")),
    },
    Scene {
        what: "rename over a file: the name has the new inode, the old inode is there",
        crash: |v| {
            let at = v.offset(2, "hard");
            v.put_u32(v.entry(2, "hard"), INNER);
            let old = v.offset(DIR, "inner");
            v.inode(INNER, |d| d.nlink = 2);
            vec![add(INNER, 2, at, 1, FILE_MODE), rem(FILE, 2, at, 2, FILE_MODE), rem(INNER, DIR, old, 2, FILE_MODE)]
        },
        holds: |v| assert!(v.get(INNER).nlink == 2 && v.get(FILE).nlink == 1),
    },
    Scene {
        what: "rename of a directory: both names are there, `..` is the old one",
        crash: |v| {
            let new = v.name(DIR, "moved", OTHER, 4);
            rename_dir(v, new, v.offset(2, "other"))
        },
        holds: dir_has_moved,
    },
    Scene {
        what: "rename of a directory: both names are there, `..` is the new one",
        crash: |v| {
            let new = v.name(DIR, "moved", OTHER, 4);
            v.put_u32(v.entry(OTHER, ".."), DIR);
            rename_dir(v, new, v.offset(2, "other"))
        },
        holds: dir_has_moved,
    },
    Scene {
        what: "rename of a directory: only `..` is the old one",
        crash: |v| {
            let new = v.name(DIR, "moved", OTHER, 4);
            let old = v.unname(2, "other");
            rename_dir(v, new, old)
        },
        holds: dir_has_moved,
    },
    Scene {
        what: "rename of a directory: the new name did not come",
        crash: |v| {
            v.put_u32(v.entry(OTHER, ".."), DIR);
            rename_dir(v, 300, v.offset(2, "other"))
        },
        holds: |v| {
            assert!(v.has(2, "other") && v.dotdot(OTHER) == 2 && v.get(2).nlink == 4 && v.get(DIR).nlink == 3);
        },
    },
    Scene {
        what: "rename of a directory: that the old name goes was not told",
        crash: |v| {
            let new = v.name(2, "moved", OTHER, 4);
            v.inode(OTHER, |d| d.nlink = 3);
            vec![add(OTHER, 2, new, 2, DIR_MODE)]
        },
        holds: |v| assert!(v.has(2, "other") && !v.has(2, "moved") && v.get(OTHER).nlink == 2),
    },
    Scene {
        what: "entries moved, and the disk has them where they were",
        crash: |v| vec![moved(BIG, 2, v.offset(2, "big"), 400), moved(FILE, 2, v.offset(2, "file"), 416)],
        holds: |v| assert!(v.get(BIG).nlink == 1 && v.get(FILE).nlink == 2),
    },
    Scene {
        what: "a name moved twice, then it was removed, and the disk has the first move",
        crash: |v| {
            v.unname(2, "hard");
            let now = v.name(2, "hard", FILE, 8);
            vec![moved(FILE, 2, 200, now), moved(FILE, 2, now, 400), rem(FILE, 2, 400, 2, FILE_MODE)]
        },
        holds: |v| assert!(v.get(FILE).nlink == 2 && v.has(2, "hard")),
    },
    Scene {
        what: "a name moved, then it was removed, and the disk has all of it",
        crash: |v| {
            let was = v.unname(2, "hard");
            vec![moved(FILE, 2, was, 400), rem(FILE, 2, 400, 2, FILE_MODE)]
        },
        holds: |v| assert!(v.get(FILE).nlink == 1 && v.has(2, "file")),
    },
    Scene {
        what: "a name came, moved and went, and another has its place",
        crash: |v| {
            let at = v.name(2, "again", FILE, 8);
            vec![
                add(FILE, 2, at, 2, FILE_MODE),
                moved(FILE, 2, at, 400),
                rem(FILE, 2, 400, 3, FILE_MODE),
                add(FILE, 2, at, 2, FILE_MODE),
            ]
        },
        holds: |v| assert_eq!(v.get(FILE).nlink, 3),
    },
];

/// The records of the rename of `/other` to `/dir/moved`.
fn rename_dir(v: &Journaled, new: u64, old: u64) -> Vec<Record> {
    v.inode(OTHER, |d| d.nlink = 3);
    v.inode(DIR, |d| d.nlink = 4);
    vec![
        add(OTHER, DIR, new, 2, DIR_MODE),
        add(DIR, OTHER, 12, 3, DIR_MODE),
        rem(OTHER, 2, old, 3, DIR_MODE),
        rem(2, OTHER, 12, 4, DIR_MODE),
    ]
}

fn dir_has_moved(v: &Journaled) {
    assert!(v.has(DIR, "moved") && !v.has(2, "other") && v.dotdot(OTHER) == DIR);
    assert_eq!((v.get(2).nlink, v.get(DIR).nlink, v.get(OTHER).nlink), (3, 4, 2));
}

const BLOCKS: &[Scene] = &[
    Scene {
        what: "a block was taken, and nobody points to it",
        crash: |v| {
            v.use_frags(v.block(0), 8, true);
            vec![new(BIG, 14, v.block(0), 8, 0)]
        },
        holds: |v| assert!(!v.frags_used(v.block(0), 8)),
    },
    Scene {
        what: "a block was taken, and the file has it",
        crash: |v| {
            v.set_pointer(v.get(BIG).ib[0], 2, v.block(0));
            v.inode(BIG, |d| d.size = 15 * 8192);
            vec![new(BIG, 14, v.block(0), 8, 0)]
        },
        holds: |v| assert!(v.frags_used(v.block(0), 8) && v.get(BIG).blocks == 16 * 16),
    },
    Scene {
        what: "a growing file: pointers are there beyond its size",
        crash: |v| {
            v.use_frags(v.block(0), 8, true);
            v.set_pointer(v.get(BIG).ib[0], 2, v.block(0));
            vec![new(BIG, 14, v.block(0), 8, 0)]
        },
        holds: |v| assert!(!v.frags_used(v.block(0), 8) && v.get(BIG).size == 14 * 8192),
    },
    Scene {
        what: "a growing file: its size is there, and the block of pointers has none",
        crash: |v| {
            let big = v.get(BIG);
            for index in 0..2 {
                v.set_pointer(big.ib[0], index, FragNo::HOLE);
            }
            let first = v.g.cgdmin(ondisk::Cgx(1));
            vec![
                new(BIG, -12, big.ib[0], 8, 0),
                new(BIG, 12, first.plus(8 * 23), 8, 0),
                new(BIG, 13, first.plus(8 * 24), 8, 0),
            ]
        },
        holds: |v| {
            let (big, first) = (v.get(BIG), v.g.cgdmin(ondisk::Cgx(1)));
            assert_eq!((big.size, big.blocks, big.ib[0]), (12 * 8192, 12 * 16, FragNo::HOLE));
            assert!((22..25).all(|n| !v.frags_used(first.plus(8 * n), 8)));
        },
    },
    Scene {
        what: "a block was given back, and is still in use",
        crash: |v| {
            let last = v.get(BIG).db[11];
            v.inode(BIG, |d| {
                (d.size, d.ib[0]) = (11 * 8192, FragNo::HOLE);
                d.db[11] = FragNo::HOLE;
            });
            vec![free(BIG, 11, last, 8), free(BIG, -12, v.g.cgdmin(ondisk::Cgx(1)).plus(8 * 22), 8)]
        },
        holds: |v| {
            let first = v.g.cgdmin(ondisk::Cgx(1));
            assert!((21..25).all(|n| !v.frags_used(first.plus(8 * n), 8)));
            assert_eq!(v.get(BIG).blocks, 11 * 16);
        },
    },
    Scene {
        what: "a block of pointers was given back, and has other contents now",
        crash: |v| {
            let (ib, first) = (v.get(BIG).ib[0], v.g.cgdmin(ondisk::Cgx(1)));
            v.inode(BIG, |d| (d.size, d.ib[0]) = (12 * 8192, FragNo::HOLE));
            v.use_frags(first.plus(8 * 23), 16, false);
            // Not pointers: to follow them would free a block of somebody else.
            v.new_file(NEW, 1, ib, 8);
            v.set_pointer(ib, 0, v.get(BIG).db[0]);
            let at = v.name(2, "new", NEW, 8);
            let mut records = vec![free(BIG, -12, ib, 8)];
            records.extend([free(BIG, 12, first.plus(8 * 23), 8), free(BIG, 13, first.plus(8 * 24), 8)]);
            records.extend([add(NEW, 2, at, 0, FILE_MODE), new(NEW, 0, ib, 8, 0)]);
            records
        },
        holds: |v| assert!(v.frags_used(v.get(BIG).db[0], 8) && v.frags_used(v.get(NEW).db[0], 8)),
    },
    Scene {
        what: "a block of pointers is free already, and somebody is about to use it",
        crash: |v| {
            let (ib, first) = (v.get(BIG).ib[0], v.g.cgdmin(ondisk::Cgx(1)));
            v.inode(BIG, |d| (d.size, d.ib[0]) = (12 * 8192, FragNo::HOLE));
            v.use_frags(first.plus(8 * 22), 24, false);
            v.set_pointer(ib, 0, v.get(BIG).db[0]);
            vec![free(BIG, -12, ib, 8)]
        },
        holds: |v| assert!(v.frags_used(v.get(BIG).db[0], 8) && v.get(BIG).blocks == 12 * 16),
    },
    Scene {
        what: "a block went from one file to another",
        crash: |v| {
            let at = v.get(INNER).db[0];
            v.inode(INNER, |d| (d.size, d.db[0], d.blocks) = (0, FragNo::HOLE, 0));
            v.new_file(NEW, 1, at, 1);
            let name = v.name(2, "new", NEW, 8);
            vec![free(INNER, 0, at, 1), add(NEW, 2, name, 0, FILE_MODE), new(NEW, 0, at, 1, 0)]
        },
        holds: |v| assert!(v.frags_used(v.get(NEW).db[0], 1)),
    },
    Scene {
        what: "a fragment was extended in place, and the file does not know",
        crash: |v| {
            let at = v.get(FILE).db[0];
            v.use_frags(at.plus(2), 2, true);
            vec![new(FILE, 0, at, 4, 2)]
        },
        holds: |v| {
            let at = v.get(FILE).db[0];
            assert!(v.frags_used(at, 2) && !v.frags_used(at.plus(2), 2) && v.get(FILE).blocks == 4);
        },
    },
    Scene {
        what: "a fragment moved to where there is room, and the old one is in use",
        crash: |v| {
            let old = v.get(FILE).db[0];
            v.use_frags(v.block(0), 4, true);
            v.inode(FILE, |d| (d.size, d.db[0], d.blocks) = (4000, v.block(0), 8));
            vec![new(FILE, 0, v.block(0), 4, 0), free(FILE, 0, old, 2)]
        },
        holds: |v| assert!(!v.frags_used(v.g.cgdmin(ondisk::Cgx(1)).plus(8 * 4), 2) && v.frags_used(v.block(0), 4)),
    },
    Scene {
        what: "a fragment moved, and the file does not know",
        crash: |v| {
            v.use_frags(v.block(0), 4, true);
            vec![new(FILE, 0, v.block(0), 4, 0), free(FILE, 0, v.get(FILE).db[0], 2)]
        },
        holds: |v| assert!(v.frags_used(v.get(FILE).db[0], 2) && !v.frags_used(v.block(0), 4)),
    },
    Scene {
        what: "the end of a file was cut, and its fragments are in use",
        crash: |v| {
            let at = v.get(FILE).db[0];
            v.inode(FILE, |d| (d.size, d.blocks) = (900, 2));
            vec![free(FILE, 0, at.plus(1), 1)]
        },
        holds: |v| assert!(v.frags_used(v.get(FILE).db[0], 1) && !v.frags_used(v.get(FILE).db[0].plus(1), 1)),
    },
    Scene {
        what: "a truncation did not end",
        crash: |_| vec![trunc(BIG, 3000), trunc(BIG, 50_000), trunc(INNER, 0), Record::Sync(size(INNER, 10))],
        holds: |v| {
            let (big, first) = (v.get(BIG), v.g.cgdmin(ondisk::Cgx(1)));
            assert_eq!((big.size, big.blocks, big.ib[0]), (3000, 6, FragNo::HOLE));
            assert!(v.frags_used(big.db[0], 3) && !v.frags_used(big.db[0].plus(3), 5));
            assert!((11..25).all(|n| !v.frags_used(first.plus(8 * n), 8)));
            assert_eq!(v.get(INNER).size, 10);
            let mut tail = [1; 72];
            v.disk.peek(v.byte(big.db[0]).0 + 3000, &mut tail);
            assert_eq!(tail, [0; 72]);
        },
    },
    Scene {
        what: "the attribute area was given back",
        crash: |v| {
            if v.g.format == Format::Ufs1 {
                return vec![];
            }
            let at = v.get(ATTRS).extb[0];
            v.inode(ATTRS, |d| (d.extsize, d.extb[0]) = (0, FragNo::HOLE));
            vec![free(ATTRS, -1, at, 1)]
        },
        holds: |v| assert_eq!(v.get(ATTRS).blocks, 2),
    },
];

fn size(ino: u32, size: u64) -> TruncRecord {
    TruncRecord { ino: Ino(ino), size, extsize: 0 }
}

fn trunc(ino: u32, to: u64) -> Record {
    Record::Trunc(size(ino, to))
}

pub(crate) fn scenes() -> impl Iterator<Item = &'static Scene> {
    CREATES.iter().chain(REMOVES).chain(RENAMES).chain(BLOCKS)
}

#[test]
fn every_crashed_operation_is_settled() {
    for format in [Format::Ufs1, Format::Ufs2] {
        for endian in [Endian::Little, Endian::Big] {
            let pristine = Journaled::new(format, endian);
            for scene in scenes() {
                let what = format!("{format:?} {endian:?} {}", scene.what);
                let volume = pristine.copy();
                let records = (scene.crash)(&volume);
                if !records.is_empty() {
                    volume.segment(0, 0, &records);
                }
                let done = replayed(&volume, &what);
                assert_eq!(done.records, records.len() as u64, "{what}");
                (scene.holds)(&volume);
                assert_eq!(volume.get(DEVICE).mode & mode::CHR, mode::CHR);
            }
        }
    }
}
