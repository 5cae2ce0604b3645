//! Entries of the segment usage table.

use super::{RawSegUse1, RawSegUse2};
use crate::lfs::flagset::flag_set;
use crate::lfs::{SegNo, Version};
use crate::num::low32;
use crate::{Corrupt, Endian, Structure};

flag_set! {
    /// Flags of a segment.
    pub struct SegFlags(u32) {
        /// Written since the last checkpoint: it must not be cleaned.
        ACTIVE = 0x01,
        /// It has or may have live data.
        DIRTY = 0x02,
        /// A copy of the superblock is at its start.
        SUPERBLOCK = 0x04,
        /// It could not be cleaned.
        ERROR = 0x08,
        /// It has no live bytes.
        EMPTY = 0x10,
        /// It must not be written yet.
        INVAL = 0x20,
        /// Newest NetBSD: it can be made clean.
        READY = 0x40,
    }
}

/// The usage of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegUse {
    /// Live bytes: blocks in whole fragments, and each live inode alone. Not summaries, and not all of an inode block.
    pub nbytes: u32,
    /// Partial segments that were written into it.
    pub nsums: u16,
    /// Inode blocks (not inodes) that were written into it.
    pub ninos: u16,
    /// Flags.
    pub flags: SegFlags,
    /// Time of the last write into it, seconds.
    pub lastmod: u64,
}

impl SegUse {
    /// Decodes the entry of segment `n` at byte `at` of a block.
    ///
    /// # Errors
    /// The block ends before it does.
    pub fn decode(block: &[u8], at: usize, n: SegNo, version: Version, e: Endian) -> Result<SegUse, Corrupt> {
        SegUse::load(block.get(at..).unwrap_or_default(), version, e)
            .ok_or_else(|| Corrupt::cut_short(Structure::SegmentUsage(n.0), block.len()))
    }

    fn load(bytes: &[u8], version: Version, e: Endian) -> Option<SegUse> {
        if version == Version::V1 {
            let RawSegUse1 { nbytes, lastmod, nsums, ninos, flags } = RawSegUse1::load(bytes, e)?;
            return Some(SegUse { nbytes, nsums, ninos, flags: SegFlags(flags), lastmod: lastmod.into() });
        }
        let RawSegUse2 { nbytes, nsums, ninos, flags, lastmod, .. } = RawSegUse2::load(bytes, e)?;
        Some(SegUse { nbytes, nsums, ninos, flags: SegFlags(flags), lastmod })
    }

    /// The same with the flag EMPTY as the live bytes demand it: to be called before an entry is written.
    #[must_use]
    pub fn marked(self) -> SegUse {
        SegUse { flags: self.flags.when(SegFlags::EMPTY, self.nbytes == 0), ..self }
    }

    /// Writes the entry at byte `at` of a block. `None`, and nothing written, if it does not fit.
    pub fn encode(&self, block: &mut [u8], at: usize, version: Version, e: Endian) -> Option<()> {
        let bytes = block.get_mut(at..)?;
        let &SegUse { nbytes, nsums, ninos, lastmod, .. } = self;
        let flags = self.flags.0;
        if version == Version::V1 {
            return RawSegUse1 { nbytes, lastmod: low32(lastmod), nsums, ninos, flags }.store(bytes, e);
        }
        // Nothing has a meaning there; it is kept (base-ondisk-3).
        let olastmod = e.get_u32(bytes, 4)?;
        RawSegUse2 { nbytes, olastmod, nsums, ninos, flags, lastmod }.store(bytes, e)
    }
}
