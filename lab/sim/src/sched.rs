//! The queue of requests before the drive, and the schedulers: which one comes next.
//!
//! S1. A read may lie in several places. All are in the queue; the nearest one is served, and then all leave it.
//! S2. Requests that follow one another on the disk and go in the same direction leave as one, up to 512 KB.

use crate::volume::NONE;
use std::collections::{BTreeSet, VecDeque};

/// Which request comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// The oldest.
    Fifo,
    /// The next one in ascending order of blocks, and from the last one back to the first.
    Elevator,
    /// Linux' deadline: an elevator for reads and one for writes, each interrupted by what has waited too long.
    Deadline,
    /// The same, but after a read the drive may wait for another one nearby.
    Anticipatory,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Scheduler; 4] =
        [Scheduler::Fifo, Scheduler::Elevator, Scheduler::Deadline, Scheduler::Anticipatory];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Fifo => "fifo",
            Scheduler::Elevator => "elevator",
            Scheduler::Deadline => "deadline",
            Scheduler::Anticipatory => "anticipatory",
        }
    }
}

/// When a read and a write have waited too long, in milliseconds (Table I).
const EXPIRE: [f64; 2] = [500.0, 5000.0];
/// Requests of one direction in a row, and how often reads may pass writes: Linux' numbers.
const BATCH: u32 = 16;
const STARVED: u32 = 2;
/// Blocks of the longest transfer.
const LONGEST: u32 = 128;
/// How long the drive is held back for a read that may come, in milliseconds, and how near it must be, in blocks.
const PATIENCE: f64 = 6.0;
const NEAR: u32 = 1024;
/// Holding the drive back has to succeed so often, and is tried again once in so many times.
const WORTHWHILE: f64 = 0.3;
const RETRY: u32 = 32;

/// What a transfer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Read,
    /// Data, or anything of a system without a journal.
    Home,
    Journal,
    Checkpoint,
}

/// Other places of what is read; `NONE` for those that there are not: one in a journal, and three near docks.
pub(crate) type Copies = [u32; 4];
/// None.
pub(crate) const NO_COPIES: Copies = [NONE; 4];

/// A request in the queue, or at the drive.
#[derive(Debug, Clone)]
pub(crate) struct Io {
    pub(crate) block: u32,
    pub(crate) blocks: u32,
    /// Where else it lies.
    pub(crate) copies: Copies,
    pub(crate) tag: Tag,
    at: f64,
    /// The first page that a read brings.
    pub(crate) page: u32,
    /// The jobs that wait for it.
    pub(crate) waiters: Vec<u32>,
    number: u64,
    queued: bool,
}

/// What goes to the drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    pub(crate) block: u32,
    pub(crate) blocks: u32,
    pub(crate) tag: Tag,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue {
    scheduler: Scheduler,
    pub(crate) ios: Vec<Io>,
    free: Vec<u32>,
    /// By block: reads and writes.
    sorted: [BTreeSet<(u32, u32)>; 2],
    /// By time; what has left the queue is skipped.
    aged: [VecDeque<(u32, u64)>; 2],
    /// The members of what was taken last.
    pub(crate) taken: Vec<u32>,
    numbers: u64,
    /// Of `Deadline`: the direction of the batch, its length, and where each direction goes on: at what was the next
    /// request when the last one left, and `NONE` if there was none. What came since does not make a batch longer.
    direction: usize,
    batch: u32,
    next: [u32; 2],
    starved: u32,
    /// Of `Anticipatory`: when the last read ended, how often it was right to wait, and chances since the last try.
    read_done: Option<f64>,
    success: f64,
    passed: u32,
}

impl Queue {
    pub(crate) fn new(scheduler: Scheduler) -> Queue {
        Queue {
            scheduler,
            ios: Vec::new(),
            free: Vec::new(),
            sorted: Default::default(),
            aged: Default::default(),
            taken: Vec::new(),
            numbers: 0,
            direction: 0,
            batch: 0,
            next: [NONE; 2],
            starved: 0,
            read_done: None,
            success: 1.0,
            passed: 0,
        }
    }

    fn side(tag: Tag) -> usize {
        usize::from(tag != Tag::Read)
    }

    /// Adds a request; its number.
    pub(crate) fn add(&mut self, now: f64, at: Taken, copies: Copies, page: u32) -> u32 {
        let Taken { block, blocks, tag } = at;
        self.numbers += 1;
        let number = self.numbers;
        let id = match self.free.pop() {
            Some(id) => {
                let waiters = std::mem::take(&mut self.ios[id as usize].waiters);
                self.ios[id as usize] = Io { block, blocks, copies, tag, at: now, page, waiters, number, queued: true };
                id
            }
            None => {
                let waiters = Vec::new();
                self.ios.push(Io { block, blocks, copies, tag, at: now, page, waiters, number, queued: true });
                self.ios.len() as u32 - 1
            }
        };
        let side = Queue::side(tag);
        self.sorted[side].insert((block, id));
        for copy in copies.into_iter().filter(|copy| *copy != NONE) {
            self.sorted[side].insert((copy, id));
        }
        self.aged[side].push_back((id, number));
        id
    }

    /// A request is done, and its number may be used again. Its list of waiters is empty.
    pub(crate) fn release(&mut self, id: u32) {
        self.free.push(id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.iter().all(BTreeSet::is_empty)
    }

    fn leave(&mut self, id: u32) {
        let io = &mut self.ios[id as usize];
        io.queued = false;
        let side = Queue::side(io.tag);
        self.sorted[side].remove(&(io.block, id));
        for copy in io.copies.into_iter().filter(|copy| *copy != NONE) {
            self.sorted[side].remove(&(copy, id));
        }
    }

    /// The oldest request of a side.
    fn oldest(&mut self, side: usize) -> Option<u32> {
        while let Some(&(id, number)) = self.aged[side].front() {
            let io = &self.ios[id as usize];
            if io.queued && io.number == number {
                return Some(id);
            }
            self.aged[side].pop_front();
        }
        None
    }

    fn above(&self, side: usize, block: u32) -> Option<(u32, u32)> {
        self.sorted[side].range((block, 0)..).next().copied()
    }

    /// Takes the next request, and those that follow it on the disk.
    pub(crate) fn take(&mut self, now: f64, head: u32) -> Option<Taken> {
        let (block, id) = match self.scheduler {
            Scheduler::Fifo => self.by_age()?,
            Scheduler::Elevator => self.by_place(head)?,
            Scheduler::Deadline | Scheduler::Anticipatory => self.by_deadline(now)?,
        };
        let block = self.nearer(block, id, head);
        let tag = self.ios[id as usize].tag;
        let mut blocks = self.ios[id as usize].blocks;
        self.leave(id);
        self.taken.clear();
        self.taken.push(id);
        let side = Queue::side(tag);
        while let Some((at, next)) = self.above(side, block + blocks) {
            let more = self.ios[next as usize].blocks;
            if at != block + blocks || blocks + more > LONGEST {
                break;
            }
            self.leave(next);
            self.taken.push(next);
            blocks += more;
        }
        self.next[side] = self.above(side, block + blocks).map_or(NONE, |(block, _)| block);
        Some(Taken { block, blocks, tag })
    }

    /// A copy behind the head, if it is nearer than the place that was chosen: the elevator keeps its direction.
    fn nearer(&self, block: u32, id: u32, head: u32) -> u32 {
        let io = &self.ios[id as usize];
        let places = [block, io.block].into_iter().chain(io.copies).filter(|place| *place != NONE);
        // Of two that are equally near the first, which was chosen.
        places.min_by_key(|place| place.abs_diff(head)).unwrap_or(block)
    }

    fn by_age(&mut self) -> Option<(u32, u32)> {
        let number = |queue: &Queue, id: u32| queue.ios[id as usize].number;
        let id = match (self.oldest(0), self.oldest(1)) {
            (Some(read), Some(write)) if number(self, read) < number(self, write) => read,
            (read, write) => write.or(read)?,
        };
        Some((self.ios[id as usize].block, id))
    }

    fn by_place(&self, head: u32) -> Option<(u32, u32)> {
        let next = |from: u32| self.above(0, from).into_iter().chain(self.above(1, from)).min();
        next(head).or_else(|| next(0))
    }

    fn by_deadline(&mut self, now: f64) -> Option<(u32, u32)> {
        let going_on = self.above(self.direction, self.next[self.direction]);
        if let Some(found) = going_on.filter(|_| (1..BATCH).contains(&self.batch)) {
            self.batch += 1;
            return Some(found);
        }
        let there = [0, 1].map(|side| !self.sorted[side].is_empty());
        self.direction = match there {
            [false, false] => return None,
            [true, true] if self.starved < STARVED => {
                self.starved += 1;
                0
            }
            [true, false] => 0,
            _ => {
                self.starved = 0;
                1
            }
        };
        self.batch = 1;
        let side = self.direction;
        let oldest = self.oldest(side)?;
        let late = self.ios[oldest as usize].at + EXPIRE[side] <= now;
        match self.above(side, self.next[side]).filter(|_| !late) {
            Some(found) => Some(found),
            None => Some((self.ios[oldest as usize].block, oldest)),
        }
    }

    /// The drive has finished something.
    pub(crate) fn done(&mut self, now: f64, tag: Tag) {
        self.read_done = (tag == Tag::Read).then_some(now);
    }

    /// Until when the drive shall wait for a read nearby, instead of taking what is there.
    pub(crate) fn held_until(&mut self, now: f64, head: u32) -> Option<f64> {
        if self.scheduler != Scheduler::Anticipatory || self.is_empty() {
            return None;
        }
        let until = self.read_done? + PATIENCE;
        let near = self.above(0, head.saturating_sub(NEAR)).is_some_and(|(block, _)| block <= head + NEAR);
        if near || now >= until {
            self.success = self.success * 0.875 + if near { 0.125 } else { 0.0 };
            self.read_done = None;
            return None;
        }
        if self.success < WORTHWHILE {
            self.passed += 1;
            if self.passed < RETRY {
                self.read_done = None;
                return None;
            }
            self.passed = 0;
        }
        Some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(scheduler: Scheduler, asked: &[(u32, Tag)]) -> Queue {
        let mut queue = Queue::new(scheduler);
        for (at, (block, tag)) in asked.iter().enumerate() {
            queue.add(at as f64, Taken { block: *block, blocks: 1, tag: *tag }, NO_COPIES, 0);
        }
        queue
    }

    fn order(queue: &mut Queue, now: f64, mut head: u32) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(taken) = queue.take(now, head) {
            head = taken.block + taken.blocks;
            order.push(taken.block);
        }
        order
    }

    const ASKED: [(u32, Tag); 5] =
        [(900, Tag::Home), (500, Tag::Read), (100, Tag::Read), (300, Tag::Home), (700, Tag::Read)];

    #[test]
    fn each_scheduler_has_its_order() {
        assert_eq!(order(&mut queue(Scheduler::Fifo, &ASKED), 9.0, 400), [900, 500, 100, 300, 700]);
        assert_eq!(order(&mut queue(Scheduler::Elevator, &ASKED), 9.0, 400), [500, 700, 900, 100, 300]);
        assert_eq!(order(&mut queue(Scheduler::Deadline, &ASKED), 9.0, 400), [500, 700, 100, 900, 300]);
    }

    #[test]
    fn deadline_serves_what_has_waited_too_long_when_a_batch_ends() {
        let late = |now: f64| {
            let asked: Vec<_> = [900, 10].into_iter().chain((1..40).map(|at| 1000 + 2 * at)).collect();
            let reads: Vec<_> = asked.iter().map(|block| (*block, Tag::Read)).collect();
            let order = order(&mut queue(Scheduler::Deadline, &reads), now, 0);
            order.iter().position(|block| *block == 10).unwrap()
        };
        assert_eq!(late(100.0), 40, "in its turn: the last one");
        assert_eq!(late(502.0), 16, "after a batch of sixteen");
    }

    #[test]
    fn neighbours_leave_as_one_transfer_of_half_a_megabyte_at_most() {
        let asked: Vec<_> = (0..200).map(|at| (1000 + at, Tag::Home)).collect();
        let mut queue = queue(Scheduler::Elevator, &asked);
        assert_eq!(queue.take(0.0, 0).map(|taken| (taken.block, taken.blocks)), Some((1000, 128)));
        assert_eq!(queue.taken.len(), 128);
        assert_eq!(queue.take(0.0, 1128).map(|taken| (taken.block, taken.blocks)), Some((1128, 72)));
        assert!(queue.take(0.0, 0).is_none() && queue.is_empty());
    }

    #[test]
    fn the_nearer_copy_is_served_and_the_other_leaves() {
        let mut queue = Queue::new(Scheduler::Elevator);
        let read = |block| Taken { block, blocks: 1, tag: Tag::Read };
        queue.add(0.0, read(5000), [90, NONE, NONE, NONE], 1);
        queue.add(0.0, read(200), NO_COPIES, 2);
        assert_eq!(queue.take(0.0, 100).map(|taken| taken.block), Some(200));
        assert_eq!(queue.take(0.0, 201).map(|taken| taken.block), Some(90), "behind, but nearer");
        assert!(queue.is_empty());
    }

    #[test]
    fn after_a_read_the_anticipatory_one_waits_for_another_nearby() {
        let mut queue = queue(Scheduler::Anticipatory, &[(90_000, Tag::Read)]);
        queue.done(10.0, Tag::Read);
        assert_eq!(queue.held_until(10.0, 100), Some(16.0));
        queue.add(12.0, Taken { block: 120, blocks: 1, tag: Tag::Read }, NO_COPIES, 0);
        assert_eq!(queue.held_until(12.0, 100), None);
        queue.done(20.0, Tag::Read);
        assert_eq!((queue.held_until(20.0, 5000), queue.held_until(26.0, 5000)), (Some(26.0), None));
    }
}
