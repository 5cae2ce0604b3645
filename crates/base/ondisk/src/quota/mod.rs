//! Quotas: how much of a volume each user and each group uses, and may use.
//!
//! Two systems keep them. The old files (`quota.user` and `quota.group` in the root directory) are arrays of records,
//! indexed by the number of the owner: of 32 bytes in the volume's byte order, or of 64 bytes behind a head, always
//! big-endian ([`Form`]). NetBSD's are tables in inodes of their own ([`table`]). Both count sectors of 512 bytes, as
//! `di_blocks` does, and inodes.
//!
//! Q1. In an old file a limit of 0 is none, and a limit is the first number that must not be reached; in a table a
//!     limit is the last number that is allowed, and none is the largest of 64 bits. [`Entry`] keeps the numbers as
//!     they are on the disk; [`Form::is_above`] knows both.
//! Q2. An old file's record of owner 0 has the time that a soft limit may be exceeded, in place of the times when it
//!     ends: root has no limits.

mod entry;
pub mod table;

pub use entry::{Counter, Entry, GRACE, Whose};

use crate::num::{bits64, len64, signed64};
use crate::{Corrupt, Endian, Rule, Structure};

/// The first bytes of a file of 64-byte records.
const MAGIC64: &[u8; 8] = b"QUOTA64\0";
const VERSION64: u32 = 0x2008_1104;
const HEAD64: usize = 64;

/// The form of a file of quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Records of 32 bytes, in the volume's order.
    Narrow,
    /// A head and records of 64 bytes, big-endian.
    Wide,
    /// NetBSD's table.
    Table,
}

impl Form {
    /// The form of an old file that begins with these bytes.
    ///
    /// # Errors
    /// A head of 64-byte records that is of another version.
    pub fn of_file(head: &[u8]) -> Result<Form, Corrupt> {
        if !head.starts_with(MAGIC64) {
            return Ok(Form::Narrow);
        }
        let big = Endian::Big;
        for (field, at, right) in [("version", 8, VERSION64), ("header length", 12, 64), ("record length", 16, 64)] {
            let found = big.get_u32(head, at).unwrap_or(0);
            if found != right {
                return Err(Corrupt::new(Structure::Quota, field, found, Rule::Is(right.into())));
            }
        }
        Ok(Form::Wide)
    }

    /// The head of a new file of 64-byte records.
    pub fn wide_head() -> [u8; HEAD64] {
        let mut head = [0; HEAD64];
        // Cannot fail: the head has room for all of them.
        if let Some(place) = head.first_chunk_mut() {
            *place = *MAGIC64;
        }
        for (at, number) in [(8, VERSION64), (12, 64), (16, 64)] {
            let _ = Endian::Big.put_u32(&mut head, at, number);
        }
        head
    }

    /// Whether `used` is more than a limit allows (Q1).
    pub fn is_above(self, used: u64, limit: u64) -> bool {
        match self {
            Form::Table => used > limit,
            Form::Narrow | Form::Wide => limit != 0 && used >= limit,
        }
    }

    /// Bytes of a record.
    pub fn record_len(self) -> usize {
        match self {
            Form::Narrow => 32,
            Form::Wide => 64,
            Form::Table => table::ENTRY,
        }
    }

    /// Where the record of an owner begins in an old file.
    pub fn record_at(self, id: u32) -> u64 {
        let head = if self == Form::Wide { len64(HEAD64) } else { 0 };
        u64::from(id).saturating_mul(len64(self.record_len())).saturating_add(head)
    }

    /// The owner whose record begins at `at` or later: the first one; `None` beyond the last.
    pub fn owner_from(self, at: u64) -> Option<u32> {
        let head = if self == Form::Wide { len64(HEAD64) } else { 0 };
        u32::try_from(at.saturating_sub(head).div_ceil(len64(self.record_len()).max(1))).ok()
    }

    /// Decodes a record of an old file. Numbers may be anything: they are only compared.
    pub fn decode(self, record: &[u8], endian: Endian) -> Option<Entry> {
        let mut numbers = [0; 8];
        for (number, i) in numbers.iter_mut().zip(0usize..) {
            *number = match self {
                Form::Wide => Endian::Big.get_u64(record, i.saturating_mul(8))?,
                _ => endian.get_u32(record, i.saturating_mul(4))?.into(),
            };
        }
        let [bhard, bsoft, bused, ihard, isoft, iused, btime, itime] = numbers;
        let counter = |hard, soft, used, time| Counter { hard, soft, used, time: signed64(time), grace: 0 };
        Some(Entry { blocks: counter(bhard, bsoft, bused, btime), inodes: counter(ihard, isoft, iused, itime) })
    }

    /// Encodes a record of an old file. What 32 bits do not hold becomes the largest number that they do.
    pub fn encode(self, entry: &Entry, endian: Endian) -> Vec<u8> {
        let Entry { blocks: b, inodes: i } = entry;
        let numbers = [b.hard, b.soft, b.used, i.hard, i.soft, i.used, bits64(b.time), bits64(i.time)];
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let bytes = numbers.iter().flat_map(|&number| match self {
            Form::Wide => number.to_be_bytes().to_vec(),
            _ => endian.u32_bytes(narrow(number)).to_vec(),
        });
        bytes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Entry {
        let blocks = Counter { hard: 0x1001, soft: 0x2002, used: 0x3003, time: 7, grace: 0 };
        Entry { blocks, inodes: Counter { hard: 4, soft: 5, used: 6, time: 8, grace: 0 } }
    }

    #[test]
    fn records_have_their_fields_where_the_systems_have_them() {
        for endian in [Endian::Little, Endian::Big] {
            let record = Form::Narrow.encode(&sample(), endian);
            let words: Vec<u32> = record.chunks(4).map(|word| endian.get_u32(word, 0).unwrap()).collect();
            assert_eq!(words, [0x1001, 0x2002, 0x3003, 4, 5, 6, 7, 8]);
            assert_eq!(Form::Narrow.decode(&record, endian), Some(sample()));
            let wide = Form::Wide.encode(&sample(), endian);
            assert_eq!((wide.len(), wide[..8].to_vec()), (64, vec![0, 0, 0, 0, 0, 0, 0x10, 1]));
            assert_eq!(Form::Wide.decode(&wide, endian), Some(sample()));
        }
        assert_eq!(Form::Narrow.decode(&[0; 31], Endian::Little), None);
        assert_eq!((Form::Narrow.record_at(3), Form::Wide.record_at(3)), (96, 256));
        assert_eq!(
            (Form::Wide.owner_from(0), Form::Wide.owner_from(65), Form::Narrow.owner_from(32)),
            (Some(0), Some(1), Some(1))
        );
    }

    #[test]
    fn a_head_tells_the_form() {
        let head = Form::wide_head();
        assert_eq!(head[..20], *b"QUOTA64\0\x20\x08\x11\x04\0\0\0\x40\0\0\0\x40");
        assert_eq!((Form::of_file(&head), Form::of_file(b"")), (Ok(Form::Wide), Ok(Form::Narrow)));
        let mut wrong = head;
        wrong[19] = 32;
        assert!(Form::of_file(&wrong).is_err() && Form::of_file(&head[..8]).is_err());
    }

    #[test]
    fn a_limit_is_what_its_system_means() {
        let above = Form::is_above;
        assert!(!above(Form::Wide, u64::MAX, 0) && above(Form::Wide, 10, 10) && !above(Form::Narrow, 9, 10));
        assert!(above(Form::Table, 1, 0) && !above(Form::Table, 10, 10) && !above(Form::Table, u64::MAX, u64::MAX));
    }
}
