//! The superblock: what the log is, and where reading starts.
//!
//! Its envelope and its two slots are those of `ring` (ring-1).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Lsn;
use ordo_ring::{UNIT_LEAST, UNIT_MOST, UNITS_LEAST};

/// An upper bound for sequence numbers: at 10 GB/s it takes 14 years. A larger one was not written by this program.
const LSN_MOST: u64 = 1 << 62;

ordo_ring::superblock! {
    /// A superblock whose fields are consistent.
    pub(crate) struct Superblock(b"ORDOWAFS", version 1) {
        /// The log's unique id; part of each record's checksum.
        id: u64,
        /// Grows with each superblock; its lowest bit is the slot.
        sequence: u64,
        /// Bytes for records, a multiple of the unit.
        size: u64,
        /// The alignment of each write, in bytes.
        unit: u32,
        /// The number of mounts for writing.
        epoch: u32,
        /// The record at which reading starts, or where the next one will be.
        start: u64,
        /// Records below were reclaimed; never before `start`.
        low: Lsn,
        /// The last record that was known to be durable.
        sure: Lsn,
        /// When the log was made, in nanoseconds since 1970.
        made: u64,
        /// No record from `start` on is of an earlier mount (wafs-4): in an empty log no other record could tell.
        start_epoch: u32,
    }
}

impl Superblock {
    /// Why the fields are inconsistent, if they are.
    fn nonsense(&self) -> Option<&'static str> {
        let unit = u64::from(self.unit);
        let wrong = [
            (!self.unit.is_power_of_two() || !(UNIT_LEAST..=UNIT_MOST).contains(&self.unit), "the unit is none"),
            (unit == 0 || !self.size.is_multiple_of(unit.max(1)), "the size is not a number of units"),
            (self.size < UNITS_LEAST * unit || self.size > LSN_MOST, "the size cannot be"),
            (!self.start.is_multiple_of(8) || self.start == 0, "the start is no place of a record"),
            (self.start > self.low.0 || self.low.0 > LSN_MOST, "the start lies behind what is kept"),
            (self.start_epoch > self.epoch, "its records are of a mount to come"),
            (self.sure.0 >= self.start.saturating_add(self.size), "the last durable record is a lap away"),
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
            sequence: 4,
            size: 65536,
            unit: 512,
            epoch: 2,
            start: 1024,
            low: Lsn(1032),
            sure: Lsn(2048),
            made: 5,
            start_epoch: 1,
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
            Superblock { unit: 500, ..one() },
            Superblock { unit: 0, ..one() },
            Superblock { size: 65537, ..one() },
            Superblock { size: 512, ..one() },
            Superblock { start: 4, ..one() },
            Superblock { start: 2048, ..one() },
            Superblock { low: Lsn(u64::MAX), ..one() },
            Superblock { sure: Lsn(u64::MAX), ..one() },
            Superblock { start_epoch: 3, ..one() },
        ];
        for wrong in wrong {
            assert!(matches!(Superblock::decode(&wrong.encode()), Err(Error::Superblock { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn the_table_in_the_format_page_is_that_of_the_declaration() {
        let page = include_str!("../../../../docs/format/wafs.md");
        for (name, at) in Raw::FIELDS {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
