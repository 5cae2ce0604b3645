//! Crashes while files are created and removed; and all crashes, replayed.

use super::build::*;
use super::replayed;
use crate::common::build::*;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::suj::Record;
use ordo_ondisk::{Dinode, Endian, Format, FragNo};

/// A crash: the state that it leaves, with its records, and what must hold after the replay.
pub(crate) struct Scene {
    pub(crate) what: &'static str,
    pub(crate) crash: fn(&Journaled) -> Vec<Record>,
    pub(crate) holds: fn(&Journaled),
}

fn free_inode(v: &Journaled, ino: u32) -> bool {
    v.get(ino).mode == 0
}

/// The records of a new directory: its name, its `..`, its `.`.
fn mkdir(ino: u32, parent: u32, at: u64, parent_links: u16) -> Vec<Record> {
    vec![add(ino, parent, at, 0, DIR_MODE), add(parent, ino, 12, parent_links, DIR_MODE), add(ino, ino, 0, 1, DIR_MODE)]
}

/// The records of a directory that is removed.
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
        holds: |v| assert!(free_inode(v, BIG) && !v.frags_used(v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 24), 8)),
    },
    Scene {
        what: "unlink of a large file: only the name is gone",
        crash: |v| {
            let (ib, off) = (v.get(BIG).ib[0], v.unname(2, "big"));
            vec![rem(BIG, 2, off, 1, FILE_MODE), free(BIG, -12, ib, 8)]
        },
        holds: |v| assert!(free_inode(v, BIG) && !v.frags_used(v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 23), 8)),
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

pub(crate) fn scenes() -> impl Iterator<Item = &'static Scene> {
    CREATES.iter().chain(REMOVES).chain(super::renames::RENAMES).chain(super::blocks::BLOCKS)
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
