//! A scrub, and an adoption, beside calls.

use super::{Bed, FILE, FRAG, ID, bytes, transaction};
use crate::options::{Kept, Options};
use crate::{Active, Apart, Pass};
use ordo_blockjournal::Journal;
use ordo_disk::{
    Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, KeepsCopies, Kind, RamDisk, ReadPart, Tag, WritePart,
};
use ordo_rt::Rt;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// A disk on which requests take time, and overlap; reads of homes take long.
struct Slow(Rt, RamDisk);

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.1.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (rt, disk) = (self.0.clone(), self.1.clone());
        DiskFuture::later(async move {
            let half = Duration::from_micros(if at.0 < FILE { 450 } else { 5 });
            rt.sleep(half).await;
            let read = disk.read(at, parts).await;
            rt.sleep(half).await;
            read
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (rt, disk) = (self.0.clone(), self.1.clone());
        DiskFuture::later(async move {
            rt.sleep(Duration::from_micros(70)).await;
            disk.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.1.flush()
    }

    /// What is discarded is zero.
    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let zero = WritePart { image: Block::zeroed(len as usize).image(), tag: Tag::of(Kind::Other) };
        self.write(at, vec![zero], false)
    }
}

fn begin(bed: &Bed) -> (Active, Journal) {
    let slow: Rc<dyn Disk> = Rc::new(Slow(bed.rt.clone(), bed.ram.clone()));
    let options = Options { near_head: Some(true), ..Options::default() };
    let kept = Kept { by: None, dirty: false };
    let active = bed.rt.block_on(Active::open(&bed.rt, slow, &Bed::extents(), FRAG as u32, kept, options)).unwrap();
    let journal = bed.rt.block_on(async {
        active.begins(ID, false).await.unwrap();
        let place = bed.place(&active);
        Journal::make(&place, FRAG as u32, ID).await.unwrap();
        let (journal, _) = Journal::open(place, ordo_blockjournal::Options::default()).await.unwrap();
        assert!(journal.tell(Rc::new(active.clone())));
        journal
    });
    (active, journal)
}

/// What is written, committed or carried home while a scrub reads it is not taken for rot, and is not healed away.
#[test]
fn a_scrub_beside_calls_finds_nothing_wrong_and_changes_nothing() {
    let bed = Bed::new();
    let (active, journal) = begin(&bed);
    let over = Rc::new(Cell::new(false));
    let (works, ended, rt) = (active.clone(), over.clone(), bed.rt.clone());
    bed.rt.spawn(async move {
        for round in 1..120_u8 {
            journal.commit(transaction(&[(5, round), (6, round), (9, round)])).await.unwrap();
            // One home is written by its owner, one is carried, one gets bytes of no transaction.
            let write = async |frag: u64, seed: u8| {
                let part = WritePart { image: Block::copy_of(&bytes(seed)).image(), tag: Tag::of(Kind::Other) };
                works.write(DiskOff(frag * FRAG), vec![part], false).await.unwrap();
            };
            write(5, round).await;
            write(9, round ^ 0x80).await;
            works.bring_home().await.unwrap();
            rt.sleep(Duration::from_micros(u64::from(round) * 37 % 11 * 400)).await;
            if round % 10 == 0 {
                let upto = journal.last();
                journal.checkpoint(upto).await.unwrap();
            }
        }
        ended.set(true);
    });
    let mut scrubs = 0;
    while !over.get() {
        let done = bed.rt.block_on(active.scrub()).unwrap();
        assert_eq!((done.healed, done.rotten), (0, 0), "after {scrubs} scrubs");
        bed.rt.block_on(bed.rt.sleep(Duration::from_micros(13)));
        scrubs += 1;
    }
    assert!(scrubs > 20, "{scrubs}");
    let seed = |frag: u64| bed.read(&active, frag * FRAG, FRAG).unwrap();
    assert_eq!([seed(5), seed(6), seed(9)], [bytes(119), bytes(119), bytes(119 ^ 0x80)]);
}

/// What is written, discarded or committed while an adoption reads it is known as it is then, or not at all; what a
/// power cut finds, too.
#[test]
fn an_adoption_beside_calls_learns_nothing_that_is_not_there() {
    let bed = Bed::new();
    let (active, journal) = begin(&bed);
    let over = Rc::new(Cell::new(false));
    let (works, ended, rt) = (active.clone(), over.clone(), bed.rt.clone());
    bed.rt.spawn(async move {
        for round in 1..200_u64 {
            let frag = round * 7 % 32;
            match round % 4 {
                0 => drop(journal.commit(transaction(&[(frag, round as u8)])).await.unwrap()),
                1 => works.discard(DiskOff(frag * FRAG), 2 * FRAG).await.unwrap(),
                _ => {
                    let image = Block::copy_of(&bytes(round as u8)).image();
                    let part = WritePart { image, tag: Tag::of(Kind::Data) };
                    works.write(DiskOff(frag * FRAG), vec![part], false).await.unwrap();
                }
            }
            rt.sleep(Duration::from_micros(round * 37 % 11 * 100)).await;
        }
        ended.set(true);
    });
    let mut adopted = 0;
    while !over.get() {
        for _ in 0..8 {
            adopted += bed.rt.block_on(active.adopt(0..40, &Apart::new(8))).unwrap().new;
            bed.rt.block_on(bed.rt.sleep(Duration::from_micros(13)));
        }
        let done = bed.rt.block_on(active.scrub()).unwrap();
        assert_eq!((done.healed, done.rotten), (0, 0), "of {adopted} adopted so far");
        if adopted % 3 == 0 {
            bed.rt.block_on(active.settled()).unwrap();
        }
        let cut = bed.active(Kept { by: Some(ID), dirty: true });
        for (frag, entry) in cut.0.map.borrow().entries(0..40).filter(|(_, entry)| entry.home && entry.copy.is_none()) {
            let mut home = [0; FRAG as usize];
            bed.ram.peek(frag * FRAG, &mut home);
            assert_eq!(crc32c::crc32c(&home), entry.sum, "of {frag}, after a cut");
        }
    }
    assert!(adopted > 60, "{adopted}");
}

#[test]
fn a_pass_that_goes_on_while_a_root_is_written_is_in_the_next_one() {
    let bed = Bed::new();
    let (active, _journal) = begin(&bed);
    bed.rt.block_on(active.adopt(0..40, &Apart::new(8))).unwrap();
    let [first, next] = [3, 5].map(|next| Pass { next, began: 1, ended: 0 });
    let root = || bed.active(Kept { by: Some(ID), dirty: true }).pass();
    active.set_pass(first);
    let writes = active.clone();
    bed.rt.spawn(async move { writes.settled().await.unwrap() });
    bed.rt.block_on(bed.rt.sleep(Duration::from_micros(10)));
    active.set_pass(next);
    bed.rt.block_on(bed.rt.sleep(Duration::from_millis(10)));
    assert_eq!((root(), active.pass()), (first, next));
    bed.rt.block_on(active.settled()).unwrap();
    assert_eq!(root(), next);
}
