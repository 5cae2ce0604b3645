//! A page of the map: entries, or the pages below.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::bytes;
use crate::entry::{self, CopyNo, Entry, Frag, Old, VERSIONS, Wide};
use ordo_disk::Block;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a page, of a root with its slot, and of the header of a group journal with its slot.
pub(crate) const PAGE: u64 = 4096;

/// As many items a page is filled with at most: what is known of a fragment is never divided.
pub(crate) const FULL: usize = ITEMS - VERSIONS - 2;
const MAGIC: [u8; 4] = *b"oAMp";
/// Entries, or pages below, of a page.
pub(crate) const ITEMS: usize = (PAGE as usize - 32) / size_of::<Item>();
/// Of an item's fragment: only the copy has the bytes.
const AWAY: u64 = 1 << 63;
/// Of an item's fragment: the item is an older version.
const OLD: u64 = 1 << 62;
/// Of an item's fragment: the item has spans; which, is in the four bits from [`KNOWN`] on.
const WIDE: u64 = 1 << 61;
const KNOWN: u32 = 56;
const FRAG: u64 = (1 << KNOWN) - 1;

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
    rest: [u8; PAGE as usize - 32 - ITEMS * size_of::<Item>()],
}
const _: () = assert!(size_of::<Raw>() == PAGE as usize);

/// An entry, or a page below.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Item {
    /// The fragment, with [`AWAY`], [`OLD`] and [`WIDE`]; of a page, the first that it may have. The other fields of an
    /// item of spans are four checksums.
    frag: U64,
    /// Its checksum; that of the page.
    sum: U32,
    /// Its copy, counted from 1; the page.
    place: U32,
    /// The transaction since which it has these bytes; of a page 0.
    since: U32,
    /// Of an older version, the transaction since which it does not have them any more; else 0.
    until: U32,
}

impl Item {
    fn of(frag: Frag, item: &entry::Item) -> Item {
        match *item {
            entry::Item::Entry(Entry { sum, copy, home, since, data: _, again: _ }) => Item {
                frag: (frag | if home { 0 } else { AWAY }).into(),
                sum: sum.into(),
                place: copy.map_or(0, CopyNo::get).into(),
                since: since.into(),
                until: 0.into(),
            },
            entry::Item::Old(since, Old { sum, copy, until }) => Item {
                frag: (frag | OLD).into(),
                sum: sum.into(),
                place: copy.get().into(),
                since: since.into(),
                until: until.into(),
            },
            entry::Item::Wide(Wide { known, sums }) => Item {
                frag: (frag | WIDE | u64::from(known) << KNOWN).into(),
                sum: sums[0].into(),
                place: sums[1].into(),
                since: sums[2].into(),
                until: sums[3].into(),
            },
        }
    }

    fn frag(&self) -> Frag {
        self.frag.get() & FRAG
    }

    /// What it says; `None` if an older version has no copy, or a span does not begin where one can.
    fn item(&self) -> Option<entry::Item> {
        let (sum, copy, since) = (self.sum.get(), CopyNo::new(self.place.get()), self.since.get());
        let bits = self.frag.get();
        if bits & WIDE != 0 {
            let (known, sums) = ((bits >> KNOWN) as u8 & 0xf, [sum, self.place.get(), since, self.until.get()]);
            let fits = known != 0 && self.frag().is_multiple_of(entry::SPAN_ITEM);
            return fits.then_some(entry::Item::Wide(Wide { known, sums }));
        }
        match bits & OLD != 0 {
            true => Some(entry::Item::Old(since, Old { sum, copy: copy?, until: self.until.get() })),
            false => {
                Some(entry::Item::Entry(Entry { sum, copy, home: bits & AWAY == 0, data: false, again: false, since }))
            }
        }
    }
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
    Entries(Vec<(Frag, entry::Item)>),
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

impl Items {
    /// The first index from this one on at which another fragment begins.
    pub(crate) fn boundary(&self, index: usize) -> usize {
        match self {
            Items::Pages(_) => index,
            Items::Entries(all) => match index.checked_sub(1).and_then(|before| all.get(before)) {
                None => index,
                Some((last, _)) => {
                    index.saturating_add(all[index..].iter().take_while(|(frag, _)| frag == last).count())
                }
            },
        }
    }
}

/// Encodes a page; at most [`ITEMS`] of `items`.
pub(crate) fn encode(level: u32, items: &Items) -> (Block, u32) {
    let mut raw = Raw::new_zeroed();
    (raw.magic, raw.level) = (MAGIC, level.into());
    let all: Vec<Item> = match items {
        Items::Entries(entries) => entries.iter().map(|(frag, item)| Item::of(*frag, item)).collect(),
        Items::Pages(pages) => pages
            .iter()
            .map(|(frag, Down { page, sum })| Item {
                frag: (*frag).into(),
                sum: (*sum).into(),
                place: (*page).into(),
                since: 0.into(),
                until: 0.into(),
            })
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
    if !items().all(|item| within.contains(&item.frag())) {
        return None;
    }
    let down = |item: &Item| (item.frag.get(), Down { page: item.place.get(), sum: item.sum.get() });
    let (found, ascend) = match level {
        0 => {
            let all: Vec<_> = items().map(|item| Some((item.frag(), item.item()?))).collect::<Option<_>>()?;
            let ascend = all.is_sorted_by_key(|(frag, item)| (*frag, item.rank()));
            (Items::Entries(all), ascend)
        }
        _ => {
            let all: Vec<_> = items().map(down).collect();
            let ascend = all.is_sorted_by(|(one, _), (next, _)| one < next);
            (Items::Pages(all), ascend)
        }
    };
    ascend.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_survives_being_written_and_one_that_is_not_the_expected_is_refused() {
        let entry =
            |sum| Entry { sum, copy: CopyNo::new(sum), home: sum % 2 == 0, data: false, again: false, since: sum };
        let item = |n: u64| match n % 3 {
            0 if n % 2 == 1 => entry::Item::Wide(Wide { known: 5, sums: [1, 0, n as u32, 0] }),
            0 => entry::Item::Entry(entry(n as u32)),
            since => entry::Item::Old(since as u32, Old { sum: 5, copy: CopyNo::MIN, until: since as u32 + 7 }),
        };
        let mut all: Vec<_> = (0..ITEMS as u64).map(|n| (n / 3 * 32, item(n))).collect();
        all.sort_by_key(|(frag, item)| (*frag, item.rank()));
        let items = Items::Entries(all);
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
