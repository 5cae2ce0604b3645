//! The cleaner: what stays in its copy, what goes home before the line comes, and what a commit waits for.

use super::*;

/// The piece that has the copy of a fragment.
fn piece(open: &Open, frag: u64) -> u32 {
    let layer = &open.active.0;
    let copy = layer.map.borrow().get(frag).and_then(|entry| entry.copy).unwrap();
    layer.groups.borrow().piece_of(layer.place_with(copy)).unwrap()
}

/// Is it only in its copy?
fn is_away(open: &Open, frag: u64) -> bool {
    open.active.0.map.borrow().get(frag).is_some_and(|entry| !entry.home)
}

/// Blocks from 1000 on, each in two transactions, and written home, until the line is so far.
fn fill(bed: &Bed, open: &Open, upto: u32) -> Vec<u64> {
    let mut frags = Vec::new();
    while open.active.0.line.get() < upto {
        let frag = 500 + frags.len() as u64;
        frags.push(frag);
        open.commit_often(bed, &[(frag, frag as u8)]);
        bed.write(&open.active, frag * FRAG, &bytes(frag as u8)).unwrap();
        let last = open.journal.last();
        bed.rt.block_on(open.journal.checkpoint(last)).unwrap();
    }
    frags
}

#[test]
fn a_home_is_left_to_its_copy_if_its_block_is_committed_often() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    assert!(!is_away(&open, 5), "committed once");
    open.commit(&bed, &[(6, 3)]);
    bed.write(&open.active, 6 * FRAG, &bytes(3)).unwrap();
    assert!(is_away(&open, 6) && open.active.state().left_away == 1);
    // Not if the line will come to the copy soon.
    open.commit_often(&bed, &[(7, 4)]);
    open.active.0.line.set(piece(&open, 7));
    bed.write(&open.active, 7 * FRAG, &bytes(4)).unwrap();
    assert!(!is_away(&open, 7));
}

#[test]
fn the_cleaner_brings_home_what_the_line_overwrites_next_and_no_more() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let pieces = open.active.0.area.pieces();
    let frags = fill(&bed, &open, pieces / 4 * 3);
    // The line is at its end: the cleaned part begins there and goes on at its beginning.
    open.active.0.line.set(pieces - pieces / 8);
    let before: Vec<(u64, u32)> = frags.iter().map(|frag| (*frag, piece(&open, *frag))).collect();
    assert!(before.iter().all(|(frag, _)| is_away(&open, *frag)));
    bed.rt.block_on(open.active.go_home(Homeward::Next)).unwrap();
    let next = (pieces - pieces / 8 + pieces / 8 * 3) % pieces;
    for (frag, piece) in &before {
        assert_eq!(is_away(&open, *frag), *piece >= next, "fragment {frag}, in piece {piece} of {pieces}");
    }
    let (first, last) = (frags[0], *frags.last().unwrap());
    assert!(!is_away(&open, first) && is_away(&open, last));
    bed.ram.power_cut();
    let mut home = vec![0; FRAG as usize];
    bed.ram.peek(first * FRAG, &mut home);
    assert_eq!(home, bytes(first as u8), "durably");
}

#[test]
fn a_commit_waits_only_for_the_homes_of_what_it_overwrites() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let layer = &open.active.0;
    open.commit(&bed, &[(5, 1)]);
    let (piece, len) = (u64::from(piece(&open, 5)), layer.area.place_len());
    let place = |piece: u64| layer.area.head() + piece * len..layer.area.head() + (piece + 1) * len;
    assert!(!layer.is_vacant(&place(piece)), "the home has nothing");
    bed.write(&open.active, 5 * FRAG, &bytes(1)).unwrap();
    assert!(!layer.is_vacant(&place(piece)), "the home has it, and a power cut would take it");
    assert!(layer.is_vacant(&place(piece + 2)), "nothing is there");
    bed.rt.block_on(async { open.active.flush().await }).unwrap();
    assert!(layer.is_vacant(&place(piece)));
}

#[test]
fn the_cleaner_brings_home_what_lies_in_a_place_without_an_owner() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let layer = &open.active.0;
    let pieces = layer.area.pieces();
    let last = *fill(&bed, &open, pieces / 4 * 3).last().unwrap();
    let of = piece(&open, last);
    layer.groups.borrow_mut().enter(&layer.area, of..of + 1, Some(DiskOff(0)), &|_, _| true, &|_| false);
    // A piece may move to that place at any time.
    bed.rt.block_on(open.active.go_home(Homeward::Next)).unwrap();
    assert!(!is_away(&open, last));
}
