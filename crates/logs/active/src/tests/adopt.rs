//! What no transaction has written: adopted, verified, and overwritten; and a disk seen by who is not its writer.

use super::*;
use crate::{Adopted, Apart, NowhereRight, Pass, Verified};
use ordo_disk::read_len;

/// Fragments of the file of the journal.
const OWN: Range<u64> = FILE / FRAG..FILE / FRAG + 256;

fn adopt(bed: &Bed, active: &Active, frags: Range<u64>) -> Adopted {
    bed.rt.block_on(async {
        let done = active.adopt(frags, &Apart::new(8)).await.unwrap();
        active.settled().await.unwrap();
        done
    })
}

#[test]
fn what_was_adopted_is_verified_until_it_is_overwritten() {
    let bed = Bed::new();
    (0..OWN.start).for_each(|frag| bed.ram.poke(frag * FRAG, &bytes(frag as u8)));
    let open = bed.begin(None, ID);
    // Without a whole span at either end, and into the journal's own file.
    let done = adopt(&bed, &open.active, 3..21);
    assert_eq!((done, open.active.state().mapped), (Adopted { new: 18, left: 0 }, 18));
    assert_eq!(adopt(&bed, &open.active, 0..21), Adopted { new: 3, left: 0 }, "what is known is not taken again");
    let around = OWN.start - 1..OWN.end + 1;
    assert_eq!(adopt(&bed, &open.active, around), Adopted { new: 2, left: 0 }, "nothing of the journal itself");
    for reopened in [false, true] {
        let again = bed.active(Kept { by: Some(ID), dirty: false });
        let active = if reopened { &again } else { &open.active };
        // In an entry, and in a span.
        for frag in [4, 12] {
            bed.rot(frag * FRAG + 100);
            let error = bed.read(active, frag * FRAG, FRAG).unwrap_err();
            assert_eq!(error.cause, Cause::Rot);
            bed.rot(frag * FRAG + 100);
            assert_eq!(bed.read(active, frag * FRAG, FRAG).unwrap(), bytes(frag as u8));
        }
        let scrubbed = bed.rt.block_on(active.scrub()).unwrap();
        assert_eq!((scrubbed.blocks, scrubbed.rotten), (23, 0));
    }
    // Before other bytes are there, the map on the disk has no item of the place (logs-active-1).
    for frag in [4, 12] {
        bed.write(&open.active, frag * FRAG, &bytes(200)).unwrap();
        let cut = bed.active(Kept { by: Some(ID), dirty: false });
        assert_eq!(bed.read(&cut, frag * FRAG, FRAG).unwrap(), bytes(200));
        assert_eq!(bed.read(&open.active, frag * FRAG, FRAG).unwrap(), bytes(200));
    }
}

/// Contents are at home before the transaction whose inode names them: what is taken between the two is of after it.
#[test]
fn what_is_adopted_was_not_there_before_the_next_transaction() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let active = &open.active;
    open.commit(&bed, &[(3, 1)]);
    bed.write(active, 5 * FRAG, &bytes(8)).unwrap();
    assert_eq!(adopt(&bed, active, 5..6).new, 1);
    let knows_before_the_last = || {
        let moment = active.moments(DiskOff(3 * FRAG), FRAG).pop().unwrap();
        active.past(moment).knows(DiskOff(5 * FRAG), FRAG)
    };
    open.commit(&bed, &[(3, 2)]);
    assert!(!knows_before_the_last());
    open.commit(&bed, &[(3, 3)]);
    assert!(knows_before_the_last());
}

/// A span is read, and is right or wrong, as a whole (logs-active-11).
#[test]
fn what_is_read_apart_and_what_several_parts_wrote_is_not_in_one_span() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let active = &open.active;
    let mut apart = Apart::new(8);
    apart.add(13..14);
    for whole in [8, 16] {
        bed.rt.block_on(active.adopt(whole..whole + 8, &apart)).unwrap();
    }
    // As data=journal learns what is written past the journal: two files beside each other, and a block of one.
    let part = |count: usize| WritePart {
        image: Block::copy_of(&[7u8].repeat(count * FRAG as usize)).image(),
        tag: Tag::of(Kind::Data),
    };
    bed.rt.block_on(active.begins(ID, true)).unwrap();
    for (first, parts) in [(24, vec![part(3), part(5)]), (32, vec![part(8)])] {
        bed.rt.block_on(active.write(DiskOff(first * FRAG), parts, false)).unwrap();
    }
    for (first, is_span) in [(8, false), (16, true), (24, false), (32, true)] {
        bed.rot((first + 4) * FRAG);
        assert_eq!(bed.read(active, (first + 1) * FRAG, FRAG).is_err(), is_span, "from {first}");
        assert_eq!(bed.read(active, (first + 4) * FRAG, FRAG).unwrap_err().cause, Cause::Rot, "from {first}");
    }
}

#[test]
fn a_transaction_over_what_was_adopted_counts() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    adopt(&bed, &open.active, 0..32);
    open.commit_often(&bed, &[(4, 1), (12, 2)]);
    for (frag, seed) in [(4, 1), (12, 2)] {
        bed.write(&open.active, frag * FRAG, &bytes(seed)).unwrap();
        assert_eq!(bed.read(&open.active, frag * FRAG, FRAG).unwrap(), bytes(seed));
    }
    let (cut, _) = bed.recover(ID);
    for (frag, seed) in [(4, 1), (12, 2)] {
        assert_eq!(bed.read(&cut, frag * FRAG, FRAG).unwrap(), bytes(seed));
    }
}

#[test]
fn a_full_map_leaves_the_rest_and_says_so() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    // Each second fragment is an item of its own.
    let mut done = Adopted::default();
    let all = (1..(8 << 20) / FRAG).step_by(2);
    for frag in all.clone() {
        done += bed.rt.block_on(open.active.adopt(frag..frag + 1, &Apart::new(8))).unwrap();
    }
    assert!(done.left > 0 && done.new > 100, "{done:?}");
    let own = open.active.0.area.outside(0..(8 << 20) / FRAG).iter().map(|part| part.end - part.start).sum::<u64>();
    assert!((done.new + done.left).abs_diff(own / 2) < 8, "{done:?} of {own}");
    assert_eq!(open.active.state().mapped, done.new);
}

#[test]
fn who_is_not_the_writer_gets_right_bytes_and_writes_nothing_for_them() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit(&bed, &[(5, 1), (6, 2)]);
    bed.write(&open.active, 5 * FRAG, &[bytes(1), bytes(2)].concat()).unwrap();
    bed.home(&open.active);
    bed.rt.block_on(open.active.settled()).unwrap();
    bed.rot(5 * FRAG);
    let seen = |nowhere| {
        let disk: Rc<dyn Disk> = Rc::new(bed.ram.clone());
        let options = Options { read_only: true, ..Options::default() };
        let kept = Kept { by: Some(ID), dirty: false };
        let (extents, below) = (Bed::extents(), disk.clone());
        let active = bed.rt.block_on(Active::open(&bed.rt, disk, &extents, FRAG as u32, kept, options)).unwrap();
        match nowhere {
            NowhereRight::IsAnError => Verified::voiding(active, below, nowhere, (DiskOff(0), vec![0xee; 512])),
            NowhereRight::IsAsItIs => Verified::new(active, below, nowhere),
        }
    };
    let begins_with = || {
        let mut bytes = [0; 2];
        bed.ram.peek(0, &mut bytes);
        bytes
    };
    let read = |disk: &Verified, frag: u64| {
        let parts = vec![ReadPart { block: Block::unspecified(FRAG as usize), tag: Tag::default() }];
        assert_eq!(read_len(&parts), FRAG);
        bed.rt.block_on(async { disk.read(DiskOff(frag * FRAG), parts).await }).map(|parts| parts[0].block.to_vec())
    };
    let before = bed.ram.to_vec();
    let (strict, judge) = (seen(NowhereRight::IsAnError), seen(NowhereRight::IsAsItIs));
    assert_eq!(strict.info(), bed.ram.info());
    for disk in [&strict, &judge] {
        assert_eq!(read(disk, 5).unwrap(), bytes(1));
    }
    assert!(bed.ram.to_vec() == before, "nothing was written");
    // Home and copy are wrong.
    bed.places(&open.active, 6 * FRAG).iter().for_each(|at| bed.rot(*at));
    let mut home = bytes(2);
    home[0] ^= 0x40;
    assert_eq!(read(&strict, 6).unwrap_err().cause, Cause::Rot);
    assert_eq!((read(&judge, 6).unwrap(), judge.unproven()), (home, 1));
    // What is written through it is as it is there, and the map is void before.
    assert_eq!(begins_with(), [0, 0]);
    for disk in [&judge, &strict] {
        let part = WritePart { image: Block::copy_of(&bytes(9)).image(), tag: Tag::default() };
        bed.rt.block_on(async { disk.write(DiskOff(6 * FRAG), vec![part], false).await }).unwrap();
        assert_eq!(read(disk, 6).unwrap(), bytes(9));
        assert_eq!(begins_with(), if disk.unproven() > 0 { [0, 0] } else { [0xee, 0xee] });
    }
}

#[test]
fn a_pass_is_kept_with_the_map_and_goes_on_anywhere() {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    let pass = Pass { next: 9, began: 5, ended: 4 };
    open.active.set_pass(pass);
    assert_eq!(open.active.pass(), Pass::default(), "nothing is known");
    adopt(&bed, &open.active, 0..21);
    open.active.set_pass(pass);
    bed.rt.block_on(open.active.settled()).unwrap();
    let reopened = |by| bed.active(Kept { by: Some(by), dirty: false });
    assert_eq!((reopened(ID).pass(), reopened(ID + 1).pass()), (pass, Pass::default()), "the map of another is void");
    // Two spans, which come last, and what is left of 21.
    let active = reopened(ID);
    assert_eq!([0, 1 << 40, 1 << 63, 1 << 63 | 8].map(|next| active.read_before(next)), [0, 5, 5, 13]);
    let (mut read, mut next) = (0, Some(0));
    while let Some(from) = next {
        assert_eq!(active.read_before(from), read);
        let (some, then) = bed.rt.block_on(active.scrub_some(from, 3)).unwrap();
        (read, next) = (read + some.blocks, then);
    }
    assert_eq!(read, 21);
    // As a damaged root may have it.
    for next in [u64::MAX, 1 << 62, (1 << 63) - 1, 1 << 63 | 1 << 62] {
        assert!(active.read_before(next) <= 21);
        bed.rt.block_on(active.scrub_some(next, 3)).unwrap();
    }
    [17, 9].into_iter().for_each(|frag| bed.rot(frag * FRAG));
    let scrubbed = bed.rt.block_on(active.scrub()).unwrap();
    assert_eq!((scrubbed.rotten, scrubbed.first_rotten), (9, Some(DiskOff(17 * FRAG))), "entries come first");
}
