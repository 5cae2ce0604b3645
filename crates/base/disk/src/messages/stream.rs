//! What a stream is asked, and what it answers.

use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

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
    /// The message would not follow the one that its writer named (messages-2).
    #[error("another message is the last one of the stream")]
    NotNext,
    /// There is no room (messages-4).
    #[error("the stream is full")]
    Full,
    /// No answer came: no quorum, no connection, or a server that is slow (messages-3).
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
    /// sent in the order of these calls, whether or not the answers are awaited. Returns its number (messages-1).
    fn publish(&self, after: u64, id: String, message: Bytes) -> Answered<u64>;

    /// The message with this number; `None` if there is none.
    fn read(&self, number: u64) -> Answered<Option<Bytes>>;

    /// Drops all messages before this number.
    fn purge(&self, before: u64) -> Answered<()>;
}
