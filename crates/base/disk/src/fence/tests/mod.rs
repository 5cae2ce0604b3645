//! The protection in virtual time: waits, refusals, and a writer that is stopped while it claims, beats or releases.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ordo_ondisk::ByteOff;
use ordo_ondisk::mmp::{Beat, Owner, Place};
use ordo_rt::sync::Notify;
use ordo_rt::{Rt, Time};

use super::*;
use crate::error::{Cause, DiskError};
use crate::tests::Unread;
use crate::{Block, Disk, DiskFuture, DiskInfo, DiskOff, Kind, RamDisk, ReadPart, WritePart};

mod both;

const INTERVAL: u32 = 1000;
const SECOND: Duration = Duration::from_secs(1);

fn place() -> Place {
    Place::in_ufs(ByteOff(65_536)).unwrap()
}

fn protected(rt: &Rt) -> RamDisk {
    let ram = RamDisk::new(128 << 10);
    rt.block_on(make_record(&ram, place(), INTERVAL)).unwrap();
    ram
}

async fn take(rt: &Rt, disk: Rc<dyn Disk>, doing: &str) -> Result<Claim, ClaimError> {
    Claim::take(rt, disk, place(), doing, false, |_| {}).await
}

fn data(byte: u8) -> Vec<WritePart> {
    vec![WritePart { image: Block::copy_of(&[byte; 512]).image(), tag: Kind::Data.into() }]
}

fn is_taken(answer: &Result<(), DiskError>) -> bool {
    matches!(answer, Err(DiskError { cause: Cause::Lost(_), .. }))
}

/// A disk that gives requests on only while its writer is not stopped. One that was given on before completes.
#[derive(Clone)]
struct Stopper {
    disk: Rc<dyn Disk>,
    state: Rc<RefCell<Stop>>,
    go: Rc<Notify>,
}

#[derive(Default)]
struct Stop {
    requests: u64,
    /// The request before which it stops.
    at: Option<u64>,
    stopped: bool,
}

impl Stopper {
    fn new(disk: Rc<dyn Disk>, at: u64) -> Stopper {
        let state = Stop { at: Some(at), ..Stop::default() };
        Stopper { disk, state: Rc::new(RefCell::new(state)), go: Rc::default() }
    }

    fn is_stopped(&self) -> bool {
        self.state.borrow().stopped
    }

    fn go_on(&self) {
        let mut state = self.state.borrow_mut();
        (state.stopped, state.at) = (false, None);
        self.go.notify_all();
    }

    fn when_it_goes<T: Unpin + 'static>(
        &self,
        request: impl FnOnce(&dyn Disk) -> DiskFuture<T> + 'static,
    ) -> DiskFuture<T> {
        let own = self.clone();
        {
            let mut state = own.state.borrow_mut();
            state.requests += 1;
            state.stopped |= state.at == Some(state.requests);
        }
        DiskFuture::later(async move {
            while own.is_stopped() {
                own.go.notified().await;
            }
            request(&*own.disk).await
        })
    }
}

impl Disk for Stopper {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.when_it_goes(move |disk| disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.when_it_goes(move |disk| disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.when_it_goes(|disk| disk.flush())
    }
}

#[test]
fn one_after_the_other_waits_little_and_one_beside_the_other_is_refused() {
    let rt = Rt::virtual_time(1);
    let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
    rt.block_on(async {
        let first = take(&rt, ram.clone(), "first").await.unwrap();
        assert!(rt.now() >= Time::ZERO + Times::of(INTERVAL).settle_free() && rt.now() < Time::ZERO + SECOND);
        let disk = first.fence(ram.clone());
        disk.write(DiskOff(0), data(1), false).await.unwrap();
        rt.sleep(SECOND * 20).await;
        disk.write(DiskOff(512), data(2), false).await.unwrap();
        let began = rt.now();
        match take(&rt, ram.clone(), "second").await {
            Err(ClaimError::Held { holder, beat }) => {
                assert_eq!((holder.doing.as_str(), beat.is_some()), ("first", true));
            }
            other => panic!("{:?}", other.err()),
        }
        assert!(rt.now() - began <= SECOND + SECOND / 2, "a living writer is seen within a beat");
        first.release().await.unwrap();
        assert!(is_taken(&disk.write(DiskOff(0), data(3), false).await), "nothing is written after a release");
        assert!(is_taken(&first.release().await));
        let began = rt.now();
        take(&rt, ram.clone(), "second").await.unwrap();
        assert!(rt.now() - began < SECOND);
    });
}

#[test]
fn one_that_was_left_behind_is_taken_over_after_the_wait_and_never_writes_again() {
    let rt = Rt::virtual_time(2);
    let ram = protected(&rt);
    let whole: Rc<dyn Disk> = Rc::new(ram.clone());
    rt.block_on(async {
        let stopper = Stopper::new(whole.clone(), u64::MAX);
        let first = take(&rt, Rc::new(stopper.clone()), "first").await.unwrap();
        let (disk, heard) = (first.fence(whole.clone()), Rc::new(RefCell::new(None)));
        let hears = heard.clone();
        first.on_lost(move |error| *hears.borrow_mut() = Some(error.cause));
        disk.write(DiskOff(0), data(1), false).await.unwrap();
        stopper.state.borrow_mut().stopped = true;
        let (began, told) = (rt.now(), RefCell::new(None));
        let tell = |waiting: &Waiting| *told.borrow_mut() = Some(waiting.clone());
        let second = Claim::take(&rt, whole.clone(), place(), "second", false, tell).await.unwrap();
        let waited = told.borrow().clone().unwrap();
        assert_eq!(waited.holder.unwrap().doing, "first");
        assert!(
            rt.now() - began >= SECOND * 4 && rt.now() - began <= waited.at_most + SECOND,
            "{:?}",
            rt.now() - began
        );
        second.fence(whole.clone()).write(DiskOff(0), data(2), false).await.unwrap();
        let before = ram.to_vec();
        stopper.go_on();
        for answer in [
            disk.write(DiskOff(0), data(3), false).await,
            disk.flush().await,
            disk.discard(DiskOff(0), 512).await,
            first.release().await,
            first.remove().await,
        ] {
            assert!(is_taken(&answer), "{answer:?}");
        }
        let same = |at: usize| ram.to_vec()[at..at + 512] == before[at..at + 512];
        assert!(same(0) && same(place().owner.0 as usize));
        assert!(matches!(&*heard.borrow(), Some(Cause::Lost(lost)) if matches!(lost.why(), Some(TakenOver(Taken::By(holder))) if holder.doing == "second")));
        disk.read(DiskOff(0), vec![ReadPart { block: Block::zeroed(512), tag: Kind::Data.into() }]).await.unwrap();
        rt.sleep(SECOND * 30).await;
        second.fence(whole).write(DiskOff(0), data(4), false).await.unwrap();
    });
}

/// Stops the first at each of its requests, claiming, beating, writing, releasing; another one comes, stays or goes;
/// then the first goes on, and a third one comes as soon as it can. Whatever happens, no two write within one moment
/// of each other that fence-2 keeps apart.
#[test]
fn whenever_one_is_stopped_no_two_ever_write() {
    for stays in [false, true] {
        for at in 1.. {
            let rt = Rt::virtual_time(at);
            let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
            let stopper = Stopper::new(ram.clone(), at);
            let log: Log = Rc::default();
            let (who, own, clock, to) = (Rc::new(stopper.clone()), log.clone(), rt.clone(), ram.clone());
            rt.spawn(async move { work(&clock, who, to, 'a', 6, &own).await });
            rt.block_on(rt.sleep(SECOND * 12));
            if !stopper.is_stopped() {
                assert!(at > 15, "only {at} requests");
                break;
            }
            let turns = if stays { 30 } else { 3 };
            let (own, clock, to) = (log.clone(), rt.clone(), ram.clone());
            rt.spawn(async move { work(&clock, to.clone(), to, 'b', turns, &own).await });
            rt.block_on(rt.sleep(SECOND * 13));
            stopper.go_on();
            rt.block_on(rt.sleep(SECOND));
            rt.block_on(work(&rt, ram.clone(), ram.clone(), 'c', 3, &log));
            rt.block_on(rt.sleep(SECOND * 60));
            let wrote: String = log.borrow().iter().map(|(_, who)| *who).collect();
            let mut blocks: Vec<char> = wrote.chars().collect();
            blocks.dedup();
            let all = blocks.len();
            blocks.sort_unstable();
            blocks.dedup();
            assert_eq!(blocks.len(), all, "stopped at {at}, stays {stays}: {wrote}");
            assert!(wrote.contains('b') || wrote.contains('a'), "nobody could write: stopped at {at}");
            rt.drop_tasks();
        }
    }
}

type Log = Rc<RefCell<Vec<(Time, char)>>>;

/// Claims, writes once in half a second, releases.
async fn work(rt: &Rt, record: Rc<dyn Disk>, disk: Rc<dyn Disk>, who: char, turns: u32, log: &Log) {
    let Ok(claim) = take(rt, record, &who.to_string()).await else { return };
    let disk = claim.fence(disk);
    for _ in 0..turns {
        if disk.write(DiskOff(0), data(who as u8), false).await.is_err() {
            return;
        }
        log.borrow_mut().push((rt.now(), who));
        rt.sleep(SECOND / 2).await;
    }
    // OK to ignore: a lost claim cannot be released.
    let _ = claim.release().await;
}

#[test]
fn of_two_that_claim_at_the_same_time_one_gets_it() {
    for delay in 0..10 {
        let rt = Rt::virtual_time(delay);
        let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
        let (first, second) = rt.block_on(async {
            let later = |millis| {
                let (rt, ram) = (rt.clone(), ram.clone());
                async move {
                    rt.sleep(Duration::from_millis(millis)).await;
                    take(&rt, ram, "one of two").await
                }
            };
            let mut both = ordo_rt::together([0, delay * 50].into_iter().map(later)).await;
            (both.remove(0), both.remove(0))
        });
        assert!(first.is_ok() != second.is_ok(), "{delay}: {:?} {:?}", first.err(), second.err());
        rt.drop_tasks();
    }
}

#[test]
fn a_damaged_record_is_refused_and_made_anew_on_request_after_a_wait() {
    for sector in [place().owner, place().beat] {
        let rt = Rt::virtual_time(3);
        let ram = protected(&rt);
        ram.poke(sector.0 + 100, &[1]);
        let disk: Rc<dyn Disk> = Rc::new(ram.clone());
        rt.block_on(async {
            let claimed = take(&rt, disk.clone(), "x").await;
            if sector == place().beat {
                // Beats that cannot be read only cost a longer wait.
                assert!(claimed.is_ok() && rt.now() > Time::ZERO + SECOND * 3);
                return;
            }
            let error = claimed.err().unwrap();
            assert!(error.to_string().contains("byte 57344") && error.to_string().contains("mmp=on"), "{error}");
            let claim = Claim::take(&rt, disk.clone(), place(), "tune", true, |_| {}).await.unwrap();
            assert!(rt.now() >= Time::ZERO + SECOND * 60);
            claim.release_with(200).await.unwrap();
            assert_eq!(look(&*disk, place()).await.unwrap().unwrap().owner().unwrap().unwrap().interval, 200);
        });
    }
    // One of two sectors was overwritten by something else.
    let rt = Rt::virtual_time(4);
    let ram = protected(&rt);
    ram.poke(place().owner.0, &[0xeb; 512]);
    assert!(matches!(rt.block_on(take(&rt, Rc::new(ram), "x")), Err(ClaimError::Damaged { .. })));
}

#[test]
fn damage_while_it_is_held_stops_the_writer() {
    let rt = Rt::virtual_time(5);
    let ram = protected(&rt);
    rt.block_on(async {
        let claim = take(&rt, Rc::new(ram.clone()), "x").await.unwrap();
        let disk = claim.fence(Rc::new(ram.clone()));
        ram.poke(place().owner.0 + 20, &[0xff]);
        rt.sleep(SECOND * 2).await;
        assert!(is_taken(&disk.write(DiskOff(0), data(1), false).await));
        assert_eq!(claim.why_lost(), Some(Taken::Unreadable));
    });
}

#[test]
fn a_look_that_fails_holds_writes_back_and_the_next_one_helps() {
    let rt = Rt::virtual_time(6);
    let ram = protected(&rt);
    rt.block_on(async {
        let claim = take(&rt, Rc::new(Unread::new(&ram, 9..=12)), "x").await.unwrap();
        let disk = claim.fence(Rc::new(ram.clone()));
        let mut failed = 0;
        for _ in 0..200 {
            rt.sleep(SECOND / 10).await;
            match disk.write(DiskOff(0), data(1), false).await {
                Ok(()) => {}
                Err(error) => {
                    assert!(!is_taken(&Err(error)));
                    failed += 1;
                }
            }
        }
        assert!(failed < 100 && claim.why_lost().is_none(), "{failed}");
    });
}

#[test]
fn switched_off_it_leaves_zeros_and_a_small_area_needs_small_sectors() {
    let rt = Rt::virtual_time(7);
    let ram = protected(&rt);
    rt.block_on(async {
        take(&rt, Rc::new(ram.clone()), "x").await.unwrap().remove().await.unwrap();
        assert!(ram.to_vec().iter().all(|byte| *byte == 0));
        assert!(matches!(take(&rt, Rc::new(ram.clone()), "x").await, Err(ClaimError::Gone)));
        let large = RamDisk::new(128 << 10).with(|info| info.sector = 4096);
        let made = make_record(&large, Place::in_lfs(), INTERVAL).await;
        assert!(matches!(made, Err(ClaimError::Sector(4096))));
        large.poke(place().owner.0 + 1000, &[9]);
        make_record(&large, place(), INTERVAL).await.unwrap();
        let claim = take(&rt, Rc::new(large.clone()), "x").await.unwrap();
        assert_eq!(large.to_vec()[place().owner.0 as usize + 1000], 9, "what else is in a sector stays");
        claim.release().await.unwrap();
    });
}

/// A release that was in flight when its machine stopped arrives over another one's claim: who finds it free watches,
/// and does not begin while that one still writes.
#[test]
fn a_late_release_lets_nobody_in_early() {
    let rt = Rt::virtual_time(8);
    let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
    rt.block_on(async {
        let first = take(&rt, ram.clone(), "first").await.unwrap();
        let late = Owner { holder: Err(ordo_ondisk::mmp::Released(first.owner().session())), ..first.owner().clone() };
        drop(first);
        let second = take(&rt, ram.clone(), "second").await.unwrap();
        let disk = second.fence(ram.clone());
        let last = Rc::new(RefCell::new(rt.now()));
        let (clock, to) = (rt.clone(), last.clone());
        rt.spawn(async move {
            while disk.write(DiskOff(0), data(2), false).await.is_ok() {
                *to.borrow_mut() = clock.now();
                clock.sleep(SECOND / 20).await;
            }
        });
        rt.sleep(SECOND * 3 + SECOND / 3).await;
        record::put(&*ram, place().owner, &late.encode(), true).await.unwrap();
        let third = take(&rt, ram.clone(), "third").await;
        assert!(third.is_err() || *last.borrow() < rt.now(), "{:?}", third.err());
        assert_eq!(second.why_lost(), Some(Taken::Released));
    });
    rt.drop_tasks();
    let beat = Beat::default();
    assert_eq!(Beat::decode(&beat.encode()), Ok(Some(beat)));
}
