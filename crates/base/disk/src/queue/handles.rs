//! What the queue returns to its callers: results to come, and writes in flight.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use ordo_rt::sync::Receiver;

use super::ledger::{Id, Stage, WriteState};
use crate::{Block, DiskError, DiskFuture, ReadPart};

/// The result of a read, a flush or a discard. The request runs to its end whether or not this is awaited.
#[must_use = "an error that nobody looks at is lost"]
pub struct Answer<T>(Source<T>);

enum Source<T> {
    Now(Option<Result<T, DiskError>>),
    Queued(Receiver<Result<T, DiskError>>, DiskError),
    /// A disk that promised to answer at once, and did not. The function converts its answer.
    Disk(DiskFuture<Result<Vec<ReadPart>, DiskError>>, fn(Vec<ReadPart>) -> T),
}

impl<T> Answer<T> {
    pub(super) fn now(answer: Result<T, DiskError>) -> Answer<T> {
        Answer(Source::Now(Some(answer)))
    }

    /// `lost` is the result if the queue ends first.
    pub(super) fn wait(receiver: Receiver<Result<T, DiskError>>, lost: DiskError) -> Answer<T> {
        Answer(Source::Queued(receiver, lost))
    }
}

impl Answer<Block> {
    pub(super) fn later(read: DiskFuture<Result<Vec<ReadPart>, DiskError>>) -> Answer<Block> {
        Answer(Source::Disk(read, first_block))
    }
}

impl<T: Unpin> Future for Answer<T> {
    type Output = Result<T, DiskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Source::Now(answer) => Poll::Ready(answer.take().expect("an answer was awaited twice")),
            Source::Queued(receiver, lost) => {
                Pin::new(receiver).poll(cx).map(|sent| sent.unwrap_or_else(|_| Err(lost.clone())))
            }
            Source::Disk(read, make) => Pin::new(read).poll(cx).map_ok(*make),
        }
    }
}

/// The queue, as a write in flight knows it.
pub(super) trait Demand {
    /// Somebody waits until the completion with this number is durable: a flush begins if none covers it.
    fn demand_flush(&self, number: u64);
}

/// A write in flight. Dropping it does not stop the write.
#[derive(Clone)]
pub struct Written {
    queue: Rc<dyn Demand>,
    pub(super) state: Rc<WriteState>,
    /// Its number in the queue; 0 if it never got there.
    pub(super) id: Id,
}

impl Written {
    pub(super) fn new(queue: Rc<dyn Demand>, state: Rc<WriteState>, id: Id) -> Written {
        Written { queue, state, id }
    }

    /// Ready when the disk has completed the write, or refused it. A power cut may still lose it.
    pub fn completed(&self) -> Completed<'_> {
        Completed(self)
    }

    /// Its caller will wait for [`Written::durable`], and first for other things: a flush that another caller requests
    /// meanwhile waits for this write, so that it serves both (queue-7).
    pub fn expect_durable(&self) {
        self.state.expect_durable();
    }

    /// Ready when a power cut cannot lose the write any more. Requests a flush if one is needed; concurrent waiters
    /// share it.
    pub fn durable(&self) -> Durable<'_> {
        Durable { written: self, demand: true }
    }

    /// As [`Written::durable`], but waits for a flush that another task requests.
    pub fn when_durable(&self) -> Durable<'_> {
        Durable { written: self, demand: false }
    }

    /// Its number in the order in which the queue's requests were issued.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// True once the disk has completed the write.
    pub fn is_completed(&self) -> bool {
        !matches!(self.state.stage(), Stage::Pending | Stage::Failed(_))
    }

    /// True once a power cut cannot lose the write.
    pub fn is_durable(&self) -> bool {
        matches!(self.state.stage(), Stage::Durable)
    }
}

/// Waits until all of these are durable. All are completed first, so that one flush serves them.
///
/// # Errors
/// The first failure; the others were waited for.
pub async fn all_durable(writes: &[Written]) -> Result<(), DiskError> {
    writes.iter().for_each(Written::expect_durable);
    for written in writes {
        // A failure comes again below.
        let _ = written.completed().await;
    }
    let mut outcome = Ok(());
    for written in writes {
        outcome = outcome.and(written.durable().await);
    }
    outcome
}

/// See [`Written::completed`].
#[must_use = "futures do nothing until they are awaited"]
pub struct Completed<'a>(&'a Written);

impl Future for Completed<'_> {
    type Output = Result<(), DiskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.state.stage() {
            Stage::Pending => {
                self.0.state.wake_on_change(cx.waker());
                Poll::Pending
            }
            Stage::Completed(_) | Stage::Durable | Stage::NotDurable(_) => Poll::Ready(Ok(())),
            Stage::Failed(error) => Poll::Ready(Err(error)),
        }
    }
}

/// See [`Written::durable`] and [`Written::when_durable`].
#[must_use = "futures do nothing until they are awaited"]
pub struct Durable<'a> {
    written: &'a Written,
    demand: bool,
}

impl Future for Durable<'_> {
    type Output = Result<(), DiskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Written { queue, state, .. } = self.written;
        match state.stage() {
            Stage::Durable => return Poll::Ready(Ok(())),
            Stage::Failed(error) | Stage::NotDurable(error) => return Poll::Ready(Err(error)),
            Stage::Completed(number) if self.demand => queue.demand_flush(number),
            Stage::Pending if self.demand => state.expect_durable(),
            Stage::Pending | Stage::Completed(_) => {}
        }
        state.wake_on_change(cx.waker());
        Poll::Pending
    }
}

pub(super) fn first_block(parts: Vec<ReadPart>) -> Block {
    // OK to expect: a disk returns the parts that it was given, and there was one.
    parts.into_iter().next().expect("the disk kept the buffer").block
}
