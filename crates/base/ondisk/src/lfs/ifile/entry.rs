//! Entries of the inode map.

use super::{RawEntry1, RawEntry2, RawEntry64};
use crate::lfs::{Daddr, Version};
use crate::num::{bits64, low32, signed32, signed64};
use crate::{Corrupt, Endian, Ino, Rule, Structure, Timestamp};

/// What follows a free inode in the list of them. It has a meaning only in an entry without an address, except
/// [`NextFree::Orphan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextFree {
    /// Nothing: the end of the list, or an inode in use.
    End,
    /// This free inode.
    Ino(Ino),
    /// The inode has lost its last name and is not freed yet. In version 1 only OrdoFS says so.
    Orphan,
}

/// An entry of the inode map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfileEntry {
    /// Generation: incremented when the inode is freed, never 0.
    pub version: u32,
    /// The inode block; a hole for a free inode, and always for the ifile's own.
    pub daddr: Daddr,
    /// What follows in the list of free inodes.
    pub nextfree: NextFree,
    /// Last read of the file, which replaces the time in the inode (version 2).
    pub atime: Timestamp,
}

/// All ones of 32 bits. No inode has this number.
const ORPHAN32: u64 = 0xffff_ffff;

impl IfileEntry {
    /// The entry of inode 0, which is none: all of it is 0.
    pub const NONE: IfileEntry =
        IfileEntry { version: 0, daddr: Daddr::HOLE, nextfree: NextFree::End, atime: Timestamp { sec: 0, nsec: 0 } };

    /// A free inode that has never been used.
    pub fn unused(nextfree: NextFree) -> IfileEntry {
        IfileEntry { version: 1, daddr: Daddr::HOLE, nextfree, atime: Timestamp::default() }
    }

    /// Decodes the entry of inode `ino` at byte `at` of a block.
    ///
    /// # Errors
    /// The block ends before it does; a negative address, an inode number of more than 32 bits.
    pub fn decode(block: &[u8], at: usize, ino: Ino, version: Version, e: Endian) -> Result<IfileEntry, Corrupt> {
        let bytes = block.get(at..).unwrap_or_default();
        let short = || Corrupt::cut_short(Structure::InodeMap(ino), block.len());
        let none = Timestamp::default();
        let (generation, daddr, nextfree, atime) = match version {
            Version::V1 => {
                let raw = RawEntry1::load(bytes, e).ok_or_else(short)?;
                (raw.version, raw.daddr.into(), raw.nextfree.into(), none)
            }
            Version::V2 => {
                let raw = RawEntry2::load(bytes, e).ok_or_else(short)?;
                let atime = Timestamp::of(raw.atime_sec.into(), signed32(raw.atime_nsec));
                (raw.version, raw.daddr.into(), raw.nextfree.into(), atime)
            }
            Version::Lfs64 => {
                let raw = RawEntry64::load(bytes, e).ok_or_else(short)?;
                (raw.version, raw.daddr, raw.nextfree, Timestamp::of(raw.atime_sec, signed32(raw.atime_nsec)))
            }
        };
        Ok(IfileEntry { version: generation, daddr: address(ino, daddr)?, nextfree: next(ino, nextfree)?, atime })
    }

    /// Writes the entry at byte `at` of a block. `None`, and nothing written, if it does not fit.
    pub fn encode(&self, block: &mut [u8], at: usize, version: Version, e: Endian) -> Option<()> {
        let bytes = block.get_mut(at..)?;
        let (wide, nextfree) = match self.nextfree {
            NextFree::End => (0, 0),
            NextFree::Ino(ino) => (u64::from(ino.0), ino.0),
            NextFree::Orphan => (u64::MAX, u32::MAX),
        };
        let daddr = i32::try_from(self.daddr.0);
        match version {
            Version::V1 => RawEntry1 { version: self.version, daddr: daddr.ok()?, nextfree }.store(bytes, e),
            Version::V2 => {
                let atime_sec = low32(bits64(self.atime.sec.max(0)));
                let (version, atime_nsec) = (self.version, self.atime.nsec);
                RawEntry2 { version, daddr: daddr.ok()?, nextfree, atime_sec, atime_nsec }.store(bytes, e)
            }
            Version::Lfs64 => {
                let (version, atime_nsec, atime_sec) = (self.version, self.atime.nsec, self.atime.sec);
                let daddr = i64::try_from(self.daddr.0).ok()?;
                RawEntry64 { version, atime_nsec, atime_sec, daddr, nextfree: wide }.store(bytes, e)
            }
        }
    }
}

fn address(ino: Ino, daddr: i64) -> Result<Daddr, Corrupt> {
    let rule = || Rule::AtLeast(0);
    u64::try_from(daddr).map(Daddr).map_err(|_| Corrupt::new(Structure::InodeMap(ino), "if_daddr", daddr, rule()))
}

fn next(ino: Ino, nextfree: u64) -> Result<NextFree, Corrupt> {
    match (nextfree, u32::try_from(nextfree)) {
        (0, _) => Ok(NextFree::End),
        // Kernels of NetBSD of 2016 write all ones of 32 bits into entries of 64, too.
        (ORPHAN32 | u64::MAX, _) => Ok(NextFree::Orphan),
        (_, Ok(next)) => Ok(NextFree::Ino(Ino(next))),
        (_, Err(_)) => {
            let (structure, found) = (Structure::InodeMap(ino), signed64(nextfree));
            Err(Corrupt::new(structure, "if_nextfree", found, Rule::AtMost(u32::MAX.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_marks_of_an_orphan_are_known_and_the_wide_one_is_written() {
        let ino = Ino(9);
        for e in [Endian::Little, Endian::Big] {
            for (version, at) in [(Version::V1, 8), (Version::V2, 8), (Version::Lfs64, 24)] {
                let wide = version.is_wide();
                let mut block = vec![0; 64];
                IfileEntry::unused(NextFree::Orphan).encode(&mut block, 0, version, e).unwrap();
                let mark = if wide { e.get_u64(&block, at) } else { e.get_u32(&block, at).map(u64::from) };
                assert_eq!(mark, Some(if wide { u64::MAX } else { u32::MAX.into() }));
                assert_eq!(IfileEntry::decode(&block, 0, ino, version, e).unwrap().nextfree, NextFree::Orphan);
                if wide {
                    e.put_u64(&mut block, at, u32::MAX.into()).unwrap();
                    assert_eq!(IfileEntry::decode(&block, 0, ino, version, e).unwrap().nextfree, NextFree::Orphan);
                    e.put_u64(&mut block, at, 1 << 32).unwrap();
                    assert!(IfileEntry::decode(&block, 0, ino, version, e).is_err());
                }
            }
        }
    }
}
