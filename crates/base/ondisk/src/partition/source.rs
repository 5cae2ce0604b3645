//! A disk as the parsers read it: bytes and numbers of a table, and the list that partitions are added to.

use super::table::{MAX_PARTITIONS, Partition, Refused, Table};
use std::io;

/// Reads bytes of the disk at a byte offset; called only for ranges inside the disk.
pub type ReadAt<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>;

/// A range in sectors, as tables store it.
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) count: u64,
    pub(super) sector: u64,
}

/// A disk for the parsers: reads are checked against its size, so no table value can reach past the end.
pub(super) struct Source<'a, 'b> {
    pub(super) read: ReadAt<'a>,
    pub(super) size: u64,
    pub(super) table: &'b mut Table,
}

impl Source<'_, '_> {
    /// Reads `len` bytes at `offset`, or `None` if the disk ends before that.
    pub(super) fn bytes(&mut self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.size) {
            return Ok(None);
        }
        let mut buffer = vec![0; len];
        (self.read)(offset, &mut buffer)?;
        Ok(Some(buffer))
    }

    pub(super) fn is_full(&self) -> bool {
        self.table.partitions.len() + self.table.refused.len() >= MAX_PARTITIONS
    }

    /// Adds a partition to the list if it is inside the disk; returns its byte range.
    pub(super) fn add(&mut self, name: String, extent: Extent, kind: String, label: String) -> Option<(u64, u64)> {
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

pub(super) fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

pub(super) fn be32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

pub(super) fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

pub(super) fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(super) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}
