//! Lists of records, by the rules (L); uses of fragments, by the rules (B).

use crate::lists::{Element, Told, merged};
use crate::uses::{Blocks, Use};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::suj::{BlockRecord, MoveRecord, RefRecord};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Format, FragNo, Ino, Lbn};

fn of(parent: u32, diroff: u64, nlink: u16, mode: u16) -> RefRecord {
    RefRecord { ino: Ino(9), parent: Ino(parent), nlink, mode, diroff }
}

fn element(of: RefRecord, removed: bool) -> Element {
    Element { of, removed }
}

#[test]
fn a_pair_leaves_its_addition_and_a_removal_stays_whatever_comes_behind_it() {
    let (a, b) = (of(3, 24, 0, mode::REG), of(3, 24, 1, mode::REG));
    assert_eq!(merged(vec![Told::Added(a), Told::Removed(b)]), [element(a, false)]);
    assert_eq!(merged(vec![Told::Removed(b), Told::Added(a)]), [element(b, true)]);
    assert_eq!(merged(vec![Told::Removed(b), Told::Added(a), Told::Removed(b)]), [element(b, true)]);
    assert_eq!(merged(vec![Told::Added(a), Told::Added(b)]), [element(a, false)], "the later one is dropped");
}

#[test]
fn a_place_keeps_its_place_in_the_list_and_takes_the_mode_of_a_later_life() {
    let (file, dir) = (of(3, 24, 0, mode::REG), of(4, 36, 0, mode::DIR));
    let life = |of| [Told::Added(of), Told::Removed(of)];
    let told = [&life(file)[..], &life(dir), &[Told::Added(file)]].concat();
    assert_eq!(merged(told.clone()), [element(file, false), element(dir, false)], "of which the last one is no file");
    let mut begun = told;
    begun.insert(4, Told::Added(of(2, 0x7fff_fff4, 0, mode::REG)));
    assert_eq!(merged(begun).last().map(|last| last.of.mode), Some(mode::REG));
}

#[test]
fn a_move_takes_an_addition_along() {
    let (old, new) = (of(3, 24, 0, mode::REG), of(3, 12, 0, mode::REG));
    let moved = MoveRecord { ino: Ino(9), parent: Ino(3), oldoff: 24, newoff: 12 };
    assert_eq!(merged(vec![Told::Added(old), Told::Moved(moved)]), [element(old, false), element(new, false)]);
    let gone = [element(old, false), element(new, true)];
    assert_eq!(merged(vec![Told::Moved(moved), Told::Removed(new)]), gone, "it may still be where it was");
}

#[test]
fn a_use_is_protected_by_a_different_one_that_comes_later() {
    let geo = NewfsParams::new(Format::Ufs2, 64 << 20).superblock().unwrap().geometry();
    let base = geo.size - u64::from(geo.frag);
    let of = |ino, first: u64, frags| BlockRecord {
        ino: Ino(ino),
        blkno: FragNo(base + first),
        lbn: Lbn(0),
        frags,
        oldfrags: 0,
    };
    let mut blocks = Blocks::default();
    let mut tell = |record, freed| blocks.tell(&geo, record, freed).unwrap();
    tell(of(9, 1, 5), true);
    tell(of(7, 3, 2), false);
    let whole = Use { ino: 9, lbn: 0, first: 1, frags: 5 };
    assert_eq!(blocks.unprotected(base, whole), 0b10_0110, "without what is inode 7's now");
    blocks.tell(&geo, of(9, 1, 5), false).unwrap();
    assert_eq!(blocks.unprotected(base, whole), 0b11_1110, "its own use came again, behind that of inode 7");
}
