//! Reading a stream from a number on, several messages ahead.

use super::deliver::patiently;
use super::frame::{Beginning, Frame, Kind};
use crate::Error;
use bytes::Bytes;
use ordo_disk::{Answered, LogStream};
use ordo_rt::Rt;
use std::collections::VecDeque;

/// Messages that are asked for before they are needed.
const AHEAD: u64 = 16;

/// A message of any log in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailMessage {
    /// Its number.
    pub number: u64,
    /// The log that it belongs to.
    pub id: u64,
    /// What that log belongs to.
    pub volume: u64,
    /// The first message of that log.
    pub begin: u64,
    /// What it is.
    pub kind: Kind,
    /// What it says, if it begins a log.
    pub beginning: Option<Beginning>,
    /// When it was made, in nanoseconds since 1970.
    pub time: u64,
    /// The caller's bytes.
    pub payload: Bytes,
}

/// Reads all messages of a stream in order.
pub struct Tail {
    rt: Rt,
    stream: LogStream,
    next: u64,
    ahead: VecDeque<Answered<Option<Bytes>>>,
}

impl Tail {
    /// Reads from the message `next` on.
    pub fn new(rt: &Rt, stream: LogStream, next: u64) -> Tail {
        Tail { rt: rt.clone(), stream, next, ahead: VecDeque::new() }
    }

    /// The number of the message that comes next.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// The first and the last number of the stream.
    ///
    /// # Errors
    /// Those of a stream that does not answer.
    pub async fn range(&self) -> Result<(u64, u64), Error> {
        let held = patiently(&self.rt, &self.stream, || self.stream.messages.state()).await?;
        Ok((held.first, held.last))
    }

    /// The next message, of which it is known that the stream has it, as all before `end`; `None` if it has not.
    ///
    /// # Errors
    /// [`Error::Message`], [`Error::Version`], and those of a stream that does not answer.
    pub async fn next(&mut self, end: u64) -> Result<Option<TailMessage>, Error> {
        let number = self.next;
        if number >= end {
            return Ok(None);
        }
        while number + (self.ahead.len() as u64) < end.min(number + AHEAD) {
            self.ahead.push_back(self.stream.messages.read(number + self.ahead.len() as u64));
        }
        let message = match self.ahead.pop_front() {
            Some(answer) => match answer.await {
                Ok(message) => message,
                Err(_) => patiently(&self.rt, &self.stream, || self.stream.messages.read(number)).await?,
            },
            None => None,
        };
        let Some(message) = message else {
            self.ahead.clear();
            return Ok(None);
        };
        self.next = number + 1;
        let frame = Frame::decode(number, &message)?;
        let (beginning, header) = (frame.beginning(), frame.header);
        Ok(Some(TailMessage {
            number,
            id: header.id,
            volume: header.volume,
            begin: header.begin,
            kind: header.kind,
            beginning,
            time: header.time,
            payload: frame.payload,
        }))
    }
}
