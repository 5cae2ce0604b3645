//! The I/O queue: the one door to a disk.
//!
//! Q1. Two requests that share a byte, one of which changes it, reach the disk one after the other, in the order in
//!     which they were issued. Otherwise a read could miss a write that was issued before it, and an old image could
//!     land over a new one.
//! Q2. A write is *durable* when it has completed and the cache is not volatile, or it was forced (FUA), or a flush
//!     that **began after its completion** has succeeded. A flush that began before may not have seen it.
//! Q3. A flush that fails makes no write durable, now or later: the disk may have dropped what it could not write, and
//!     a later flush then succeeds over the loss. The owner of the buffer keeps it dirty and writes it again.
//! Q4. At most one flush is at the disk. Whoever asks while it runs, and is not covered by it, shares the next one.
//! Q5. A merged request that fails with an I/O error is tried again piece by piece, so that one bad sector condemns
//!     only the buffer that it belongs to.
//!
//! Requests made in one turn of the executor are held back to its end and then go in elevator order, neighbours
//! merged. On a disk that answers at once (`DiskInfo::immediate`) they go at once.

mod elevator;
mod handles;
mod ledger;
mod overlap;

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use rt::Rt;
use rt::sync::{Notify, Sender, oneshot};
use rustc_hash::FxHashMap;

use crate::{Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Image, ReadPart, Tag, WritePart};
use elevator::Elevator;
pub use elevator::Scheduler;
pub use handles::{Answer, Completed, Durable, Written};
use ledger::{Join, Ledger, Stage, WriteState};
use overlap::Overlap;

/// Numbers requests in the order in which they were issued.
type Id = u64;

/// The most buffers that one merged request may carry: well below the system's limit of 1024 (IOV_MAX).
const MAX_PARTS: usize = 256;

/// How a queue treats its disk.
#[derive(Clone, Debug, Default)]
pub struct QueueOptions {
    /// Overrides what the disk says of its cache. `Some(false)` on a disk whose cache is volatile trades safety for
    /// speed.
    pub volatile_cache: Option<bool>,
    /// Requests at the disk at a time, at most the disk's own depth, which is also the default.
    pub depth: Option<u32>,
    /// The order of waiting requests.
    pub scheduler: Scheduler,
    /// The most bytes of a merged request, at most the disk's own limit, which is also the default. Zero: no merging.
    pub max_merge: Option<u32>,
}

/// What a queue has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads asked for.
    pub reads: u64,
    /// Writes asked for.
    pub writes: u64,
    /// Reads and writes that went to the disk as part of another one.
    pub merged: u64,
    /// Flushes of the disk.
    pub flushes: u64,
    /// Discards asked for.
    pub discards: u64,
    /// Bytes read from the disk.
    pub bytes_read: u64,
    /// Bytes written to the disk.
    pub bytes_written: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that are not finished now.
    pub depth: usize,
    /// The most that were ever unfinished at a time.
    pub depth_max: usize,
}

/// The queue of one disk; clones are handles of the same queue.
#[derive(Clone)]
pub struct Queue(Rc<Inner>);

struct Inner {
    rt: Rt,
    disk: Rc<dyn Disk>,
    info: DiskInfo,
    depth: u32,
    max_merge: u64,
    pump: Rc<Notify>,
    state: RefCell<State>,
}

struct State {
    requests: FxHashMap<Id, Request>,
    overlap: Overlap,
    elevator: Elevator,
    at_disk: u32,
    issued: Id,
    ledger: Ledger,
    stats: Stats,
}

struct Request {
    at: DiskOff,
    len: u64,
    tag: Tag,
    /// How many requests this one waits for (Q1).
    waits_for: u32,
    /// Who waits for this one.
    followers: Vec<Id>,
    /// Not to be merged again (Q5).
    alone: bool,
    job: Job,
}

enum Job {
    Read(Sender<Result<Block, DiskError>>),
    Write { image: Image, fua: bool, state: Rc<WriteState> },
    Discard(Sender<Result<(), DiskError>>),
}

impl Job {
    fn op(&self) -> DiskOp {
        match self {
            Job::Read(_) => DiskOp::Read,
            Job::Write { .. } => DiskOp::Write,
            Job::Discard(_) => DiskOp::Discard,
        }
    }

    fn joins(&self, other: &Job) -> bool {
        match (self, other) {
            (Job::Read(_), Job::Read(_)) => true,
            (Job::Write { fua: a, .. }, Job::Write { fua: b, .. }) => a == b,
            _ => false,
        }
    }
}

impl Queue {
    /// A queue on `disk`. Only one queue may stand on a disk: two know nothing of each other's order.
    pub fn new(rt: &Rt, disk: Rc<dyn Disk>, options: QueueOptions) -> Queue {
        let mut info = disk.info();
        info.volatile_cache = options.volatile_cache.unwrap_or(info.volatile_cache);
        let inner = Rc::new(Inner {
            rt: rt.clone(),
            depth: options.depth.unwrap_or(info.depth).min(info.depth).max(1),
            max_merge: u64::from(options.max_merge.unwrap_or(info.max_transfer).min(info.max_transfer)),
            pump: Rc::new(Notify::new()),
            state: RefCell::new(State {
                requests: FxHashMap::default(),
                overlap: Overlap::default(),
                elevator: Elevator::new(options.scheduler),
                at_disk: 0,
                issued: 0,
                ledger: Ledger::new(info.volatile_cache),
                stats: Stats::default(),
            }),
            disk,
            info,
        });
        rt.spawn(pump(Rc::downgrade(&inner), inner.pump.clone()));
        Queue(inner)
    }

    /// What the disk says of itself, with the override of its cache.
    pub fn info(&self) -> &DiskInfo {
        &self.0.info
    }

    /// The executor that the queue runs on.
    pub fn rt(&self) -> &Rt {
        &self.0.rt
    }

    /// What the queue has done so far.
    pub fn stats(&self) -> Stats {
        let state = self.0.state.borrow();
        Stats { depth: state.overlap.len(), ..state.stats }
    }

    /// Reads `len` bytes. The request is made now, whether or not the answer is awaited.
    pub fn read(&self, at: DiskOff, len: usize, tag: Tag) -> Answer<Block> {
        if let Some(answer) = self.0.read_at_once(at, len, tag) {
            return answer;
        }
        let answer = self.0.issue_read(at, len, tag);
        self.0.kick();
        answer
    }

    /// Reads several ranges: neighbours go in one request. The answers come in the order of the ranges.
    pub fn read_many(&self, ranges: &[(DiskOff, usize)], tag: Tag) -> Vec<Answer<Block>> {
        let answers = ranges.iter().map(|&(at, len)| self.0.issue_read(at, len, tag)).collect();
        self.0.kick();
        answers
    }

    /// Writes `image`. The request is made now, whether or not its end is awaited.
    pub fn write(&self, at: DiskOff, image: Image, tag: Tag) -> Written {
        self.write_with(at, image, tag, false)
    }

    /// As [`Queue::write`], but durable as soon as it is completed (FUA).
    pub fn write_fua(&self, at: DiskOff, image: Image, tag: Tag) -> Written {
        self.write_with(at, image, tag, true)
    }

    fn write_with(&self, at: DiskOff, image: Image, tag: Tag, fua: bool) -> Written {
        let state = WriteState::new();
        let len = image.len() as u64;
        match self.0.info.check(DiskOp::Write, at, len) {
            Ok(()) => {
                let fua = fua && self.0.info.volatile_cache;
                self.0.issue(at, len, tag, Job::Write { image, fua, state: state.clone() });
                self.0.kick();
            }
            Err(error) => state.set(Stage::Failed(error)),
        }
        Written::new(self.0.clone(), state)
    }

    /// Makes everything completed so far durable. Requests that are still under way are not waited for.
    pub fn flush(&self) -> Answer<()> {
        let mut state = self.0.state.borrow_mut();
        if !state.ledger.is_volatile() {
            return Answer::now(Ok(()));
        }
        let (sender, receiver) = oneshot();
        let join = state.ledger.join(sender);
        drop(state);
        match join {
            Join::Done => return Answer::now(Ok(())),
            Join::Wait => {}
            Join::Start => self.0.pump.notify_one(),
        }
        Answer::wait(receiver, DiskError::flush(CANCELLED))
    }

    /// Says that a range is not needed any more. It keeps its place among overlapping requests.
    pub fn discard(&self, at: DiskOff, len: u64) -> Answer<()> {
        if let Err(error) = self.0.info.check(DiskOp::Discard, at, len) {
            return Answer::now(Err(error));
        }
        let (sender, receiver) = oneshot();
        self.0.issue(at, len, Tag::default(), Job::Discard(sender));
        self.0.kick();
        Answer::wait(receiver, DiskError::new(DiskOp::Discard, at, len, CANCELLED))
    }
}

/// The tasks of the executor were dropped under a request that somebody still awaits.
const CANCELLED: Cause = Cause::Io(rustix::io::Errno::CANCELED.raw_os_error());

/// Starts what was asked for in this turn of the executor. Ends with the queue.
async fn pump(queue: Weak<Inner>, bell: Rc<Notify>) {
    loop {
        bell.notified().await;
        let Some(queue) = queue.upgrade() else { return };
        queue.dispatch();
        queue.start_flush();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pump.notify_one();
    }
}

impl Inner {
    /// The short way: a disk that answers at once, and nothing under way that could be in conflict.
    fn read_at_once(&self, at: DiskOff, len: usize, tag: Tag) -> Option<Answer<Block>> {
        if !self.info.immediate || self.state.borrow().overlap.len() > 0 {
            return None;
        }
        if let Err(error) = self.info.check(DiskOp::Read, at, len as u64) {
            return Some(Answer::now(Err(error)));
        }
        let mut answer = self.disk.read(at, vec![ReadPart { block: Block::zeroed(len), tag }]);
        let Poll::Ready(answer) = Pin::new(&mut answer).poll(&mut Context::from_waker(Waker::noop())) else {
            return Some(Answer::later(answer));
        };
        let mut state = self.state.borrow_mut();
        state.stats.reads += 1;
        state.stats.bytes_read += if answer.is_ok() { len as u64 } else { 0 };
        state.stats.errors += u64::from(answer.is_err());
        Some(Answer::now(answer.map(first_block)))
    }

    fn issue_read(&self, at: DiskOff, len: usize, tag: Tag) -> Answer<Block> {
        if let Err(error) = self.info.check(DiskOp::Read, at, len as u64) {
            return Answer::now(Err(error));
        }
        let (sender, receiver) = oneshot();
        self.issue(at, len as u64, tag, Job::Read(sender));
        Answer::wait(receiver, DiskError::new(DiskOp::Read, at, len as u64, CANCELLED))
    }

    fn issue(&self, at: DiskOff, len: u64, tag: Tag, job: Job) {
        let mut state = self.state.borrow_mut();
        let State { requests, overlap, elevator, issued, stats, .. } = &mut *state;
        *issued += 1;
        let id = *issued;
        let changes = !matches!(job, Job::Read(_));
        match job {
            Job::Read(_) => stats.reads += 1,
            Job::Write { .. } => stats.writes += 1,
            Job::Discard(_) => stats.discards += 1,
        }
        let mut waits_for = 0;
        overlap.search(at.0, at.0 + len, changes, |other| {
            if let Some(other) = requests.get_mut(&other) {
                other.followers.push(id);
                waits_for += 1;
            }
        });
        overlap.add(at.0, at.0 + len, changes, id);
        stats.depth_max = stats.depth_max.max(overlap.len());
        if waits_for == 0 {
            elevator.add(at.0, id);
        }
        requests.insert(id, Request { at, len, tag, waits_for, followers: Vec::new(), alone: false, job });
    }

    fn kick(self: &Rc<Self>) {
        if self.info.immediate {
            self.dispatch();
        } else {
            self.pump.notify_one();
        }
    }

    /// Sends waiting requests to the disk, as many as it can use.
    fn dispatch(self: &Rc<Self>) {
        loop {
            let Some((run, mut transfer)) = self.next_transfer() else { return };
            match Pin::new(&mut transfer).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(outcome) => self.finish(run, outcome),
                Poll::Pending => {
                    let queue = self.clone();
                    self.rt.spawn(async move {
                        let outcome = transfer.await;
                        queue.finish(run, outcome);
                        queue.dispatch();
                    });
                }
            }
        }
    }

    fn next_transfer(&self) -> Option<(Vec<Id>, Transfer)> {
        let mut state = self.state.borrow_mut();
        if state.at_disk >= self.depth {
            return None;
        }
        let run = state.take_run(self.max_merge)?;
        state.at_disk += 1;
        state.stats.merged += run.len() as u64 - 1;
        let request = |id| &state.requests[id];
        let first = request(&run[0]);
        let at = first.at;
        let order = match &first.job {
            Job::Read(_) => Order::Read(run.iter().map(|id| request(id).buffer()).collect()),
            Job::Write { fua, .. } => Order::Write(run.iter().filter_map(|id| request(id).part()).collect(), *fua),
            Job::Discard(_) => Order::Discard(first.len),
        };
        drop(state);
        let transfer = match order {
            Order::Read(parts) => Transfer::Read(self.disk.read(at, parts)),
            Order::Write(parts, fua) => Transfer::Other(self.disk.write(at, parts, fua)),
            Order::Discard(len) => Transfer::Other(self.disk.discard(at, len)),
        };
        Some((run, transfer))
    }

    fn finish(&self, run: Vec<Id>, outcome: Result<Vec<ReadPart>, DiskError>) {
        let mut state = self.state.borrow_mut();
        state.at_disk -= 1;
        match outcome {
            Ok(parts) => {
                let mut blocks = parts.into_iter().map(|part| part.block);
                for id in run {
                    state.succeed(id, &mut blocks);
                }
            }
            Err(DiskError { cause: Cause::Io(_), .. }) if run.len() > 1 => {
                for id in run {
                    state.retry_alone(id);
                }
            }
            Err(error) => {
                for id in run {
                    state.fail(id, &error.cause);
                }
            }
        }
    }

    fn demand_flush(&self, number: u64) {
        if self.state.borrow_mut().ledger.demand(number) {
            self.pump.notify_one();
        }
    }

    fn start_flush(self: &Rc<Self>) {
        while self.state.borrow_mut().ledger.begin() {
            self.state.borrow_mut().stats.flushes += 1;
            let mut flush = self.disk.flush();
            match Pin::new(&mut flush).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(outcome) => self.end_flush(outcome),
                Poll::Pending => {
                    let queue = self.clone();
                    self.rt.spawn(async move {
                        let outcome = flush.await;
                        queue.end_flush(outcome);
                        queue.start_flush();
                    });
                }
            }
        }
    }

    fn end_flush(&self, outcome: Result<(), DiskError>) {
        let mut state = self.state.borrow_mut();
        state.stats.errors += u64::from(outcome.is_err());
        state.ledger.end(&outcome);
    }
}

impl State {
    /// Takes the next request and, as far as they may go with it, its neighbours above.
    fn take_run(&mut self, max_merge: u64) -> Option<Vec<Id>> {
        let (start, id) = self.elevator.pick()?;
        self.elevator.remove(start, id);
        let mut run = vec![id];
        let first = &self.requests[&id];
        let (mut end, mut bytes) = (start + first.len, first.len);
        while !first.alone && run.len() < MAX_PARTS {
            let Some(next) = self.elevator.beginning_at(end) else { break };
            let neighbour = &self.requests[&next];
            if neighbour.alone || !first.job.joins(&neighbour.job) || bytes + neighbour.len > max_merge {
                break;
            }
            self.elevator.remove(end, next);
            run.push(next);
            end += neighbour.len;
            bytes += neighbour.len;
        }
        self.elevator.moved_to(end);
        Some(run)
    }

    fn succeed(&mut self, id: Id, blocks: &mut impl Iterator<Item = Block>) {
        let Some(request) = self.remove(id) else { return };
        match request.job {
            Job::Read(sender) => {
                self.stats.bytes_read += request.len;
                if let Some(block) = blocks.next() {
                    sender.send(Ok(block));
                }
            }
            Job::Write { fua, state, image } => {
                self.stats.bytes_written += request.len;
                // Before the owner learns of it: otherwise the owner's next change would copy the buffer for nothing.
                drop(image);
                self.ledger.complete(Some(state), fua);
            }
            Job::Discard(sender) => {
                self.ledger.complete(None, false);
                sender.send(Ok(()));
            }
        }
    }

    fn fail(&mut self, id: Id, cause: &Cause) {
        let Some(request) = self.remove(id) else { return };
        self.stats.errors += 1;
        let error = DiskError::new(request.job.op(), request.at, request.len, cause.clone());
        match request.job {
            Job::Read(sender) => sender.send(Err(error)),
            Job::Write { state, .. } => state.set(Stage::Failed(error)),
            Job::Discard(sender) => sender.send(Err(error)),
        }
    }

    fn retry_alone(&mut self, id: Id) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.alone = true;
            self.elevator.add(request.at.0, id);
        }
    }

    /// The request is finished: whoever waited for it may go (Q1).
    fn remove(&mut self, id: Id) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.overlap.remove(request.at.0, id);
        for follower in &request.followers {
            if let Some(waiting) = self.requests.get_mut(follower) {
                waiting.waits_for -= 1;
                if waiting.waits_for == 0 {
                    self.elevator.add(waiting.at.0, *follower);
                }
            }
        }
        Some(request)
    }
}

impl Request {
    fn buffer(&self) -> ReadPart {
        ReadPart { block: Block::zeroed(self.len as usize), tag: self.tag }
    }

    fn part(&self) -> Option<WritePart> {
        match &self.job {
            Job::Write { image, .. } => Some(WritePart { image: image.clone(), tag: self.tag }),
            _ => None,
        }
    }
}

fn first_block(parts: Vec<ReadPart>) -> Block {
    // OK to expect: a disk gives back the parts that it was given, and there was one.
    parts.into_iter().next().expect("the disk kept the buffer").block
}

/// What the disk is asked for. It is asked outside the borrow of the state: a disk may answer at once.
enum Order {
    Read(Vec<ReadPart>),
    Write(Vec<WritePart>, bool),
    Discard(u64),
}

/// A request at the disk.
enum Transfer {
    Read(DiskFuture<Result<Vec<ReadPart>, DiskError>>),
    Other(DiskFuture<Result<(), DiskError>>),
}

impl Future for Transfer {
    type Output = Result<Vec<ReadPart>, DiskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Transfer::Read(read) => pin!(read).poll(cx),
            Transfer::Other(other) => pin!(other).poll(cx).map_ok(|()| Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests;
