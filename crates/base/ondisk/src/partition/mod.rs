//! Volumes inside a disk image: MBR slices, GPT partitions, BSD disklabels, and the labels of Sun, Apple and NeXT.
//!
//! The parsers are pure: they take a closure that reads the disk and return plain byte ranges. Nothing in a table is
//! trusted, because a table can come from a stranger or from a torn write:
//!
//! 1. Every partition in the list lies inside the disk. The others are named in `refused` with the reason.
//! 2. A list holds at most [`MAX_PARTITIONS`] entries, and no chain is followed twice through the same sector.
//! 3. Arithmetic on table values is checked. An overflow is a refused partition, never a small number.
//!
//! A volume may also fill the whole disk and carry boot code that looks like a table, so look for a superblock first.

mod apple;
mod disklabel;
mod gpt;
mod mbr;
mod next;
mod select;
mod sun;

use std::io;

pub use disklabel::PLACES as LABEL_PLACES;
pub use select::{NoSuchPartition, Select, SelectError, select};

/// The most partitions that a list can hold; real tables hold far fewer.
pub const MAX_PARTITIONS: usize = 256;

/// Reads bytes of the disk at a byte offset; called only for ranges inside the disk.
pub type ReadAt<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>;

/// One byte range of a disk that a partition table names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// `s1` (MBR), `p2` (GPT, Apple), `s1a`, `p2a` or `a` (disklabel, Sun, NeXT).
    pub name: String,
    /// First byte.
    pub start: u64,
    /// Length in bytes, never 0.
    pub len: u64,
    /// The type of the partition as given by the table, as text.
    pub kind: String,
    /// The GPT name, empty where the table has none.
    pub label: String,
}

/// A partition in the table that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As in [`Partition::name`].
    pub name: String,
    /// The reason, with the wrong value.
    pub reason: String,
}

/// The contents of the tables of one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Usable partitions, in table order; a slice comes before the partitions of its disklabel.
    pub partitions: Vec<Partition>,
    /// Damaged ones.
    pub refused: Vec<Refused>,
    /// A table was read whole: that there are no partitions is what it says.
    pub is_read: bool,
}

/// A range in sectors, as tables store it.
struct Extent {
    start: u64,
    count: u64,
    sector: u64,
}

/// A disk for the parsers: reads are checked against its size, so no table value can reach past the end.
struct Source<'a, 'b> {
    read: ReadAt<'a>,
    size: u64,
    table: &'b mut Table,
}

impl Source<'_, '_> {
    /// Reads `len` bytes at `offset`, or `None` if the disk ends before that.
    fn bytes(&mut self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.size) {
            return Ok(None);
        }
        let mut buffer = vec![0; len];
        (self.read)(offset, &mut buffer)?;
        Ok(Some(buffer))
    }

    fn is_full(&self) -> bool {
        self.table.partitions.len() + self.table.refused.len() >= MAX_PARTITIONS
    }

    /// Adds a partition to the list if it is inside the disk; returns its byte range.
    fn add(&mut self, name: String, extent: Extent, kind: String, label: String) -> Option<(u64, u64)> {
        if self.is_full() {
            return None;
        }
        let Extent { start, count, sector } = extent;
        let range = start.checked_mul(sector).zip(count.checked_mul(sector));
        match range.filter(|&(start, len)| len > 0 && start.checked_add(len).is_some_and(|end| end <= self.size)) {
            Some((start, len)) => {
                self.table.partitions.push(Partition { name, start, len, kind, label });
                Some((start, len))
            }
            None => {
                let size = self.size;
                let reason =
                    format!("sector {start}, {count} sectors of {sector}: not inside the disk of {size} bytes");
                self.table.refused.push(Refused { name, reason });
                None
            }
        }
    }
}

/// Reads every partition table of a disk of `size` bytes. `sector` is the disk's sector size; an MBR does not contain
/// its own, while a GPT and the labels do and are found with 512 and 4096 bytes alike. A disk without any table gives
/// an empty list. Fails only if the disk cannot be read.
pub fn scan(read: ReadAt<'_>, size: u64, sector: u64) -> io::Result<Table> {
    let mut table = Table::default();
    let mut source = Source { read, size, table: &mut table };
    let found = gpt::scan(&mut source)?
        || mbr::scan(&mut source, sector.clamp(512, 4096))?
        || sun::scan(&mut source)?
        || apple::scan(&mut source)?
        || next::scan(&mut source)?;
    let found = found || disklabel::scan(&mut source, &disklabel::Holder::disk())?;
    table.is_read = found;
    Ok(table)
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}

#[cfg(test)]
mod testing {
    use super::{Table, scan};

    /// The tables of a disk whose first bytes are `bytes`; the rest, up to `size`, reads as zeros.
    pub(crate) fn scan_bytes(bytes: &[u8], size: u64, sector: u64) -> Table {
        let mut reads = 0;
        let table = scan(
            &mut |offset, buffer| {
                reads += 1;
                assert!(offset + buffer.len() as u64 <= size, "read past the end of the disk");
                for (i, byte) in buffer.iter_mut().enumerate() {
                    *byte = bytes.get(offset as usize + i).copied().unwrap_or(0);
                }
                Ok(())
            },
            size,
            sector,
        );
        assert!(reads < 2000, "{reads} reads for one table");
        table.expect("the closure never fails")
    }

    pub(crate) fn names(table: &Table) -> Vec<&str> {
        table.partitions.iter().map(|p| p.name.as_str()).collect()
    }

    /// Puts extreme values in every 32-bit word of `image` and scans it: the parsers must return.
    pub(crate) fn scan_with_every_word_damaged(image: &[u8], words: std::ops::Range<usize>, size: u64, sector: u64) {
        for at in words.step_by(4) {
            for value in [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
                let mut damaged = image.to_vec();
                damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
                for partition in scan_bytes(&damaged, size, sector).partitions {
                    assert!(partition.start + partition.len <= size, "{partition:?} leaves the disk");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_without_a_table_has_no_partitions() {
        assert_eq!(testing::scan_bytes(&[], 1 << 20, 512), Table::default());
        assert_eq!(testing::scan_bytes(&[], 0, 512), Table::default());
        assert_eq!(testing::scan_bytes(&[0xff; 100], 100, 512), Table::default());
    }

    #[test]
    fn read_error_is_reported() {
        let result = scan(&mut |_, _| Err(io::Error::other("bad sector")), 1 << 20, 512);
        assert!(result.is_err());
    }
}
