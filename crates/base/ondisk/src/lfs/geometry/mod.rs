//! The numbers of a log-structured volume that do not change while it is mounted, and all address arithmetic.
//!
//! M1. A geometry is made from a checked superblock only.
//! M2. The arguments may come from damaged pointers: every result for them is a harmless number outside the volume.
//!     Code that follows a pointer must check [`Geometry::is_data_range`] first.

mod files;
mod segments;
mod space;

pub use files::IfilePlace;
pub use space::{Room, Totals};

use super::{Daddr, MAX_SUPERBLOCKS, Version};
use crate::dirent::DirFormat;
use crate::{ByteOff, Dialect, Encoding, Endian, Format, Tree};

/// The geometry of a volume. See the module's invariants. A unit is that of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// Version and width.
    pub version: Version,
    /// Byte order of every integer.
    pub endian: Endian,
    /// Bytes of the unit of addresses: a fragment; 512 in version 1.
    pub unit: u32,
    /// Bytes of a block.
    pub bsize: u32,
    /// Bytes of a fragment.
    pub fsize: u32,
    /// Units of a block. In version 1 not `frag` but sectors.
    pub block_units: u32,
    /// log2 of `bsize`.
    pub bshift: u32,
    /// Bytes of an inode block.
    pub ibsize: u32,
    /// Bytes of a summary.
    pub sumsize: u32,
    /// Bytes of a segment.
    pub ssize: u32,
    /// Units of a segment.
    pub fsbpseg: u32,
    /// Segments.
    pub nseg: u32,
    /// Start of segment 0.
    pub s0addr: Daddr,
    /// Units of the volume; in version 1 up to the end of the last segment.
    pub size: u64,
    /// Units that can hold data.
    pub dsize: u64,
    /// Inodes in an inode block.
    pub inopb: u32,
    /// Entries of the inode map in a block.
    pub ifpb: u32,
    /// Entries of the segment usage table in a block.
    pub sepb: u32,
    /// Pointers in an indirect block.
    pub nindir: u32,
    /// Blocks of the cleaner information.
    pub cleansz: u32,
    /// Blocks of the segment usage table.
    pub segtabsz: u32,
    /// Segments that `dsize` does not count.
    pub minfreeseg: u32,
    /// Segments kept for the cleaner; where the superblock has none, the number that kernels take.
    pub resvseg: u32,
    /// Percent of the data space kept for the privileged.
    pub minfree: u32,
    /// Segments that are skipped when the next one is chosen.
    pub interleave: u32,
    /// Random number that the volume's summaries repeat.
    pub ident: u32,
    /// A symbolic link shorter than this is in the inode; 0 if none is, and then directories have no types.
    pub maxsymlinklen: u32,
    /// Largest file in bytes that the pointers reach.
    pub maxfilesize: u64,
    /// Addresses of the copies of the superblock; 0 where there is none.
    pub sboffs: [Daddr; MAX_SUPERBLOCKS],
}

impl Geometry {
    /// First byte of an address.
    #[inline]
    pub fn byte(&self, at: Daddr) -> ByteOff {
        ByteOff(self.bytes(at.0))
    }

    /// The address of a byte; `None` if it is inside a unit.
    pub fn daddr(&self, at: ByteOff) -> Option<Daddr> {
        let unit = u64::from(self.unit);
        if at.0.checked_rem(unit)? == 0 { at.0.checked_div(unit).map(Daddr) } else { None }
    }

    /// Bytes of this many units.
    #[inline]
    pub fn bytes(&self, units: u64) -> u64 {
        units.saturating_mul(self.unit.into())
    }

    /// Units that hold this many bytes: rounded up.
    #[inline]
    pub fn units(&self, bytes: u64) -> u64 {
        crate::num::howmany(bytes, self.unit.into())
    }

    /// Units of a summary.
    #[inline]
    pub fn summary_units(&self) -> u64 {
        self.units(self.sumsize.into())
    }

    /// Units of an inode block.
    #[inline]
    pub fn inode_block_units(&self) -> u64 {
        self.units(self.ibsize.into())
    }

    /// The tree of pointers of this volume's files.
    #[inline]
    pub fn tree(&self) -> Tree {
        Tree { nindir: self.nindir }
    }

    /// How directories are stored. Version 1 has a name for the ifile in the root, which no caller may write: it is
    /// hidden.
    pub fn dir_format(&self) -> DirFormat {
        let hidden = if self.version == Version::V1 { super::IFILE } else { crate::Ino::NONE };
        DirFormat {
            endian: self.endian,
            old: self.maxsymlinklen == 0,
            block: crate::num::index(super::DIRBLOCK),
            wide: self.version.is_wide(),
            hidden,
        }
    }
}

impl From<&Geometry> for Encoding {
    fn from(g: &Geometry) -> Encoding {
        let format = if g.version.is_wide() { Format::Ufs2 } else { Format::Ufs1 };
        let &Geometry { endian, bsize, maxsymlinklen, .. } = g;
        Encoding { format, dialect: Dialect::NetBsd, endian, bsize, maxsymlinklen }
    }
}

/// Bytes that 12 direct and 3 indirect pointers reach.
pub(super) fn largest_file(nindir: u32, bsize: u32) -> u64 {
    let n = u64::from(nindir);
    let (n2, n3) = (n.saturating_mul(n), n.saturating_mul(n).saturating_mul(n));
    let blocks = n.saturating_add(n2).saturating_add(n3).saturating_add(12);
    blocks.saturating_mul(bsize.into()).min(u64::MAX >> 1)
}

#[cfg(test)]
mod tests;
