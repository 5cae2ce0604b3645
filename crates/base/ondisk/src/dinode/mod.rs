//! An inode on disk, in one form for both formats.
//!
//! I1. Pointers are addresses, unsigned: a damaged negative one becomes an address beyond any volume.
//! I2. A short symbolic link is stored in the bytes of the pointers. `db` and `ib` hold those bytes as numbers, so
//!     encoding gives the same bytes back; [`Dinode::short_link`] turns them into text.
//! I3. [`Dinode::encode`] writes every byte it owns and then the check hash. FreeBSD would refuse an inode that is
//!     written without its hash.

mod check;
mod codec;
mod raw;
mod rdev;

pub use raw::{RawDinode1, RawDinode2};
pub use rdev::{linux_rdev, volume_rdev};

use crate::num::{index, signed32};
use crate::{Corrupt, Dialect, Encoding, Format, FragNo, Geometry, Ino, Rule, Structure, hash};

/// Bits of the mode for the kind of file.
pub const IFMT: u16 = 0o170_000;
/// Kinds of files, as in the mode.
#[allow(missing_docs)]
pub mod mode {
    pub const FIFO: u16 = 0o010_000;
    pub const CHR: u16 = 0o020_000;
    pub const DIR: u16 = 0o040_000;
    pub const BLK: u16 = 0o060_000;
    pub const REG: u16 = 0o100_000;
    pub const LNK: u16 = 0o120_000;
    pub const SOCK: u16 = 0o140_000;
}

/// Flags of `chflags` that restrict changes of a file.
#[allow(missing_docs)]
pub mod flags {
    pub const UF_NODUMP: u32 = 0x0000_0001;
    pub const UF_IMMUTABLE: u32 = 0x0000_0002;
    pub const UF_APPEND: u32 = 0x0000_0004;
    pub const UF_OPAQUE: u32 = 0x0000_0008;
    pub const UF_NOUNLINK: u32 = 0x0000_0010;
    pub const SF_ARCHIVED: u32 = 0x0001_0000;
    pub const SF_IMMUTABLE: u32 = 0x0002_0000;
    pub const SF_APPEND: u32 = 0x0004_0000;
    pub const SF_NOUNLINK: u32 = 0x0010_0000;
    pub const SF_SNAPSHOT: u32 = 0x0020_0000;
    /// NetBSD's log file.
    pub const SF_LOG: u32 = 0x0040_0000;
    /// NetBSD: a snapshot that is no longer valid.
    pub const SF_SNAPINVAL: u32 = 0x0080_0000;
    /// Flags that an owner may change.
    pub const USER_SETTABLE: u32 = 0x0000_ffff;
}

/// Offset of the hash in UFS2's inode.
const CKHASH_AT: usize = 244;

/// A time: seconds since 1970 and nanoseconds. An invalid stored count of nanoseconds reads as 0. UFS1 stores unsigned
/// 32-bit seconds, as FreeBSD does since 2024: a time outside 1970 to 2106 becomes the nearest one inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Timestamp {
    /// Seconds since 1970; negative before.
    pub sec: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nsec: u32,
}

impl Timestamp {
    pub(crate) fn of(sec: i64, nsec: i32) -> Timestamp {
        Timestamp { sec, nsec: u32::try_from(nsec).ok().filter(|&n| n < 1_000_000_000).unwrap_or(0) }
    }

    /// The nearest time that an inode of this format can hold.
    #[must_use]
    pub fn held(self, format: Format) -> Timestamp {
        match format {
            Format::Ufs1 => match u32::try_from(self.sec) {
                Ok(_) => self,
                Err(_) => Timestamp { sec: self.sec.clamp(0, u32::MAX.into()), nsec: 0 },
            },
            Format::Ufs2 => self,
        }
    }

    fn narrow(self) -> i32 {
        signed32(u32::try_from(self.sec.max(0)).unwrap_or(u32::MAX))
    }
}

/// An inode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Dinode {
    /// Type and permissions; 0 in a free inode.
    pub mode: u16,
    pub nlink: u16,
    pub uid: u32,
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Sectors of 512 bytes: data, indirect blocks and attribute area.
    pub blocks: u64,
    pub atime: Timestamp,
    pub mtime: Timestamp,
    pub ctime: Timestamp,
    /// Creation; UFS2 only.
    pub birth: Timestamp,
    /// Generation.
    pub gen_: u32,
    /// Flags of `chflags`.
    pub flags: u32,
    /// Bytes of the attribute area; UFS2 only.
    pub extsize: u32,
    /// Pointers of the attribute area; UFS2 only.
    pub extb: [FragNo; 2],
    /// Direct pointers; or part of a short symbolic link; or the number of a device.
    pub db: [FragNo; 12],
    /// Indirect pointers: single, double, triple.
    pub ib: [FragNo; 3],
    /// Count of changes.
    pub modrev: u64,
    /// FreeBSD: next of the unlinked inodes, or depth of a directory. LFS: the inode's number.
    pub freelink: u32,
    /// Block size of this inode, which is not used by any system.
    pub blksize: u32,
    /// Flags of a kernel, which are not used by any system.
    pub kernflags: u32,
}

impl Dinode {
    /// Decodes inode `ino` from the start of `bytes`, without checking its contents: [`Dinode::check`] does that.
    ///
    /// # Errors
    /// A wrong check hash, if inodes have one; too few bytes.
    pub fn decode(bytes: &[u8], g: &Geometry, ino: Ino) -> Result<Dinode, Corrupt> {
        let short = || Corrupt::cut_short(Structure::Inode(ino), bytes.len());
        match g.format {
            Format::Ufs1 => Ok(Dinode::from_ufs1(&RawDinode1::load(bytes, g.endian).ok_or_else(short)?, g)),
            Format::Ufs2 => {
                let raw = RawDinode2::load(bytes, g.endian).ok_or_else(short)?;
                // A free inode keeps its old hash.
                if g.inode_hash && raw.mode != 0 {
                    let all = bytes.get(..RawDinode2::SIZE).ok_or_else(short)?;
                    let right = hash::check_hash_without(all, CKHASH_AT);
                    if raw.ckhash != right {
                        let structure = Structure::Inode(ino);
                        let wrong = Corrupt::new(structure, "di_ckhash", raw.ckhash, Rule::IsHex(right));
                        return Err(wrong.at(Dinode::place(g, ino)));
                    }
                }
                Ok(Dinode::from_wide(&raw))
            }
        }
    }

    /// Computes the check hash of the inode in `bytes` (UFS2), or clears it on a volume without; nothing else changes.
    /// The hash of a free inode is ignored. `None`, without a change, if `bytes` are shorter than an inode.
    pub fn rehash(bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let bytes = bytes.get_mut(..RawDinode2::SIZE)?;
        let in_use = g.endian.get_u16(bytes, 0)? != 0;
        match g.inode_hash && in_use {
            true => hash::store_hash(bytes, CKHASH_AT, g.endian).map(|_| ()),
            false => g.endian.put_u32(bytes, CKHASH_AT, 0),
        }
    }

    /// First byte of an inode in the volume.
    pub fn place(g: &Geometry, ino: Ino) -> crate::ByteOff {
        let (block, within) = g.inode_at(ino);
        crate::ByteOff(g.byte(block).0.saturating_add(crate::num::len64(within)))
    }

    /// The kind of file, as bits of the mode.
    #[inline]
    pub fn kind(&self) -> u16 {
        self.mode & IFMT
    }

    /// `true` for a directory.
    #[inline]
    pub fn is_dir(&self) -> bool {
        self.kind() == mode::DIR
    }

    /// `true` for a character or block device.
    pub fn is_device(&self) -> bool {
        matches!(self.kind(), mode::CHR | mode::BLK)
    }

    /// `true` for a symbolic link whose text is in the inode.
    pub fn is_short_link(&self, encoding: impl Into<Encoding>) -> bool {
        let encoding = encoding.into();
        // SunOS's links are in blocks, however short they are.
        let in_blocks = encoding.dialect == Dialect::Solaris && self.blocks != 0;
        self.kind() == mode::LNK && self.size < encoding.maxsymlinklen.into() && !in_blocks
    }

    /// `true` for a file whose pointers refer to blocks: a regular file, a directory, or a long symbolic link.
    pub fn has_blocks(&self, g: &Geometry) -> bool {
        self.points_to_blocks(g)
    }

    /// [`Dinode::has_blocks`], on a volume of any layout.
    pub fn points_to_blocks(&self, encoding: impl Into<Encoding>) -> bool {
        match self.kind() {
            mode::REG | mode::DIR => true,
            mode::LNK => !self.is_short_link(encoding),
            _ => false,
        }
    }

    /// The text of a short symbolic link, with its length; `None` if the link is not short.
    pub fn short_link(&self, encoding: impl Into<Encoding>) -> Option<ShortLink> {
        let encoding = encoding.into();
        if !self.is_short_link(encoding) {
            return None;
        }
        let mut link = ShortLink { bytes: [0; 120], len: usize::try_from(self.size).ok()? };
        for (i, p) in (0u32..).zip(self.db.iter().chain(&self.ib)) {
            encoding.put_pointer(&mut link.bytes, i, *p)?;
        }
        Some(link)
    }

    /// Stores the text of a short symbolic link in place of the pointers, and sets the size. `None`, without a change,
    /// if it is too long to be short.
    pub fn set_short_link(&mut self, encoding: impl Into<Encoding>, text: &[u8]) -> Option<()> {
        let encoding = encoding.into();
        if text.len() >= index(encoding.maxsymlinklen) {
            return None;
        }
        let mut bytes = [0; 120];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let pointers = self.db.iter_mut().chain(&mut self.ib);
        for (i, p) in (0u32..).zip(pointers) {
            *p = encoding.pointer(&bytes, i)?;
        }
        self.size = crate::num::len64(text.len());
        Some(())
    }

    /// The device number, as the volume stores it; [`linux_rdev`] translates it.
    pub fn rdev(&self) -> u64 {
        let [first, ..] = self.db;
        first.0
    }

    /// Stores the device number.
    pub fn set_rdev(&mut self, rdev: u64) {
        let [first, ..] = &mut self.db;
        *first = FragNo(rdev);
    }

    /// A free inode that has never been used, with the generation for its first use.
    pub fn free(generation: u32) -> Dinode {
        Dinode { gen_: generation, ..Dinode::default() }
    }

    /// Sectors of 512 bytes in this many bytes.
    pub fn sectors(bytes: u64) -> u64 {
        bytes / 512
    }
}

/// The text of a short symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortLink {
    bytes: [u8; 120],
    len: usize,
}

impl ShortLink {
    /// The text.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
