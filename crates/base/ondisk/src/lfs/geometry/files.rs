//! Sizes of a file's blocks, and where the ifile keeps what.

use super::Geometry;
use crate::lfs::{CleanerInfo, SegNo};
use crate::num::{index, low32, roundup};
use crate::{Ino, Lbn, NDADDR};

/// The place of an entry in the ifile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfilePlace {
    /// The block of the ifile.
    pub lbn: Lbn,
    /// First byte of the entry in it.
    pub at: usize,
}

impl Geometry {
    /// Bytes on disk of block `lbn` of a file of `size` bytes. Only the last block can be shorter than a block, and
    /// only if it is a direct one. Indirect blocks are whole.
    pub fn block_bytes(&self, size: u64, lbn: Lbn) -> u32 {
        let direct = u64::try_from(lbn.0).ok().filter(|&lbn| lbn < crate::num::len64(NDADDR));
        let Some(lbn) = direct else { return self.bsize };
        let before = lbn.saturating_mul(self.bsize.into());
        match size.checked_sub(before) {
            Some(rest) if rest < self.bsize.into() => {
                u32::try_from(roundup(rest, self.fsize.into())).unwrap_or(self.bsize)
            }
            Some(_) => self.bsize,
            None => 0,
        }
    }

    /// Blocks of a file of `size` bytes.
    pub fn file_blocks(&self, size: u64) -> u64 {
        crate::num::howmany(size, self.bsize.into())
    }

    /// First block of the ifile's inode map.
    pub fn inode_map_start(&self) -> u64 {
        u64::from(self.cleansz).saturating_add(self.segtabsz.into())
    }

    /// Number of inodes that an ifile of `size` bytes has entries for: one more than the highest.
    pub fn maxino(&self, size: u64) -> u32 {
        let blocks = (size >> self.bshift).saturating_sub(self.inode_map_start());
        low32(blocks.saturating_mul(self.ifpb.into()))
    }

    /// How far inodes behind a checkpoint may be beyond the end of its inode map. A roll-forward takes the number of an
    /// inode from the log, and lets the map grow to it: a damaged number must not make the map as long as the volume.
    /// Whoever writes the log ends a checkpoint early enough that inodes in use are never further.
    pub fn inodes_ahead(&self) -> u32 {
        // Of a map that takes an eighth of the volume, and no more than a few megabytes.
        let entry = u64::from(self.version.ifile_entry_size().max(1)).saturating_mul(8);
        let fit = self.size.saturating_mul(self.unit.into()).checked_div(entry).unwrap_or(0);
        low32(fit.min(1 << 17)).max(self.ifpb.saturating_mul(64))
    }

    /// Where the entry of a segment is.
    pub fn seguse_place(&self, n: SegNo) -> IfilePlace {
        self.place(self.cleansz.into(), n.0, self.sepb, self.version.seguse_size())
    }

    /// Where the entry of an inode is. Compare with [`Geometry::maxino`] first.
    pub fn entry_place(&self, ino: Ino) -> IfilePlace {
        self.place(self.inode_map_start(), ino.0, self.ifpb, self.version.ifile_entry_size())
    }

    /// Where the cleaner information is.
    pub fn cleaner_info_place(&self) -> IfilePlace {
        IfilePlace { lbn: Lbn(0), at: CleanerInfo::AT }
    }

    fn place(&self, first: u64, n: u32, per_block: u32, bytes: u32) -> IfilePlace {
        let block = first.saturating_add(n.checked_div(per_block).unwrap_or(0).into());
        let slot = n.checked_rem(per_block).unwrap_or(0);
        IfilePlace { lbn: Lbn(i64::try_from(block).unwrap_or(i64::MAX)), at: index(slot.saturating_mul(bytes)) }
    }
}
