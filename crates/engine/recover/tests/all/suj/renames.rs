//! Crashes during renames, and while entries are moved.

use super::build::*;
use super::scenes::Scene;
use crate::common::build::*;
use ordo_ondisk::suj::Record;

pub(super) const RENAMES: &[Scene] = &[
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
        // The name that `..` agrees with stays, so that a replay has to write only names.
        holds: |v| {
            assert!(v.has(2, "other") && !v.has(DIR, "moved") && v.dotdot(OTHER) == 2);
            assert_eq!((v.get(2).nlink, v.get(DIR).nlink, v.get(OTHER).nlink), (4, 3, 2));
        },
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
