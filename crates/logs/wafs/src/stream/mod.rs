//! A log in a stream of messages ([`ordo_disk::Messages`]), which has copies on several machines.
//!
//! It is the same log for its caller: records with rising numbers, durable in order, reclaimed from the front. But it
//! is not the circle on another disk: a message never changes, so there is no superblock to write over, no unit and no
//! lap, and a record is never torn. A record is one message, and its number is that of the message. What a superblock
//! says stands in each message: the log's id, where it begins, from where on records are needed.
//!
//! Each rule names the crash, or the other machine, that it protects against.
//!
//! stream-1. A record is durable when the stream has acknowledged it and all before it. A lost answer is no refusal:
//!     the message is looked for, and sent again if it is not there. Otherwise a commit would fail that has happened.
//! stream-2. Each message names its number in the stream, and is accepted only behind the one before it (messages-2).
//!     So a message that arrives late or twice is refused, and the log has no hole. A message that is not ours in the
//!     place of ours is another writer: this one stops for good.
//! stream-3. The first message of a mount carries an id that the volume's superblock names, too. A log that a crash has
//!     left is not followed by another one before the volume says that it was replayed, and a stream that has the log
//!     of another volume is not written to. A log that has its first message and no more counts for nothing: the crash
//!     may have come before the volume named it, and the volume could never be mounted again.
//! stream-4. Before a replay writes to the volume, it appends a message of its own ([`Kind::Taken`]) directly behind
//!     the last one that it has read. A writer that lives on somewhere is refused from then on, and what it still
//!     commits is not acknowledged: nothing acknowledged is missing from the replay.
//! stream-5. Messages are dropped only when a durable message says that they are not needed. If one is missing that is
//!     needed, the log is damaged ([`Error::Missing`]), and not an empty one.
//! stream-6. A stream that ends before what it has acknowledged has lost it ([`Error::LostTail`]): the writer stops.
//!     It would otherwise go on over a hole.
//! stream-7. Nothing waits for ever: after [`ordo_disk::LogStream::patience`] the log ends with an error, and nothing
//!     is appended any more.

mod deliver;
mod frame;
mod state;
mod tail;

pub use frame::{Beginning, Kind};
pub use state::StreamLog;
pub use tail::{Tail, TailMessage};

use crate::Space;
use crate::{Error, Lsn, Record};
use bytes::Bytes;
use frame::{Frame, HEADER, Header};
use ordo_disk::LogStream;
use ordo_rt::Rt;
use ordo_rt::sync::{Mutex, Notify};
use state::{Inner, Message, State};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of the stream that records leave free: for marks, and for the message of a replay (stream-4).
const RESERVE: u64 = 64 << 10;
/// The smallest stream for a log, in bytes.
pub const STREAM_LEAST: u64 = 512 << 10;
/// Bytes that may be appended and not durable before [`StreamLog::append`] waits.
const BEHIND: u64 = 32 << 20;
/// How long a stream is watched for a writer that lives.
const QUIET: Duration = Duration::from_secs(2);

/// Who begins a log, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// Tells the volume from others.
    pub volume: u64,
    /// The log that the volume has named last, which was replayed or ended.
    pub before: Option<u64>,
    /// The volume has not changed since the end of that log.
    pub untouched: bool,
    /// The new log will have all that changes.
    pub complete: bool,
}

impl StreamLog {
    /// Begins a new log behind whatever the stream holds.
    ///
    /// # Errors
    /// [`Error::OtherOwner`], [`Error::NotEnded`] (stream-3); [`Error::Message`], if somebody else uses the stream;
    /// [`Error::TooSmall`]; and those of a stream that does not answer.
    pub async fn begin(rt: &Rt, stream: LogStream, owner: Owner) -> Result<StreamLog, Error> {
        let bytes = stream.messages.limits().bytes;
        if bytes < STREAM_LEAST {
            return Err(Error::TooSmall { len: bytes, least: STREAM_LEAST });
        }
        let held = deliver::patiently(rt, &stream, || stream.messages.state()).await?;
        let last = deliver::frame_at(rt, &stream, held.last).await?;
        let follows = followed(rt, &stream, held.first, last.as_ref(), owner).await?;
        let time = now(rt);
        let number = held.last + 1;
        let before = last.as_ref().map_or(0, |last| last.header.id);
        let state = State {
            read_only: false,
            end: number,
            durable: number,
            last: Kind::Begin,
            low: number + 1,
            sure_low: 0,
            first: held.first,
            sizes: VecDeque::new(),
            older: held.bytes,
            waiting: VecDeque::new(),
            failed: None,
        };
        let log = StreamLog(Rc::new(Inner {
            rt: rt.clone(),
            // 0 is the id of no log.
            id: (before.rotate_left(17).wrapping_add(time) ^ rt.rng().next_u64()).max(1),
            volume: owner.volume,
            epoch: last.map_or(0, |last| last.header.epoch).saturating_add(1),
            begin: number,
            state: RefCell::new(state),
            bell: Rc::new(Notify::new()),
            progress: Notify::new(),
            purging: Mutex::new(()),
            stream,
        }));
        log.start();
        if log.space().free < RESERVE {
            log.checkpoint().await?;
        }
        log.put(Kind::Begin, &Beginning { follows, complete: owner.complete }.encode());
        log.force(Lsn(number)).await?;
        Ok(log)
    }

    /// Opens the last log of the stream for reading.
    ///
    /// # Errors
    /// [`Error::NotALog`], if the stream is empty; [`Error::Message`], [`Error::Missing`]; and those of a stream that
    /// does not answer.
    pub async fn open(rt: &Rt, stream: LogStream) -> Result<StreamLog, Error> {
        let held = deliver::patiently(rt, &stream, || stream.messages.state()).await?;
        let Some(Frame { header, .. }) = deliver::frame_at(rt, &stream, held.last).await? else {
            return Err(Error::NotALog);
        };
        // stream-5.
        if header.low < held.first {
            return Err(Error::Missing { number: header.low, first: held.first });
        }
        let state = State {
            read_only: true,
            end: held.last + 1,
            durable: held.last + 1,
            last: header.kind,
            low: header.low,
            sure_low: header.low,
            first: held.first,
            sizes: VecDeque::new(),
            older: held.bytes,
            waiting: VecDeque::new(),
            failed: None,
        };
        Ok(StreamLog(Rc::new(Inner {
            rt: rt.clone(),
            stream,
            id: header.id,
            volume: header.volume,
            epoch: header.epoch,
            begin: header.begin,
            state: RefCell::new(state),
            bell: Rc::new(Notify::new()),
            progress: Notify::new(),
            purging: Mutex::new(()),
        })))
    }

    /// The volume durably names the log: says so, if nothing else in the log shows it. From then on no other log is
    /// begun behind it before it was replayed or ended (stream-3).
    pub fn named(&self) {
        let says_nothing = {
            let state = self.0.state.borrow();
            !state.read_only && state.failed.is_none() && state.end == self.0.begin + 1
        };
        if says_nothing {
            self.put(Kind::Mark, &[]);
        }
    }

    /// Takes the log over: who wrote it until now is refused, and this handle may append (stream-4).
    ///
    /// # Errors
    /// [`Error::Fenced`], if the log has gone on since it was opened; and those of a stream that does not answer.
    pub async fn take_over(&self) -> Result<(), Error> {
        self.0.state.borrow_mut().read_only = false;
        self.start();
        let number = self.put(Kind::Taken, &[]);
        self.force(Lsn(number)).await
    }

    /// Whether nothing comes to the stream for two seconds: who writes to it is gone, or has nothing to say.
    ///
    /// # Errors
    /// Those of a stream that does not answer.
    pub async fn is_quiet(&self) -> Result<bool, Error> {
        let Inner { rt, stream, .. } = &*self.0;
        let last = async || deliver::patiently(rt, stream, || stream.messages.state()).await.map(|state| state.last);
        let before = last().await?;
        rt.sleep(QUIET).await;
        Ok(last().await? == before)
    }

    /// Everything that the log has is in place, and nothing is to follow: says so in the stream.
    ///
    /// # Errors
    /// Those of [`StreamLog::force`].
    pub async fn end_here(&self) -> Result<(), Error> {
        let number = {
            let mut state = self.0.state.borrow_mut();
            if state.last == Kind::End {
                return state.failed.clone().map_or(Ok(()), Err);
            }
            // Its own message is not needed either.
            state.low = state.end + 1;
            drop(state);
            self.put(Kind::End, &[])
        };
        self.force(Lsn(number)).await
    }

    fn start(&self) {
        self.0.rt.spawn(deliver::deliverer(Rc::downgrade(&self.0), self.0.bell.clone()));
    }

    /// Appends a record, which is sent at once; waits where too much is not durable, and drops what is not needed where
    /// there is no room.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Full`], [`Error::ReadOnly`], and the error with which the log has ended.
    pub async fn append(&self, data: &[u8]) -> Result<Lsn, Error> {
        let most = self.record_most();
        if data.len() > most {
            return Err(Error::TooLong { len: data.len(), most });
        }
        let wanted = data.len() as u64 + HEADER as u64 + self.0.stream.messages.limits().overhead;
        loop {
            let told = self.0.progress.notified();
            self.sound()?;
            let behind: u64 = self.0.state.borrow().waiting.iter().map(|message| message.bytes.len() as u64).sum();
            if behind > BEHIND {
                told.await;
                continue;
            }
            let Space { free, reclaimable, .. } = self.space();
            if wanted <= free {
                return Ok(Lsn(self.put(Kind::Record, data)));
            }
            if reclaimable == 0 {
                return Err(Error::Full { wanted, free });
            }
            self.checkpoint().await?;
        }
    }

    /// Makes the record `lsn`, and all before it, durable (stream-1).
    ///
    /// # Errors
    /// [`Error::NoRecord`], and the error with which the log has ended.
    pub async fn force(&self, lsn: Lsn) -> Result<(), Error> {
        loop {
            let told = self.0.progress.notified();
            {
                let state = self.0.state.borrow();
                if state.durable > lsn.0 {
                    return Ok(());
                }
                if lsn.0 >= state.end {
                    return Err(Error::NoRecord { lsn, low: Lsn(state.low), end: Lsn(state.end) });
                }
            }
            self.sound()?;
            told.await;
        }
    }

    /// Records before `low` are not needed any more.
    ///
    /// # Errors
    /// [`Error::NoRecord`] beyond the end, and the error with which the log has ended.
    pub fn reclaim(&self, low: Lsn) -> Result<(), Error> {
        self.sound()?;
        let mut state = self.0.state.borrow_mut();
        if low.0 > state.end {
            return Err(Error::NoRecord { lsn: low, low: Lsn(state.low), end: Lsn(state.end) });
        }
        state.low = state.low.max(low.0);
        Ok(())
    }

    /// Says durably from where on records are needed, and drops older messages until a quarter of the stream is free.
    /// It drops no more: who follows the log may not have read them yet.
    ///
    /// # Errors
    /// Those of [`StreamLog::force`].
    pub async fn checkpoint(&self) -> Result<(), Error> {
        let _one = self.0.purging.lock().await;
        self.sound()?;
        // A log that only begins has no message of its own that could say so; what it comes after is not needed.
        let begun = self.0.state.borrow().end > self.0.begin;
        let stale = {
            let state = self.0.state.borrow();
            begun && state.sure_low < state.low.min(state.durable)
        };
        if stale {
            let number = self.put(Kind::Mark, &[]);
            self.force(Lsn(number)).await?;
        }
        let before = {
            let state = self.0.state.borrow();
            if begun { self.cut(&state) } else { self.0.begin }
        };
        if before <= self.0.state.borrow().first {
            return Ok(());
        }
        let stream = &self.0.stream;
        let purged = deliver::patiently(&self.0.rt, stream, || stream.messages.purge(before)).await;
        purged.inspect_err(|error| self.0.fail(error.clone()))?;
        let mut state = self.0.state.borrow_mut();
        state.dropped(before, self.0.begin);
        drop(state);
        self.0.progress.notify_all();
        Ok(())
    }

    /// Before which message the stream is to be dropped: no more than is needed, and nothing that is needed (stream-5).
    fn cut(&self, state: &State) -> u64 {
        let quarter = self.size() / 4;
        let mut free = self.size().saturating_sub(state.used());
        let mut before = state.first;
        if free >= quarter {
            return before;
        }
        if state.older > 0 && state.sure_low >= self.0.begin {
            before = self.0.begin;
            free += state.older;
        }
        for (number, bytes) in &state.sizes {
            if free >= quarter || number + 1 > state.sure_low {
                break;
            }
            before = number + 1;
            free += bytes;
        }
        before.max(state.first)
    }

    /// The records from the first one that is needed on.
    pub fn scan(&self) -> StreamScan {
        let state = self.0.state.borrow();
        let tail = Tail::new(&self.0.rt, self.0.stream.clone(), state.low.max(self.0.begin));
        StreamScan { tail, id: self.0.id, end: state.end }
    }

    /// The unique id of this log.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// What tells its volume from others.
    pub fn volume(&self) -> u64 {
        self.0.volume
    }

    /// The last message of the log so far.
    pub fn last(&self) -> Lsn {
        Lsn(self.0.state.borrow().end - 1)
    }

    /// The number of the next message.
    pub fn end(&self) -> Lsn {
        Lsn(self.0.state.borrow().end)
    }

    /// Records before this one are not needed.
    pub fn low(&self) -> Lsn {
        Lsn(self.0.state.borrow().low)
    }

    /// Messages before this one are durable.
    pub fn durable(&self) -> Lsn {
        Lsn(self.0.state.borrow().durable)
    }

    /// The longest record, in bytes.
    pub fn record_most(&self) -> usize {
        self.0.stream.messages.limits().message.saturating_sub(HEADER)
    }

    /// The kind of the last message.
    pub fn last_kind(&self) -> Kind {
        self.0.state.borrow().last
    }

    fn size(&self) -> u64 {
        self.0.stream.messages.limits().bytes.saturating_sub(RESERVE)
    }

    /// The space of the stream.
    pub fn space(&self) -> Space {
        let state = self.0.state.borrow();
        let old = |bound: u64| {
            let older = if bound >= self.0.begin { state.older } else { 0 };
            older + state.sizes.iter().take_while(|(number, _)| *number < bound).map(|(_, bytes)| bytes).sum::<u64>()
        };
        Space { size: self.size(), free: self.size().saturating_sub(state.used()), reclaimable: old(state.low) }
    }

    fn sound(&self) -> Result<(), Error> {
        let state = self.0.state.borrow();
        match &state.failed {
            Some(error) => Err(error.clone()),
            None if state.read_only => Err(Error::ReadOnly),
            None => Ok(()),
        }
    }

    /// Appends a message and has it sent. Returns its number.
    fn put(&self, kind: Kind, payload: &[u8]) -> u64 {
        let log = &*self.0;
        let mut state = log.state.borrow_mut();
        let number = state.end;
        let header = Header {
            id: log.id,
            volume: log.volume,
            number,
            begin: log.begin,
            low: state.low.min(number + 1),
            sure: state.durable - 1,
            time: now(&log.rt),
            epoch: log.epoch,
            kind,
            length: payload.len() as u32,
        };
        let bytes = header.encode(payload);
        state.sizes.push_back((number, bytes.len() as u64 + log.stream.messages.limits().overhead));
        let id = format!("{:016x}-{number}", log.id);
        state.waiting.push_back(Message { number, low: header.low, id, bytes });
        (state.end, state.last) = (number + 1, kind);
        drop(state);
        log.bell.notify_one();
        number
    }
}

impl State {
    fn used(&self) -> u64 {
        self.older + self.sizes.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }

    /// Messages before this one are gone.
    fn dropped(&mut self, before: u64, begin: u64) {
        self.first = self.first.max(before);
        if before >= begin {
            self.older = 0;
        }
        while self.sizes.front().is_some_and(|(number, _)| *number < before) {
            self.sizes.pop_front();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

/// The log that a new one continues; 0, if it may begin here, but continues none (stream-3).
async fn followed(rt: &Rt, stream: &LogStream, first: u64, last: Option<&Frame>, owner: Owner) -> Result<u64, Error> {
    let Some(Frame { header: last, .. }) = last else { return Ok(0) };
    if last.volume != owner.volume {
        return Err(Error::OtherOwner { found: last.volume, wanted: owner.volume });
    }
    // A crash may come after a log's first message and before the volume is in use with it.
    let mut used = *last;
    while used.kind == Kind::Begin && owner.before != Some(used.id) {
        if used.number <= first {
            return Ok(0);
        }
        let Some(Frame { header, .. }) = deliver::frame_at(rt, stream, used.number - 1).await? else { return Ok(0) };
        used = header;
    }
    let named = owner.before == Some(used.id);
    match used.kind {
        Kind::End | Kind::Begin if named && owner.untouched => Ok(used.id),
        Kind::End | Kind::Taken => Ok(0),
        _ if named => Ok(0),
        _ => Err(Error::NotEnded { id: used.id }),
    }
}

fn now(rt: &Rt) -> u64 {
    let (secs, nanos) = rt.wall();
    (secs.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(nanos.into())
}

/// See [`StreamLog::scan`].
pub struct StreamScan {
    tail: Tail,
    id: u64,
    end: u64,
}

impl StreamScan {
    /// The next record; `None` at the end of the log as it was when the scan began.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Message`], and those of a stream that does not answer.
    pub async fn next(&mut self) -> Result<Option<Record>, Error> {
        while self.tail.next_number() < self.end {
            let number = self.tail.next_number();
            let Some(message) = self.tail.next(self.end).await? else {
                return Err(Error::Missing { number, first: number + 1 });
            };
            if message.id != self.id {
                return Err(Error::Message { number, why: "it is in the middle of a log, and is of another one" });
            }
            if message.kind == Kind::Record {
                return Ok(Some(Record { lsn: Lsn(number), time: message.time, data: Bytes::into(message.payload) }));
            }
        }
        Ok(None)
    }
}
