//! The magic: whether bytes may be a superblock, of which format, in which byte order.

use crate::{Endian, Format};

/// UFS1.
pub const MAGIC_UFS1: u32 = 0x0001_1954;
/// UFS2.
pub const MAGIC_UFS2: u32 = 0x1954_0119;
/// UFS2 of NetBSD 10 with extended attributes.
pub const MAGIC_UFS2EA: u32 = 0x1901_2038;
/// UFS1 of Solaris with more than a terabyte.
pub const MAGIC_MTB: u32 = 0x00de_cade;
/// A volume whose creation did not finish.
pub const MAGIC_UNFINISHED: u32 = 0x1996_0408;
/// Offset of the magic.
pub const MAGIC_AT: usize = 1372;

/// The kind of volume, by the four bytes at offset 1372.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Magic {
    /// A format and its byte order.
    Volume(Format, Endian),
    /// The creation of this volume was interrupted.
    Unfinished,
}

impl Magic {
    /// Reads the magic of a possible superblock; `None` for an unknown one.
    pub fn of(bytes: &[u8]) -> Option<Magic> {
        [Endian::Little, Endian::Big].into_iter().find_map(|endian| match endian.get_u32(bytes, MAGIC_AT)? {
            MAGIC_UFS1 | MAGIC_MTB => Some(Magic::Volume(Format::Ufs1, endian)),
            MAGIC_UFS2 | MAGIC_UFS2EA => Some(Magic::Volume(Format::Ufs2, endian)),
            MAGIC_UNFINISHED => Some(Magic::Unfinished),
            _ => None,
        })
    }
}
