//! The records.

use super::{BLOCKS, Header, INODES, Place, REVOCATIONS, RawExtent, RawRecord, RawUnlinked};
use crate::num::{index, len64, low32, roundup};
use crate::{Corrupt, Ino, Rule};

/// Bytes of the units of `wc_daddr`, whatever the disk's sectors are.
const DEV_BSIZE: u64 = 512;

/// Bytes of the partition that a record has, or revokes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub at: u64,
    /// Bytes, in whole units.
    pub len: u64,
}

/// An inode that is in use and has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlinked {
    /// The inode.
    pub ino: Ino,
    /// Its mode when it was listed.
    pub mode: u32,
}

/// What a record has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Images of these bytes, which follow in the next blocks of the log, in this order.
    Blocks(Vec<Extent>),
    /// Earlier images of these bytes do not count.
    Revocations(Vec<Extent>),
    /// Inodes without a name.
    Inodes {
        /// The lists before do not count.
        clear: bool,
        /// The inodes.
        list: Vec<Unlinked>,
    },
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its bytes in the log, with the images.
    pub len: u64,
    /// What it has.
    pub body: Body,
}

impl Record {
    /// Decodes the record that begins with `block`, a block of the log, at byte `at` of it. `room`: bytes of records
    /// from there to the head.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn decode(block: &[u8], header: &Header, place: &Place, at: u64, room: u64) -> Result<Record, Corrupt> {
        let block = block.get(..index(low32(header.block))).ok_or_else(|| place.cut_short(at, block.len()))?;
        let raw = RawRecord::load(block, header.order).ok_or_else(|| place.cut_short(at, block.len()))?;
        let rest = block.get(RawRecord::SIZE..).unwrap_or_default();
        let (body, images) = match raw.kind {
            BLOCKS => {
                let extents = extents(&raw, rest, header, place, at)?;
                let images = extents.iter().fold(0_u64, |sum, extent| sum.saturating_add(extent.len));
                (Body::Blocks(extents), images)
            }
            REVOCATIONS => (Body::Revocations(extents(&raw, rest, header, place, at)?), 0),
            INODES => (inodes(&raw, rest, header, place, at)?, 0),
            found => {
                return Err(place.damage(at, "wc_type", found, Rule::Words("which is no record of the log")));
            }
        };
        let len = header.block.saturating_add(roundup(images, header.block));
        if i128::from(raw.len) != i128::from(len) {
            return Err(place.damage(at, "wc_len", raw.len, Rule::Is(len.into())));
        }
        if len > room {
            return Err(place.damage(at, "wc_len", raw.len, Rule::AtMost(room.into())));
        }
        Ok(Record { len, body })
    }
}

/// The number of entries, which must fit in the block.
fn count(raw: &RawRecord, room: usize, entry: usize, place: &Place, at: u64) -> Result<usize, Corrupt> {
    let most = room.checked_div(entry).unwrap_or(0);
    let found = usize::try_from(raw.count).map_err(|_| place.damage(at, "count", raw.count, Rule::AtLeast(0)))?;
    match found > most {
        true => Err(place.damage(at, "count", raw.count, Rule::AtMost(len64(most).into()))),
        false => Ok(found),
    }
}

fn extents(raw: &RawRecord, rest: &[u8], header: &Header, place: &Place, at: u64) -> Result<Vec<Extent>, Corrupt> {
    let count = count(raw, rest.len(), RawExtent::SIZE, place, at)?;
    let entries = rest.chunks_exact(RawExtent::SIZE).take(count);
    let entries = entries.filter_map(|entry| RawExtent::load(entry, header.order));
    entries.map(|entry| extent(&entry, header, place, at)).collect()
}

/// A valid extent (ondisk-wapbl-3).
fn extent(raw: &RawExtent, header: &Header, place: &Place, record: u64) -> Result<Extent, Corrupt> {
    let wrong = |field, found: i128, rule| Err(place.damage(record, field, found, rule));
    let units = Rule::MultipleOf(header.unit.into());
    let whole = |bytes: u64| bytes.checked_rem(header.unit) == Some(0);
    let len = u64::try_from(raw.dlen).unwrap_or(0);
    if len == 0 {
        return wrong("wc_dlen", raw.dlen.into(), Rule::AtLeast(1));
    }
    if !whole(len) {
        return wrong("wc_dlen", raw.dlen.into(), units);
    }
    // The first sector of a volume is never metadata.
    let first = u64::try_from(raw.daddr).ok().filter(|first| *first > 0);
    let Some(first) = first else { return wrong("wc_daddr", raw.daddr.into(), Rule::AtLeast(1)) };
    let (at, end) = match first.checked_mul(DEV_BSIZE).and_then(|at| Some((at, at.checked_add(len)?))) {
        Some((at, end)) if end <= place.volume => (at, end),
        _ => return wrong("wc_daddr", raw.daddr.into(), Rule::Words("whose block is not on the volume")),
    };
    if !whole(at) {
        return wrong("wc_daddr", raw.daddr.into(), Rule::Words("which is not the first sector of a unit"));
    }
    if at < place.log.end && place.log.start < end {
        return wrong("wc_daddr", raw.daddr.into(), Rule::Words("whose block is in the log itself"));
    }
    Ok(Extent { at, len })
}

fn inodes(raw: &RawRecord, rest: &[u8], header: &Header, place: &Place, at: u64) -> Result<Body, Corrupt> {
    let count = count(raw, rest.len(), RawUnlinked::SIZE, place, at)?;
    let entries = rest.chunks_exact(RawUnlinked::SIZE).take(count);
    let entries = entries.filter_map(|entry| RawUnlinked::load(entry, header.order));
    let list = entries.map(|entry| Unlinked { ino: Ino(entry.ino), mode: entry.mode }).collect();
    Ok(Body::Inodes { clear: raw.clear != 0, list })
}
