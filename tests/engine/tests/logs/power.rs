//! The journal under power cuts: every part of a transaction lost, and runs that end anywhere.
//!
//! The oracle: every transaction whose commit had returned, and whose checkpoint was not requested, is found; what is
//! found is a prefix of what was committed, with exact contents; no power cut looks like damage. Each rule that is
//! switched off is detected.

use ordo_blockjournal::planted::{Broken, plant};
use ordo_blockjournal::{Commit, Found, Inspected, Journal, Options, Place, Seq, Transaction};
use ordo_disk::{Block, ByteRange, DiskOff, DiskOp, Kind, Queue, QueueOptions, RamDisk};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

const FIRST: u64 = 8192;
const TOGETHER: Options = Options { commit: Commit::Together };
const AFTER_FLUSH: Options = Options { commit: Commit::AfterFlush };

/// A journal whose disk takes one block per request: each is a write that may be lost by itself.
fn fresh(blocks: u64, block: u32) -> RamDisk {
    let ram = RamDisk::new(FIRST + blocks * u64::from(block)).volatile(true).with(|info| info.max_transfer = block);
    let rt = Rt::virtual_time(3);
    rt.block_on(Journal::make(&place(&rt, &ram), block, 1)).unwrap();
    ram
}

fn place(rt: &Rt, ram: &RamDisk) -> Place {
    Place::whole(rt, Rc::new(ram.clone()))
}

fn inspect(ram: &RamDisk) -> Result<Inspected, ordo_blockjournal::Error> {
    let rt = Rt::virtual_time(0);
    rt.block_on(Journal::inspect(place(&rt, ram)))
}

fn last(ram: &RamDisk) -> Seq {
    let seen = inspect(ram).unwrap();
    assert_eq!(seen.damage, None);
    seen.recovered.last()
}

fn filled(block: usize, bytes: &[u8]) -> Vec<(DiskOff, ordo_disk::Image)> {
    let image = |(i, byte): (usize, &u8)| (DiskOff((i * block) as u64), Block::copy_of(&vec![*byte; block]).image());
    bytes.iter().enumerate().map(image).collect()
}

/// Opens, commits `before`, and then commits `half`, which the power cut stops just before it is durable: all of its
/// writes are complete. Returns the disk with them unflushed.
fn half(ram: &RamDisk, before: &[Transaction], half: &Transaction, options: Options) -> RamDisk {
    let (rt, ram) = (Rt::virtual_time(0), ram.snapshot());
    // The first flush is the one of the opening.
    let flushes = 2 + before.len() as u64;
    let plan = FaultPlan::new(0).with(Fault::new(DiskOp::Flush, flushes, Effect::PowerCut));
    let faulty = Rc::new(Faulty::new(Rc::new(ram.clone()), plan));
    rt.block_on(async {
        let (journal, _) = Journal::open(Place::whole(&rt, faulty), options).await.unwrap();
        for transaction in before {
            journal.commit(transaction.clone()).await.unwrap();
        }
        assert!(journal.commit(half.clone()).await.is_err());
    });
    ram
}

fn example(block: usize) -> Transaction {
    Transaction {
        blocks: filled(block, &[9, 8, 7]),
        revoked: ByteRange::new(DiskOff(0), block as u64).into_iter().collect(),
        note: vec![1; 100],
    }
}

/// A journal in its third lap, with all but the last transaction checkpointed: old blocks are everywhere.
fn used(block: u32) -> RamDisk {
    let (rt, ram) = (Rt::virtual_time(0), fresh(17, block));
    rt.block_on(async {
        let (journal, _) = Journal::open(place(&rt, &ram), TOGETHER).await.unwrap();
        for i in 0..8 {
            journal.checkpoint(Seq(i)).await.unwrap();
            journal.commit(example(block as usize)).await.unwrap();
        }
        journal.checkpoint(Seq(7)).await.unwrap();
    });
    ram
}

#[test]
fn whatever_subset_of_its_blocks_reaches_the_disk_a_transaction_is_whole_or_not_there() {
    let cut = |ram: &RamDisk| {
        let half = half(ram, &[], &example(512), TOGETHER);
        assert_eq!(half.unflushed(), 7);
        let subset = |mask: u32| {
            let after = half.snapshot();
            after.power_cut_keeping(|write, _| mask >> write & 1 == 1);
            last(&after)
        };
        (0..1 << 7).map(subset).collect::<Vec<Seq>>()
    };
    let whole =
        |found: &[Seq]| found.iter().enumerate().all(|(mask, last)| *last == if mask == 127 { Seq(9) } else { Seq(8) });
    assert!(whole(&cut(&used(512))));
    let _broken = plant(Broken::Checksum);
    assert!(!whole(&cut(&used(512))), "K2 is what tells");
}

#[test]
fn a_tail_that_is_torn_at_any_sector_is_an_end() {
    let half = half(&used(2048), &[], &example(2048), TOGETHER);
    let sectors = half.unflushed() * 4;
    assert_eq!(sectors, 28);
    for at in 0..sectors {
        let (prefix, hole) = (half.snapshot(), half.snapshot());
        prefix.power_cut_keeping(|write, sector| write * 4 + sector < at);
        assert_eq!(last(&prefix), Seq(8), "{at} sectors are there");
        hole.power_cut_keeping(|write, sector| write * 4 + sector != at);
        // Zeros over what was zeros: the end of a block that is not full may be missing.
        let seen = inspect(&hole).unwrap();
        assert_eq!(seen.damage, None);
        let whole = seen.recovered.transactions.last().is_some_and(|found| found.seq == Seq(9));
        assert!(!whole || seen.recovered.transactions[1].blocks == seen.recovered.transactions[0].blocks, "{at}");
    }
    half.power_cut_keeping(|_, _| true);
    assert_eq!(last(&half), Seq(9));
}

#[test]
fn a_torn_transaction_is_never_replayed_later() {
    let torn = Transaction { blocks: filled(512, &[1, 2, 3]), ..Transaction::default() };
    let again = Transaction { blocks: filled(512, &[4, 2, 5]), ..Transaction::default() };
    // Descriptor, three images, commit block: the second image is lost, and written by the next run, whose other blocks
    // are lost.
    let first = half(&fresh(32, 512), &[], &torn, TOGETHER);
    first.power_cut_keeping(|write, _| write != 2);
    assert_eq!(last(&first), Seq::NONE);
    let second = half(&first, &[], &again, TOGETHER);
    second.power_cut_keeping(|write, _| write == 2);
    assert_eq!(last(&second), Seq::NONE);
    let _broken = plant(Broken::Epoch);
    assert_eq!(last(&second), Seq(1), "ring-3 is what keeps it away");
}

#[test]
fn after_a_flush_what_was_complete_is_durable_before_the_commit_block() {
    let run = |op, nth| {
        let (rt, ram) = (Rt::virtual_time(0), fresh(64, 512));
        let plan = FaultPlan::new(0).with(Fault::new(op, nth, Effect::PowerCut));
        let queue = Queue::new(&rt, Rc::new(Faulty::new(Rc::new(ram.clone()), plan)), QueueOptions::default());
        let (home, size) = (FIRST + 32 * 512, FIRST + 32 * 512);
        rt.block_on(async {
            let journal = Place::new(&queue, &[(DiskOff(0), size)]).unwrap();
            Journal::make(&journal, 512, 0).await.unwrap();
            let Ok((journal, _)) = Journal::open(journal, AFTER_FLUSH).await else { return };
            let data = queue.write(DiskOff(home), Block::copy_of(&[0xdd; 512]).image(), Kind::Data.into());
            if data.completed().await.is_err() {
                return;
            }
            let transaction = Transaction { blocks: filled(512, &[1, 2]), ..Transaction::default() };
            let _ = journal.commit(transaction).await;
        });
        ram.power_cut_keeping(|write, _| write != 0);
        let (mut data, found) = ([0], inspect(&ram).map_or(Seq::NONE, |seen| seen.recovered.last()));
        ram.peek(home, &mut data);
        (found, data[0])
    };
    // Make: 3 writes; open: 1, and a flush; data; descriptor, two images; the flush; commit block.
    assert_eq!(run(DiskOp::Write, 10), (Seq(1), 0xdd));
    assert!((5..9).all(|write| run(DiskOp::Write, write).0 == Seq::NONE));
    assert_eq!(run(DiskOp::Flush, 2).0, Seq::NONE);
    let _broken = plant(Broken::Barrier);
    assert_eq!(run(DiskOp::Flush, 2), (Seq(1), 0), "K2 is what sees to it");
}

/// What recovery may return.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Transactions whose commit had returned, and that may not be checkpointed.
    durable: BTreeMap<Seq, Transaction>,
    last: Seq,
    /// The one after `last`: its commit was begun, so it may be found.
    begun: Option<Transaction>,
    /// Checkpoints that had returned, and those that were requested.
    checkpointed: Seq,
    asked: Seq,
}

impl Known {
    fn judge(&self, tail: Seq, found: &[Found]) -> Result<(), String> {
        if tail <= self.checkpointed || tail.0 > self.asked.0 + 1 {
            return Err(format!("it starts with {tail}: {} and {}", self.checkpointed, self.asked));
        }
        for (seq, found) in (tail.0..).zip(found) {
            let known = self.durable.get(&Seq(seq));
            let given = known.or(self.begun.as_ref().filter(|_| seq == self.last.0 + 1));
            if found.seq != Seq(seq) || !given.is_some_and(|given| is(found, given)) {
                return Err(format!("{} was not committed so, or not here", found.seq));
            }
        }
        let end = tail.0 + found.len() as u64;
        match end <= self.last.0 {
            true => Err(format!("{end} was durable, and is lost; {} was the last", self.last)),
            false => Ok(()),
        }
    }

    /// The next run begins with what was found.
    fn accept(&mut self, tail: Seq, found: &[Found]) {
        self.durable = found.iter().map(|found| (found.seq, given(found))).collect();
        self.last = found.last().map_or(Seq(tail.0 - 1), |found| found.seq);
        (self.begun, self.checkpointed, self.asked) = (None, Seq(tail.0 - 1), Seq(tail.0 - 1));
    }
}

fn given(found: &Found) -> Transaction {
    let blocks = found.blocks.iter().map(|(at, block)| (*at, block.clone().image())).collect();
    Transaction { blocks, revoked: found.revoked.clone(), note: found.note.clone() }
}

fn is(found: &Found, transaction: &Transaction) -> bool {
    let read = given(found);
    (read.blocks, read.revoked, read.note)
        == (transaction.blocks.clone(), transaction.revoked.clone(), transaction.note.clone())
}

/// Few different contents, so that what is lost is often what is written again.
fn random(rng: &mut Rng) -> Transaction {
    let mut block = Block::zeroed(512);
    let mut transaction = Transaction::default();
    for at in 0..rng.below(5) {
        block.fill(rng.below(3) as u8);
        if rng.chance(1, 4) {
            block[..4].copy_from_slice(b"oBJb");
        }
        transaction.blocks.push((DiskOff(at * 512), block.clone().image()));
    }
    if rng.chance(1, 4) {
        transaction.revoked.extend(ByteRange::new(DiskOff(rng.below(8) * 512), 512));
    }
    transaction.note = vec![rng.below(2) as u8; if rng.chance(1, 4) { rng.below(600) as usize } else { 0 }];
    transaction
}

/// How a run ends.
fn plan(rng: &mut Rng) -> FaultPlan {
    let nth = rng.range(1, 40);
    FaultPlan::new(rng.next_u64()).with(match rng.below(5) {
        0..3 => Fault::new(DiskOp::Write, nth, Effect::PowerCut),
        3 => Fault::new(DiskOp::Flush, nth / 3 + 1, Effect::PowerCut),
        // The program ends, and the power stays on.
        _ => Fault::error(DiskOp::Flush, nth / 3 + 1),
    })
}

/// One run: opens what is there, works until something fails, and leaves the disk as it is then. Returns `true` if the
/// power was cut.
fn live(ram: &RamDisk, known: &mut Known, rng: &mut Rng) -> Result<bool, String> {
    let rt = Rt::virtual_time(rng.next_u64());
    let faulty = Faulty::new(Rc::new(ram.clone()), plan(rng));
    let options = if rng.chance(1, 2) { TOGETHER } else { AFTER_FLUSH };
    let (checkpointed, asked) = (Rc::new(Cell::new(known.checkpointed)), Rc::new(Cell::new(known.asked)));
    let seen = inspect(ram).map_err(|error| error.to_string())?;
    let lived: Result<(), String> = rt.block_on(async {
        let place = Place::whole(&rt, Rc::new(faulty.clone()));
        let journal = match Journal::open(place, options).await {
            Ok((journal, recovered)) => {
                known.judge(seen.tail, &recovered.transactions)?;
                known.accept(seen.tail, &recovered.transactions);
                checkpointed.set(known.checkpointed);
                asked.set(known.asked);
                journal
            }
            Err(ordo_blockjournal::Error::Disk(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        for _ in 0..60 {
            let transaction = random(rng);
            if rng.chance(1, 3) && known.last > asked.get() {
                let upto = Seq(rng.range(asked.get().0 + 1, known.last.0 + 1));
                asked.set(upto);
                let (journal, checkpointed) = (journal.clone(), checkpointed.clone());
                rt.spawn(async move {
                    if journal.checkpoint(upto).await.is_ok() {
                        checkpointed.set(checkpointed.get().max(upto));
                    }
                });
                rt.yield_now().await;
            }
            match journal.commit(transaction.clone()).await {
                Ok(seq) => {
                    known.durable.insert(seq, transaction);
                    known.last = seq;
                }
                Err(ordo_blockjournal::Error::Full { .. }) => {
                    asked.set(known.last);
                    if journal.checkpoint(known.last).await.is_err() {
                        return Ok(());
                    }
                    checkpointed.set(known.last);
                }
                Err(ordo_blockjournal::Error::Failed(_)) => {
                    known.begun = Some(transaction);
                    return Ok(());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    });
    (known.checkpointed, known.asked) = (checkpointed.get(), asked.get());
    lived?;
    rt.drop_tasks();
    if faulty.power_is_off() {
        ram.power_cut_at_random(rng);
        // A sector that was being written may be unreadable, or hold anything.
        if let Some(cut) = faulty.injected().last().filter(|cut| cut.op == DiskOp::Write && rng.chance(1, 2)) {
            ram.poke(cut.at.0, &[0xa7; 512]);
        }
    }
    Ok(faulty.power_is_off())
}

/// What the runs have covered.
#[derive(Debug, Default)]
struct Counts {
    cuts: u32,
    /// Runs that ended in the middle of a commit, and those of them after which the transaction was found.
    begun: u32,
    found: u32,
}

fn lives(seed: u64, count: u32, counts: &mut Counts) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let transfer = if rng.chance(1, 2) { 512 } else { 2048 };
    // Where requests wait for each other, the queue reorders them.
    let (blocks, immediate) = (rng.range(12, 40), rng.chance(1, 2));
    let ram = fresh(blocks, 512).with(|info| (info.max_transfer, info.immediate) = (transfer, immediate));
    let mut known = Known::default();
    for life in 0..count {
        let told = |why: String| format!("seed {seed}, life {life}: {why}");
        counts.cuts += u32::from(live(&ram, &mut known, &mut rng).map_err(told)?);
        let seen = inspect(&ram).map_err(|error| told(error.to_string()))?;
        if let Some(damage) = seen.damage {
            return Err(told(damage.to_string()));
        }
        known.judge(seen.tail, &seen.recovered.transactions).map_err(told)?;
        counts.begun += u32::from(known.begun.is_some());
        counts.found += u32::from(seen.recovered.last() > known.last);
    }
    Ok(())
}

/// Number of initial seeds; set `ORDO_JOURNAL_SEEDS` for a longer run.
fn seeds() -> u64 {
    std::env::var("ORDO_JOURNAL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1000)
}

#[test]
fn no_power_cut_takes_what_was_durable_or_makes_what_was_not() {
    let mut counts = Counts::default();
    for seed in 0..seeds() {
        lives(seed, 8, &mut counts).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{counts:?}");
    let Counts { cuts, begun, found } = counts;
    assert!(cuts > 4000 && begun > 2000 && found > 100 && begun - found > 1000, "{counts:?}");
}

#[test]
fn each_rule_that_is_switched_off_is_convicted() {
    for rule in [Broken::Flush, Broken::Checksum, Broken::Number, Broken::Reuse, Broken::Superblock, Broken::Found] {
        let _broken = plant(rule);
        match (0..seeds()).find_map(|seed| lives(seed, 8, &mut Counts::default()).err()) {
            Some(why) => println!("{rule:?}: {why}"),
            None => panic!("{rule:?} is not missed"),
        }
    }
}
