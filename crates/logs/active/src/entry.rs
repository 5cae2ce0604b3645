//! What is known of a fragment.

use std::num::NonZeroU32;

/// A fragment of the volume, by its number.
pub(crate) type Frag = u64;

/// A block in the group journals, counted from 1.
pub(crate) type CopyNo = NonZeroU32;

/// What is known of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// CRC-32C of its newest committed bytes.
    pub(crate) sum: u32,
    /// Where the group journals have them.
    pub(crate) copy: Option<CopyNo>,
    /// The home has them. If not, only the copy has (logs-active-9).
    pub(crate) home: bool,
    /// It was last written as contents of a file. Not on the disk.
    pub(crate) data: bool,
    /// When it was committed, a group journal still had its bytes of before. Not on the disk.
    pub(crate) again: bool,
    /// The transaction since which it has them, by the map's own count, which no mount begins anew.
    pub(crate) since: Stamp,
}

/// The number of a transaction among all that the map has seen.
pub(crate) type Stamp = u32;

/// Bytes that a fragment had: a group journal still has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Old {
    pub(crate) sum: u32,
    pub(crate) copy: CopyNo,
    /// The transaction since which it did not have them any more.
    pub(crate) until: Stamp,
}

/// Fragments of a span: contents that were written past the journal have one checksum for so many, if they fill it.
pub(crate) const SPAN: u64 = 8;

/// Spans of an item, and their fragments.
pub(crate) const SPANS: u64 = 4;

pub(crate) const SPAN_ITEM: u64 = SPANS * SPAN;

/// Spans that follow each other, and their checksums: of those in the mask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wide {
    pub(crate) known: u8,
    pub(crate) sums: [u32; SPANS as usize],
}

/// The most older versions of a fragment.
pub(crate) const VERSIONS: usize = 16;

/// What a page of the map has of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Entry(Entry),
    /// With the transaction since which it was there.
    Old(Stamp, Old),
    Wide(Wide),
}

impl Item {
    /// The order of the items of a fragment.
    pub(crate) fn rank(&self) -> (u8, Stamp) {
        match self {
            Item::Entry(_) => (0, 0),
            Item::Old(since, _) => (1, *since),
            Item::Wide(_) => (2, 0),
        }
    }
}
