//! A record: a header, followed by the caller's bytes unchanged.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Lsn;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a header.
pub(crate) const HEADER: usize = 48;
/// Records begin at multiples of this.
pub(crate) const ALIGN: u64 = 8;

const STEP: usize = ALIGN as usize;
const MAGIC: [u8; 4] = *b"WAFr";

/// The layout on the disk.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    magic: [u8; 4],
    checksum: U32,
    lsn: U64,
    prev: U64,
    time: U64,
    sure: U64,
    epoch: U32,
    length: U32,
}
const _: () = assert!(size_of::<Raw>() == HEADER);

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) lsn: Lsn,
    /// The record before it.
    pub(crate) prev: Lsn,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// The last record that was durable when this one was appended.
    pub(crate) sure: Lsn,
    /// The mount that wrote it.
    pub(crate) epoch: u32,
    /// Bytes of the caller.
    pub(crate) length: u32,
}

impl Header {
    /// The encoded header, with the checksum over it and `payload`, in the log `id`.
    pub(crate) fn encode(&self, id: u64, payload: &[u8]) -> [u8; HEADER] {
        let mut raw = Raw {
            magic: MAGIC,
            checksum: 0.into(),
            lsn: self.lsn.0.into(),
            prev: self.prev.0.into(),
            time: self.time.into(),
            sure: self.sure.0.into(),
            epoch: self.epoch.into(),
            length: self.length.into(),
        };
        raw.checksum = checksum(id, &raw.as_bytes()[8..], payload).into();
        zerocopy::transmute!(raw)
    }

    /// The header in these bytes, if a record with it can begin at `at`. The checksum is not verified.
    pub(crate) fn decode(bytes: &[u8], at: u64) -> Option<Header> {
        let (raw, _) = Raw::ref_from_prefix(bytes).ok()?;
        let header = Header {
            lsn: Lsn(raw.lsn.get()),
            prev: Lsn(raw.prev.get()),
            time: raw.time.get(),
            sure: Lsn(raw.sure.get()),
            epoch: raw.epoch.get(),
            length: raw.length.get(),
        };
        let possible = raw.magic == MAGIC && header.lsn.0 == at && header.prev < header.lsn && header.sure < header.lsn;
        possible.then_some(header)
    }

    /// The first place in these bytes, in steps of [`ALIGN`], that looks like a header at all, with the number there.
    pub(crate) fn first(bytes: &[u8]) -> Option<(usize, Lsn)> {
        let steps = bytes.chunks_exact(STEP).take(places(bytes));
        let at = steps.enumerate().find(|(_, step)| step.first_chunk() == Some(&MAGIC))?.0.saturating_mul(STEP);
        let (raw, _) = Raw::ref_from_prefix(bytes.get(at..)?).ok()?;
        Some((at, Lsn(raw.lsn.get())))
    }

    /// True if header and payload have the right checksum for the log `id`.
    pub(crate) fn is_whole(id: u64, record: &[u8]) -> bool {
        #[cfg(feature = "planted")]
        if has(Broken::Checksum) {
            return true;
        }
        let (header, payload) = record.split_at(HEADER.min(record.len()));
        let told = header.get(4..8).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        told == header.get(8..).map(|rest| checksum(id, rest, payload))
    }

    /// Bytes of the record in the log.
    pub(crate) fn size(&self) -> usize {
        HEADER.saturating_add(self.length as usize)
    }

    /// Where the next record begins if it was written together with this one.
    pub(crate) fn next(&self) -> u64 {
        let end = self.lsn.0.saturating_add(self.size() as u64);
        end.checked_next_multiple_of(ALIGN).unwrap_or(end)
    }
}

/// The bytes of the header of a record that begins here, if they have an end.
pub(crate) fn header_at(at: u64) -> Option<std::ops::Range<u64>> {
    Some(at..at.checked_add(HEADER as u64)?)
}

/// How many headers may begin in these bytes and lie in them as a whole, at steps of [`ALIGN`].
pub(crate) fn places(bytes: &[u8]) -> usize {
    bytes.len().checked_sub(HEADER).map_or(0, |last| (last / STEP).saturating_add(1))
}

/// CRC-32C of the log's id, the header after the checksum field, and the payload.
fn checksum(id: u64, header: &[u8], payload: &[u8]) -> u32 {
    let start = crc32c::crc32c_append(crc32c::crc32c(&id.to_le_bytes()), header);
    crc32c::crc32c_append(start, payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    const ONE: Header = Header { lsn: Lsn(512), prev: Lsn(40), time: 3, sure: Lsn(8), epoch: 1, length: 5 };

    #[test]
    fn a_record_survives_being_written_and_read() {
        let record = [&ONE.encode(9, b"hello")[..], b"hello"].concat();
        assert_eq!(Header::decode(&record, 512), Some(ONE));
        assert!(Header::is_whole(9, &record));
        assert_eq!((ONE.size(), ONE.next()), (53, 568));
    }

    #[test]
    fn any_changed_byte_is_noticed_and_so_is_another_log() {
        let record = [&ONE.encode(9, b"hello")[..], b"hello"].concat();
        assert!(!Header::is_whole(8, &record));
        for at in 0..record.len() {
            let mut bad = record.clone();
            bad[at] ^= 0x20;
            assert!(Header::decode(&bad, 512).is_none() || !Header::is_whole(9, &bad), "byte {at}");
        }
    }

    #[test]
    fn a_record_of_another_lap_is_none() {
        assert_eq!(Header::decode(&ONE.encode(9, b"hello"), 512 + 4096), None);
        assert_eq!(Header::decode(b"short", 0), None);
    }

    #[test]
    fn the_table_in_the_format_page_is_that_of_the_declaration() {
        let page = include_str!("../../../../docs/format/wafs.md");
        let fields = [
            ("magic", offset_of!(Raw, magic)),
            ("checksum", offset_of!(Raw, checksum)),
            ("lsn", offset_of!(Raw, lsn)),
            ("prev", offset_of!(Raw, prev)),
            ("time", offset_of!(Raw, time)),
            ("sure", offset_of!(Raw, sure)),
            ("epoch", offset_of!(Raw, epoch)),
            ("length", offset_of!(Raw, length)),
        ];
        for (name, at) in fields {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
