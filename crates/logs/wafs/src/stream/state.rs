//! What a log in a stream has in memory.

use super::frame::Kind;
use crate::Error;
use bytes::Bytes;
use ordo_disk::LogStream;
use ordo_rt::Rt;
use ordo_rt::sync::{Mutex, Notify};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A log in a stream. Clones are handles of the same log.
#[derive(Clone)]
pub struct StreamLog(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) rt: Rt,
    pub(super) stream: LogStream,
    pub(super) id: u64,
    pub(super) volume: u64,
    pub(super) epoch: u32,
    pub(super) begin: u64,
    pub(super) state: RefCell<State>,
    /// Wakes the task that delivers.
    pub(super) bell: Rc<Notify>,
    /// Notified when more is durable or free, and when the log has failed.
    pub(super) progress: Notify,
    pub(super) purging: Mutex<()>,
}

pub(super) struct State {
    /// Nothing may be appended: it was opened for reading.
    pub(super) read_only: bool,
    /// The number of the next message.
    pub(super) end: u64,
    /// Messages before this one are durable (stream-1).
    pub(super) durable: u64,
    /// The kind of the last message.
    pub(super) last: Kind,
    /// Records before this one are not needed.
    pub(super) low: u64,
    /// The same, as a durable message says it (stream-5).
    pub(super) sure_low: u64,
    /// The oldest message of the stream.
    pub(super) first: u64,
    /// Bytes of this log's messages that this mount has sent, from the oldest on that was not dropped.
    pub(super) sizes: VecDeque<(u64, u64)>,
    /// Bytes of all messages before those.
    pub(super) older: u64,
    /// What is not known to be durable, oldest first.
    pub(super) waiting: VecDeque<Message>,
    pub(super) failed: Option<Error>,
}

/// A message that is not known to be durable.
pub(super) struct Message {
    pub(super) number: u64,
    /// The `low` that it says.
    pub(super) low: u64,
    /// Tells a server that it is the same message again.
    pub(super) id: String,
    pub(super) bytes: Bytes,
}
