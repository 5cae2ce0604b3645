//! The journal through its public interface: on disks in memory, in virtual time.

use ordo_blockjournal::planted::{Broken, plant};
use ordo_blockjournal::{Commit, Error, ErrorKind, Found, Journal, Options, Place, Seq, Transaction, Witness};
use ordo_disk::{Block, ByteRange, DiskOff, DiskOp, Homeward, Queue, QueueOptions, RamDisk};
use ordo_ring::testing::scrambled;
use ordo_rt::{Rng, Rt};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use std::rc::Rc;

const FIRST: u64 = 8192;
const MAGIC: &[u8; 4] = b"oBJb";

struct Bed {
    rt: Rt,
    ram: RamDisk,
    block: u32,
}

impl Bed {
    /// A journal of `blocks` blocks of 512 bytes.
    fn new(blocks: u64) -> Bed {
        Bed::with(blocks, 512)
    }

    fn with(blocks: u64, block: u32) -> Bed {
        let first = FIRST.max(block.into());
        let ram = RamDisk::new(first + blocks * u64::from(block)).volatile(true);
        let bed = Bed { rt: Rt::virtual_time(1), ram, block };
        bed.rt.block_on(Journal::make(&bed.place(), block, 7)).unwrap();
        bed
    }

    fn place(&self) -> Place {
        Place::whole(&self.rt, Rc::new(self.ram.clone()))
    }

    fn open(&self) -> (Journal, Vec<Found>) {
        let (journal, recovered) = self.try_open().unwrap();
        (journal, recovered.transactions)
    }

    fn try_open(&self) -> Result<(Journal, ordo_blockjournal::Recovered), Error> {
        self.rt.block_on(Journal::open(self.place(), Options::default()))
    }

    fn commit(&self, journal: &Journal, transaction: &Transaction) -> Seq {
        self.rt.block_on(journal.commit(transaction.clone())).unwrap()
    }

    fn damage(&self, at: u64) {
        let mut byte = [0];
        self.ram.peek(at, &mut byte);
        self.ram.poke(at, &[byte[0] ^ 0x55]);
    }

    /// A transaction of `count` blocks, each filled with a byte of its own.
    fn blocks(&self, count: u64, byte: u8) -> Transaction {
        let block = self.block as usize;
        let one = |i: u64| (DiskOff(i * block as u64), Block::copy_of(&vec![byte + i as u8; block]).image());
        Transaction { blocks: (0..count).map(one).collect(), ..Transaction::default() }
    }
}

fn range(at: u64, len: u64) -> ByteRange {
    ByteRange::new(DiskOff(at), len).unwrap()
}

/// True if `found` equals `transaction`, except for its number, length and time.
fn is(found: &Found, transaction: &Transaction, block: usize) -> bool {
    let mut pieces = Vec::new();
    for (at, image) in &transaction.blocks {
        pieces.extend(image.chunks(block).enumerate().map(|(i, piece)| (*at + (i * block) as u64, piece.to_vec())));
    }
    let blocks: Vec<_> = found.blocks.iter().map(|(at, block)| (*at, block.to_vec())).collect();
    (blocks, &found.revoked, &found.note) == (pieces, &transaction.revoked, &transaction.note)
}

fn random(rng: &mut Rng, block: usize) -> Transaction {
    let mut transaction = Transaction::default();
    for _ in 0..rng.below(6) {
        let mut image = Block::zeroed(block * rng.range(1, 3) as usize);
        rng.fill(&mut image);
        if rng.chance(1, 3) {
            image[..4].copy_from_slice(MAGIC);
        }
        transaction.blocks.push((DiskOff(rng.below(32) * block as u64), image.image()));
    }
    for _ in 0..rng.below(3) {
        transaction.revoked.push(range(rng.below(32) * block as u64, block as u64 * rng.range(1, 4)));
    }
    transaction.note = vec![0; if rng.chance(1, 3) { rng.below(1500) as usize } else { 0 }];
    rng.fill(&mut transaction.note);
    transaction
}

#[test]
fn committed_transactions_are_found_in_order_and_complete() {
    let bed = Bed::new(64);
    let (journal, found) = bed.open();
    assert_eq!((found.len(), journal.id(), journal.size(), journal.room()), (0, 7, 64, 64));
    let mut rng = Rng::new(2);
    let mut all: Vec<Transaction> = (0..4).map(|_| random(&mut rng, 512)).collect();
    all.push(Transaction::default());
    for (i, transaction) in all.iter().enumerate() {
        assert_eq!(bed.commit(&journal, transaction), Seq(i as u64 + 1));
    }
    bed.ram.power_cut();
    for opened in 0..3 {
        let (journal, found) = bed.open();
        assert_eq!(found.len(), all.len());
        for (i, (found, transaction)) in found.iter().zip(&all).enumerate() {
            assert_eq!(found.seq, Seq(i as u64 + 1), "opened {opened} times");
            assert!(is(found, transaction, 512) && found.time >= 946_684_800_000_000_000);
        }
        let used: u64 = found.iter().map(|found| found.length).sum();
        assert_eq!((journal.room(), journal.live()), (64 - used, Some((Seq(1), Seq(5)))));
    }
}

#[test]
fn an_inspection_tells_all_and_writes_nothing() {
    let bed = Bed::new(64);
    let (journal, _) = bed.open();
    bed.commit(&journal, &bed.blocks(3, 1));
    let before = bed.ram.to_vec();
    let seen = bed.rt.block_on(Journal::inspect(bed.place())).unwrap();
    assert_eq!(bed.ram.to_vec(), before);
    assert_eq!((seen.id, seen.block_size, seen.size, seen.used), (7, 512, 64, 5));
    assert_eq!((seen.clean, seen.tail, seen.recovered.last(), seen.damage), (false, Seq(1), Seq(1), None));
    bed.rt.block_on(async {
        assert_eq!(journal.close().await, Err(Error::Unfinished { first: Seq(1), last: Seq(1) }));
        journal.checkpoint(Seq(1)).await.unwrap();
        journal.close().await.unwrap();
        assert_eq!(journal.commit(Transaction::default()).await, Err(Error::Closed));
    });
    let seen = bed.rt.block_on(Journal::inspect(bed.place())).unwrap();
    assert_eq!((seen.clean, seen.used, seen.tail, seen.recovered.last()), (true, 0, Seq(2), Seq::NONE));
    let (journal, found) = bed.open();
    assert_eq!((found.len(), bed.commit(&journal, &bed.blocks(1, 1))), (0, Seq(2)));
    assert!(!bed.rt.block_on(Journal::inspect(bed.place())).unwrap().clean);
}

/// Goes around a journal many times, reopens it now and then, and checks that all live transactions are found.
fn rounds(rt: &Rt, place: impl Fn() -> Place, block: usize, seed: u64, steps: u64) {
    let mut rng = Rng::new(seed);
    let options =
        |rng: &mut Rng| Options { commit: if rng.chance(1, 2) { Commit::Together } else { Commit::AfterFlush } };
    rt.block_on(async {
        let mut journal = Journal::open(place(), options(&mut rng)).await.unwrap().0;
        let mut live: Vec<(Seq, Transaction)> = Vec::new();
        let mut blocks = 0;
        for step in 0..steps {
            let transaction = random(&mut rng, block);
            let images: u64 = transaction.blocks.iter().map(|(_, image)| (image.len() / block) as u64).sum();
            let cost = journal.cost(images, transaction.revoked.len() as u64, transaction.note.len() as u64);
            blocks += cost;
            while !journal.fits(cost) {
                let free = journal.room();
                let full = journal.commit(transaction.clone()).await;
                assert_eq!(full, Err(Error::Full { wanted: cost, free }), "step {step}");
                let gone = rng.range(1, live.len() as u64 + 1) as usize;
                journal.checkpoint(live[gone - 1].0).await.unwrap();
                live.drain(..gone);
                assert!(journal.room() > free);
            }
            let before = journal.room();
            let seq = journal.commit(transaction.clone()).await.unwrap();
            assert_eq!((seq, before - journal.room()), (Seq(step + 1), cost));
            live.push((seq, transaction));
            if rng.chance(1, 10) {
                assert_eq!(journal.live(), Some((live[0].0, seq)));
                let (again, recovered) = Journal::open(place(), options(&mut rng)).await.unwrap();
                journal = again;
                let seqs: Vec<Seq> = recovered.transactions.iter().map(|found| found.seq).collect();
                assert_eq!(seqs, live.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), "step {step}");
                let same = recovered.transactions.iter().zip(&live).all(|(found, (_, given))| is(found, given, block));
                assert!(same, "step {step}");
            }
        }
        assert!(blocks > 20 * journal.size(), "so many laps");
    });
}

#[test]
fn the_journal_wraps_around() {
    for (blocks, block) in [(24, 512), (37, 1024), (30, 4096), (25, 16384)] {
        let bed = Bed::with(blocks, block);
        rounds(&bed.rt, || bed.place(), block as usize, u64::from(block), 400);
    }
}

#[test]
fn a_place_that_has_grown_does_not_change_the_circle() {
    let bed = Bed::new(24);
    let mut bytes = bed.ram.to_vec();
    bytes.resize(bytes.len() + 10 * 512, 0xee);
    let grown = Bed { ram: RamDisk::from_bytes(&bytes), ..bed };
    rounds(&grown.rt, || grown.place(), 512, 1, 300);
    assert!(grown.ram.to_vec()[bytes.len() - 10 * 512..].iter().all(|byte| *byte == 0xee));
}

#[test]
fn the_journal_writes_only_inside_its_extents() {
    let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(1 << 20).volatile(true));
    ram.poke(0, &vec![0xee; 1 << 20]);
    let queue = Queue::new(&rt, Rc::new(ram.clone()), QueueOptions::default());
    // Out of order; two of them are adjacent.
    let extents = [(400, 3), (100, 1), (101, 5), (300, 1), (200, 40), (99, 1)];
    let extents = extents.map(|(at, len)| (DiskOff(at * 1024), len * 1024));
    let place = || Place::new(&queue, &extents).unwrap();
    rt.block_on(Journal::make(&place(), 1024, 0)).unwrap();
    rounds(&rt, place, 1024, 3, 300);
    for (i, bytes) in ram.to_vec().chunks(1024).enumerate() {
        let is_ours = extents.iter().any(|(at, len)| (at.0..at.0 + len).contains(&(i as u64 * 1024)));
        assert!(is_ours || bytes.iter().all(|byte| *byte == 0xee), "block {i}");
    }
    assert!(matches!(rt.block_on(Journal::make(&place(), 2048, 0)), Err(Error::BlockSize { .. })));
    let bad = |extents: &[(DiskOff, u64)]| Place::new(&queue, extents).map_err(Error::from).err();
    assert!(matches!(bad(&[]), Some(Error::Extents { .. })));
    assert!(matches!(bad(&[(DiskOff(0), 1024), (DiskOff(512), 1024)]), Some(Error::Extents { .. })));
    assert!(matches!(bad(&[(DiskOff(100), 1024)]), Some(Error::Disk(_))));
}

#[test]
fn a_full_journal_says_so_and_a_checkpoint_frees_what_it_names() {
    let bed = Bed::new(16);
    let (journal, _) = bed.open();
    for i in 0..4 {
        assert_eq!(journal.room(), 16 - 4 * i);
        bed.commit(&journal, &bed.blocks(2, i as u8));
    }
    let full = bed.rt.block_on(journal.commit(Transaction::default())).unwrap_err();
    assert_eq!((full.kind(), full), (ErrorKind::Caller, Error::Full { wanted: 1, free: 0 }));
    let ahead = bed.rt.block_on(journal.checkpoint(Seq(5)));
    assert_eq!(ahead, Err(Error::NoTransaction { seq: Seq(5), last: Seq(4) }));
    bed.rt.block_on(journal.checkpoint(Seq(2))).unwrap();
    assert_eq!((journal.room(), journal.live()), (8, Some((Seq(3), Seq(4)))));
    bed.rt.block_on(journal.checkpoint(Seq(1))).unwrap();
    assert_eq!((journal.counters().superblocks, journal.fits(8), journal.fits(9)), (2, true, false));
    bed.commit(&journal, &bed.blocks(6, 9));
    bed.rt.block_on(journal.checkpoint(Seq(5))).unwrap();
    assert_eq!((journal.room(), journal.live()), (16, None));
    // The whole journal, and not a block more.
    assert_eq!((journal.cost(14, 0, 0), bed.commit(&journal, &bed.blocks(14, 3))), (16, Seq(6)));
    let long = bed.rt.block_on(journal.commit(bed.blocks(15, 0)));
    assert_eq!(long, Err(Error::TooLong { blocks: 17, most: 16 }));
    let (_, found) = bed.open();
    assert!(found.len() == 1 && is(&found[0], &bed.blocks(14, 3), 512));
}

#[test]
fn ranges_that_are_not_whole_blocks_are_refused() {
    let bed = Bed::with(16, 1024);
    let (journal, _) = bed.open();
    let image = |len: usize| Block::zeroed(len).image();
    let of = |blocks, revoked| Transaction { blocks, revoked, note: Vec::new() };
    let wrong = [
        of(vec![(DiskOff(0), image(512))], vec![]),
        of(vec![(DiskOff(512), image(1024))], vec![]),
        of(vec![(DiskOff(0), image(0))], vec![]),
        of(vec![(DiskOff(u64::MAX - 1023), image(1024))], vec![]),
        of(vec![], vec![range(0, 512)]),
        of(vec![], vec![range(1, 1024)]),
    ];
    for wrong in wrong {
        let answer = bed.rt.block_on(journal.commit(wrong.clone()));
        assert!(matches!(answer, Err(Error::Ragged { .. })), "{wrong:?}");
    }
    assert_eq!(bed.commit(&journal, &Transaction::default()), Seq(1));
}

#[test]
fn any_byte_that_is_wrong_at_the_end_is_a_torn_tail_and_in_the_middle_damage() {
    let bed = Bed::new(64);
    let (journal, _) = bed.open();
    let mut middle = bed.blocks(2, 20);
    (middle.note, middle.revoked) = (vec![1; 500], vec![range(512, 512)]);
    for transaction in [bed.blocks(1, 10), middle, bed.blocks(1, 30), bed.blocks(1, 40)] {
        bed.commit(&journal, &transaction);
    }
    // Their lengths are 3, 7, 3 and 3 blocks.
    for at in FIRST + 3 * 512..FIRST + 10 * 512 {
        bed.damage(at);
        let Err(Error::Damaged(damage)) = bed.try_open() else { panic!("opened with byte {at} wrong") };
        assert_eq!((damage.first, damage.sure, damage.witness), (Seq(2), Seq(2), Witness::Entry(Seq(3))));
        let (_, place) = damage.why.expect("a block is wrong");
        assert!(place.0 == at / 512 * 512 || place.0 == FIRST + 9 * 512, "{damage}");
        let seen = bed.rt.block_on(Journal::inspect(bed.place())).unwrap();
        assert_eq!((seen.damage, seen.recovered.last()), (Some(damage), Seq(1)));
        bed.damage(at);
    }
    let text = {
        bed.damage(FIRST + 4 * 512);
        let text = bed.try_open().map(|_| ()).unwrap_err().to_string();
        bed.damage(FIRST + 4 * 512);
        text
    };
    assert!(text.contains("transaction 2 an image is not whole, at byte 10240"), "{text}");
    let good = bed.ram.to_vec();
    for at in FIRST + 13 * 512..FIRST + 16 * 512 {
        bed.damage(at);
        let (_, found) = bed.open();
        assert_eq!(found.len(), 3, "byte {at}");
        bed.ram.poke(0, &good);
    }
    // Once it was found, it is known to have been durable.
    drop(bed.open());
    bed.damage(FIRST + 13 * 512);
    let Err(Error::Damaged(damage)) = bed.try_open() else { panic!("opened") };
    assert_eq!((damage.first, damage.sure, damage.witness), (Seq(4), Seq(4), Witness::Superblock));
    let _broken = plant(Broken::Witness);
    assert_eq!(bed.open().1.len(), 3, "ring-4 is what convicts it");
}

#[test]
fn a_lost_superblock_is_missed() {
    let bed = Bed::new(16);
    let (journal, _) = bed.open();
    for i in 0..30 {
        bed.commit(&journal, &bed.blocks(2, i));
        bed.rt.block_on(journal.checkpoint(Seq(i.into()))).unwrap();
    }
    bed.commit(&journal, &bed.blocks(2, 90));
    let good = bed.ram.to_vec();
    let mut refused = 0;
    for slot in [0, 4096] {
        bed.damage(slot + 60);
        match bed.try_open() {
            Ok((_, recovered)) => assert_eq!(recovered.last(), Seq(31)),
            Err(Error::Damaged(damage)) => {
                assert!(matches!(damage.witness, Witness::Lost(_)), "{damage}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
        bed.ram.poke(0, &good);
    }
    assert_eq!(refused, 1, "the older one is of use, the newer one is missed");
    // Closed, opened again, and the superblock of that opening lost: the one that says "closed" is left.
    bed.rt.block_on(journal.checkpoint(Seq(31))).unwrap();
    bed.rt.block_on(journal.close()).unwrap();
    let (journal, _) = bed.open();
    bed.commit(&journal, &bed.blocks(5, 1));
    let seen = bed.rt.block_on(Journal::inspect(bed.place())).unwrap();
    bed.damage((seen.superblocks - 1) % 2 * 4096 + 60);
    let Err(Error::Damaged(damage)) = bed.try_open() else { panic!("it is not missed") };
    assert_eq!(damage.witness, Witness::Lost(Seq(32)));
}

#[test]
fn an_older_journal_in_the_same_place_is_not_ours() {
    let bed = Bed::new(64);
    for _ in 0..4 {
        let (journal, found) = bed.open();
        assert_eq!(found.len(), 0);
        for i in 0..8 {
            bed.commit(&journal, &bed.blocks(3, i));
        }
        // The same seed: the same clock and the same random numbers.
        let rt = Rt::virtual_time(1);
        let place = Place::whole(&rt, Rc::new(bed.ram.clone()));
        rt.block_on(Journal::make(&place, 512, 7)).unwrap();
    }
}

#[test]
fn a_block_like_one_of_the_journal_is_no_witness() {
    let bed = Bed::new(64);
    // What an alternative history has at block 7 of the line: it calls transaction 1 durable.
    let branch = || Bed { rt: Rt::virtual_time(1), ram: bed.ram.snapshot(), block: 512 };
    let other = branch();
    let (journal, _) = other.open();
    other.commit(&journal, &other.blocks(5, 1));
    other.commit(&journal, &other.blocks(5, 1));
    let mut like = Block::zeroed(512);
    other.ram.peek(FIRST + 7 * 512, &mut like);
    assert!(like.starts_with(MAGIC));
    let mut transaction = bed.blocks(8, 1);
    transaction.blocks[6].1 = like.image();
    let after_a_tear = || {
        let this = branch();
        let (journal, _) = this.open();
        this.commit(&journal, &transaction);
        let seen = this.rt.block_on(Journal::inspect(this.place())).unwrap();
        assert!(is(&seen.recovered.transactions[0], &transaction, 512));
        this.damage(FIRST);
        this.try_open().map(|(_, recovered)| recovered.last())
    };
    assert_eq!(after_a_tear(), Ok(Seq::NONE));
    let _broken = plant(Broken::Escape);
    assert!(matches!(after_a_tear(), Err(Error::Damaged(_))), "K5 is what makes it none");
}

/// Valid blocks of the right number and time, but of another transaction: the commit block covers those it was made
/// for.
#[test]
fn a_commit_block_is_for_its_own_body_only() {
    let bed = Bed::new(64);
    let other = Bed { rt: Rt::virtual_time(1), ram: bed.ram.snapshot(), block: 512 };
    for (bed, revoked) in [(&bed, 512), (&other, 1024)] {
        let (journal, _) = bed.open();
        let mut transaction = bed.blocks(1, 1);
        transaction.revoked = vec![range(revoked, 512)];
        bed.commit(&journal, &transaction);
    }
    let last = || bed.rt.block_on(Journal::inspect(bed.place())).unwrap().recovered.last();
    assert_eq!(last(), Seq(1));
    let mut block = [0; 512];
    other.ram.peek(FIRST + 2 * 512, &mut block);
    bed.ram.poke(FIRST + 2 * 512, &block);
    assert_eq!(last(), Seq::NONE);
}

#[test]
fn a_revoke_is_kept_by_the_journal_and_by_the_replay() {
    let bed = Bed::new(64);
    let (journal, _) = bed.open();
    bed.commit(&journal, &bed.blocks(4, 10));
    let mut second = bed.blocks(1, 20);
    second.revoked = vec![range(0, 1024)];
    bed.commit(&journal, &second);
    let recovered = bed.try_open().unwrap().1;
    let home = || recovered.replay().iter().map(|(at, block)| (at.0 / 512, block[0])).collect::<Vec<_>>();
    assert_eq!(home(), [(0, 20), (2, 12), (3, 13)]);
    let _broken = plant(Broken::Revoke);
    assert_eq!(home(), [(0, 20), (1, 11), (2, 12), (3, 13)], "K6 is what keeps it away");
}

#[test]
fn after_a_failed_write_or_flush_nothing_is_committed() {
    // The first write is the opening's superblock, the first flush that of ring-5.
    for (commit, fault) in [
        (Commit::Together, Fault::error(DiskOp::Write, 2)),
        (Commit::Together, Fault::error(DiskOp::Flush, 2)),
        (Commit::AfterFlush, Fault::error(DiskOp::Write, 3)),
        (Commit::AfterFlush, Fault::error(DiskOp::Flush, 2)),
    ] {
        let bed = Bed::new(64);
        // Requests of two blocks: a commit needs a flush.
        let ram = bed.ram.snapshot().with(|info| info.max_transfer = 1024);
        let faulty = Faulty::new(Rc::new(ram), FaultPlan::new(0).with(fault));
        let place = Place::whole(&bed.rt, Rc::new(faulty));
        bed.rt.block_on(async {
            let (journal, _) = Journal::open(place, Options { commit }).await.unwrap();
            let failed = journal.commit(bed.blocks(3, 1)).await.unwrap_err();
            assert!(matches!(failed, Error::Failed(_)), "{failed:?}");
            assert_eq!(journal.commit(bed.blocks(1, 1)).await, Err(failed.clone()));
            assert_eq!(journal.checkpoint(Seq::NONE).await, Err(failed.clone()));
            assert_eq!(journal.close().await, Err(failed));
            let _broken = plant(Broken::Failed);
            assert!(journal.commit(bed.blocks(1, 1)).await.is_ok(), "ring-6 is what refuses it");
        });
    }
}

#[test]
fn a_commit_that_is_dropped_half_way_is_the_last_one() {
    let bed = Bed::new(64);
    let slow = bed.ram.clone().with(|info| info.immediate = false);
    let place = Place::whole(&bed.rt, Rc::new(slow));
    bed.rt.block_on(async {
        let (journal, _) = Journal::open(place, Options::default()).await.unwrap();
        let mut commit = Box::pin(journal.commit(bed.blocks(3, 1)));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(commit.as_mut().poll(&mut cx).is_pending());
        drop(commit);
        assert_eq!(journal.commit(bed.blocks(1, 1)).await, Err(Error::Abandoned(Seq(1))));
        journal.checkpoint(Seq::NONE).await.unwrap();
    });
}

#[test]
fn commits_that_are_asked_for_together_go_one_after_the_other() {
    let bed = Bed::new(64);
    let slow = bed.ram.clone().with(|info| info.immediate = false);
    let place = Place::whole(&bed.rt, Rc::new(slow));
    bed.rt.block_on(async {
        let (journal, _) = Journal::open(place, Options::default()).await.unwrap();
        let done = Rc::new(std::cell::RefCell::new(Vec::new()));
        for i in 0..5 {
            let (journal, done, transaction) = (journal.clone(), done.clone(), bed.blocks(i + 1, 1));
            bed.rt.spawn(async move {
                let seq = journal.commit(transaction).await.unwrap();
                done.borrow_mut().push((seq, i));
            });
        }
        while done.borrow().len() < 5 {
            bed.rt.yield_now().await;
        }
        assert_eq!(*done.borrow(), [0, 1, 2, 3, 4].map(|i| (Seq(i + 1), i)));
    });
}

#[test]
fn a_commit_costs_one_forced_write_or_one_flush_and_is_counted() {
    let run = |commit, blocks, transfer| {
        let (rt, ram) = (Rt::virtual_time(0), RamDisk::new(1 << 20).volatile(true));
        let ram = ram.with(|info| info.max_transfer = transfer);
        let queue = Queue::new(&rt, Rc::new(ram), QueueOptions::default());
        let bed = Bed::with(8, 4096);
        rt.block_on(async {
            let place = Place::new(&queue, &[(DiskOff(0), 1 << 20)]).unwrap();
            Journal::make(&place, 4096, 0).await.unwrap();
            let (journal, _) = Journal::open(place, Options { commit }).await.unwrap();
            let before = queue.stats();
            journal.commit(bed.blocks(blocks, 0)).await.unwrap();
            let (did, counted) = (queue.stats().since(&before), journal.counters());
            let cost = journal.cost(blocks, 0, 0);
            assert_eq!((counted.transactions, counted.images, counted.blocks), (1, blocks, cost));
            assert_eq!((counted.bytes, counted.superblocks), (did.bytes_written, 1));
            assert!(blocks == 0 || counted.flushes == did.flushes);
            (did.transfers, counted.flushes)
        })
    };
    assert_eq!(run(Commit::Together, 20, 1 << 20), (1, 0));
    assert_eq!(run(Commit::Together, 20, 1 << 16), (2, 1));
    assert_eq!(run(Commit::AfterFlush, 20, 1 << 20), (2, 1));
    assert_eq!(run(Commit::AfterFlush, 0, 1 << 20).1, 1, "what else was complete is durable before it");
}

#[test]
fn a_place_without_a_journal_is_refused_with_the_reason() {
    let rt = Rt::virtual_time(0);
    let open = |ram: &RamDisk| {
        let place = Place::whole(&rt, Rc::new(ram.clone()));
        rt.block_on(Journal::open(place, Options::default())).map(|_| ()).unwrap_err()
    };
    assert_eq!(open(&RamDisk::new(1 << 16)), Error::NotAJournal);
    assert_eq!(open(&RamDisk::new(512)).kind(), ErrorKind::Image);
    let make =
        |ram: RamDisk, block| rt.block_on(Journal::make(&Place::whole(&rt, Rc::new(ram)), block, 0)).unwrap_err();
    assert!(matches!(make(RamDisk::new(8192 + 7 * 512), 512), Error::TooSmall { least: 12288, .. }));
    for block in [0, 256, 1000, 1 << 17] {
        assert!(matches!(make(RamDisk::new(1 << 20), block), Error::BlockSize { .. }));
    }
    let large = RamDisk::new(1 << 20).with(|info| info.sector = 4096);
    assert!(matches!(make(large, 2048), Error::BlockSize { least: 4096, .. }));
    let bed = Bed::new(64);
    let cut = RamDisk::from_bytes(&bed.ram.to_vec()[..16384]);
    assert!(matches!(open(&cut), Error::CutOff { .. }));
    let newer = bed.ram.snapshot();
    newer.poke(8, &[2]);
    assert!(matches!(open(&newer), Error::Superblock { .. }), "its checksum is not right either");
}

#[test]
fn no_image_makes_it_panic_or_loop() {
    let bed = Bed::new(24);
    let (journal, _) = bed.open();
    let mut rng = Rng::new(5);
    for i in 1..60 {
        bed.rt.block_on(journal.checkpoint(Seq(i - 1))).unwrap();
        let mut transaction = random(&mut rng, 512);
        transaction.note.truncate(900);
        bed.commit(&journal, &transaction);
    }
    let good = bed.ram.to_vec();
    let (mut inspected, mut opened) = (0, 0);
    for _ in 0..3000 {
        let bytes = scrambled(&mut rng, &good, 600);
        let (rt, ram) = (Rt::virtual_time(0), RamDisk::from_bytes(&bytes));
        let place = || Place::whole(&rt, Rc::new(ram.clone()));
        if let Ok(seen) = rt.block_on(Journal::inspect(place())) {
            inspected += 1;
            seen.recovered.replay();
        }
        opened += u32::from(rt.block_on(Journal::open(place(), Options::default())).is_ok());
    }
    assert!(inspected > 1500 && opened > 500, "{inspected} {opened}");
}

/// A bad sector in free space has no effect; one in a transaction is an end or damage, like any other wrong byte.
#[test]
fn a_bad_sector_is_a_block_that_is_not_there() {
    let bed = Bed::new(64);
    let (journal, _) = bed.open();
    bed.commit(&journal, &bed.blocks(2, 1));
    bed.commit(&journal, &bed.blocks(2, 1));
    for (line, expected) in [(40, Some(2)), (6, Some(1)), (1, None)] {
        let at = DiskOff(FIRST + line * 512);
        let fault = Fault::error(DiskOp::Read, 1).within(at..at + 512).for_ever();
        let faulty = Faulty::new(Rc::new(bed.ram.clone()), FaultPlan::new(0).with(fault));
        let seen = bed.rt.block_on(Journal::inspect(Place::whole(&bed.rt, Rc::new(faulty)))).unwrap();
        let found = seen.damage.is_none().then_some(seen.recovered.last().0);
        assert_eq!(found, expected, "block {line}");
    }
}

/// Transactions of many writes each, until the journal is full.
#[test]
fn a_large_journal_is_read_whole() {
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(32 << 20);
    let place = || Place::whole(&rt, Rc::new(ram.clone()));
    rt.block_on(async {
        Journal::make(&place(), 4096, 0).await.unwrap();
        let (journal, _) = Journal::open(place(), Options::default()).await.unwrap();
        let image = Block::zeroed(1 << 20).image();
        let blocks: Vec<_> = (0..8).map(|i| (DiskOff(i << 20), image.clone())).collect();
        let mut committed = 0;
        while journal.fits(journal.cost(8 << 8, 0, 0)) {
            let transaction = Transaction { blocks: blocks.clone(), ..Transaction::default() };
            journal.commit(transaction).await.unwrap();
            committed += 1;
        }
        let (_, recovered) = Journal::open(place(), Options::default()).await.unwrap();
        assert_eq!((committed, recovered.transactions.len()), (3, 3));
        assert_eq!(recovered.replay().len(), 8 << 8);
    });
}

/// Notes what it is told.
#[derive(Default)]
struct Notes {
    told: std::cell::RefCell<Vec<(u64, Vec<ordo_disk::Stored>)>>,
    settled: std::cell::Cell<u32>,
}

type Told = std::pin::Pin<Box<dyn Future<Output = Result<(), ordo_disk::DiskError>>>>;

impl ordo_disk::KeepsCopies for Notes {
    fn committed(&self, seq: u64, stored: &[ordo_disk::Stored], _revoked: &[ByteRange]) {
        self.told.borrow_mut().push((seq, stored.to_vec()));
    }

    fn settle(&self) -> Told {
        self.settled.set(self.settled.get() + 1);
        Box::pin(async { Ok(()) })
    }

    fn go_home(&self, _: Homeward) -> Told {
        Box::pin(async { Ok(()) })
    }

    fn begins(&self, _: u64, _: bool) -> Told {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn a_disk_that_keeps_copies_is_told_where_each_block_lies_and_is_asked_before_any_is_dropped() {
    let bed = Bed::new(40);
    let (journal, _) = bed.open();
    let notes = Rc::new(Notes::default());
    assert!(journal.tell(notes.clone()));
    assert!(!journal.tell(notes.clone()), "there is one disk below");
    for count in [1, 5, 9] {
        bed.commit(&journal, &bed.blocks(count, 1));
    }
    let told = notes.told.borrow().clone();
    assert_eq!(told.iter().map(|(seq, stored)| (*seq, stored.len())).collect::<Vec<_>>(), [(1, 1), (2, 5), (3, 9)]);
    for stored in told.iter().flat_map(|(_, stored)| stored) {
        let mut bytes = vec![0; 512];
        bed.ram.peek(stored.at.expect("none begins with the magic").0, &mut bytes);
        assert_eq!(crc32c::crc32c(&bytes), stored.sum);
    }
    let (_, recovered) = bed.open();
    let found: Vec<_> = recovered.iter().map(|found| (found.seq.0, found.stored.clone())).collect();
    assert_eq!(found, told, "recovery says the same");
    assert_eq!(notes.settled.get(), 0);
    bed.rt.block_on(journal.checkpoint(Seq(2))).unwrap();
    assert_eq!(notes.settled.get(), 1);
}
