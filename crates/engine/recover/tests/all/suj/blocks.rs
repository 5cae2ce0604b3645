//! Crashes while blocks are being allocated and freed.

use super::build::*;
use super::scenes::Scene;
use crate::common::build::*;
use ordo_ondisk::suj::{Record, TruncRecord};
use ordo_ondisk::{Format, FragNo, Ino};

pub(super) const BLOCKS: &[Scene] = &[
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
            let first = v.g.cgdmin(ordo_ondisk::Cgx(1));
            vec![
                new(BIG, -12, big.ib[0], 8, 0),
                new(BIG, 12, first.plus(8 * 23), 8, 0),
                new(BIG, 13, first.plus(8 * 24), 8, 0),
            ]
        },
        holds: |v| {
            let (big, first) = (v.get(BIG), v.g.cgdmin(ordo_ondisk::Cgx(1)));
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
            vec![free(BIG, 11, last, 8), free(BIG, -12, v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 22), 8)]
        },
        holds: |v| {
            let first = v.g.cgdmin(ordo_ondisk::Cgx(1));
            assert!((21..25).all(|n| !v.frags_used(first.plus(8 * n), 8)));
            assert_eq!(v.get(BIG).blocks, 11 * 16);
        },
    },
    Scene {
        what: "two levels of pointers in two groups were given back, and all is still in use",
        crash: |v| {
            let (big, double, single) = (v.get(BIG), v.block(0), v.block(1));
            v.inode(BIG, |d| (d.size, d.ib[0]) = (12 * 8192, FragNo::HOLE));
            for at in [double, single] {
                v.use_frags(at, 8, true);
                v.disk.poke(v.byte(at).0, &[0; 8192]);
            }
            v.set_pointer(double, 0, big.ib[0]);
            v.set_pointer(double, 5, single);
            v.set_pointer(single, 3, v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 25));
            v.use_frags(v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 25), 8, true);
            vec![free(BIG, -13 - i64::from(v.g.nindir), double, 8)]
        },
        holds: |v| {
            let first = v.g.cgdmin(ordo_ondisk::Cgx(1));
            assert!((22..26).all(|n| !v.frags_used(first.plus(8 * n), 8)));
            assert!(!v.frags_used(v.block(0), 8) && !v.frags_used(v.block(1), 8));
        },
    },
    Scene {
        what: "a block of pointers was given back, and has other contents now",
        crash: |v| {
            let (ib, first) = (v.get(BIG).ib[0], v.g.cgdmin(ordo_ondisk::Cgx(1)));
            v.inode(BIG, |d| (d.size, d.ib[0]) = (12 * 8192, FragNo::HOLE));
            v.use_frags(first.plus(8 * 23), 16, false);
            // Not pointers: following them would free a block of another file.
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
            let (ib, first) = (v.get(BIG).ib[0], v.g.cgdmin(ordo_ondisk::Cgx(1)));
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
        holds: |v| {
            assert!(!v.frags_used(v.g.cgdmin(ordo_ondisk::Cgx(1)).plus(8 * 4), 2) && v.frags_used(v.block(0), 4))
        },
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
            let (big, first) = (v.get(BIG), v.g.cgdmin(ordo_ondisk::Cgx(1)));
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
