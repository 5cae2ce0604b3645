//! A message of the stream: a header, and for a record the caller's bytes.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Error;
use bytes::Bytes;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a header.
pub(super) const HEADER: usize = 88;
/// Bytes that the message which begins a log has behind its header.
const BEGINNING: usize = 16;

const MAGIC: [u8; 8] = *b"ORDOWAFM";
const VERSION: u32 = 1;
const COMPLETE: u64 = 1;

/// The layout of a header.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    magic: [u8; 8],
    version: U32,
    checksum: U32,
    id: U64,
    volume: U64,
    number: U64,
    begin: U64,
    low: U64,
    sure: U64,
    time: U64,
    epoch: U32,
    kind: U32,
    length: U32,
    zero: U32,
}
const _: () = assert!(size_of::<Raw>() == HEADER);

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The first one of a log.
    Begin = 1,
    /// A record of the caller.
    Record = 2,
    /// It only says from where on records are needed.
    Mark = 3,
    /// Nothing of the log is needed: everything is in place. The last one, unless the log goes on.
    End = 4,
    /// Another program has read the log to its end and carries on alone: its writer is refused from here on.
    Taken = 5,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Begin, Kind::Record, Kind::Mark, Kind::End, Kind::Taken];
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The log's unique id.
    pub(super) id: u64,
    /// What the log belongs to.
    pub(super) volume: u64,
    /// The message's own number in the stream.
    pub(super) number: u64,
    /// The number of the log's first message.
    pub(super) begin: u64,
    /// Records before this one are not needed.
    pub(super) low: u64,
    /// The newest message that was durable when this one was made.
    pub(super) sure: u64,
    /// Nanoseconds since 1970.
    pub(super) time: u64,
    /// The logs in this stream so far.
    pub(super) epoch: u32,
    pub(super) kind: Kind,
    /// Bytes behind the header.
    pub(super) length: u32,
}

/// What the first message of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Beginning {
    /// The id of the log that this one continues: what it belongs to has not changed since that one ended. 0: of none.
    pub follows: u64,
    /// The log will have all that changes.
    pub complete: bool,
}

/// A message, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) header: Header,
    pub(super) payload: Bytes,
}

impl Header {
    /// The message with this header.
    pub(super) fn encode(&self, payload: &[u8]) -> Bytes {
        let mut raw = Raw {
            magic: MAGIC,
            version: VERSION.into(),
            checksum: 0.into(),
            id: self.id.into(),
            volume: self.volume.into(),
            number: self.number.into(),
            begin: self.begin.into(),
            low: self.low.into(),
            sure: self.sure.into(),
            time: self.time.into(),
            epoch: self.epoch.into(),
            kind: (self.kind as u32).into(),
            length: self.length.into(),
            zero: 0.into(),
        };
        raw.checksum = sum(raw.as_bytes(), payload).into();
        [raw.as_bytes(), payload].concat().into()
    }
}

impl Beginning {
    /// The bytes behind the header.
    pub(super) fn encode(self) -> [u8; BEGINNING] {
        let flags = if self.complete { COMPLETE } else { 0 };
        let mut bytes = [0; BEGINNING];
        bytes[..8].copy_from_slice(&self.follows.to_le_bytes());
        bytes[8..].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Beginning> {
        let (follows, flags) = bytes.split_first_chunk::<8>()?;
        let flags = u64::from_le_bytes(*flags.first_chunk::<8>()?);
        Some(Beginning { follows: u64::from_le_bytes(*follows), complete: flags & COMPLETE != 0 })
    }
}

impl Frame {
    /// The message that the stream has under `number` (stream-2).
    pub(super) fn decode(number: u64, message: &Bytes) -> Result<Frame, Error> {
        let wrong = |why| Error::Message { number, why };
        let (raw, _) = Raw::ref_from_prefix(message).map_err(|_| wrong("it is shorter than a header"))?;
        if raw.magic != MAGIC {
            return Err(wrong("it has not the magic number of a log"));
        }
        let payload = message.slice(HEADER..);
        if raw.checksum.get() != sum(&message[..HEADER], &payload) {
            return Err(wrong("its checksum is wrong"));
        }
        if raw.version.get() != VERSION {
            return Err(Error::Version { version: raw.version.get(), known: VERSION });
        }
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u32 == raw.kind.get());
        let header = Header {
            id: raw.id.get(),
            volume: raw.volume.get(),
            number: raw.number.get(),
            begin: raw.begin.get(),
            low: raw.low.get(),
            sure: raw.sure.get(),
            time: raw.time.get(),
            epoch: raw.epoch.get(),
            kind: kind.ok_or(wrong("it is of no known kind"))?,
            length: raw.length.get(),
        };
        if header.number != number {
            return Err(wrong("it says that it has another number"));
        }
        if header.begin > number || header.begin == 0 || header.low > number.saturating_add(1) || header.sure >= number
        {
            return Err(wrong("its numbers cannot be"));
        }
        if header.length as usize != payload.len() {
            return Err(wrong("its length is wrong"));
        }
        Ok(Frame { header, payload })
    }

    /// What the first message of a log says; `None` for others.
    pub(super) fn beginning(&self) -> Option<Beginning> {
        (self.header.kind == Kind::Begin).then(|| Beginning::decode(&self.payload)).flatten()
    }
}

/// CRC-32C of the header, with zeros for the checksum, and of what is behind it.
fn sum(header: &[u8], payload: &[u8]) -> u32 {
    let start = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &[0; 4]);
    crc32c::crc32c_append(crc32c::crc32c_append(start, &header[16..]), payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    const ONE: Header = Header {
        id: 9,
        volume: 8,
        number: 7,
        begin: 5,
        low: 6,
        sure: 4,
        time: 3,
        epoch: 2,
        kind: Kind::Record,
        length: 5,
    };

    #[test]
    fn a_message_survives_being_sent_and_read() {
        let frame = Frame::decode(7, &ONE.encode(b"hello")).unwrap();
        assert_eq!((frame.header, &frame.payload[..]), (ONE, &b"hello"[..]));
        let begin = Beginning { follows: 77, complete: true };
        let header = Header { kind: Kind::Begin, length: 16, ..ONE };
        assert_eq!(Frame::decode(7, &header.encode(&begin.encode())).unwrap().beginning(), Some(begin));
        assert_eq!(frame.beginning(), None);
    }

    #[test]
    fn any_changed_byte_is_noticed_and_so_is_another_place() {
        let good = ONE.encode(b"hello");
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] ^= 0x20;
            assert!(Frame::decode(7, &bad.into()).is_err(), "byte {at}");
        }
        assert!(Frame::decode(8, &good).is_err() && Frame::decode(7, &good.slice(..40)).is_err());
        for wrong in [Header { begin: 8, ..ONE }, Header { low: 9, ..ONE }, Header { sure: 7, ..ONE }] {
            assert!(Frame::decode(7, &wrong.encode(b"hello")).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_table_in_the_format_page_is_that_of_the_declaration() {
        let page = include_str!("../../../../../docs/format/wafs.md");
        let page = page.split_once("## In a stream").expect("the page has that part").1;
        let fields = [
            ("magic", offset_of!(Raw, magic)),
            ("version", offset_of!(Raw, version)),
            ("checksum", offset_of!(Raw, checksum)),
            ("id", offset_of!(Raw, id)),
            ("volume", offset_of!(Raw, volume)),
            ("number", offset_of!(Raw, number)),
            ("begin", offset_of!(Raw, begin)),
            ("low", offset_of!(Raw, low)),
            ("sure", offset_of!(Raw, sure)),
            ("time", offset_of!(Raw, time)),
            ("epoch", offset_of!(Raw, epoch)),
            ("kind", offset_of!(Raw, kind)),
            ("length", offset_of!(Raw, length)),
            ("zero", offset_of!(Raw, zero)),
        ];
        for (name, at) in fields {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
