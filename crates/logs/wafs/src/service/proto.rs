//! The protocol on the socket.
//!
//! A frame is the length of the rest in 4 bytes, followed by that many bytes. Integers are little-endian. A request
//! begins with a byte that names the operation, an answer with a byte for success or the kind of failure. Answers come
//! in the order of the requests.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::{Lsn, Record};
use std::io::{self, Read, Write};

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    /// Name of a stream -> low, last. Must be the first request, and only that.
    Open = 1,
    /// Bytes -> number. Durable later.
    Append = 2,
    /// Bytes -> number. Durable as the server's mode says.
    Commit = 3,
    /// Number.
    Force = 4,
    /// Number -> time, bytes.
    Read = 5,
    /// Number, most bytes (4) -> next number or 0, and records: number, time, length (4), bytes.
    Scan = 6,
    /// Number.
    Reclaim = 7,
    /// -> low, last, size of the log, free.
    Info = 8,
    /// The stream ends, with all its records; so does the connection.
    Drop = 9,
}

impl Op {
    const ALL: [Op; 9] =
        [Op::Open, Op::Append, Op::Commit, Op::Force, Op::Read, Op::Scan, Op::Reclaim, Op::Info, Op::Drop];

    pub(crate) fn of(byte: u8) -> Option<Op> {
        Op::ALL.into_iter().find(|op| *op as u8 == byte)
    }
}

/// Why a request failed. The text that follows is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The record is too long for the log.
    TooLong = 1,
    /// The log is full until records are reclaimed.
    Full = 2,
    /// The stream has no such record.
    NoRecord = 3,
    /// The log has failed or is damaged.
    Failed = 4,
    /// The request is malformed or not allowed here.
    Misuse = 5,
    /// Another client has the stream.
    InUse = 6,
    /// The stream's name is not valid.
    Name = 7,
}

impl Code {
    const ALL: [Code; 7] =
        [Code::TooLong, Code::Full, Code::NoRecord, Code::Failed, Code::Misuse, Code::InUse, Code::Name];

    pub(crate) fn of(byte: u8) -> Option<Code> {
        Code::ALL.into_iter().find(|code| *code as u8 == byte)
    }
}

/// The first byte of an answer that means success; other values are a [`Code`], followed by a text.
pub(crate) const DONE: u8 = 0;

/// The most bytes that a frame may have: the longest record of any log, and a header.
pub(crate) const FRAME_MOST: usize = (8 << 20) + 64;

/// Writes one frame.
pub(crate) fn send(to: &mut impl Write, kind: u8, body: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(body.len().saturating_add(5));
    frame.extend_from_slice(&(body.len() as u32).saturating_add(1).to_le_bytes());
    frame.push(kind);
    frame.extend_from_slice(body);
    to.write_all(&frame)
}

/// Reads one frame: its first byte, and the others. `None` at the end of the stream.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 4];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let len = u32::from_le_bytes(head) as usize;
    if len == 0 || len > FRAME_MOST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {len} bytes")));
    }
    let mut kind = [0; 1];
    from.read_exact(&mut kind)?;
    let mut body = Vec::new();
    // Memory is allocated for bytes that arrive, not for the length that the frame announces.
    from.by_ref().take((len as u64).saturating_sub(1)).read_to_end(&mut body)?;
    if body.len().saturating_add(1) < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind[0], body)))
}

/// Parses integers and bytes from the front of a frame.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.bytes(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(crate) fn lsn(&mut self) -> Option<Lsn> {
        self.u64().map(Lsn)
    }

    pub(crate) fn record(&mut self) -> Option<Record> {
        let (lsn, time, len) = (self.lsn()?, self.u64()?, self.u32()? as usize);
        Some(Record { lsn, time, data: self.bytes(len)?.to_vec() })
    }
}

/// The inverse of [`Fields::record`].
pub(crate) fn put_record(to: &mut Vec<u8>, record: &Record) {
    to.extend_from_slice(&record.lsn.0.to_le_bytes());
    to.extend_from_slice(&record.time.to_le_bytes());
    to.extend_from_slice(&(record.data.len() as u32).to_le_bytes());
    to.extend_from_slice(&record.data);
}

/// Encodes several integers, one after the other.
pub(crate) fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_fields_come_out_as_they_went_in() {
        let mut wire = Vec::new();
        let record = Record { lsn: Lsn(8), time: 9, data: b"abc".to_vec() };
        let mut body = numbers(&[7]);
        put_record(&mut body, &record);
        send(&mut wire, Op::Scan as u8, &body).unwrap();
        let mut from = &wire[..];
        let (kind, body) = receive(&mut from).unwrap().unwrap();
        let mut fields = Fields(&body);
        assert_eq!((Op::of(kind), fields.u64(), fields.record()), (Some(Op::Scan), Some(7), Some(record)));
        assert_eq!((fields.u16(), receive(&mut from).unwrap()), (None, None));
    }

    #[test]
    fn frames_that_lie_are_refused() {
        assert!(receive(&mut &[0, 0, 0, 0][..]).is_err());
        assert!(receive(&mut &[0xff, 0xff, 0xff, 0xff, 1][..]).is_err());
        assert!(receive(&mut &[9, 0, 0, 0, 1, 2][..]).is_err());
        assert_eq!((Op::of(0), Code::of(99)), (None, None));
    }
}
