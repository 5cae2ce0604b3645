//! The magic: whether bytes may be a superblock of LFS, of which width, in which byte order.

use crate::Endian;

/// With 32-bit addresses, versions 1 and 2.
pub const MAGIC: u32 = 0x0007_0162;
/// With 64-bit addresses.
pub const MAGIC64: u32 = 0xe69d_f8fe;

/// What the first four bytes say: addresses of 64 bits or 32, and the byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// 64-bit addresses.
    pub wide: bool,
    /// Byte order.
    pub endian: Endian,
}

/// Whether `bytes` start with the magic of LFS.
pub fn recognise(bytes: &[u8]) -> Option<Magic> {
    [Endian::Little, Endian::Big].into_iter().find_map(|endian| match endian.get_u32(bytes, 0)? {
        MAGIC => Some(Magic { wide: false, endian }),
        MAGIC64 => Some(Magic { wide: true, endian }),
        _ => None,
    })
}
