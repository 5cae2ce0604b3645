//! The superblock: what the journal is, and where reading starts.
//!
//! Its envelope and its two slots are those of `ring` (ring-1).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Seq;
use ordo_ring::{UNIT_LEAST, UNIT_MOST, UNITS_LEAST};

/// The most blocks.
pub(crate) const BLOCKS_MOST: u64 = 1 << 31;
/// An upper bound for all numbers. A larger one was not written by this program.
const NUMBER_MOST: u64 = 1 << 62;

ordo_ring::superblock! {
    /// A superblock whose fields are consistent.
    pub(crate) struct Superblock(b"ORDOBJNL", version 1) {
        /// The name that its maker gave the journal.
        id: u64,
        /// Chosen at random when the journal was made; part of each checksum (blockjournal-3).
        salt: u64,
        /// Grows with each superblock; its lowest bit is the slot.
        sequence: u64,
        /// Blocks.
        size: u64,
        /// Bytes of a block.
        block: u32,
        /// The journal was closed, and is empty.
        clean: bool,
        /// The block of the line at which reading starts.
        tail: u64,
        /// The number of the transaction there, or of the next one.
        tail_seq: Seq,
        /// The newest transaction that was durable (ring-4).
        sure: Seq,
        /// The superblock with which the last opening for writing began (blockjournal-4).
        opened: u64,
        /// The first transaction since then.
        opened_seq: Seq,
        /// When the journal was made, in nanoseconds since 1970.
        made: u64,
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
        for (name, at) in Raw::FIELDS {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
