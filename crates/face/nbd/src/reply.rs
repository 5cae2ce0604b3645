//! Replies: simple ones, or, once they were negotiated, structured ones of a single chunk.

use std::io::{self, IoSlice, Write};

use bytes::Bytes;
use ordo_disk::nbd_proto as proto;

use crate::export::Failure;
use crate::room::Room;

/// The number of the one context that is offered.
pub(crate) const CONTEXT: u32 = 1;

/// What the client learns from a request that was done.
pub(crate) enum Answer {
    Done,
    Data {
        at: u64,
        bytes: Vec<Bytes>,
    },
    /// Lengths and flags.
    Status(Vec<(u32, u32)>),
}

/// A reply that waits to be sent, and the room that it takes until then.
pub(crate) struct Reply {
    head: Vec<u8>,
    body: Vec<Bytes>,
    _room: Room,
}

impl Reply {
    pub(crate) fn new(cookie: u64, outcome: Result<Answer, Failure>, structured: bool, room: Room) -> Reply {
        let (head, body) = match structured {
            true => in_a_chunk(cookie, outcome),
            false => simple(cookie, outcome),
        };
        Reply { head, body, _room: room }
    }

    pub(crate) fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> =
            [&self.head[..]].into_iter().chain(self.body.iter().map(|piece| &piece[..])).map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match stream.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(done) => IoSlice::advance_slices(&mut rest, done),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn simple(cookie: u64, outcome: Result<Answer, Failure>) -> (Vec<u8>, Vec<Bytes>) {
    let (code, body) = match outcome {
        Ok(Answer::Data { bytes, .. }) => (0, bytes),
        // A status is asked for only by who has structured replies.
        Ok(Answer::Done | Answer::Status(_)) => (0, Vec::new()),
        Err(failure) => (failure.code, Vec::new()),
    };
    let head = [&proto::SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &code.to_be_bytes(), &cookie.to_be_bytes()].concat();
    (head, body)
}

fn in_a_chunk(cookie: u64, outcome: Result<Answer, Failure>) -> (Vec<u8>, Vec<Bytes>) {
    let (kind, words, body) = match outcome {
        Ok(Answer::Done) => (proto::REPLY_TYPE_NONE, Vec::new(), Vec::new()),
        Ok(Answer::Data { at, bytes }) => (proto::REPLY_TYPE_OFFSET_DATA, at.to_be_bytes().to_vec(), bytes),
        Ok(Answer::Status(extents)) => {
            let mut words = CONTEXT.to_be_bytes().to_vec();
            for (len, flags) in extents {
                words.extend(len.to_be_bytes());
                words.extend(flags.to_be_bytes());
            }
            (proto::REPLY_TYPE_BLOCK_STATUS, words, Vec::new())
        }
        Err(failure) => {
            let text: String = failure.text.chars().take(1000).collect();
            let mut words = failure.code.to_be_bytes().to_vec();
            // At most four bytes for each of 1000 characters.
            words.extend((text.len() as u16).to_be_bytes());
            words.extend(text.as_bytes());
            (proto::REPLY_TYPE_ERROR, words, Vec::new())
        }
    };
    let len = words.len() + body.iter().map(Bytes::len).sum::<usize>();
    let mut head = proto::STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
    head.extend(proto::REPLY_FLAG_DONE.to_be_bytes());
    head.extend(kind.to_be_bytes());
    head.extend(cookie.to_be_bytes());
    // Data is bounded by the longest request, words by the most extents.
    head.extend((len as u32).to_be_bytes());
    head.extend(words);
    (head, body)
}
