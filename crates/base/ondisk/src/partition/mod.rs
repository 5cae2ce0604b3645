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
mod source;
mod sun;
mod table;

use std::io;

pub use disklabel::PLACES as LABEL_PLACES;
pub use select::{NoSuchPartition, Select, SelectError, select};
pub use source::ReadAt;
use source::Source;
pub use table::{MAX_PARTITIONS, Partition, Refused, Table};

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
