//! The superblock: what the journal is, and where reading starts.
//!
//! Its envelope and its two slots are those of `ring` (ring-1).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Seq;
use ordo_ring::{Envelope, SUPERBLOCK, UNIT_LEAST, UNIT_MOST, UNITS_LEAST};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The most blocks.
pub(crate) const BLOCKS_MOST: u64 = 1 << 31;
/// An upper bound for all numbers. A larger one was not written by this program.
const NUMBER_MOST: u64 = 1 << 62;

/// The layout on the disk.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    envelope: Envelope,
    id: U64,
    salt: U64,
    sequence: U64,
    size: U64,
    block: U32,
    clean: U32,
    tail: U64,
    tail_seq: U64,
    sure: U64,
    opened: U64,
    opened_seq: U64,
    made: U64,
    zero: [u8; 408],
}
const _: () = assert!(size_of::<Raw>() == SUPERBLOCK);

/// A superblock whose fields are consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// The name that its maker gave the journal.
    pub(crate) id: u64,
    /// Chosen at random when the journal was made; part of each checksum (blockjournal-3).
    pub(crate) salt: u64,
    /// Grows with each superblock; its lowest bit is the slot.
    pub(crate) sequence: u64,
    /// Blocks.
    pub(crate) size: u64,
    /// Bytes of a block.
    pub(crate) block: u32,
    /// The journal was closed, and is empty.
    pub(crate) clean: bool,
    /// The block of the line at which reading starts.
    pub(crate) tail: u64,
    /// The number of the transaction there, or of the next one.
    pub(crate) tail_seq: Seq,
    /// The newest transaction that was durable (ring-4).
    pub(crate) sure: Seq,
    /// The superblock with which the last opening for writing began (blockjournal-4).
    pub(crate) opened: u64,
    /// The first transaction since then.
    pub(crate) opened_seq: Seq,
    /// When the journal was made, in nanoseconds since 1970.
    pub(crate) made: u64,
}

impl ordo_ring::Superblock for Superblock {
    const MAGIC: [u8; 8] = *b"ORDOBJNL";
    const VERSION: u32 = 1;

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn next(&self) -> Superblock {
        Superblock { sequence: self.sequence.saturating_add(1), ..self.clone() }
    }

    fn to_bytes(&self) -> [u8; SUPERBLOCK] {
        zerocopy::transmute!(Raw {
            envelope: Envelope::default(),
            id: self.id.into(),
            salt: self.salt.into(),
            sequence: self.sequence.into(),
            size: self.size.into(),
            block: self.block.into(),
            clean: u32::from(self.clean).into(),
            tail: self.tail.into(),
            tail_seq: self.tail_seq.0.into(),
            sure: self.sure.0.into(),
            opened: self.opened.into(),
            opened_seq: self.opened_seq.0.into(),
            made: self.made.into(),
            zero: [0; 408],
        })
    }

    fn from_bytes(bytes: &[u8; SUPERBLOCK]) -> Result<Superblock, &'static str> {
        let raw: Raw = zerocopy::transmute!(*bytes);
        let superblock = Superblock {
            id: raw.id.get(),
            salt: raw.salt.get(),
            sequence: raw.sequence.get(),
            size: raw.size.get(),
            block: raw.block.get(),
            clean: raw.clean.get() != 0,
            tail: raw.tail.get(),
            tail_seq: Seq(raw.tail_seq.get()),
            sure: Seq(raw.sure.get()),
            opened: raw.opened.get(),
            opened_seq: Seq(raw.opened_seq.get()),
            made: raw.made.get(),
        };
        superblock.nonsense().map_or(Ok(superblock), Err)
    }
}

impl Superblock {
    /// Why the fields are inconsistent, if they are.
    fn nonsense(&self) -> Option<&'static str> {
        let last = self.tail_seq.before();
        let largest = [self.sequence, self.tail, self.tail_seq.0, self.sure.0].into_iter().max();
        let wrong = [
            (!self.block.is_power_of_two() || !(UNIT_LEAST..=UNIT_MOST).contains(&self.block), "the block is none"),
            (!(UNITS_LEAST..=BLOCKS_MOST).contains(&self.size), "the size cannot be"),
            (largest > Some(NUMBER_MOST), "a number cannot be"),
            (self.tail_seq == Seq::NONE || self.opened_seq == Seq::NONE, "no transaction has the number 0"),
            (self.sure < last, "it starts behind its last transaction"),
            (self.sure.0.saturating_sub(last.0) > self.size, "it holds more transactions than blocks"),
            (self.clean && self.sure != last, "it is clean and not empty"),
            (self.opened > self.sequence, "it was opened by a superblock to come"),
            (self.opened_seq > self.sure.next(), "it was opened behind its last transaction"),
        ];
        wrong.iter().find(|(is, _)| *is).map(|(_, why)| *why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ring::{Error, Superblock as _};
    use std::mem::offset_of;

    fn one() -> Superblock {
        Superblock {
            id: 7,
            salt: 11,
            sequence: 4,
            size: 100,
            block: 512,
            clean: false,
            tail: 130,
            tail_seq: Seq(9),
            sure: Seq(12),
            opened: 3,
            opened_seq: Seq(10),
            made: 5,
        }
    }

    #[test]
    fn a_superblock_survives_being_written_and_read() {
        assert_eq!(Superblock::decode(&one().encode()), Ok(one()));
        assert_eq!((one().slot(), one().next().slot()), (0, 4096));
    }

    #[test]
    fn fields_that_cannot_be_are_refused_even_with_a_right_checksum() {
        let wrong = [
            Superblock { block: 500, ..one() },
            Superblock { block: 0, ..one() },
            Superblock { block: 1 << 17, ..one() },
            Superblock { size: 7, ..one() },
            Superblock { size: u64::MAX, ..one() },
            Superblock { tail: u64::MAX, ..one() },
            Superblock { tail_seq: Seq(0), ..one() },
            Superblock { tail_seq: Seq(14), ..one() },
            Superblock { sure: Seq(u64::MAX), ..one() },
            Superblock { sure: Seq(109), ..one() },
            Superblock { clean: true, ..one() },
            Superblock { opened: 5, ..one() },
            Superblock { opened_seq: Seq(14), ..one() },
        ];
        for wrong in wrong {
            assert!(matches!(Superblock::decode(&wrong.encode()), Err(Error::Superblock { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn the_table_in_the_format_page_is_that_of_the_declaration() {
        let page = include_str!("../../../../docs/format/block-journal.md");
        let fields = [
            ("id", offset_of!(Raw, id)),
            ("salt", offset_of!(Raw, salt)),
            ("sequence", offset_of!(Raw, sequence)),
            ("size", offset_of!(Raw, size)),
            ("block", offset_of!(Raw, block)),
            ("clean", offset_of!(Raw, clean)),
            ("tail", offset_of!(Raw, tail)),
            ("tail_seq", offset_of!(Raw, tail_seq)),
            ("sure", offset_of!(Raw, sure)),
            ("opened", offset_of!(Raw, opened)),
            ("opened_seq", offset_of!(Raw, opened_seq)),
            ("made", offset_of!(Raw, made)),
            ("zero", offset_of!(Raw, zero)),
        ];
        for (name, at) in fields {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
