//! A page of the map: entries, or the pages below.

use crate::area::PAGE;
use crate::bytes;
use crate::map::{CopyNo, Entry, Frag};
use ordo_disk::Block;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 4] = *b"oAMp";
/// Entries, or pages below, of a page.
pub(crate) const ITEMS: usize = (PAGE as usize - 32) / 16;

/// A page on the disk. Its first bytes are its checksum.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    sum: U32,
    magic: [u8; 4],
    /// 0: entries.
    level: U32,
    count: U32,
    zero: [u8; 16],
    items: [Item; ITEMS],
}
const _: () = assert!(size_of::<Raw>() == PAGE as usize);

/// An entry, or a page below.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Item {
    /// The fragment; of a page, the first that it may have.
    frag: U64,
    /// Its checksum; that of the page.
    sum: U32,
    /// Its copy, counted from 1; the page.
    place: U32,
}

/// A page that another one, or the root, leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Down {
    /// Its number.
    pub(crate) page: u32,
    /// The checksum that it carries.
    pub(crate) sum: u32,
}

/// What a page has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Items {
    Entries(Vec<(Frag, Entry)>),
    Pages(Vec<(Frag, Down)>),
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        match self {
            Items::Entries(entries) => entries.len(),
            Items::Pages(pages) => pages.len(),
        }
    }
}

/// Encodes a page; at most [`ITEMS`] of `items`.
pub(crate) fn encode(level: u32, items: &Items) -> (Block, u32) {
    let mut raw = Raw::new_zeroed();
    (raw.magic, raw.level) = (MAGIC, level.into());
    let all: Vec<Item> = match items {
        Items::Entries(entries) => entries
            .iter()
            .map(|(frag, entry)| Item {
                frag: (*frag).into(),
                sum: entry.sum.into(),
                place: entry.copy.map_or(0, CopyNo::get).into(),
            })
            .collect(),
        Items::Pages(pages) => pages
            .iter()
            .map(|(frag, down)| Item { frag: (*frag).into(), sum: down.sum.into(), place: down.page.into() })
            .collect(),
    };
    raw.count = (all.len().min(ITEMS) as u32).into();
    raw.items.iter_mut().zip(all).for_each(|(to, item)| *to = item);
    let sum = bytes::sum(raw.as_bytes());
    raw.sum = sum.into();
    (Block::copy_of(raw.as_bytes()), sum)
}

/// Decodes a page that is at `level`, has this checksum, and no fragment outside `within`.
pub(crate) fn decode(block: &[u8], level: u32, sum: u32, within: std::ops::Range<Frag>) -> Option<Items> {
    let raw = Raw::ref_from_bytes(block.get(..PAGE as usize)?).ok()?;
    let whole = raw.magic == MAGIC && raw.sum.get() == sum && bytes::sum(raw.as_bytes()) == sum;
    if !whole || raw.level.get() != level || raw.count.get() as usize > ITEMS {
        return None;
    }
    let items = || raw.items.iter().take(raw.count.get() as usize);
    let inside = items().all(|item| within.contains(&item.frag.get()));
    let ascend = items().zip(items().skip(1)).all(|(one, next)| one.frag.get() < next.frag.get());
    if !inside || !ascend {
        return None;
    }
    let entry = |item: &Item| {
        let copy = CopyNo::new(item.place.get());
        (item.frag.get(), Entry { sum: item.sum.get(), copy, home: true, data: false })
    };
    let down = |item: &Item| (item.frag.get(), Down { page: item.place.get(), sum: item.sum.get() });
    Some(match level {
        0 => Items::Entries(items().map(entry).collect()),
        _ => Items::Pages(items().map(down).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_survives_being_written_and_one_that_is_not_the_expected_is_refused() {
        let entry = |sum| Entry { sum, copy: CopyNo::new(sum), home: true, data: false };
        let items = Items::Entries((0..ITEMS as u64).map(|frag| (frag * 3, entry(frag as u32))).collect());
        let (block, sum) = encode(0, &items);
        assert_eq!(decode(&block, 0, sum, 0..10_000), Some(items));
        assert_eq!(decode(&block, 1, sum, 0..10_000), None);
        assert_eq!(decode(&block, 0, sum ^ 1, 0..10_000), None);
        assert_eq!(decode(&block, 0, sum, 0..100), None, "it has fragments outside its range");
        let mut rotten = block.clone();
        rotten[2000] ^= 4;
        assert_eq!(decode(&rotten, 0, sum, 0..10_000), None);
        let pages = Items::Pages(vec![(0, Down { page: 3, sum: 4 }), (90, Down { page: 5, sum: 6 })]);
        let (block, sum) = encode(2, &pages);
        assert_eq!(decode(&block, 2, sum, 0..100), Some(pages));
    }
}
