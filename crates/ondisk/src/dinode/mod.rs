//! An inode on disk, in one form for both formats.
//!
//! I1. Pointers are addresses, unsigned: a damaged negative one becomes an address beyond any volume.
//! I2. A short symbolic link lives in the bytes of the pointers. `db` and `ib` hold it as the numbers that those bytes
//!     are, so encoding gives the same bytes back; [`Dinode::short_link`] turns them into text.
//! I3. [`Dinode::encode`] writes every byte it owns and then the check hash. An inode that leaves without its hash would
//!     be refused by FreeBSD.

mod check;
mod raw;
mod rdev;

pub use raw::{RawDinode1, RawDinode2};
pub use rdev::{linux_rdev, volume_rdev};

use crate::num::{bits32, index, low32, signed32};
use crate::{Corrupt, Endian, Format, FragNo, Geometry, Ino, Rule, Structure, hash};

/// Bits of the mode that say what kind of file it is.
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

/// Flags of `chflags` that change what may be done to a file.
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

/// Where the hash is in UFS2's inode.
const CKHASH_AT: usize = 244;

/// A moment: seconds since 1970 and nanoseconds. A stored count of nanoseconds that is none reads as 0. UFS1 stores
/// unsigned 32-bit seconds, as FreeBSD does since 2024: a moment outside 1970 to 2106 becomes the nearest that is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Timestamp {
    /// Seconds since 1970; negative before.
    pub sec: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nsec: u32,
}

impl Timestamp {
    fn of(sec: i64, nsec: i32) -> Timestamp {
        Timestamp { sec, nsec: u32::try_from(nsec).ok().filter(|&n| n < 1_000_000_000).unwrap_or(0) }
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
    /// FreeBSD: next of the unlinked inodes, or depth of a directory.
    pub freelink: u32,
    /// Block size of this inode, which no system uses.
    pub blksize: u32,
    /// Flags of a kernel, which no system uses.
    pub kernflags: u32,
}

impl Dinode {
    /// Decodes inode `ino` from the start of `bytes`, without a look at what it says: [`Dinode::check`] does that.
    ///
    /// # Errors
    /// A wrong check hash, where inodes carry one; too few bytes.
    pub fn decode(bytes: &[u8], g: &Geometry, ino: Ino) -> Result<Dinode, Corrupt> {
        let short = || Corrupt::cut_short(Structure::Inode(ino), bytes.len());
        match g.format {
            Format::Ufs1 => Ok(Dinode::from_ufs1(&RawDinode1::load(bytes, g.endian).ok_or_else(short)?, g)),
            Format::Ufs2 => {
                let raw = RawDinode2::load(bytes, g.endian).ok_or_else(short)?;
                // A free inode keeps whatever hash it had.
                if g.inode_hash && raw.mode != 0 {
                    let all = bytes.get(..RawDinode2::SIZE).ok_or_else(short)?;
                    let right = hash::check_hash_without(all, CKHASH_AT);
                    if raw.ckhash != right {
                        let structure = Structure::Inode(ino);
                        let wrong = Corrupt::new(structure, "di_ckhash", raw.ckhash, Rule::IsHex(right));
                        return Err(wrong.at(Dinode::place(g, ino)));
                    }
                }
                Ok(Dinode::from_ufs2(&raw))
            }
        }
    }

    /// First byte of an inode in the volume.
    pub fn place(g: &Geometry, ino: Ino) -> crate::ByteOff {
        let (block, within) = g.inode_at(ino);
        crate::ByteOff(g.byte(block).0.saturating_add(crate::num::len64(within)))
    }

    fn from_ufs1(raw: &RawDinode1, g: &Geometry) -> Dinode {
        let sec = |field: i32| i64::from(bits32(field));
        let wide = |n: u32| FragNo(n.into());
        let (uid, gid) = if g.old_inode { old_ids(raw.freelink, g.endian) } else { (raw.uid, raw.gid) };
        Dinode {
            mode: raw.mode,
            nlink: raw.nlink,
            uid,
            gid,
            size: raw.size,
            blocks: raw.blocks.into(),
            atime: Timestamp::of(sec(raw.atime), raw.atimensec),
            mtime: Timestamp::of(sec(raw.mtime), raw.mtimensec),
            ctime: Timestamp::of(sec(raw.ctime), raw.ctimensec),
            gen_: raw.gen_,
            // 4.2BSD has a word of status there, which it does not use.
            flags: if g.old_inode { 0 } else { raw.flags },
            db: raw.db.map(wide),
            ib: raw.ib.map(wide),
            modrev: raw.modrev,
            freelink: raw.freelink,
            ..Dinode::default()
        }
    }

    fn from_ufs2(raw: &RawDinode2) -> Dinode {
        Dinode {
            mode: raw.mode,
            nlink: raw.nlink,
            uid: raw.uid,
            gid: raw.gid,
            size: raw.size,
            blocks: raw.blocks,
            atime: Timestamp::of(raw.atime, raw.atimensec),
            mtime: Timestamp::of(raw.mtime, raw.mtimensec),
            ctime: Timestamp::of(raw.ctime, raw.ctimensec),
            birth: Timestamp::of(raw.birthtime, raw.birthnsec),
            gen_: raw.gen_,
            flags: raw.flags,
            extsize: raw.extsize,
            extb: raw.extb.map(FragNo),
            db: raw.db.map(FragNo),
            ib: raw.ib.map(FragNo),
            modrev: raw.modrev,
            freelink: raw.freelink,
            blksize: raw.blksize,
            kernflags: raw.kernflags,
        }
    }

    /// Writes the inode to the start of `bytes` with its check hash, where inodes carry one. Spare bytes stay. `None`,
    /// and nothing written, where `bytes` are fewer than an inode.
    pub fn encode(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        match g.format {
            Format::Ufs1 => self.encode_ufs1(bytes, g),
            Format::Ufs2 => self.encode_ufs2(bytes, g),
        }
    }

    fn encode_ufs1(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let flags_there = g.endian.get_u32(bytes, 100)?;
        let nanos = |t: Timestamp| signed32(t.nsec);
        let narrow = |p: FragNo| low32(p.0);
        RawDinode1 {
            mode: self.mode,
            nlink: self.nlink,
            freelink: if g.old_inode { pack_ids(self.uid, self.gid, g.endian) } else { self.freelink },
            size: self.size,
            atime: self.atime.narrow(),
            atimensec: nanos(self.atime),
            mtime: self.mtime.narrow(),
            mtimensec: nanos(self.mtime),
            ctime: self.ctime.narrow(),
            ctimensec: nanos(self.ctime),
            db: self.db.map(narrow),
            ib: self.ib.map(narrow),
            flags: if g.old_inode { flags_there } else { self.flags },
            blocks: low32(self.blocks),
            gen_: self.gen_,
            uid: self.uid,
            gid: self.gid,
            modrev: self.modrev,
        }
        .store(bytes, g.endian)
    }

    fn encode_ufs2(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let bytes: &mut [u8; RawDinode2::SIZE] = bytes.first_chunk_mut()?;
        let e = g.endian;
        let nanos = |t: Timestamp| signed32(t.nsec);
        RawDinode2 {
            mode: self.mode,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            blksize: self.blksize,
            size: self.size,
            blocks: self.blocks,
            atime: self.atime.sec,
            mtime: self.mtime.sec,
            ctime: self.ctime.sec,
            birthtime: self.birth.sec,
            mtimensec: nanos(self.mtime),
            atimensec: nanos(self.atime),
            ctimensec: nanos(self.ctime),
            birthnsec: nanos(self.birth),
            gen_: self.gen_,
            kernflags: self.kernflags,
            flags: self.flags,
            extsize: self.extsize,
            extb: self.extb.map(|p| p.0),
            db: self.db.map(|p| p.0),
            ib: self.ib.map(|p| p.0),
            modrev: self.modrev,
            freelink: self.freelink,
            ckhash: e.get_u32(bytes, CKHASH_AT)?,
            spare: [e.get_u32(bytes, 248)?, e.get_u32(bytes, 252)?],
        }
        .store(bytes, e)?;
        if g.inode_hash && self.mode != 0 {
            hash::store_hash(bytes, CKHASH_AT, e)?;
        }
        Some(())
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
    pub fn is_short_link(&self, g: &Geometry) -> bool {
        self.kind() == mode::LNK && self.size < g.maxsymlinklen.into()
    }

    /// `true` for a file whose pointers lead to blocks: a regular file, a directory, or a long symbolic link.
    pub fn has_blocks(&self, g: &Geometry) -> bool {
        match self.kind() {
            mode::REG | mode::DIR => true,
            mode::LNK => !self.is_short_link(g),
            _ => false,
        }
    }

    /// The text of a short symbolic link, with its length; `None` where the link is not short.
    pub fn short_link(&self, g: &Geometry) -> Option<ShortLink> {
        if !self.is_short_link(g) {
            return None;
        }
        let mut link = ShortLink { bytes: [0; 120], len: usize::try_from(self.size).ok()? };
        for (i, p) in (0u32..).zip(self.db.iter().chain(&self.ib)) {
            g.put_pointer(&mut link.bytes, i, *p)?;
        }
        Some(link)
    }

    /// Puts the text of a short symbolic link where the pointers are, and sets the size. `None`, and nothing changed,
    /// where it is too long to be short.
    pub fn set_short_link(&mut self, g: &Geometry, text: &[u8]) -> Option<()> {
        if text.len() >= index(g.maxsymlinklen) {
            return None;
        }
        let mut bytes = [0; 120];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let pointers = self.db.iter_mut().chain(&mut self.ib);
        for (i, p) in (0u32..).zip(pointers) {
            *p = g.pointer(&bytes, i)?;
        }
        self.size = crate::num::len64(text.len());
        Some(())
    }

    /// The number of a device, as the volume stores it; [`linux_rdev`] translates it.
    pub fn rdev(&self) -> u64 {
        let [first, ..] = self.db;
        first.0
    }

    /// Stores the number of a device.
    pub fn set_rdev(&mut self, rdev: u64) {
        let [first, ..] = &mut self.db;
        *first = FragNo(rdev);
    }

    /// A free inode that has never been used, with a generation for its first user.
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

/// 4.2BSD's owner and group: two 16-bit numbers, in the order of their addresses.
fn old_ids(word: u32, endian: Endian) -> (u32, u32) {
    let [a, b, c, d] = endian.u32_bytes(word);
    (endian.u16([a, b]).into(), endian.u16([c, d]).into())
}

fn pack_ids(uid: u32, gid: u32, endian: Endian) -> u32 {
    let [a, b] = endian.u16_bytes(u16::try_from(uid).unwrap_or(u16::MAX));
    let [c, d] = endian.u16_bytes(u16::try_from(gid).unwrap_or(u16::MAX));
    endian.u32([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format, endian: Endian) -> Geometry {
        NewfsParams { endian, ..NewfsParams::new(format, 64 << 20) }.superblock().unwrap().geometry()
    }

    fn sample() -> Dinode {
        let t = |sec| Timestamp { sec, nsec: 999_999_999 };
        Dinode {
            mode: 0o100_644,
            nlink: 40_000,
            uid: 70_000,
            gid: 80_000,
            size: 1 << 33,
            blocks: 77,
            atime: t(4_000_000_000),
            mtime: t(2),
            ctime: t(3),
            birth: Timestamp::default(),
            gen_: 9,
            flags: flags::UF_NODUMP,
            db: std::array::from_fn(|i| FragNo(100 + 8 * len(i))),
            ib: [FragNo(1000), FragNo(2000), FragNo(3000)],
            modrev: 1 << 40,
            freelink: 12,
            ..Dinode::default()
        }
    }

    fn len(i: usize) -> u64 {
        crate::num::len64(i)
    }

    #[test]
    fn inode_is_read_as_it_was_written_in_every_format() {
        for format in [Format::Ufs1, Format::Ufs2] {
            for endian in [Endian::Little, Endian::Big] {
                let g = geometry(format, endian);
                let mut inode = sample();
                if format == Format::Ufs2 {
                    inode.birth = Timestamp { sec: -5, nsec: 1 };
                    (inode.extsize, inode.extb) = (300, [FragNo(1 << 40), FragNo(0)]);
                }
                let mut bytes = [0xcc; 256];
                inode.encode(&mut bytes, &g).unwrap();
                assert_eq!(Dinode::decode(&bytes, &g, Ino(9)).unwrap(), inode);
                let spare = if format == Format::Ufs2 { &bytes[248..] } else { &bytes[128..] };
                assert!(spare.iter().all(|&b| b == 0xcc));
            }
        }
    }

    #[test]
    fn free_inode_is_read_whatever_its_hash() {
        let g = geometry(Format::Ufs2, Endian::Little);
        let mut bytes = [0; 256];
        bytes[CKHASH_AT] = 1;
        assert!(Dinode::decode(&bytes, &g, Ino(9)).is_ok());
        bytes[0] = 1;
        let damage = Dinode::decode(&bytes, &g, Ino(9)).unwrap_err();
        assert_eq!((damage.field, damage.at), ("di_ckhash", Some(Dinode::place(&g, Ino(9)))));
        assert!(Dinode::decode(&bytes[1..], &g, Ino(9)).is_err());
    }

    #[test]
    fn times_beyond_what_is_stored_become_the_nearest() {
        let g = geometry(Format::Ufs1, Endian::Little);
        let read_back = |sec| {
            let mut bytes = [0; 128];
            Dinode { mtime: Timestamp { sec, nsec: 0 }, ..sample() }.encode(&mut bytes, &g).unwrap();
            Dinode::decode(&bytes, &g, Ino(9)).unwrap().mtime.sec
        };
        assert_eq!((read_back(-1), read_back(1 << 40)), (0, u32::MAX.into()));
        assert_eq!(Timestamp::of(5, 1_000_000_000), Timestamp { sec: 5, nsec: 0 });
        assert_eq!(Timestamp::of(5, -1), Timestamp { sec: 5, nsec: 0 });
    }

    #[test]
    fn old_inodes_have_owners_of_16_bits_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let mut g = geometry(Format::Ufs1, endian);
            g.old_inode = true;
            let mut bytes = [0; 128];
            Dinode { uid: 1001, gid: 70_000, ..sample() }.encode(&mut bytes, &g).unwrap();
            assert_eq!((endian.get_u16(&bytes, 4), endian.get_u16(&bytes, 6)), (Some(1001), Some(65535)));
            let inode = Dinode::decode(&bytes, &g, Ino(9)).unwrap();
            assert_eq!((inode.uid, inode.gid, inode.flags), (1001, 65535, 0));
        }
    }
}
