//! Delivering messages: in order, several at a time, and again where the answer is missing.

use super::frame::Frame;
use super::state::{Inner, Message, State};
use crate::Error;
use ordo_disk::{Answered, LogStream, StreamError, StreamEvent};
use ordo_rt::sync::Notify;
use ordo_rt::{Rt, Time};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// Messages in flight, at most.
const WINDOW: usize = 32;
/// The first wait before something is tried again, and the longest one.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// A wait is told of after this time.
const QUIET: Duration = Duration::from_secs(1);
/// So long a stream must end before what it has acknowledged until that counts as a loss (stream-6): a server that has
/// just begun to lead may not know of it yet.
const LOSS: Duration = Duration::from_secs(10);

/// Trying again until a time.
struct Trial<'a> {
    rt: &'a Rt,
    stream: &'a LogStream,
    since: Time,
    pause: Duration,
    told: bool,
}

impl<'a> Trial<'a> {
    fn new(rt: &'a Rt, stream: &'a LogStream) -> Trial<'a> {
        Trial { rt, stream, since: rt.now(), pause: PAUSE.0, told: false }
    }

    /// Waits before the next try; gives up when that took too long (stream-7).
    async fn fails(&mut self, why: StreamError) -> Result<(), Error> {
        let waited = self.rt.now().since(self.since);
        match why {
            StreamError::Refused(why) => return Err(Error::Refused { why }),
            why if waited >= self.stream.patience => {
                return Err(Error::NoAnswer { why: why.to_string(), seconds: waited.as_secs() });
            }
            why if waited >= QUIET && !self.told => {
                self.told = true;
                (self.stream.tell)(&StreamEvent::Waits { why: why.to_string(), most: self.stream.patience });
            }
            _ => {}
        }
        self.rt.sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE.1);
        Ok(())
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if self.told {
            (self.stream.tell)(&StreamEvent::GoesOn);
        }
    }
}

/// Asks until there is an answer.
pub(super) async fn patiently<T>(rt: &Rt, stream: &LogStream, ask: impl Fn() -> Answered<T>) -> Result<T, Error> {
    let mut trial = Trial::new(rt, stream);
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => trial.fails(error).await?,
        }
    }
}

/// The message with this number, taken apart.
pub(super) async fn frame_at(rt: &Rt, stream: &LogStream, number: u64) -> Result<Option<Frame>, Error> {
    if number == 0 {
        return Ok(None);
    }
    let message = patiently(rt, stream, || stream.messages.read(number)).await?;
    message.map(|message| Frame::decode(number, &message)).transpose()
}

/// Delivers what is appended, as long as the log exists.
pub(super) async fn deliverer(log: Weak<Inner>, bell: Rc<Notify>) {
    loop {
        bell.notified().await;
        let Some(log) = log.upgrade() else { return };
        if log.state.borrow().failed.is_some() {
            return;
        }
        if let Err(error) = log.deliver().await {
            log.fail(error);
            return;
        }
    }
}

impl Inner {
    /// Delivers until nothing waits.
    async fn deliver(&self) -> Result<(), Error> {
        let mut answers: VecDeque<Answered<u64>> = VecDeque::new();
        loop {
            self.send_more(&mut answers);
            let Some(answer) = answers.pop_front() else { return Ok(()) };
            let answer = answer.await;
            let number = self.state.borrow().waiting.front().map(|message| message.number);
            if answer.ok() == number {
                self.arrived();
                continue;
            }
            // What else was sent may arrive or not: each of these is looked for.
            let unsure = answers.len() + 1;
            for answer in answers.drain(..) {
                let _ = answer.await;
            }
            for _ in 0..unsure {
                self.insist().await?;
            }
        }
    }

    fn send_more(&self, answers: &mut VecDeque<Answered<u64>>) {
        let state = self.state.borrow();
        while let Some(message) = state.waiting.get(answers.len()).filter(|_| answers.len() < WINDOW) {
            answers.push_back(self.send(message));
        }
    }

    fn send(&self, message: &Message) -> Answered<u64> {
        self.stream.messages.publish(message.number - 1, message.id.clone(), message.bytes.clone())
    }

    /// The oldest message that waited is durable.
    fn arrived(&self) {
        let mut state = self.state.borrow_mut();
        let State { waiting, durable, sure_low, .. } = &mut *state;
        if let Some(Message { number, low, .. }) = waiting.pop_front() {
            (*durable, *sure_low) = (number + 1, low.max(*sure_low));
        }
        drop(state);
        self.progress.notify_all();
    }

    pub(super) fn fail(&self, error: Error) {
        self.state.borrow_mut().failed.get_or_insert(error);
        self.progress.notify_all();
    }

    /// Delivers the oldest message, which may have been sent: it is looked for first (stream-1).
    async fn insist(&self) -> Result<(), Error> {
        let mut trial = Trial::new(&self.rt, &self.stream);
        let mut short_since = None;
        loop {
            let found = match self.look().await {
                Ok(found) => found,
                Err(why) => {
                    trial.fails(why).await?;
                    continue;
                }
            };
            let why = match found {
                Found::Nothing => return Ok(()),
                Found::Ours => {
                    self.arrived();
                    return Ok(());
                }
                Found::Another(number) => return Err(Error::Fenced { number }),
                Found::Short { last, acknowledged } => {
                    let since = *short_since.get_or_insert(self.rt.now());
                    if self.rt.now().since(since) >= LOSS {
                        return Err(Error::LostTail { last, acknowledged });
                    }
                    StreamError::NoAnswer("the stream ends before what it has acknowledged".into())
                }
                Found::NotThere => match self.again().await {
                    Ok(()) => return Ok(()),
                    Err(why) => why,
                },
            };
            trial.fails(why).await?;
        }
    }

    /// Looks for the oldest message that waits.
    async fn look(&self) -> Result<Found, StreamError> {
        let Some((number, bytes)) =
            self.state.borrow().waiting.front().map(|message| (message.number, message.bytes.clone()))
        else {
            return Ok(Found::Nothing);
        };
        match self.stream.messages.read(number).await? {
            Some(found) if found == bytes => return Ok(Found::Ours),
            Some(_) => return Ok(Found::Another(number)),
            None => {}
        }
        let last = self.stream.messages.state().await?.last;
        Ok(match last + 1 {
            next if next > number => Found::Another(number),
            next if next < number => Found::Short { last, acknowledged: number - 1 },
            _ => Found::NotThere,
        })
    }

    /// Sends the oldest message again. A full stream drops what is durably known not to be needed.
    async fn again(&self) -> Result<(), StreamError> {
        let answer = self.state.borrow().waiting.front().map(|message| (message.number, self.send(message)));
        let Some((number, answer)) = answer else { return Ok(()) };
        match answer.await {
            Ok(stored) if stored == number => {
                self.arrived();
                Ok(())
            }
            // It is looked for again.
            Ok(_) | Err(StreamError::NotNext) => Err(StreamError::NotNext),
            Err(StreamError::Full) => {
                let before = self.state.borrow().sure_low;
                self.stream.messages.purge(before).await?;
                self.state.borrow_mut().dropped(before, self.begin);
                Err(StreamError::Full)
            }
            Err(error) => Err(error),
        }
    }
}

/// Where a message is.
enum Found {
    /// None waits.
    Nothing,
    Ours,
    /// In its place is one of another writer.
    Another(u64),
    /// The stream ends long before its place.
    Short {
        last: u64,
        acknowledged: u64,
    },
    NotThere,
}
