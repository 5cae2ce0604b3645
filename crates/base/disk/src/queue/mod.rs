//! The I/O queue: the only access to a disk.
//!
//! Q1. Two requests that share a byte, one of which changes it, reach the disk one after the other, in the order in
//!     which they were issued. Otherwise a read could miss a write that was issued before it, and an old image could
//!     land over a new one.
//! Q2. A write is *durable* when it has completed and the cache is not volatile, or it was forced (FUA), or a flush
//!     that **began after its completion** has succeeded. A flush that began before may not have covered it.
//! Q3. A flush that fails makes no write durable, now or later: the disk may have dropped what it could not write, and
//!     a later flush then succeeds over the loss. The owner of the buffer keeps it dirty and writes it again.
//! Q4. At most one flush is at the disk. Callers that request one while it runs, and are not covered by it, share the
//!     next one.
//! Q5. A merged request that fails with an I/O error, or because bytes are not those that were written, is tried again
//!     piece by piece, so that one bad sector fails only the buffer that it belongs to, under its own address.
//! Q6. Ordered writes carry an [`Order`]; its rules are queue-order-1 to queue-order-3.
//! Q7. A flush waits for the writes that the disk has and that a caller wants durable ([`Written::expect_durable`]),
//!     not for writes that are sent later. Callers that work at the same time share a flush then: without the rule the
//!     flush of the first does not cover the write of the second (Q2), and the two stay out of step through all steps
//!     of an fsync.
//!
//! Requests made in one turn of the executor are held back to its end. They are then sent in the order of the scheduler
//! ([`Scheduler`]), with neighbours merged. On a disk that answers at once (`DiskInfo::immediate`) they are sent at
//! once.

mod handles;
mod ledger;
mod order;
mod overlap;
mod state;
mod stats;
mod waiting;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use ordo_rt::sync::{Notify, oneshot};
use ordo_rt::{Rt, Time};

use crate::{Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Image, ReadPart, Tag};
pub use handles::{Answer, Completed, Durable, Written, all_durable};
use handles::{Demand, first_block};
use ledger::{Join, Stage, WriteState};
pub use order::{Flag, Meaning, Order};
use state::{Command, Job, Sent, State};
pub use stats::Stats;
use waiting::Head;
pub use waiting::Scheduler;

/// How a queue treats its disk.
#[derive(Clone, Debug, Default)]
pub struct QueueOptions {
    /// Overrides what the disk reports about its cache. `Some(false)` on a disk whose cache is volatile trades safety
    /// for speed.
    pub volatile_cache: Option<bool>,
    /// The most requests at the disk at a time; the default and the maximum are the disk's own depth.
    pub depth: Option<u32>,
    /// The order of waiting requests.
    pub scheduler: Scheduler,
    /// The most bytes of a merged request; the default and the maximum are the disk's own limit. Zero: no merging.
    pub max_merge: Option<u32>,
    /// Only requests with the same [`Tag::cause`] are merged, as a system does that gathers clusters of files above its
    /// queue.
    pub within_call: bool,
}

/// The queue of one disk; clones are handles of the same queue.
#[derive(Clone)]
pub struct Queue(Rc<Inner>);

struct Inner {
    rt: Rt,
    disk: Rc<dyn Disk>,
    info: DiskInfo,
    depth: u32,
    /// Bytes, and whether only within a call.
    merge: (u64, bool),
    pump: Rc<Notify>,
    /// The scheduler holds the disk idle until then.
    holds_until: Cell<Option<Time>>,
    state: RefCell<State>,
}

impl Queue {
    /// A queue on `disk`. Only one queue may stand on a disk: two queues do not know each other's order.
    pub fn new(rt: &Rt, disk: Rc<dyn Disk>, options: QueueOptions) -> Queue {
        let mut info = disk.info();
        info.volatile_cache = options.volatile_cache.unwrap_or(info.volatile_cache);
        let inner = Rc::new(Inner {
            rt: rt.clone(),
            depth: options.depth.unwrap_or(info.depth).min(info.depth).max(1),
            merge: (
                u64::from(options.max_merge.unwrap_or(info.max_transfer).min(info.max_transfer)),
                options.within_call,
            ),
            pump: Rc::new(Notify::new()),
            holds_until: Cell::new(None),
            state: RefCell::new(State::new(
                options.scheduler,
                info.volatile_cache,
                disk.reach(DiskOff(0), 1).is_some(),
            )),
            disk,
            info,
        });
        rt.spawn(pump(Rc::downgrade(&inner), inner.pump.clone()));
        Queue(inner)
    }

    /// The properties of the disk, with the override of its cache.
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
        Stats { depth: state.unfinished(), ..state.stats }
    }

    /// The reads and the writes requested so far.
    pub fn issued(&self) -> (u64, u64) {
        let state = self.0.state.borrow();
        (state.stats.reads, state.stats.writes)
    }

    /// Reads `len` bytes. The request is made now, whether or not the result is awaited.
    pub fn read(&self, at: DiskOff, len: usize, tag: Tag) -> Answer<Block> {
        if let Some(answer) = self.0.read_at_once(at, len, tag) {
            return answer;
        }
        let answer = self.0.issue_read(at, len, tag);
        self.0.kick();
        answer
    }

    /// Reads several ranges; neighbours are merged into one request. The results come in the order of the ranges.
    pub fn read_many(&self, ranges: &[(DiskOff, usize)], tag: Tag) -> Vec<Answer<Block>> {
        let answers = ranges.iter().map(|&(at, len)| self.0.issue_read(at, len, tag)).collect();
        self.0.kick();
        answers
    }

    /// Writes `image`. The request is made now, whether or not its end is awaited.
    pub fn write(&self, at: DiskOff, image: Image, tag: Tag) -> Written {
        self.write_with(at, image, tag, false, Order::FREE)
    }

    /// As [`Queue::write`], but durable as soon as it is completed (FUA).
    pub fn write_fua(&self, at: DiskOff, image: Image, tag: Tag) -> Written {
        self.write_with(at, image, tag, true, Order::FREE)
    }

    /// As [`Queue::write`], in this order relative to others (Q6).
    pub fn write_in(&self, order: Order<'_>, at: DiskOff, image: Image, tag: Tag) -> Written {
        self.write_with(at, image, tag, false, order)
    }

    fn write_with(&self, at: DiskOff, image: Image, tag: Tag, fua: bool, order: Order<'_>) -> Written {
        let state = WriteState::new();
        let len = image.len() as u64;
        let id = match self.0.info.check(DiskOp::Write, at, len) {
            Ok(()) => {
                let job = Job::Write { image, fua: fua && self.0.info.volatile_cache, state: state.clone() };
                let id = self.0.state.borrow_mut().issue(self.0.now(), at, len, tag, job, order);
                self.0.kick();
                id
            }
            Err(error) => {
                state.set(Stage::Failed(error));
                0
            }
        };
        Written::new(self.0.clone(), state, id)
    }

    /// Makes everything completed so far durable. It does not cover requests in flight.
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

    /// Discards a range. The request keeps its place among overlapping requests.
    pub fn discard(&self, at: DiskOff, len: u64) -> Answer<()> {
        if let Err(error) = self.0.info.check(DiskOp::Discard, at, len) {
            return Answer::now(Err(error));
        }
        let (sender, receiver) = oneshot();
        self.0.state.borrow_mut().issue(self.0.now(), at, len, Tag::default(), Job::Discard(sender), Order::FREE);
        self.0.kick();
        Answer::wait(receiver, DiskError::new(DiskOp::Discard, at, len, CANCELLED))
    }
}

/// The executor's tasks were dropped while a request was still awaited.
const CANCELLED: Cause = Cause::Io(rustix::io::Errno::CANCELED.raw_os_error());

/// Sends what was requested in this turn of the executor. Ends with the queue.
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

impl Demand for Inner {
    fn demand_flush(&self, number: u64) {
        if self.state.borrow_mut().ledger.demand(number) {
            self.pump.notify_one();
        }
    }
}

impl Inner {
    /// The short way: a disk that answers at once, and no conflicting request in flight.
    fn read_at_once(&self, at: DiskOff, len: usize, tag: Tag) -> Option<Answer<Block>> {
        if !self.info.immediate || self.state.borrow().unfinished() > 0 {
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
        self.state.borrow_mut().issue(self.now(), at, len as u64, tag, Job::Read(sender), Order::FREE);
        Answer::wait(receiver, DiskError::new(DiskOp::Read, at, len as u64, CANCELLED))
    }

    /// The time, if it matters: a disk that answers at once does not need it, and reading a clock costs something.
    fn now(&self) -> Time {
        if self.info.immediate { Time::ZERO } else { self.rt.now() }
    }

    fn kick(self: &Rc<Self>) {
        if self.info.immediate {
            self.dispatch();
            self.wake_for_flush();
        } else {
            self.pump.notify_one();
        }
    }

    /// Sends waiting requests to the disk, up to its depth.
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
                        if Rc::strong_count(&queue) == 1 {
                            // The pump ends with this last handle, and a flush may have waited for this transfer.
                            queue.start_flush();
                        }
                    });
                }
            }
        }
    }

    fn next_transfer(self: &Rc<Self>) -> Option<(Sent, Transfer)> {
        let now = self.now();
        let (run, at, command) = {
            let mut state = self.state.borrow_mut();
            if state.at_disk >= self.depth {
                return None;
            }
            let positioning = |start, is_write| self.disk.positioning(DiskOff(start), is_write);
            let reach = |start, len| self.disk.reach(DiskOff(start), len);
            let head = Head { positioning: &positioning, reach: &reach };
            let run = match state.take_run(now, self.merge, head) {
                Ok(run) => run?,
                Err(until) => {
                    self.hold_until(until);
                    return None;
                }
            };
            let (at, command) = state.command(&run);
            (Sent { run, at: now }, at, command)
        };
        let transfer = match command {
            Command::Read(parts) => Transfer::Read(self.disk.read(at, parts)),
            Command::Write(parts, fua) => Transfer::Other(self.disk.write(at, parts, fua)),
            Command::Discard(len) => Transfer::Other(self.disk.discard(at, len)),
        };
        Some((run, transfer))
    }

    /// The scheduler runs again at `until`, or when a request comes.
    fn hold_until(self: &Rc<Self>, until: Time) {
        if self.holds_until.replace(Some(until)) != Some(until) {
            let (queue, alarm) = (Rc::downgrade(self), self.rt.sleep_until(until));
            self.rt.spawn(async move {
                alarm.await;
                if let Some(queue) = queue.upgrade() {
                    queue.dispatch();
                }
            });
        }
    }

    fn finish(&self, run: Sent, outcome: Result<Vec<ReadPart>, DiskError>) {
        self.state.borrow_mut().finish(self.now(), run, outcome);
        self.wake_for_flush();
    }

    /// A write waits for another one to be durable (queue-order-1).
    fn wake_for_flush(&self) {
        if self.state.borrow().ledger.wants_flush() {
            self.pump.notify_one();
        }
    }

    fn start_flush(self: &Rc<Self>) {
        while self.state.borrow_mut().begin_flush() {
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

    fn end_flush(self: &Rc<Self>, outcome: Result<(), DiskError>) {
        self.state.borrow_mut().end_flush(&outcome);
        self.dispatch();
    }
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
