//! Any word of an active journal may hold anything while its sums are right: of the map, of the headers of group
//! journals, and of the journal above. Whoever opens it gets what is there, or an error.

use super::*;
use crate::bytes;
use crate::page::PAGE;
use crate::root::Root;
use ordo_blockjournal::forged::{make_sums_right, make_superblock_right};

const SIZE: usize = 8 << 20;

/// What a field may hold that was not written by this program.
const HOSTILE: [u64; 11] =
    [0, 1, 1 << 31, (1 << 31) - 1, u32::MAX as u64, 1 << 55, 1 << 62, 1 << 63, u64::MAX - 1023, u64::MAX - 1, u64::MAX];

/// What a crash leaves: a map, moved pieces, and transactions that the map does not have yet.
fn crashed() -> Bed {
    let bed = Bed::new();
    let open = bed.begin(None, ID);
    open.commit_often(&bed, &[(5, 1), (6, 2), (300, 3)]);
    bed.rt.block_on(open.active.settled()).unwrap();
    open.active.0.head.set(FILE + (3 << 20));
    open.commit_often(&bed, &[(7, 4), (9, 5)]);
    let revoked = ByteRange::new(DiskOff(5 * FRAG), FRAG).into_iter().collect();
    bed.rt.block_on(open.journal.commit(Transaction { revoked, ..transaction(&[(11, 6)]) })).unwrap();
    open.commit(&bed, &[(12, 7)]);
    bed
}

fn image(bed: &Bed) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    bed.ram.peek(0, &mut bytes);
    bytes
}

/// Does with it all that a mount does, as far as it goes.
fn mount(bytes: &[u8]) -> bool {
    let bed = Bed::new();
    bed.ram.poke(0, bytes);
    bed.rt.block_on(async {
        let (disk, options) = (Rc::new(bed.ram.clone()), Options { near_head: Some(true), ..Options::default() });
        let kept = Kept { by: Some(ID), dirty: true };
        let Ok(active) = Active::open(&bed.rt, disk, &Bed::extents(), FRAG as u32, kept, options).await else {
            return false;
        };
        let Ok(found) = Journal::inspect(bed.place(&active)).await else { return false };
        let all = &found.recovered.transactions;
        active.recovered(found.id, all.iter().map(|one| (one.seq.0, &one.stored[..], &one.revoked[..])));
        let part = |bytes: &[u8]| WritePart { image: Block::copy_of(bytes).image(), tag: Tag::of(Kind::Data) };
        for (at, block) in found.recovered.replay() {
            // A place that is not on the disk is an error.
            let _ = active.write(at, vec![part(block)], false).await;
        }
        let _ = active.settled().await;
        for frag in 0..FILE / FRAG {
            let whole = ReadPart { block: Block::unspecified(FRAG as usize), tag: Tag::of(Kind::Data) };
            let _ = active.read(DiskOff(frag * FRAG), vec![whole]).await;
        }
        let (_, _) = (active.bring_home().await, active.scrub().await);
        if active.begins(ID + 1, false).await.is_err() {
            return true;
        }
        let place = bed.place(&active);
        if Journal::make(&place, FRAG as u32, ID + 1).await.is_ok()
            && let Ok((journal, _)) = Journal::open(place, ordo_blockjournal::Options::default()).await
        {
            journal.tell(Rc::new(active.clone()));
            let _ = journal.commit(transaction(&[(5, 9), (200, 9)])).await;
            let _ = active.settled().await;
        }
        true
    })
}

/// Says which word it was, if the test ends by a panic.
struct Note(String);

impl Drop for Note {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Puts each hostile value in the place of each word of `fields` at `at`, makes the sums right, and mounts. Returns how
/// many were mounted to the end, and how many there were.
fn each_word(good: &[u8], at: usize, fields: std::ops::Range<usize>, right: &dyn Fn(&mut [u8])) -> (u32, u32) {
    let (mut mounted, mut all) = (0, 0);
    for (word, width) in fields.step_by(4).flat_map(|word| [(word, 4), (word, 8)]) {
        let fits = |value: &u64| (width == 8) == (*value > u32::MAX.into()) || width == 8 && word % 8 == 0;
        for value in HOSTILE.into_iter().filter(fits) {
            let _note = Note(format!("structure at {at}, byte {word}, {width} bytes: {value:#x}"));
            let mut bytes = good.to_vec();
            bytes[at + word..at + word + width].copy_from_slice(&value.to_le_bytes()[..width]);
            right(&mut bytes);
            mounted += u32::from(mount(&bytes));
            all += 1;
        }
    }
    (mounted, all)
}

fn put_sum(structure: &mut [u8]) -> u32 {
    let sum = bytes::sum(structure);
    structure[..4].copy_from_slice(&sum.to_le_bytes());
    sum
}

#[test]
fn any_word_of_the_map_may_hold_anything() {
    let bed = crashed();
    let good = image(&bed);
    assert!(mount(&good));
    let active = bed.active(Kept { by: Some(ID), dirty: true });
    let area = &active.0.area;
    let roots: Vec<usize> =
        (0..2).flat_map(|number| area.root(number)).map(|from| area.run(from).0.0 as usize).collect();
    let newest = Root::newest(roots.iter().map(|at| Root::decode(&good[*at..*at + 512]))).expect("it was settled");
    let (top, level) = newest.top.expect("it has a page");
    assert_eq!(level, 0);
    let page = [false, true].map(|twin| area.run(area.page(top.page, twin)).0.0 as usize);
    // The newest root and its twin say the same, and so do the page and its own.
    let of_newest: Vec<usize> =
        roots.iter().copied().filter(|at| Root::decode(&good[*at..*at + 512]) == Some(newest)).collect();
    let right = |bytes: &mut [u8]| {
        let (from, twin) = (page[0], page[1]);
        let sum = put_sum(&mut bytes[from..from + PAGE as usize]);
        bytes.copy_within(from..from + PAGE as usize, twin);
        for root in &of_newest {
            bytes[root + 60..root + 64].copy_from_slice(&sum.to_le_bytes());
            put_sum(&mut bytes[*root..root + 512]);
        }
    };
    let of_page = each_word(&good, page[0], 8..32 + 5 * 24, &right);
    let right = |bytes: &mut [u8]| {
        put_sum(&mut bytes[of_newest[0]..of_newest[0] + 512]);
        bytes.copy_within(of_newest[0]..of_newest[0] + 512, of_newest[1]);
    };
    let of_root = each_word(&good, of_newest[0], 16..64, &right);
    for (mounted, all) in [of_page, of_root] {
        assert!(mounted > all / 5, "{mounted} of {all}");
    }
}

#[test]
fn any_word_of_a_header_of_a_group_may_hold_anything() {
    let good = image(&crashed());
    let headers = (0..SIZE / 512).map(|n| n * 512).filter(|at| good[at + 4..].starts_with(b"oAGj"));
    let headers: Vec<usize> = headers.collect();
    assert!(!headers.is_empty(), "a piece has moved");
    for at in headers {
        let right = |bytes: &mut [u8]| {
            put_sum(&mut bytes[at..at + PAGE as usize]);
        };
        let (mounted, all) = each_word(&good, at, 8..64, &right);
        assert!(mounted > all / 2, "{mounted} of {all}");
    }
}

#[test]
fn any_word_of_the_journal_above_may_hold_anything() {
    let good = image(&crashed());
    let begin = |magic: &[u8]| -> Vec<usize> {
        (0..SIZE / 512).map(|n| n * 512).filter(|at| good[*at..].starts_with(magic)).collect()
    };
    let (own, supers) = (begin(b"oBJb"), begin(b"ORDOBJNL"));
    let salt = supers.iter().map(|at| make_superblock_right(&mut good.clone()[*at..])).next().expect("one is there");
    // By their places on the line, which each of them names.
    let mut line = own.clone();
    line.sort_by_key(|at| u64::from_le_bytes(std::array::from_fn(|i| good[at + 24 + i])));
    let right = |bytes: &mut [u8]| {
        let mut blocks: Vec<Vec<u8>> = line.iter().map(|at| bytes[*at..at + FRAG as usize].to_vec()).collect();
        make_sums_right(&mut blocks.iter_mut().map(|block| &mut block[..]).collect::<Vec<_>>(), salt);
        for (at, block) in line.iter().zip(blocks) {
            bytes[*at..at + FRAG as usize].copy_from_slice(&block);
        }
    };
    let (mut mounted, mut all) = (0, 0);
    // One block of each kind: the kinds are 1 to 4.
    for at in (1..=4).filter_map(|kind| own.iter().copied().find(|at| good[at + 8] == kind)) {
        let some = each_word(&good, at, 8..88, &right);
        (mounted, all) = (mounted + some.0, all + some.1);
    }
    assert!(mounted > all / 2, "{mounted} of {all}");
}
