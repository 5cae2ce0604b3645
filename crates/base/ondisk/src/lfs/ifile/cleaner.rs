//! The cleaner information, at the start of the ifile.

use super::{RawCleanerInfo1, RawCleanerInfo2, RawCleanerInfo64};
use crate::lfs::Version;
use crate::num::signed64;
use crate::{Corrupt, Endian, Ino, Rule, Structure};

/// The cleaner information. The superblock's counts decide where the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanerInfo {
    /// Clean segments.
    pub clean: u32,
    /// Dirty segments.
    pub dirty: u32,
    /// Copy of the superblock's free units.
    pub bfree: i64,
    /// Copy of the superblock's writable units.
    pub avail: i64,
    /// First of the free inodes; 0 if none is.
    pub free_head: Ino,
    /// Last of the free inodes.
    pub free_tail: Ino,
    /// Bit [`CleanerInfo::MUST_CLEAN`].
    pub flags: u32,
}

impl CleanerInfo {
    /// In `flags`: the cleaner must run.
    pub const MUST_CLEAN: u32 = 1;
    /// First byte in the ifile.
    pub const AT: usize = 0;

    /// Decodes it from the ifile's first block.
    ///
    /// # Errors
    /// Too few bytes; an inode number of more than 32 bits.
    pub fn decode(block: &[u8], version: Version, e: Endian) -> Result<CleanerInfo, Corrupt> {
        let short = || Corrupt::cut_short(Structure::CleanerInfo, block.len());
        match version {
            Version::V1 => {
                let raw = RawCleanerInfo1::load(block, e).ok_or_else(short)?;
                Ok(CleanerInfo { clean: raw.clean, dirty: raw.dirty, ..CleanerInfo::default() })
            }
            Version::V2 => {
                let raw = RawCleanerInfo2::load(block, e).ok_or_else(short)?;
                Ok(CleanerInfo {
                    clean: raw.clean,
                    dirty: raw.dirty,
                    bfree: raw.bfree.into(),
                    avail: raw.avail.into(),
                    free_head: Ino(raw.free_head),
                    free_tail: Ino(raw.free_tail),
                    flags: raw.flags,
                })
            }
            Version::Lfs64 => {
                let raw = RawCleanerInfo64::load(block, e).ok_or_else(short)?;
                Ok(CleanerInfo {
                    clean: raw.clean,
                    dirty: raw.dirty,
                    bfree: raw.bfree,
                    avail: raw.avail,
                    free_head: number("free_head", raw.free_head)?,
                    free_tail: number("free_tail", raw.free_tail)?,
                    flags: raw.flags,
                })
            }
        }
    }

    /// Writes it into the ifile's first block, whose other bytes are kept. `None`, and nothing written, if the block is
    /// too short.
    pub fn encode(&self, block: &mut [u8], version: Version, e: Endian) -> Option<()> {
        let &CleanerInfo { clean, dirty, bfree, avail, flags, .. } = self;
        let (free_head, free_tail) = (self.free_head.0, self.free_tail.0);
        // The counts of a volume with 32-bit addresses fit.
        let narrow = |n: i64| i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX });
        match version {
            Version::V1 => RawCleanerInfo1 { clean, dirty }.store(block, e),
            Version::V2 => {
                let (bfree, avail) = (narrow(bfree), narrow(avail));
                RawCleanerInfo2 { clean, dirty, bfree, avail, free_head, free_tail, flags }.store(block, e)
            }
            Version::Lfs64 => {
                let pad = e.get_u32(block, 44)?;
                let (free_head, free_tail) = (free_head.into(), free_tail.into());
                RawCleanerInfo64 { clean, dirty, bfree, avail, free_head, free_tail, flags, pad }.store(block, e)
            }
        }
    }
}

fn number(field: &'static str, n: u64) -> Result<Ino, Corrupt> {
    let rule = || Rule::AtMost(u32::MAX.into());
    u32::try_from(n).map(Ino).map_err(|_| Corrupt::new(Structure::CleanerInfo, field, signed64(n), rule()))
}
