//! Any word of a journal may hold anything while its sums are right: whoever opens it gets what is there, or an error.

use ordo_blockjournal::forged::{make_sums_right, make_superblock_right};
use ordo_blockjournal::{Journal, Options, Place, Transaction};
use ordo_disk::{Block, ByteRange, Counted, Disk, DiskOff, RamDisk};
use ordo_ring::testing::{each_word, with_word};
use ordo_rt::Rt;
use std::rc::Rc;

const BLOCK: usize = 512;
const BLOCKS: usize = 64;
/// Where the blocks begin, behind both slots.
const FIRST: usize = 8192;
/// The most reads of an opening: the search for a hole reads no block more often than this.
const READS: u64 = 4 * BLOCKS as u64;

/// What a field may hold that was not written by this program.
const HOSTILE: [u64; 14] = [
    0,
    1,
    2,
    7,
    511,
    1 << 31,
    (1 << 31) - 1,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 32,
    1 << 62,
    1 << 63,
    u64::MAX - 511,
    u64::MAX,
];

fn place(rt: &Rt, disk: &RamDisk) -> Place {
    let (counted, _) = Counted::count(Rc::new(disk.clone()) as Rc<dyn Disk>);
    Place::whole(rt, counted)
}

fn transaction(first: u64, count: u64) -> Transaction {
    let block = |i: u64| (DiskOff(i * BLOCK as u64), Block::copy_of(&[i as u8; BLOCK]).image());
    let revoked = ByteRange::new(DiskOff(first * 512), 1024).into_iter().collect();
    Transaction { blocks: (first..first + count).map(block).collect(), revoked, note: vec![3; 700] }
}

/// A journal that was not closed, with the bytes of its disk.
fn crashed() -> Vec<u8> {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new((FIRST + BLOCKS * BLOCK) as u64));
    rt.block_on(async {
        Journal::make(&place(&rt, &disk), BLOCK as u32, 7).await.unwrap();
        let (journal, _) = Journal::open(place(&rt, &disk), Options::default()).await.unwrap();
        for (first, count) in [(1, 3), (40, 1), (2, 9)] {
            journal.commit(transaction(first, count)).await.unwrap();
        }
    });
    let mut bytes = vec![0; FIRST + BLOCKS * BLOCK];
    disk.peek(0, &mut bytes);
    bytes
}

/// Opens it in every way, and replays and commits where that is possible.
fn open(bytes: &[u8]) -> bool {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new(bytes.len() as u64));
    disk.poke(0, bytes);
    let (counted, requests) = Counted::count(Rc::new(disk) as Rc<dyn Disk>);
    let place = || Place::whole(&rt, counted.clone());
    let opened = rt.block_on(async {
        if let Ok(found) = Journal::inspect(place()).await {
            found.recovered.replay();
        }
        let Ok((journal, recovered)) = Journal::open(place(), Options::default()).await else { return false };
        recovered.replay();
        // Whether there is room does not matter here.
        let _ = journal.commit(transaction(9, 2)).await;
        true
    });
    assert!(requests.get().reads < 2 * READS, "{} reads", requests.get().reads);
    opened
}

#[test]
fn any_word_of_a_journal_may_hold_anything() {
    let good = crashed();
    assert!(open(&good));
    let (mut opened, mut all) = (0, 0);
    let mut count = |(some, of)| (opened, all) = (opened + some, all + of);
    for slot in [0, 4096] {
        count(each_word(&good, ("superblock", slot), 16..SUPERBLOCK_FIELDS, &HOSTILE, |mut bytes| {
            make_superblock_right(&mut bytes[slot..]);
            open(&bytes)
        }));
    }
    let salt = make_superblock_right(&mut good.clone()[..]);
    for block in (0..BLOCKS).map(|n| FIRST + n * BLOCK).filter(|at| good[*at..].starts_with(b"oBJb")) {
        count(each_word(&good, ("block at", block), 8..96, &HOSTILE, |mut bytes| {
            make_sums_right(&mut bytes[FIRST..].chunks_mut(BLOCK).collect::<Vec<_>>(), salt);
            open(&bytes)
        }));
    }
    // Without right sums nothing would be opened to the end.
    assert!(opened > all / 4, "{opened} of {all}");
}

/// Bytes of a superblock that have a meaning.
const SUPERBLOCK_FIELDS: usize = 104;

#[test]
fn a_revoked_range_without_an_end_does_not_count() {
    let good = crashed();
    let salt = make_superblock_right(&mut good.clone()[..]);
    let kind = |at: usize| good[at..].starts_with(b"oBJb") && good[at + 8] == 2;
    let revoke = (0..BLOCKS).map(|n| FIRST + n * BLOCK).find(|at| kind(*at)).expect("the first transaction revokes");
    let mut bytes = with_word(&good, revoke + 48 + 8, 8, u64::MAX - 511);
    make_sums_right(&mut bytes[FIRST..].chunks_mut(BLOCK).collect::<Vec<_>>(), salt);
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new(bytes.len() as u64));
    disk.poke(0, &bytes);
    let found = rt.block_on(Journal::inspect(Place::whole(&rt, Rc::new(disk)))).unwrap();
    assert!(found.recovered.transactions.is_empty());
    assert!(found.damage.is_some(), "the transactions behind it were durable");
}
