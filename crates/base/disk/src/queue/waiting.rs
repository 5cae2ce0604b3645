//! The schedulers: which of the waiting requests is sent next.
//!
//! They are those of Worthington, Ganger and Patt (SIGMETRICS 1994, section 3) and the two of Linux that use time. Each
//! picks among requests that may be sent; requests that must wait for another one are not here (queue-order-1).
//!
//! S1. A scheduler only chooses. Whatever it picks or delays, it breaks no order between requests.
//! S2. No request waits forever while others keep coming, except under [`Scheduler::Sstf`] and [`Scheduler::Sptf`],
//!     whose starvation is part of what the papers measure.
//! S3. The same requests at the same moments are picked in the same order: ties go to the older request.
//! S4. A disk may have copies of what is read ([`crate::Disk::reach`]). If the request that is next is a read, and
//!     another read has a copy that is nearer to the head, that one goes aside: from the copy, and the scheduler goes
//!     on where it was, as if it had not been asked: a turn that it lost with each would pass the request that is
//!     overdue again and again. Not more than 16 go aside in a row (S2). Which place is read the disk decides when it
//!     is asked to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ordo_rt::Time;

use super::ledger::Id;
use crate::Reach;

/// The order in which waiting requests go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Scheduler {
    /// C-LOOK: one way across the disk, upwards, then back to the lowest waiting address.
    #[default]
    CLook,
    /// The elevator: up to the highest waiting address, then down to the lowest. It turns when no request is left
    /// ahead, not at the end of the disk (LOOK, which implementations of SCAN usually are).
    Scan,
    /// First come, first served.
    Fcfs,
    /// The shortest distance from where the last request ended, in addresses: what a host can know.
    Sstf,
    /// The shortest time until the first byte passes the head, rotation included. A disk that does not know it
    /// ([`crate::Disk::positioning`]) is scheduled as under [`Scheduler::Sstf`].
    Sptf,
    /// Linux's deadline: C-LOOK in batches of 16, reads before writes but not more than twice in a row, and the oldest
    /// first once it has waited for 0.5 s (a read) or 5 s (a write).
    Deadline,
    /// As [`Scheduler::Deadline`], but after a read the disk is held idle for up to 6 ms, since a process that has read
    /// often reads on nearby (Iyer and Druschel, SOSP 2001, section 3). After two waits in vain it does not wait again
    /// before a read has come that soon without waiting.
    Anticipatory,
}

impl Scheduler {
    /// All of them, by their names for users.
    pub const ALL: [(&'static str, Scheduler); 7] = [
        ("c-look", Scheduler::CLook),
        ("scan", Scheduler::Scan),
        ("fcfs", Scheduler::Fcfs),
        ("sstf", Scheduler::Sstf),
        ("sptf", Scheduler::Sptf),
        ("deadline", Scheduler::Deadline),
        ("anticipatory", Scheduler::Anticipatory),
    ];

    fn knows_each(self) -> bool {
        !matches!(self, Scheduler::CLook | Scheduler::Scan | Scheduler::Sstf)
    }
}

const READ_EXPIRES: Duration = Duration::from_millis(500);
const WRITE_EXPIRES: Duration = Duration::from_secs(5);
/// Requests of one direction before the other direction, or an expired request, is considered.
const BATCH: u32 = 16;
/// Batches of reads that may be sent while writes wait.
const STARVED: u32 = 2;
const ANTICIPATION: Duration = Duration::from_millis(6);
/// A read this close to the end of the last one, in bytes, is the one anticipated.
const NEAR: u64 = 1 << 20;
/// Waits in vain after which it stops waiting.
const PATIENCE: u32 = 2;

/// The most requests in a row that go aside, and the oldest reads among which one is sought (S4).
const ASIDE: u32 = 16;
const LOOK: usize = 64;

/// What a scheduler needs to know about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) id: Id,
    pub(super) is_read: bool,
    pub(super) issued: Time,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// This one; it stays until it is removed.
    Go(u64, Id),
    /// This read, from a copy that is nearer than what is next (S4).
    Aside(u64, Id),
    /// None before this moment, unless a request comes.
    Wait(Time),
    /// Nothing waits.
    Nothing,
}

/// What the disk knows of the way of its head.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    /// The positioning time to an address, in nanoseconds, if it reports one.
    pub(super) positioning: &'a dyn Fn(u64, bool) -> Option<u64>,
    /// [`crate::Disk::reach`].
    pub(super) reach: &'a dyn Fn(u64, u64) -> Option<Reach>,
}

/// The requests that may be sent now: none of them waits for another one.
pub(super) struct Waiting {
    scheduler: Scheduler,
    by_start: BTreeSet<(u64, Id)>,
    /// Writes and reads, oldest first; kept only for a scheduler that uses more than addresses.
    by_age: [BTreeMap<Id, Entry>; 2],
    /// Where the last request ended.
    head: u64,
    up: bool,
    batch: Batch,
    hope: Hope,
    /// The disk may have copies; and how many requests in a row went aside (S4).
    has_copies: bool,
    aside: u32,
}

/// Deadline's state.
#[derive(Clone, Copy, Default)]
struct Batch {
    reads: bool,
    left: u32,
    /// Batches of reads since the last one of writes.
    starved: u32,
}

/// Anticipation's state.
#[derive(Default)]
struct Hope {
    /// The end of the last read, until another request was picked.
    after: Option<Time>,
    in_vain: u32,
}

impl Waiting {
    pub(super) fn new(scheduler: Scheduler, has_copies: bool) -> Waiting {
        Waiting {
            scheduler,
            by_start: BTreeSet::new(),
            by_age: Default::default(),
            head: 0,
            up: true,
            batch: Batch::default(),
            hope: Hope::default(),
            has_copies,
            aside: 0,
        }
    }

    fn knows_each(&self) -> bool {
        self.has_copies || self.scheduler.knows_each()
    }

    pub(super) fn add(&mut self, entry: Entry) {
        self.by_start.insert((entry.start, entry.id));
        if self.knows_each() {
            self.by_age[usize::from(entry.is_read)].insert(entry.id, entry);
        }
        let soon = self.hope.after.is_some_and(|end| entry.issued <= end + ANTICIPATION);
        if entry.is_read && soon && entry.start.abs_diff(self.head) <= NEAR {
            self.hope.in_vain = 0;
        }
    }

    pub(super) fn remove(&mut self, start: u64, id: Id) {
        self.by_start.remove(&(start, id));
        if self.knows_each() {
            for line in &mut self.by_age {
                line.remove(&id);
            }
        }
    }

    /// The next request. It may be picked again until it is removed.
    pub(super) fn pick(&mut self, now: Time, head: Head<'_>) -> Pick {
        if self.by_start.is_empty() {
            return Pick::Nothing;
        }
        let before = (self.up, self.batch);
        let found = match self.scheduler {
            Scheduler::CLook => self.above().or(self.by_start.first().copied()),
            Scheduler::Scan => self.scan(),
            Scheduler::Fcfs => self.oldest(),
            Scheduler::Sstf => self.nearest(),
            Scheduler::Sptf => self.soonest(head.positioning),
            Scheduler::Deadline => self.deadline(now),
            Scheduler::Anticipatory => match self.hopes_until(now) {
                Some(until) => return Pick::Wait(until),
                None => self.deadline(now),
            },
        };
        let Some((start, id)) = found else { return Pick::Nothing };
        match self.nearer_than(id, head) {
            Some((start, id)) => {
                (self.up, self.batch) = before;
                Pick::Aside(start, id)
            }
            None => Pick::Go(start, id),
        }
    }

    /// The read with the nearest copy, if it is nearer than the next request, a read, would go (S4).
    fn nearer_than(&self, next: Id, head: Head<'_>) -> Option<(u64, Id)> {
        if !self.has_copies || self.aside >= ASIDE || self.scheduler == Scheduler::Fcfs {
            return None;
        }
        let [_, reads] = &self.by_age;
        let next = reads.get(&next)?;
        let away = (head.reach)(next.start, next.len)?.away;
        let nearer = |entry: &&Entry| (head.reach)(entry.start, entry.len).filter(|to| to.is_copy && to.away < away);
        let copies = reads.values().take(LOOK).filter_map(|entry| Some((nearer(&entry)?.away, entry)));
        copies.min_by_key(|(away, _)| *away).map(|(_, entry)| (entry.start, entry.id))
    }

    /// The oldest request that begins at `start`.
    pub(super) fn beginning_at(&self, start: u64) -> Option<Id> {
        self.by_start.range((start, 0)..=(start, Id::MAX)).next().map(|&(_, id)| id)
    }

    /// A transfer that ends at `head` was sent to the disk.
    pub(super) fn moved_to(&mut self, head: u64) {
        (self.head, self.aside) = (head, 0);
        self.hope.after = None;
    }

    /// One was sent aside: the scheduler stays where it is (S4).
    pub(super) fn went_aside(&mut self) {
        self.aside += 1;
        self.hope.after = None;
    }

    /// The disk has answered a transfer.
    pub(super) fn answered(&mut self, is_read: bool, now: Time) {
        self.hope.after = is_read.then_some(now);
    }

    fn above(&self) -> Option<(u64, Id)> {
        self.by_start.range((self.head, 0)..).next().copied()
    }

    /// The nearest below; of those that begin together, the oldest.
    fn below(&self) -> Option<(u64, Id)> {
        let (start, _) = *self.by_start.range(..(self.head, 0)).next_back()?;
        Some((start, self.beginning_at(start)?))
    }

    fn scan(&mut self) -> Option<(u64, Id)> {
        let ahead = |waiting: &Waiting| if waiting.up { waiting.above() } else { waiting.below() };
        ahead(self).or_else(|| {
            self.up = !self.up;
            ahead(self)
        })
    }

    fn oldest(&self) -> Option<(u64, Id)> {
        let first = |line: &BTreeMap<Id, Entry>| line.first_key_value().map(|(&id, entry)| (id, entry.start));
        self.by_age.iter().filter_map(first).min().map(|(id, start)| (start, id))
    }

    fn nearest(&self) -> Option<(u64, Id)> {
        let candidates = self.above().into_iter().chain(self.below());
        candidates.min_by_key(|&(start, id)| (start.abs_diff(self.head), id))
    }

    fn soonest(&self, positioning: &dyn Fn(u64, bool) -> Option<u64>) -> Option<(u64, Id)> {
        let is_write = |id: Id| !self.by_age[1].contains_key(&id);
        let known = |&(start, id): &(u64, Id)| Some((positioning(start, is_write(id))?, id, start));
        let soonest = self.by_start.iter().filter_map(known).min();
        soonest.map(|(_, id, start)| (start, id)).or_else(|| self.nearest())
    }

    fn deadline(&mut self, now: Time) -> Option<(u64, Id)> {
        let one_way = |line: &BTreeMap<Id, Entry>, from: u64| {
            let ahead = line.values().filter(|entry| entry.start >= from);
            ahead.min_by_key(|entry| (entry.start, entry.id)).map(|entry| (entry.start, entry.id))
        };
        if self.batch.left > 0
            && let Some(next) = one_way(&self.by_age[usize::from(self.batch.reads)], self.head)
        {
            self.batch.left -= 1;
            return Some(next);
        }
        let [writes, reads] = &self.by_age;
        let read = !reads.is_empty() && (writes.is_empty() || self.batch.starved < STARVED);
        let line = if read { reads } else { writes };
        let oldest = line.first_key_value().map(|(_, entry)| *entry)?;
        let expires = if read { READ_EXPIRES } else { WRITE_EXPIRES };
        let next = match oldest.issued + expires <= now {
            true => Some((oldest.start, oldest.id)),
            false => one_way(line, self.head).or_else(|| one_way(line, 0)),
        };
        let starved = if read && !writes.is_empty() { self.batch.starved + 1 } else { 0 };
        self.batch = Batch { reads: read, left: BATCH - 1, starved };
        next
    }

    /// Until when it is worth waiting for a read near the last one; `None` if it is not.
    fn hopes_until(&mut self, now: Time) -> Option<Time> {
        let until = self.hope.after? + ANTICIPATION;
        let near = self.by_age[1].values().any(|entry| entry.start.abs_diff(self.head) <= NEAR);
        if near || self.hope.in_vain >= PATIENCE {
            return None;
        }
        if now >= until {
            self.hope.in_vain += 1;
            self.hope.after = None;
            return None;
        }
        Some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds requests of (start, is_read), all issued at time zero.
    fn waiting(scheduler: Scheduler, requests: &[(u64, bool)]) -> Waiting {
        let mut waiting = Waiting::new(scheduler, true);
        for (id, &(start, is_read)) in requests.iter().enumerate() {
            waiting.add(Entry { start, len: 1, id: id as Id, is_read, issued: Time::ZERO });
        }
        waiting
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// The starts in the order in which they go, each one byte long.
    fn order(waiting: &mut Waiting, now: Time, head: Head<'_>) -> Vec<u64> {
        let mut starts = Vec::new();
        while let Pick::Go(start, id) = waiting.pick(now, head) {
            waiting.remove(start, id);
            waiting.moved_to(start + 1);
            starts.push(start);
        }
        starts
    }

    const UNKNOWN: Head<'static> = Head { positioning: &|_, _| None, reach: &|_, _| None };
    const FIVE: [(u64, bool); 5] = [(50, false), (10, true), (90, false), (40, true), (60, true)];

    fn from_45(scheduler: Scheduler) -> Waiting {
        let mut waiting = waiting(scheduler, &FIVE);
        waiting.moved_to(45);
        waiting
    }

    #[test]
    fn each_scheduler_has_its_own_way() {
        let ways: [(Scheduler, [u64; 5]); 5] = [
            (Scheduler::CLook, [50, 60, 90, 10, 40]),
            (Scheduler::Scan, [50, 60, 90, 40, 10]),
            (Scheduler::Fcfs, [50, 10, 90, 40, 60]),
            (Scheduler::Sstf, [50, 60, 40, 10, 90]),
            (Scheduler::Sptf, [50, 60, 40, 10, 90]),
        ];
        for (scheduler, way) in ways {
            // From 61 it is 21 down to 40 and 29 up to 90; from 41, 31 down and 49 up.
            assert_eq!(order(&mut from_45(scheduler), Time::ZERO, UNKNOWN), way, "{scheduler:?}");
        }
    }

    #[test]
    fn the_soonest_goes_first_where_the_disk_knows() {
        let farthest_first = Head { positioning: &|start, _| Some(1000 - start), ..UNKNOWN };
        assert_eq!(order(&mut from_45(Scheduler::Sptf), Time::ZERO, farthest_first), [90, 60, 50, 40, 10]);
    }

    #[test]
    fn deadline_prefers_reads_and_forgets_neither() {
        let mut early = from_45(Scheduler::Deadline);
        assert_eq!(order(&mut early, Time::ZERO, UNKNOWN), [60, 10, 40, 50, 90]);
        // All reads are overdue: the oldest begins each batch, whatever its address.
        let mut late = from_45(Scheduler::Deadline);
        assert_eq!(order(&mut late, at(600), UNKNOWN)[0], 10);
        // Reads without end: after two batches of them a write goes.
        let mut many = waiting(Scheduler::Deadline, &[(5, false)]);
        (1..200).for_each(|id| many.add(Entry { start: 1000 - id, len: 1, id, is_read: true, issued: Time::ZERO }));
        let way = order(&mut many, Time::ZERO, UNKNOWN);
        assert_eq!(way.iter().position(|&start| start == 5), Some(32));
    }

    #[test]
    fn anticipation_waits_for_a_reader_and_gives_up_on_one_that_does_not_come() {
        let mut waiting = waiting(Scheduler::Anticipatory, &[(1 << 30, false)]);
        waiting.moved_to(4096);
        waiting.answered(true, at(10));
        assert_eq!(waiting.pick(at(10), UNKNOWN), Pick::Wait(at(16)));
        waiting.add(Entry { start: 8192, len: 1, id: 7, is_read: true, issued: at(12) });
        assert_eq!(waiting.pick(at(12), UNKNOWN), Pick::Go(8192, 7));
        waiting.remove(8192, 7);
        for round in 1..=PATIENCE {
            waiting.answered(true, at(100));
            assert_eq!(waiting.pick(at(100), UNKNOWN), Pick::Wait(at(106)), "round {round}");
            assert_eq!(waiting.pick(at(106), UNKNOWN), Pick::Go(1 << 30, 0), "round {round}");
        }
        waiting.answered(true, at(200));
        assert_eq!(waiting.pick(at(200), UNKNOWN), Pick::Go(1 << 30, 0), "its patience is over");
        waiting.answered(false, at(300));
        assert_eq!(waiting.pick(at(300), UNKNOWN), Pick::Go(1 << 30, 0), "after a write there is nothing to hope for");
    }

    #[test]
    fn a_read_with_a_copy_that_is_nearer_goes_aside_and_the_elevator_goes_on() {
        let reach = |start: u64, _: u64| {
            // A copy of what begins at 90 lies at 44; that of 10 is farther than what is next.
            let away = if start == 90 { 1 } else { start.abs_diff(45) };
            Some(Reach { away, is_copy: start == 90 || start == 10 })
        };
        let head = Head { reach: &reach, ..UNKNOWN };
        let reads = [(50, true), (90, true), (60, true), (10, true)];
        for (scheduler, has_copies, way) in [
            (Scheduler::CLook, true, [90, 50, 60, 10]),
            (Scheduler::CLook, false, [50, 60, 90, 10]),
            (Scheduler::Fcfs, true, [50, 90, 60, 10]),
        ] {
            let mut waiting = Waiting::new(scheduler, has_copies);
            for (id, (start, is_read)) in reads.into_iter().enumerate() {
                waiting.add(Entry { start, len: 1, id: id as Id, is_read, issued: Time::ZERO });
            }
            waiting.moved_to(45);
            let mut starts = Vec::new();
            loop {
                match waiting.pick(Time::ZERO, head) {
                    Pick::Go(start, id) => {
                        waiting.remove(start, id);
                        waiting.moved_to(start + 1);
                        starts.push(start);
                    }
                    Pick::Aside(start, id) => {
                        waiting.remove(start, id);
                        waiting.went_aside();
                        starts.push(start);
                    }
                    _ => break,
                }
            }
            assert_eq!(starts, way, "{scheduler:?}");
        }
    }

    #[test]
    fn what_goes_aside_keeps_nobody_waiting_forever() {
        let reach = |start: u64, _: u64| Some(Reach { away: u64::from(start == 50), is_copy: start != 50 });
        let head = Head { reach: &reach, ..UNKNOWN };
        let mut waiting = Waiting::new(Scheduler::CLook, true);
        let add = |waiting: &mut Waiting, start, id| {
            waiting.add(Entry { start, len: 1, id, is_read: true, issued: Time::ZERO });
        };
        add(&mut waiting, 50, 0);
        for id in 1..=u64::from(ASIDE) {
            add(&mut waiting, 1000, id);
            assert_eq!(waiting.pick(Time::ZERO, head), Pick::Aside(1000, id));
            waiting.remove(1000, id);
            waiting.went_aside();
        }
        add(&mut waiting, 1000, 99);
        assert_eq!(waiting.pick(Time::ZERO, head), Pick::Go(50, 0));
    }

    /// An overdue read is next whatever its address, and goes on being next while others go aside.
    #[test]
    fn what_goes_aside_takes_no_turn_of_deadline() {
        let reach = |start: u64, _: u64| Some(Reach { away: u64::from(start < 1000), is_copy: start >= 1000 });
        let head = Head { reach: &reach, ..UNKNOWN };
        let mut waiting = waiting(Scheduler::Deadline, &[(50, true)]);
        waiting.moved_to(500);
        let near = [(600, 1), (700, 2), (800, 3)];
        for (start, id) in near.into_iter().chain([(1000, 4)]) {
            waiting.add(Entry { start, len: 1, id, is_read: true, issued: at(590) });
        }
        assert_eq!(waiting.pick(at(600), head), Pick::Aside(1000, 4));
        waiting.remove(1000, 4);
        waiting.went_aside();
        assert_eq!(waiting.pick(at(600), head), Pick::Go(50, 0));
    }

    #[test]
    fn a_write_that_is_next_lets_nobody_pass() {
        let head = Head { reach: &|_, _| Some(Reach { away: 0, is_copy: true }), ..UNKNOWN };
        let mut waiting = waiting(Scheduler::CLook, &[(50, false), (90, true)]);
        assert_eq!(waiting.pick(Time::ZERO, head), Pick::Go(50, 0));
    }
}
