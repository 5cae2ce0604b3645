//! The ledger of completed and durable writes.
//!
//! Completions are numbered. A flush, when it begins, records the last number. If it succeeds, everything up to that
//! number is durable; if it fails, everything up to it that was not durable before never will be (queue-2, queue-3).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use ordo_rt::sync::Sender;

use crate::DiskError;

/// Numbers requests in the order in which they were issued.
pub(super) type Id = u64;

/// How far a write has got.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// In the queue or at the disk.
    Pending,
    /// The disk has completed it; the number counts completions.
    Completed(u64),
    /// A power cut cannot lose it.
    Durable,
    /// It was not written.
    Failed(DiskError),
    /// It was written, but the flush that should have made it durable failed.
    NotDurable(DiskError),
}

/// What a [`super::Written`] and the queue share.
pub(super) struct WriteState {
    inner: RefCell<(Stage, Waiters)>,
    /// A caller wants it durable (queue-7).
    expected: Cell<bool>,
}

/// Tasks that wait for the next stage. There is nearly always one, which then takes no memory of its own.
#[derive(Default)]
struct Waiters {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl WriteState {
    pub(super) fn new() -> Rc<WriteState> {
        Rc::new(WriteState { inner: RefCell::new((Stage::Pending, Waiters::default())), expected: Cell::new(false) })
    }

    pub(super) fn expect_durable(&self) {
        self.expected.set(true);
    }

    pub(super) fn is_expected(&self) -> bool {
        self.expected.get()
    }

    pub(super) fn stage(&self) -> Stage {
        self.inner.borrow().0.clone()
    }

    pub(super) fn wake_on_change(&self, waker: &Waker) {
        let Waiters { first, others } = &mut self.inner.borrow_mut().1;
        if first.iter().chain(&*others).any(|kept| kept.will_wake(waker)) {
            return;
        }
        match first {
            None => *first = Some(waker.clone()),
            Some(_) => others.push(waker.clone()),
        }
    }

    pub(super) fn set(&self, stage: Stage) {
        let waiters = {
            let mut inner = self.inner.borrow_mut();
            inner.0 = stage;
            std::mem::take(&mut inner.1)
        };
        waiters.first.into_iter().chain(waiters.others).for_each(Waker::wake);
    }
}

type FlushWaiter = Sender<Result<(), DiskError>>;

/// See the module.
pub(super) struct Ledger {
    /// A completed write may be lost until a flush.
    volatile: bool,
    completed: u64,
    /// Completed, neither durable nor failed, in the order of completion. Only writes that a caller still holds.
    undecided: VecDeque<(u64, Rc<WriteState>)>,
    /// The length of `undecided` at which writes that no caller holds any more are dropped.
    sweep_at: usize,
    /// The disk may hold writes that are not durable and that no running flush covers. True at first: the previous user
    /// of the disk may not have flushed.
    dirty: bool,
    running: Option<Flush>,
    wanted: bool,
    waiters: Vec<FlushWaiter>,
}

struct Flush {
    covers: u64,
    waiters: Vec<FlushWaiter>,
}

/// What a caller of `flush` has to do.
pub(super) enum Join {
    /// Nothing: all is durable.
    Done,
    /// Wait for the flush on the disk.
    Wait,
    /// Wait, and make sure that one is started.
    Start,
}

impl Ledger {
    pub(super) fn new(volatile: bool) -> Ledger {
        Ledger {
            volatile,
            completed: 0,
            undecided: VecDeque::new(),
            sweep_at: 1024,
            dirty: volatile,
            running: None,
            wanted: false,
            waiters: Vec::new(),
        }
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// A write has completed, or (if `write` is `None`) a discard. Returns the number that a flush must cover; `None`
    /// if it is durable.
    pub(super) fn complete(&mut self, write: Option<Rc<WriteState>>, fua: bool) -> Option<u64> {
        if !self.volatile || fua {
            write.inspect(|write| write.set(Stage::Durable));
            return None;
        }
        self.completed += 1;
        self.dirty = true;
        let Some(write) = write.filter(|write| Rc::strong_count(write) > 1) else { return Some(self.completed) };
        write.set(Stage::Completed(self.completed));
        if self.undecided.len() >= self.sweep_at {
            self.undecided.retain(|(_, write)| Rc::strong_count(write) > 1);
            self.sweep_at = (self.undecided.len() * 2).max(1024);
        }
        self.undecided.push_back((self.completed, write));
        Some(self.completed)
    }

    /// The number of the last completion, if not everything up to it is known to be durable.
    pub(super) fn undurable(&self) -> Option<u64> {
        (self.dirty || self.running.is_some()).then_some(self.completed)
    }

    /// A flush must be started.
    pub(super) fn wants_flush(&self) -> bool {
        self.wanted && self.running.is_none()
    }

    /// A caller waits until completion `number` is durable. True: make sure that a flush is started.
    pub(super) fn demand(&mut self, number: u64) -> bool {
        let covered = self.running.as_ref().is_some_and(|running| running.covers >= number);
        !covered && !std::mem::replace(&mut self.wanted, true)
    }

    /// A caller waits until everything completed so far is durable.
    pub(super) fn join(&mut self, waiter: FlushWaiter) -> Join {
        match &mut self.running {
            Some(running) if running.covers == self.completed => {
                running.waiters.push(waiter);
                Join::Wait
            }
            None if !self.dirty => Join::Done,
            _ => {
                self.waiters.push(waiter);
                if std::mem::replace(&mut self.wanted, true) { Join::Wait } else { Join::Start }
            }
        }
    }

    /// True if a flush must begin now.
    pub(super) fn begin(&mut self) -> bool {
        if !self.wanted || self.running.is_some() {
            return false;
        }
        self.wanted = false;
        self.dirty = false;
        self.running = Some(Flush { covers: self.completed, waiters: std::mem::take(&mut self.waiters) });
        true
    }

    /// The flush at the disk has ended. Returns the number of the last completion that it decided.
    pub(super) fn end(&mut self, outcome: &Result<(), DiskError>) -> Option<u64> {
        let flush = self.running.take()?;
        self.dirty |= outcome.is_err();
        let decided = self.undecided.partition_point(|(number, _)| *number <= flush.covers);
        for (_, write) in self.undecided.drain(..decided) {
            write.set(match outcome {
                Ok(()) => Stage::Durable,
                Err(error) => Stage::NotDurable(error.clone()),
            });
        }
        for waiter in flush.waiters {
            waiter.send(outcome.clone());
        }
        Some(flush.covers)
    }
}
