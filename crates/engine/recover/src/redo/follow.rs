//! A copy of a volume that follows the volume's log: a warm standby.
//!
//! The log's changes are written to the copy as they come. Nothing that waits to be freed is freed, and the copy is not
//! marked clean: that is the work of the replay with which it is promoted. Until then its superblock says which log it
//! follows, and up to where ([`LogAt::Followed`]).
//!
//! F1. A log is followed only if it has the contents of files, too. A copy made of the rest would have names of files
//!     whose contents it lacks.
//! F2. The superblock names a message only after all before it are durable in the copy. Applying a transaction a second
//!     time changes nothing (ondisk-redo), so a crash of the follower repeats some.
//! F3. An ordinary replay does not touch a copy that follows: it would begin where the *volume* needs it, and the copy
//!     may lack what lies before.
//! F4. Each log must continue the one before it. What a replay of the volume itself did, or a tool, is in no log: then
//!     a new copy is needed.
//! F5. A promotion first takes the log over (recover-redo-6), and reads it to that message afterwards: what the
//!     volume's writer committed is in the copy, and the writer is refused from then on.

use super::replay_log;
use crate::outcome::{NotReplayed, Replayed};
use crate::setup::Opened;
use crate::suj::Replay;
use ordo_disk::{Disk, LogHome, LogStream};
use ordo_ondisk::Superblock;
use ordo_ondisk::redo::{Joined, Transaction};
use ordo_ondisk::superblock::{Keeper, LogAt};
use ordo_rt::Rt;
use ordo_wafs::Error;
use ordo_wafs::stream::{Kind, StreamLog, Tail, TailMessage};
use std::rc::Rc;

/// Bytes of messages that are applied together.
const BATCH: usize = 16 << 20;
/// How often a promotion tries to be the next who writes to a stream that its writer still writes to.
const TRIES: u32 = 100;

/// Why a copy cannot follow a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotFollowed {
    /// The copy cannot be read, written or replayed.
    #[error(transparent)]
    Copy(#[from] NotReplayed),
    /// The log cannot be read.
    #[error("the log: {0}")]
    Log(#[from] Error),
    /// No log that the volume named was in a stream.
    #[error(
        "this copy names no log in a stream: mount the volume once with log=nats://… and data=journal, unmount it, and \
         copy it then"
    )]
    NoCopy,
    /// F1.
    #[error(
        "log {id:016x} has no contents of files, or not all: mount the volume with data=journal (and without snapshots), \
         and copy it after that mount has ended"
    )]
    Incomplete {
        /// The log.
        id: u64,
    },
    /// F1: a call was larger than the log.
    #[error(
        "transaction {number} of the log says that contents were written past it, because they had no room there; make \
         the stream larger, and a new copy of the volume"
    )]
    Past {
        /// Its last message.
        number: u64,
    },
    /// F4.
    #[error(
        "the copy follows log {id:016x}, and message {number} of the stream is of a log that does not continue that one: \
         the volume was changed without a log, or recovered; make a new copy of it. If this one was promoted, it is an \
         ordinary volume: mount it"
    )]
    NotContinued {
        /// The log of the copy.
        id: u64,
        /// The message.
        number: u64,
    },
    /// The stream has less than the copy.
    #[error(
        "the copy has what the messages before {next} say, and the stream ends at {last}: it is another stream, or it \
         has lost messages"
    )]
    Ahead {
        /// The next message that the copy needs.
        next: u64,
        /// The stream's last one.
        last: u64,
    },
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The log.
    pub log: u64,
    /// The copy has what the messages before this one say.
    pub next: u64,
    /// The stream's last message when it was asked.
    pub last: u64,
    /// Transactions that were applied just now.
    pub transactions: u64,
    /// Somebody has taken the log over with this message, to recover the volume or to promote a copy of it.
    pub taken: Option<u64>,
}

/// A copy of a volume, and the log that it follows.
pub struct Follower {
    rt: Rt,
    disk: Rc<dyn Disk>,
    stream: LogStream,
    sb: Superblock,
    scheme: String,
    volume: u64,
    tail: Tail,
    id: u64,
    /// The log that this one continues, as long as this one has nothing: a crash may have come before the volume named
    /// it, and the next one continues the same.
    before: Option<u64>,
    /// Messages before this one are in the copy.
    next: u64,
    joined: Joined,
    /// The last record was a part of a transaction that is not complete.
    partial: bool,
    taken: Option<u64>,
}

impl Follower {
    /// Opens the copy on `disk`, and finds its place in the stream. From then on the copy is one that follows.
    ///
    /// # Errors
    /// [`NotFollowed`]; nothing was written then.
    pub async fn open(rt: &Rt, disk: Rc<dyn Disk>, stream: LogStream) -> Result<Follower, NotFollowed> {
        let sb = Opened::find(&disk).await.map_err(NotReplayed::from)?.sb;
        crate::suj::gate(&sb, false)?;
        let (keeper, untouched) = sb.keeper().ok_or(NotFollowed::NoCopy)?;
        let [high, low] = sb.fields.id;
        let volume = u64::from(high) << 32 | u64::from(low);
        let next = match keeper.log {
            _ if !untouched => return Err(NotFollowed::NoCopy),
            LogAt::Followed(next) => next,
            LogAt::Stream => begin_of(rt, &stream, &keeper, sb.is_clean()).await?,
            _ => return Err(NotFollowed::NoCopy),
        };
        let Keeper { scheme, id, .. } = keeper;
        let tail = Tail::new(rt, stream.clone(), next);
        let (rt, joined) = (rt.clone(), Joined::default());
        let mut follower = Follower {
            rt,
            disk,
            stream,
            sb,
            scheme,
            volume,
            tail,
            id,
            before: None,
            next,
            joined,
            partial: false,
            taken: None,
        };
        follower.in_range().await?;
        let last = Tail::new(&follower.rt, follower.stream.clone(), next.saturating_sub(1).max(1)).next(next).await?;
        follower.before = last.and_then(|last| last.beginning).map(|begin| begin.follows);
        let fresh = Replay::new(follower.disk.clone(), follower.sb.clone(), follower.rt.wall().0);
        follower.note(fresh, LogAt::Followed(next)).await?;
        Ok(follower)
    }

    /// The stream has the next message, or ends before it. Returns its last one.
    async fn in_range(&self) -> Result<u64, NotFollowed> {
        let (first, last) = self.tail.range().await?;
        let next = self.tail.next_number();
        if next > last + 1 {
            return Err(NotFollowed::Ahead { next, last });
        }
        if next < first {
            return Err(Error::Missing { number: next, first }.into());
        }
        Ok(last)
    }

    /// Applies what the stream has, or a part of it.
    ///
    /// # Errors
    /// [`NotFollowed`]; the copy then has all before.
    pub async fn step(&mut self) -> Result<Followed, NotFollowed> {
        let last = self.in_range().await?;
        let (mut transactions, mut bytes, mut next) = (Vec::new(), 0, self.next);
        let mut stopped = Ok(());
        while bytes < BATCH && self.tail.next_number() <= last {
            let number = self.tail.next_number();
            let Some(message) = self.tail.next(last + 1).await? else {
                return Err(Error::Missing { number, first: number + 1 }.into());
            };
            bytes += message.payload.len();
            match self.take(message) {
                Ok(None) => {}
                Ok(Some(done)) => {
                    transactions.extend(done);
                    next = number + 1;
                }
                // What came before is applied.
                Err(why) => {
                    stopped = Err(why);
                    break;
                }
            }
        }
        let applied = transactions.len() as u64;
        if next > self.next {
            let mut volume = Replay::new(self.disk.clone(), self.sb.clone(), self.rt.wall().0);
            volume.redo(&transactions, Vec::new()).await?;
            volume.write_groups().await?;
            volume.flush_home().await?;
            self.next = next;
            self.note(volume, LogAt::Followed(next)).await?;
        }
        stopped?;
        Ok(Followed { log: self.id, next, last, transactions: applied, taken: self.taken })
    }

    /// Applies all that the stream has.
    ///
    /// # Errors
    /// As [`Follower::step`].
    pub async fn catch_up(&mut self) -> Result<Followed, NotFollowed> {
        let mut transactions = 0;
        loop {
            let done = self.step().await?;
            transactions += done.transactions;
            if self.tail.next_number() > done.last {
                return Ok(Followed { transactions, ..done });
            }
        }
    }

    /// What the message means. `None`: it is a part of a transaction that is not complete.
    fn take(&mut self, message: TailMessage) -> Result<Option<Option<Transaction>>, NotFollowed> {
        let TailMessage { number, id, volume, kind, beginning, payload, .. } = message;
        if volume != self.volume {
            return Err(Error::OtherOwner { found: volume, wanted: self.volume }.into());
        }
        if kind == Kind::Begin {
            let goes_on = |follows| follows == self.id || Some(follows) == self.before;
            let continued = beginning.filter(|begin| id == self.id || goes_on(begin.follows));
            let beginning = continued.ok_or(NotFollowed::NotContinued { id: self.id, number })?;
            if !beginning.complete {
                return Err(NotFollowed::Incomplete { id });
            }
            (self.id, self.before) = (id, Some(beginning.follows));
            (self.joined, self.partial) = (Joined::default(), false);
            return Ok(Some(None));
        }
        if id != self.id {
            return Err(NotFollowed::NotContinued { id: self.id, number });
        }
        self.before = None;
        match kind {
            Kind::Record => {
                let whole = self.joined.add(&payload).map_err(NotReplayed::from)?;
                self.partial = whole.is_none();
                let Some(bytes) = whole else { return Ok(None) };
                let transaction = Transaction::decode(&bytes).map_err(NotReplayed::from)?;
                if !transaction.void.is_empty() {
                    return Err(NotFollowed::Past { number });
                }
                Ok(Some(Some(transaction)))
            }
            Kind::Taken => {
                self.taken = Some(number);
                // The writer may have died in the middle of a transaction.
                (self.joined, self.partial) = (Joined::default(), false);
                Ok(Some(None))
            }
            // A mark may lie between the parts of a transaction.
            _ if self.partial => Ok(None),
            _ => Ok(Some(None)),
        }
    }

    /// Makes durable in the superblock how far the copy has come (F2).
    async fn note(&mut self, mut volume: Replay, log: LogAt) -> Result<(), NotFollowed> {
        volume.sb.fields.clean = 0;
        let keeper = Keeper { scheme: self.scheme.clone(), log, id: self.id };
        volume.put_kept(&keeper).await?;
        self.sb = volume.sb;
        Ok(())
    }

    /// Puts the copy in the volume's place: takes the log over, applies it to its end, replays it, and marks the copy
    /// clean (F5).
    ///
    /// # Errors
    /// [`NotFollowed`]. The promotion may be tried again.
    pub async fn promote(mut self) -> Result<(Followed, Replayed), NotFollowed> {
        self.catch_up().await?;
        let mut tries = 0;
        let log = loop {
            let log = StreamLog::open(&self.rt, self.stream.clone()).await?;
            if log.volume() != self.volume {
                return Err(Error::OtherOwner { found: log.volume(), wanted: self.volume }.into());
            }
            match log.take_over().await {
                Ok(()) => break log,
                Err(Error::Fenced { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let followed = self.catch_up().await?;
        drop(log);
        let fresh = Replay::new(self.disk.clone(), self.sb.clone(), self.rt.wall().0);
        self.note(fresh, LogAt::Stream).await?;
        let replayed = replay_log(&self.rt, self.disk, Some(LogHome::Stream(self.stream))).await?;
        Ok((followed, replayed))
    }
}

/// The first message that a copy needs. The copy was made of the volume while nobody had it mounted (`clean`): then
/// that is the one behind the end of the last log. Or while somebody had, or after a crash: then it is the first one
/// of that log.
async fn begin_of(rt: &Rt, stream: &LogStream, keeper: &Keeper, clean: bool) -> Result<u64, NotFollowed> {
    let (first, last) = Tail::new(rt, stream.clone(), 1).range().await?;
    let mut number = last;
    // From log to log, backwards.
    while number >= first && number > 0 {
        let Some(message) = Tail::new(rt, stream.clone(), number).next(number + 1).await? else { break };
        if message.id == keeper.id {
            return match (clean, message.kind) {
                (true, Kind::End) => Ok(number + 1),
                (true, _) => Err(NotFollowed::NotContinued { id: keeper.id, number }),
                (false, _) if message.begin < first => Err(Error::Missing { number: message.begin, first }.into()),
                (false, _) => Ok(message.begin),
            };
        }
        let begins = message.begin;
        if clean && begins >= first {
            let begin = Tail::new(rt, stream.clone(), begins).next(begins + 1).await?;
            if begin.and_then(|begin| begin.beginning).is_some_and(|begin| begin.follows == keeper.id) {
                return Ok(begins);
            }
        }
        number = begins.saturating_sub(1);
    }
    Err(Error::Missing { number: number.max(1), first }.into())
}
