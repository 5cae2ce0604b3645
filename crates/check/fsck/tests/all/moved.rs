//! A directory that is moved, with a power cut in between: what the preen of each BSD does.
//!
//! Three blocks change: the new parent's gains a name, the directory's own gets another `..`, the old parent's loses a
//! name. Any subset may be on the disk. The judge here reads a volume by the rules of three preens; it repairs nothing.
//! The results are in docs/fsck.md.

use crate::alone::FREE;
use crate::common;
use crate::common::build::{DIR, OTHER, SUB, Volume};
use ordo_fsck::Mode;
use ordo_ondisk::{Endian, Format, FragNo, Ino, dirent};
use std::collections::BTreeMap;

/// The system whose `fsck_ffs -p` is modelled. All visit directories in the order of their first blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preen {
    /// FreeBSD today: of two names the one that `..` agrees with stays, and a wrong `..` is repaired.
    FreeBsd,
    /// FreeBSD 8: of two names the first stays; a wrong `..` is for a human.
    FreeBsd8,
    /// NetBSD: both names stay, and the last one counts; a wrong `..` is for a human.
    NetBsd,
}

/// What the preen stops at, if it does.
fn stop(v: &Volume, preen: Preen) -> Option<&'static str> {
    let dinodes: BTreeMap<u32, _> = (2..FREE).map(|ino| (ino, v.get(ino))).collect();
    let mut links: BTreeMap<u32, i32> = dinodes.iter().map(|(ino, d)| (*ino, i32::from(d.nlink))).collect();
    let mut dirs: Vec<u32> = dinodes.iter().filter(|(_, d)| d.is_dir()).map(|(ino, _)| *ino).collect();
    dirs.sort_by_key(|ino| dinodes[ino].db[0]);
    let dotdot = |dir: u32| v.names(dir)[1].1;
    let mut parent = BTreeMap::from([(2, 2)]);
    for &dir in &dirs {
        for (name, ino) in v.names(dir) {
            if dinodes[&ino].is_dir() && name != "." && name != ".." {
                match (parent.get(&ino).copied(), preen) {
                    (None, _) | (_, Preen::NetBsd) => {}
                    (Some(_), Preen::FreeBsd8) => continue,
                    (Some(first), Preen::FreeBsd) if first == dir || dotdot(ino) != dir => continue,
                    // The first name is removed.
                    (Some(_), Preen::FreeBsd) => *links.entry(ino).or_default() += 1,
                }
                parent.insert(ino, dir);
            }
            *links.entry(ino).or_default() -= 1;
        }
    }
    for dir in dirs {
        let (is, right) = (dotdot(dir), *parent.get(&dir)?);
        if is != right && preen != Preen::FreeBsd {
            return Some("bad inode number for `..`");
        }
        *links.entry(is).or_default() += 1;
        *links.entry(right).or_default() -= 1;
    }
    links.values().any(|&more| more < 0).then_some("link count increasing")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    NewName,
    DotDot,
    OldName,
}

/// `SUB` moves from `DIR` to `OTHER`, with the counts raised before, as every scheme does. `old_first`: the block of
/// `DIR` lies before that of `OTHER`.
fn cut(format: Format, endian: Endian, old_first: bool, done: &[Write]) -> Volume {
    let v = Volume::new(format, endian, true);
    if !old_first {
        let [a, b] = [DIR, OTHER].map(|dir| v.get(dir).db[0]);
        let [block_a, block_b] = [a, b].map(|at: FragNo| {
            let mut block = vec![0; 512];
            v.disk.peek(v.byte(at).0, &mut block);
            block
        });
        v.disk.poke(v.byte(a).0, &block_b);
        v.disk.poke(v.byte(b).0, &block_a);
        v.inode(DIR, |d| d.db[0] = b);
        v.inode(OTHER, |d| d.db[0] = a);
    }
    v.inode(SUB, |d| d.nlink += 1);
    v.inode(OTHER, |d| d.nlink += 1);
    for write in done {
        match write {
            Write::NewName => {
                let (at, own) = (v.byte(v.get(OTHER).db[0]).0, dirent::min_reclen(2));
                let mut block = vec![0; 512];
                v.disk.peek(at, &mut block);
                dirent::set_reclen(&mut block, 12, v.g.dir_format(), own as u16).expect("room");
                dirent::write(&mut block, 12 + own, v.g.dir_format(), (500 - own) as u16, Ino(SUB), 4, b"sub")
                    .expect("room");
                v.disk.poke(at, &block);
            }
            Write::DotDot => v.put_u32(v.entry(SUB, ".."), OTHER),
            Write::OldName => v.put_u32(v.entry(DIR, "sub"), 0),
        }
    }
    v.superblock(|sb| sb.fields.clean = 0);
    v
}

fn stops(old_first: bool, done: &[Write]) -> [bool; 3] {
    let v = cut(Format::Ufs2, Endian::Little, old_first, done);
    [Preen::FreeBsd, Preen::FreeBsd8, Preen::NetBsd].map(|preen| stop(&v, preen).is_some())
}

#[test]
fn each_preen_takes_the_states_that_its_rules_take() {
    use Write::{DotDot, NewName, OldName};
    let dotdot_is_wrong = [false, true, true];
    for old_first in [true, false] {
        assert_eq!(stops(old_first, &[]), [false; 3]);
        assert_eq!(stops(old_first, &[NewName, DotDot, OldName]), [false; 3]);
        assert_eq!(stops(old_first, &[DotDot]), dotdot_is_wrong);
        assert_eq!(stops(old_first, &[NewName, OldName]), dotdot_is_wrong);
        // Two names: the right one is the first, or the last.
        assert_eq!(stops(old_first, &[NewName]), [false, !old_first, old_first]);
        assert_eq!(stops(old_first, &[NewName, DotDot]), [false, old_first, !old_first]);
    }
    let v = cut(Format::Ufs2, Endian::Little, true, &[NewName, DotDot]);
    v.inode(OTHER, |d| d.nlink -= 1);
    assert_eq!(stop(&v, Preen::FreeBsd), Some("link count increasing"));
}

#[test]
fn in_no_order_of_the_three_writes_do_the_older_preens_pass() {
    use Write::{DotDot, NewName, OldName};
    // The old name is never removed before there is a new one: the directory would be lost.
    let orders = [[NewName, DotDot, OldName], [DotDot, NewName, OldName], [NewName, OldName, DotDot]];
    for order in orders {
        for old_first in [true, false] {
            let states = (0..=3).map(|done| stops(old_first, &order[..done]));
            let ever = states.fold([false; 3], |ever, state| std::array::from_fn(|i| ever[i] || state[i]));
            assert_eq!(ever, [false, true, true], "{order:?}, old parent first: {old_first}");
        }
    }
}

#[test]
fn ours_settles_every_state() {
    use Write::{DotDot, NewName, OldName};
    let states: [&[Write]; 6] =
        [&[], &[NewName], &[DotDot], &[NewName, DotDot], &[NewName, OldName], &[NewName, DotDot, OldName]];
    for (format, endian) in [(Format::Ufs1, Endian::Big), (Format::Ufs2, Endian::Little), (Format::Ufs2, Endian::Big)] {
        for old_first in [true, false] {
            for done in states {
                let v = cut(format, endian, old_first, done);
                let report = common::run(&v.disk, Mode::Preen).expect("a volume");
                assert!(report.clean, "{format:?} {endian:?} {done:?}: {}", common::told(&report));
                let named = |dir| v.names(dir).iter().filter(|(name, ino)| name == "sub" && *ino == SUB).count();
                let parent = v.names(SUB)[1].1;
                assert_eq!(named(DIR) + named(OTHER), 1, "{done:?}");
                assert_eq!(named(parent), 1, "{done:?}: `..` is another");
                assert_eq!(common::run(&v.disk, Mode::Check).expect("a volume").exit_code(), 0, "{done:?}");
            }
        }
    }
}
