//! NetBSD's write-ahead physical block log (WAPBL): where it lies, its headers, and its records.
//!
//! The log is a circle of records behind two commit headers. A record has images of whole blocks, or revokes images of
//! blocks that were freed, or lists inodes that are in use and have no name. `docs/format/ufs.md` has the bytes.
//!
//! N1. The log is in the byte order of the machine that wrote it, which may be another one than the volume's. The type
//!     of the first header tells it.
//! N2. Both headers must be whole. NetBSD begins a log with both, and each later one is a write of one sector. If one
//!     is damaged, nothing tells whether it was the newer one, and the older one lacks what was committed last.
//! N3. An image belongs inside the volume and outside the log: an image over the log would change what a replay that is
//!     begun again reads.
//! N4. What NetBSD does not write is damage, even where its own replay does not look: a check sum, another version, a
//!     record that is longer than its contents. Not so the identifier of the volume, which it never sets, and the
//!     time.

mod header;
mod raw;
mod record;

pub use header::{Circle, Header};
pub use raw::{RawExtent, RawHeader, RawRecord, RawUnlinked};
pub use record::{Body, Extent, Record, Unlinked};

use crate::num::len64;
use crate::superblock::Wapbl;
use crate::{ByteOff, Corrupt, Rule, Structure};
use std::ops::Range;

/// `wc_type` of a commit header.
pub const HEADER: u32 = 0x5741_424c;
/// `wc_type` of a list of inodes.
pub const INODES: u32 = 0x5741_424d;
/// `wc_type` of revocations.
pub const REVOCATIONS: u32 = 0x5741_424e;
/// `wc_type` of blocks.
pub const BLOCKS: u32 = 0x5741_424f;

/// Where a log lies, and the volume that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Bytes of the partition that the log has.
    pub log: Range<u64>,
    /// Bytes of the volume.
    pub volume: u64,
    /// Bytes of a block of the log.
    pub block: u64,
}

impl Place {
    /// The place that the superblock of a volume of `volume` bytes gives, on a disk of `disk` bytes.
    ///
    /// # Errors
    /// A log in the file system that is not within it, one behind it that begins within it, or one that is not on the
    /// disk.
    pub fn of(at: &Wapbl, volume: u64, disk: u64) -> Result<Place, Corrupt> {
        let wrong = |field, found: u64, rule| Err(Corrupt::new(Structure::Wapbl, field, found, rule));
        // The superblock was accepted only if neither overflows.
        let start = at.first_block.saturating_mul(at.block_bytes);
        let end = at.first_block.saturating_add(at.blocks).saturating_mul(at.block_bytes);
        if at.within && end > volume {
            return wrong("end", end, Rule::AtMost(volume.into()));
        }
        if !at.within && start < volume {
            return wrong("begin", start, Rule::AtLeast(volume.into()));
        }
        if end > disk {
            return wrong("end", end, Rule::AtMost(disk.into()));
        }
        if at.blocks < 3 {
            return wrong("blocks", at.blocks, Rule::AtLeast(3));
        }
        Ok(Place { log: start..end, volume, block: at.block_bytes })
    }

    /// Bytes of the log.
    pub fn len(&self) -> u64 {
        self.log.end.saturating_sub(self.log.start)
    }

    /// Whether it has no byte: never, since it has two headers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Damage in the structure at byte `offset` of the log.
    fn damage(&self, offset: u64, field: &'static str, found: impl Into<i128>, rule: Rule) -> Corrupt {
        Corrupt::new(Structure::Wapbl, field, found, rule).at(ByteOff(self.log.start.saturating_add(offset)))
    }

    fn cut_short(&self, offset: u64, len: usize) -> Corrupt {
        self.damage(offset, "length", len64(len), Rule::CutShort(len64(len)))
    }
}

#[cfg(test)]
mod tests;
