//! A scrub beside calls.

use super::{Bed, FILE, FRAG, ID, bytes, transaction};
use crate::Active;
use crate::options::{Kept, Options};
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
            rt.sleep(Duration::from_micros(if at.0 < FILE { 900 } else { 10 })).await;
            disk.read(at, parts).await
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
}

/// What is written, committed or carried home while a scrub reads it is not taken for rot, and is not healed away.
#[test]
fn a_scrub_beside_calls_finds_nothing_wrong_and_changes_nothing() {
    let bed = Bed::new();
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
