//! The commit headers, and the circle of records that they describe.

use super::{HEADER, Place, RawHeader};
use crate::num::{index, len64, low32};
use crate::{Corrupt, Endian, Rule};

/// Base-2 logarithms of the bytes of a unit: sectors of 512 bytes to 64 KiB.
const SHIFTS: std::ops::RangeInclusive<u32> = 9..=16;

/// The circle of records: bytes of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circle {
    /// The first byte.
    pub first: u64,
    /// Bytes.
    pub size: u64,
}

impl Circle {
    /// The byte `by` bytes after `at`.
    pub fn advance(&self, at: u64, by: u64) -> u64 {
        let within = at.saturating_sub(self.first).saturating_add(by).checked_rem(self.size).unwrap_or(0);
        self.first.saturating_add(within)
    }

    /// Bytes from `at` to the end of the circle, where it goes on at its first byte.
    pub fn before_wrap(&self, at: u64) -> u64 {
        self.first.saturating_add(self.size).saturating_sub(at)
    }

    fn has(&self, at: u64) -> bool {
        at >= self.first && self.before_wrap(at) > 0
    }
}

/// The commit header that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Byte order of the log.
    pub order: Endian,
    /// Its number.
    pub generation: u32,
    /// Bytes of a block of the log.
    pub block: u64,
    /// Bytes of the units in which blocks are replayed.
    pub unit: u64,
    /// The circle of records.
    pub circle: Circle,
    /// Where the oldest record begins; 0 if there is none.
    pub tail: u64,
    /// Behind the last record; 0 if there is none.
    pub head: u64,
}

impl Header {
    /// The header that counts: of the two at the beginning of the log the one with the larger generation. `bytes` are
    /// the first two blocks of the log.
    ///
    /// # Errors
    /// One of them is damaged (ondisk-wapbl-2).
    pub fn choose(bytes: &[u8], place: &Place) -> Result<Header, Corrupt> {
        let block = index(low32(place.block));
        let second = bytes.get(block..).ok_or_else(|| place.cut_short(0, bytes.len()))?;
        let order = Header::order(bytes).ok_or_else(|| {
            let found = Endian::Little.get_u32(bytes, 0).unwrap_or(0);
            place.damage(0, "wc_type", found, Rule::IsHex(HEADER))
        })?;
        let first = Header::decode(bytes, place, 0, order)?;
        let second = Header::decode(second, place, place.block, order)?;
        Ok(if second.generation > first.generation { second } else { first })
    }

    /// The byte order in which this begins as a header does.
    fn order(bytes: &[u8]) -> Option<Endian> {
        [Endian::Little, Endian::Big].into_iter().find(|order| order.get_u32(bytes, 0) == Some(HEADER))
    }

    /// Decodes the header at byte `at` of the log.
    fn decode(bytes: &[u8], place: &Place, at: u64, order: Endian) -> Result<Header, Corrupt> {
        let raw = RawHeader::load(bytes, order).ok_or_else(|| place.cut_short(at, bytes.len()))?;
        let is = |field, found: i128, right: i128| match found == right {
            true => Ok(()),
            false => Err(place.damage(at, field, found, Rule::Is(right))),
        };
        if raw.kind != HEADER {
            return Err(place.damage(at, "wc_type", raw.kind, Rule::IsHex(HEADER)));
        }
        is("wc_version", raw.version.into(), 1)?;
        is("wc_checksum", raw.checksum.into(), 0)?;
        is("wc_len", raw.len.into(), place.block.into())?;
        is("wc_log_dev_bshift", raw.log_shift.into(), place.block.trailing_zeros().into())?;
        if !SHIFTS.contains(&raw.unit_shift) {
            return Err(place.damage(at, "wc_fs_dev_bshift", raw.unit_shift, Rule::Words("must be from 9 to 16")));
        }
        let unit = 1_u64.checked_shl(raw.unit_shift).unwrap_or(0);
        // Whole blocks of the log.
        let blocks = |field, found: i64| {
            let bytes = u64::try_from(found).map_err(|_| place.damage(at, field, found, Rule::AtLeast(0)))?;
            match bytes.checked_rem(place.block) {
                Some(0) => Ok(bytes),
                _ => Err(place.damage(at, field, found, Rule::MultipleOf(place.block.into()))),
            }
        };
        let first = blocks("wc_circ_off", raw.circ_off)?;
        let size = blocks("wc_circ_size", raw.circ_size)?;
        let least = place.block.saturating_mul(2);
        if first < least {
            return Err(place.damage(at, "wc_circ_off", first, Rule::AtLeast(least.into())));
        }
        let most = place.len().saturating_sub(first);
        if size == 0 || size > most {
            let rule = if size == 0 { Rule::AtLeast(place.block.into()) } else { Rule::AtMost(most.into()) };
            return Err(place.damage(at, "wc_circ_size", size, rule));
        }
        let circle = Circle { first, size };
        let (head, tail) = (blocks("wc_head", raw.head)?, blocks("wc_tail", raw.tail)?);
        let empty = head == 0 && tail == 0;
        for (field, found) in [("wc_head", head), ("wc_tail", tail)] {
            if !empty && !circle.has(found) {
                return Err(place.damage(at, field, found, Rule::Words("which is not in the circle of records")));
            }
        }
        Ok(Header { order, generation: raw.generation, block: place.block, unit, circle, tail, head })
    }

    /// Bytes of all records. If head and tail are equal and not 0, the log is full.
    pub fn used(&self) -> u64 {
        let Circle { size, .. } = self.circle;
        match (self.tail, self.head) {
            (0, _) => 0,
            (tail, head) if head > tail => head.saturating_sub(tail),
            (tail, head) => size.saturating_sub(tail.saturating_sub(head)),
        }
    }

    /// The headers that make the log one of the records between these bytes of it only, with the bytes of the log at
    /// which they belong. They are to be written in their order, each durable before the next. `now` is in seconds.
    ///
    /// There are two of them if the generation starts again at 0: the first one does not count beside the other header
    /// that is there, and the second one replaces that.
    pub fn narrowed(&self, tail: u64, head: u64, now: i64) -> Vec<(u64, Vec<u8>)> {
        let generations = match self.generation.checked_add(1) {
            Some(next) => vec![next],
            None => vec![0, 1],
        };
        let wide = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let of = |generation: u32| {
            let raw = RawHeader {
                kind: HEADER,
                len: i32::try_from(self.block).unwrap_or(i32::MAX),
                generation,
                time: u64::try_from(now).unwrap_or(0),
                version: 1,
                log_shift: self.block.trailing_zeros(),
                unit_shift: self.unit.trailing_zeros(),
                head: wide(head),
                tail: wide(tail),
                circ_off: wide(self.circle.first),
                circ_size: wide(self.circle.size),
                ..RawHeader::zeroed()
            };
            let mut bytes = vec![0; index(low32(self.block))];
            // A block has room for it.
            let _ = raw.store(&mut bytes, self.order);
            (u64::from(generation & 1).saturating_mul(len64(bytes.len())), bytes)
        };
        generations.into_iter().map(of).collect()
    }
}
