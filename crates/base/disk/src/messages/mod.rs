//! A stream of messages: where a log lies that has copies on several machines.
//!
//! A disk overwrites bytes at their places. A stream takes a message at its end, numbers it, and drops its oldest ones
//! when it is told to; a message never changes. So a log in a stream is no log on a disk: it has nothing to write over.
//!
//! G1. A message is durable when [`Messages::publish`] has returned its number: as many servers have it as the stream
//!     demands. What one power cut or several may still take away is the server's matter, and in its documents.
//! G2. A message is stored only directly behind the one that its writer names. So of two writers one is refused, and a
//!     message that arrives late, or a second time, is not stored between others.
//! G3. [`StreamError::NoAnswer`] says nothing about the message: it may be stored, and may be even later.
//! G4. A full stream refuses ([`StreamError::Full`]). It never drops a message by itself.

mod overlay;
mod ram;

pub use overlay::OverlayStream;
pub use ram::{RamStream, StreamFault};

use bytes::Bytes;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

/// An answer of a stream.
pub type Answered<T> = Pin<Box<dyn Future<Output = Result<T, StreamError>>>>;

/// What a stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamState {
    /// The number of the oldest message; one more than `last` if there is none.
    pub first: u64,
    /// The number of the newest message that was ever stored.
    pub last: u64,
    /// Bytes that count towards the limit.
    pub bytes: u64,
}

/// How much a stream takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Bytes of all messages.
    pub bytes: u64,
    /// Bytes of one message.
    pub message: usize,
    /// Bytes that a message takes beside its own, at most.
    pub overhead: u64,
}

/// Why a stream did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The message would not follow the one that its writer named (G2).
    #[error("another message is the last one of the stream")]
    NotNext,
    /// There is no room (G4).
    #[error("the stream is full")]
    Full,
    /// No answer came: no quorum, no connection, or a server that is slow (G3).
    #[error("{0}")]
    NoAnswer(String),
    /// Waiting does not help: there is no such stream, it has other settings, or the servers refuse this client.
    #[error("{0}")]
    Refused(String),
}

/// A stream of messages, numbered from 1 on.
pub trait Messages {
    /// Its name, for people.
    fn name(&self) -> String;

    /// How much it takes.
    fn limits(&self) -> StreamLimits;

    /// What it holds.
    fn state(&self) -> Answered<StreamState>;

    /// Sends a message, which is to be stored directly behind the message `after`; 0: as the first one. Messages are
    /// sent in the order of these calls, whether or not the answers are awaited. Returns its number (G1).
    fn publish(&self, after: u64, id: String, message: Bytes) -> Answered<u64>;

    /// The message with this number; `None` if there is none.
    fn read(&self, number: u64) -> Answered<Option<Bytes>>;

    /// Drops all messages before this number.
    fn purge(&self, before: u64) -> Answered<()>;
}

/// What happens to a log in a stream, for the one who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// It waits for this reason, and gives up after so long a time.
    Waits {
        /// Why.
        why: String,
        /// How long it has waited, and will wait at most.
        most: Duration,
    },
    /// It goes on, after a wait.
    GoesOn,
}

type Listener = dyn Fn(&StreamEvent);

/// A stream for a log, and how patient the log is.
#[derive(Clone)]
pub struct LogStream {
    /// The stream.
    pub messages: Rc<dyn Messages>,
    /// How long an answer is awaited before the log ends with an error.
    pub patience: Duration,
    /// Who is told of waits.
    pub tell: Rc<Listener>,
}

impl LogStream {
    /// How long an answer is awaited unless something else is asked for.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// With the default patience, telling nobody.
    pub fn new(messages: Rc<dyn Messages>) -> LogStream {
        LogStream { messages, patience: LogStream::PATIENCE, tell: Rc::new(|_| {}) }
    }
}

impl fmt::Debug for LogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogStream")
            .field("name", &self.messages.name())
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// Where a log lies that is not a file of its volume.
#[derive(Clone)]
pub enum LogHome {
    /// On a disk of its own.
    Disk(Rc<dyn crate::Disk>),
    /// In a stream.
    Stream(LogStream),
}

impl LogHome {
    /// The same contents, over which everything that is written stays in memory.
    #[must_use]
    pub fn overlaid(&self) -> LogHome {
        match self {
            LogHome::Disk(disk) => LogHome::Disk(Rc::new(crate::Overlay::new(disk.clone()))),
            LogHome::Stream(stream) => {
                let messages = Rc::new(OverlayStream::new(stream.messages.clone()));
                LogHome::Stream(LogStream { messages, ..stream.clone() })
            }
        }
    }

    /// The same place, written to only while `claim` stands. A stream refuses a second writer itself.
    #[must_use]
    pub fn fenced(self, claim: &crate::fence::Claim) -> LogHome {
        match self {
            LogHome::Disk(disk) => LogHome::Disk(Rc::new(claim.fence(disk))),
            stream @ LogHome::Stream(_) => stream,
        }
    }

    /// The disk, if it is one.
    pub fn disk(self) -> Option<Rc<dyn crate::Disk>> {
        match self {
            LogHome::Disk(disk) => Some(disk),
            LogHome::Stream(_) => None,
        }
    }
}

impl From<Rc<dyn crate::Disk>> for LogHome {
    fn from(disk: Rc<dyn crate::Disk>) -> LogHome {
        LogHome::Disk(disk)
    }
}
