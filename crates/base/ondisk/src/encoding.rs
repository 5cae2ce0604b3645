//! How the contents of a file are encoded that every layout shares: pointers, device numbers, short symbolic links and
//! attributes. It says nothing of places, so that a log-structured volume has one, too.

use crate::num::index;
use crate::{Dialect, Endian, Format, FragNo, Geometry};

/// The encoding of a volume's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// Width of pointers, and what a dinode can say.
    pub format: Format,
    /// The system that most likely made the volume.
    pub dialect: Dialect,
    /// Byte order of every integer.
    pub endian: Endian,
    /// Bytes of a block.
    pub bsize: u32,
    /// A symbolic link shorter than this is in the inode; 0 if none is.
    pub maxsymlinklen: u32,
}

impl From<&Geometry> for Encoding {
    fn from(g: &Geometry) -> Encoding {
        let &Geometry { format, dialect, endian, bsize, maxsymlinklen, .. } = g;
        Encoding { format, dialect, endian, bsize, maxsymlinklen }
    }
}

impl Encoding {
    /// Bytes of a block pointer: 4 or 8.
    pub fn pointer_size(self) -> usize {
        match self.format {
            Format::Ufs1 => 4,
            Format::Ufs2 => 8,
        }
    }

    /// Pointer `i` of a block of pointers; `None` beyond the block's end.
    #[inline]
    pub fn pointer(self, block: &[u8], i: u32) -> Option<FragNo> {
        let at = index(i).checked_mul(self.pointer_size())?;
        Some(FragNo(match self.format {
            Format::Ufs1 => self.endian.get_u32(block, at)?.into(),
            Format::Ufs2 => self.endian.get_u64(block, at)?,
        }))
    }

    /// Stores pointer `i` of a block of pointers; `None`, and nothing stored, if it is beyond the block's end.
    #[inline]
    pub fn put_pointer(self, block: &mut [u8], i: u32, to: FragNo) -> Option<()> {
        let at = index(i).checked_mul(self.pointer_size())?;
        match self.format {
            Format::Ufs1 => self.endian.put_u32(block, at, u32::try_from(to.0).ok()?),
            Format::Ufs2 => self.endian.put_u64(block, at, to.0),
        }
    }
}
