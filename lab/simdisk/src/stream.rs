//! A stream in memory, which does wrong what a cluster of servers may do: for tests.

use bytes::Bytes;
use ordo_disk::{Answered, Messages, StreamError, StreamLimits, StreamState};
use ordo_rt::Rt;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// Bytes that a message takes beside its own, as with a real server.
const OVERHEAD: u64 = 256;

/// What happens to a published message, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// It is not stored, and nobody answers.
    Lost,
    /// It is stored, and nobody answers.
    AnswerLost,
    /// Nobody answers, and it arrives only after this time.
    Late(Duration),
    /// It arrives a second time after this time.
    Twice(Duration),
    /// The writer is told that there is no room.
    Full,
}

/// A stream in memory. Clones are the same stream.
#[derive(Clone)]
pub struct RamStream {
    rt: Rt,
    limits: StreamLimits,
    inner: Rc<Inner>,
}

#[derive(Default)]
struct Inner {
    messages: RefCell<BTreeMap<u64, Bytes>>,
    last: Cell<u64>,
    /// For the next messages, in order; `None`: nothing.
    faults: RefCell<VecDeque<Option<StreamFault>>>,
    /// No server answers.
    no_quorum: Cell<bool>,
    publishes: Cell<u64>,
}

impl RamStream {
    /// An empty stream that holds so many bytes.
    pub fn new(rt: &Rt, bytes: u64) -> RamStream {
        let limits = StreamLimits { bytes, message: 1 << 20, overhead: OVERHEAD };
        RamStream { rt: rt.clone(), limits, inner: Rc::default() }
    }

    /// The same stream at another machine, or in a later life of this one.
    #[must_use]
    pub fn on(&self, rt: &Rt) -> RamStream {
        RamStream { rt: rt.clone(), ..self.clone() }
    }

    /// A copy of what it holds now, which goes its own way.
    #[must_use]
    pub fn fork(&self, rt: &Rt) -> RamStream {
        let copy = RamStream { rt: rt.clone(), limits: self.limits, inner: Rc::default() };
        *copy.inner.messages.borrow_mut() = self.inner.messages.borrow().clone();
        copy.inner.last.set(self.inner.last.get());
        copy
    }

    /// These things happen to the next messages.
    pub fn plan(&self, faults: impl IntoIterator<Item = Option<StreamFault>>) {
        self.inner.faults.borrow_mut().extend(faults);
    }

    /// Whether any server answers.
    pub fn set_quorum(&self, there: bool) {
        self.inner.no_quorum.set(!there);
    }

    /// Loses the newest messages, as a power cut of all servers does that did not write to their disks.
    pub fn lose_after(&self, number: u64) {
        self.inner.messages.borrow_mut().split_off(&(number + 1));
        self.inner.last.set(self.inner.last.get().min(number));
    }

    /// Replaces a message, which no server does.
    pub fn damage(&self, number: u64, message: Option<Bytes>) {
        let mut messages = self.inner.messages.borrow_mut();
        match message {
            Some(message) => messages.insert(number, message),
            None => messages.remove(&number),
        };
    }

    /// The message with this number.
    pub fn peek(&self, number: u64) -> Option<Bytes> {
        self.inner.messages.borrow().get(&number).cloned()
    }

    /// The oldest and the newest number.
    pub fn range(&self) -> (u64, u64) {
        let last = self.inner.last.get();
        (self.inner.messages.borrow().keys().next().copied().unwrap_or(last + 1), last)
    }

    /// How many messages were sent to it.
    pub fn publishes(&self) -> u64 {
        self.inner.publishes.get()
    }

    fn bytes(&self) -> u64 {
        self.inner.messages.borrow().values().map(|message| message.len() as u64 + OVERHEAD).sum()
    }

    /// Stores it, if it is the next one.
    fn store(&self, after: u64, message: Bytes) -> Result<u64, StreamError> {
        if self.inner.last.get() != after {
            return Err(StreamError::NotNext);
        }
        if self.bytes() + message.len() as u64 + OVERHEAD > self.limits.bytes {
            return Err(StreamError::Full);
        }
        self.inner.last.set(after + 1);
        self.inner.messages.borrow_mut().insert(after + 1, message);
        Ok(after + 1)
    }

    fn later(&self, wait: Duration, after: u64, message: Bytes) {
        let this = self.clone();
        self.rt.spawn(async move {
            this.rt.sleep(wait).await;
            // Nobody waits for the answer.
            let _ = this.store(after, message);
        });
    }

    fn answer<T: 'static>(&self, answer: Result<T, StreamError>) -> Answered<T> {
        let this = self.clone();
        Box::pin(async move {
            if this.inner.no_quorum.get() {
                this.rt.sleep(Duration::from_secs(1)).await;
                return no_answer();
            }
            answer
        })
    }
}

fn no_answer<T>() -> Result<T, StreamError> {
    Err(StreamError::NoAnswer("no server answers".into()))
}

impl Messages for RamStream {
    fn name(&self) -> String {
        "ram".into()
    }

    fn limits(&self) -> StreamLimits {
        self.limits
    }

    fn state(&self) -> Answered<StreamState> {
        let (first, last) = self.range();
        self.answer(Ok(StreamState { first, last, bytes: self.bytes() }))
    }

    fn publish(&self, after: u64, _id: String, message: Bytes) -> Answered<u64> {
        self.inner.publishes.set(self.inner.publishes.get() + 1);
        if self.inner.no_quorum.get() {
            return self.answer(no_answer());
        }
        let fault = self.inner.faults.borrow_mut().pop_front().flatten();
        let answer = match fault {
            None => self.store(after, message),
            Some(StreamFault::Lost) => no_answer(),
            Some(StreamFault::AnswerLost) => self.store(after, message).and_then(|_| no_answer()),
            Some(StreamFault::Late(wait)) => {
                self.later(wait, after, message);
                no_answer()
            }
            Some(StreamFault::Twice(wait)) => {
                self.later(wait, after, message.clone());
                self.store(after, message)
            }
            Some(StreamFault::Full) => Err(StreamError::Full),
        };
        self.answer(answer)
    }

    fn read(&self, number: u64) -> Answered<Option<Bytes>> {
        self.answer(Ok(self.peek(number)))
    }

    fn purge(&self, before: u64) -> Answered<()> {
        if !self.inner.no_quorum.get() {
            let mut messages = self.inner.messages.borrow_mut();
            *messages = messages.split_off(&before.min(self.inner.last.get() + 1));
        }
        self.answer(Ok(()))
    }
}
