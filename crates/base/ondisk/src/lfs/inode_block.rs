//! Inode blocks: arrays of inodes in the order in which they were written.
//!
//! N1. No structure says which slot an inode is in: it is the last one with its number. An earlier one with the same
//!     number is older, so a search from the front would find an old inode.
//! N2. [`Dinode::blocks`] counts sectors here as everywhere; the volume stores units of its addresses.
//! N3. Number 0 marks a slot without an inode; its other bytes mean nothing.

use super::{Geometry, Version};
use crate::dinode::{RawDinode1, RawDinode2};
use crate::num::{index, low32};
use crate::{Corrupt, Dinode, Ino, Rule, Structure};

/// Offset of the number in an inode with 64-bit addresses.
const INUMBER64_AT: usize = 240;
/// And with 32-bit ones.
const INUMBER_AT: usize = 4;

/// The slots of an inode block that hold an inode, from the first to the last, with their numbers. A number of more
/// than 32 bits, which no program gives, ends as [`Ino`] `u32::MAX`.
pub fn slots<'a>(block: &'a [u8], g: &Geometry) -> impl DoubleEndedIterator<Item = (u32, Ino)> + use<'a> {
    let g = *g;
    (0..g.inopb).filter_map(move |slot| Some((slot, inumber(block, slot, &g)?)).filter(|(_, ino)| ino.0 != 0))
}

/// The slot that holds `ino`: the last one with its number (N1).
pub fn find(block: &[u8], g: &Geometry, ino: Ino) -> Option<u32> {
    slots(block, g).rev().find(|(_, number)| *number == ino && ino.0 != 0).map(|(slot, _)| slot)
}

/// First byte of a slot.
pub fn slot_at(g: &Geometry, slot: u32) -> usize {
    index(slot.saturating_mul(g.version.dinode_size()))
}

/// The inode number in a slot; 0 in an unused one. `None` beyond the block.
pub fn inumber(block: &[u8], slot: u32, g: &Geometry) -> Option<Ino> {
    let at = slot_at(g, slot);
    if slot >= g.inopb {
        return None;
    }
    match g.version {
        Version::Lfs64 => Some(Ino(low32(g.endian.get_u64(block, at.checked_add(INUMBER64_AT)?)?))),
        Version::V1 | Version::V2 => Some(Ino(g.endian.get_u32(block, at.checked_add(INUMBER_AT)?)?)),
    }
}

/// Decodes the inode in a slot, without judging its contents; its number is in [`Dinode::freelink`].
///
/// # Errors
/// A slot beyond the block; a count of blocks or a number that cannot be.
pub fn get(block: &[u8], slot: u32, g: &Geometry) -> Result<Dinode, Corrupt> {
    let ino = inumber(block, slot, g).unwrap_or_default();
    let short = || Corrupt::cut_short(Structure::Inode(ino), block.len());
    if slot >= g.inopb {
        return Err(short());
    }
    let bytes = block.get(slot_at(g, slot)..).unwrap_or_default();
    let mut inode = if g.version.is_wide() {
        let raw = RawDinode2::load(bytes, g.endian).ok_or_else(short)?;
        let number = g.endian.get_u64(bytes, INUMBER64_AT).ok_or_else(short)?;
        let why = || Rule::AtMost(u32::MAX.into());
        let low = u32::try_from(number);
        let low = low.map_err(|_| Corrupt::new(Structure::Inode(ino), "di_inumber", number, why()))?;
        Dinode { freelink: low, ..Dinode::from_wide(&raw) }
    } else {
        Dinode::from_narrow(&RawDinode1::load(bytes, g.endian).ok_or_else(short)?)
    };
    let sectors = inode.blocks.checked_mul(sectors_per_unit(g));
    let why = || Rule::Words("more than any volume has");
    inode.blocks = sectors.ok_or_else(|| Corrupt::new(Structure::Inode(ino), "di_blocks", inode.blocks, why()))?;
    Ok(inode)
}

/// Decodes inode `ino` of a block (N1).
///
/// # Errors
/// No slot has it; see [`get`].
pub fn get_ino(block: &[u8], g: &Geometry, ino: Ino) -> Result<Dinode, Corrupt> {
    let why = || Rule::Words("which no slot of its inode block has");
    let slot = find(block, g, ino).ok_or_else(|| Corrupt::new(Structure::Inode(ino), "di_inumber", ino.0, why()))?;
    get(block, slot, g)
}

/// Writes an inode with its number into a slot; spare bytes are kept. `None`, and nothing written, beyond the block.
pub fn put(block: &mut [u8], slot: u32, g: &Geometry, ino: Ino, inode: &Dinode) -> Option<()> {
    if slot >= g.inopb {
        return None;
    }
    let bytes = block.get_mut(slot_at(g, slot)..)?;
    let units = crate::num::howmany(inode.blocks, sectors_per_unit(g));
    if g.version.is_wide() {
        let spare = bytes.get(248..RawDinode2::SIZE)?.first_chunk::<8>().copied()?;
        let mut raw = inode.to_wide();
        raw.blocks = units;
        raw.spare = [g.endian.get_u32(&spare, 0)?, g.endian.get_u32(&spare, 4)?];
        raw.store(bytes, g.endian)?;
        return g.endian.put_u64(bytes, INUMBER64_AT, ino.0.into());
    }
    let mut raw = inode.to_narrow();
    raw.blocks = low32(units);
    raw.freelink = ino.0;
    raw.store(bytes, g.endian)
}

/// Sectors of 512 bytes in the unit of addresses.
fn sectors_per_unit(g: &Geometry) -> u64 {
    u64::from(g.unit / 512).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lfs::NewfsOptions;
    use crate::{Endian, FragNo, Timestamp};

    fn geometry(version: Version, endian: Endian) -> Geometry {
        NewfsOptions { endian, ..NewfsOptions::new(version, 256 << 20) }.superblock().unwrap().geometry()
    }

    fn sample(size: u64) -> Dinode {
        let now = Timestamp { sec: 1_700_000_000, nsec: 5 };
        Dinode {
            mode: 0o100_600,
            nlink: 2,
            size,
            blocks: 32,
            gen_: 9,
            flags: 0x0002_0000,
            atime: now,
            mtime: now,
            ctime: now,
            db: [FragNo(7); 12],
            ib: [FragNo(8), FragNo(9), FragNo(0)],
            modrev: 1 << 40,
            ..Dinode::default()
        }
    }

    #[test]
    fn inode_is_read_as_it_was_written_in_every_form() {
        for version in [Version::V1, Version::V2, Version::Lfs64] {
            for endian in [Endian::Little, Endian::Big] {
                let g = geometry(version, endian);
                let mut block = vec![0xee; index(g.ibsize)];
                put(&mut block, 1, &g, Ino(77), &sample(5000)).unwrap();
                let size = index(version.dinode_size());
                assert!(block[..size].iter().chain(&block[2 * size..]).all(|&b| b == 0xee));
                let right = Dinode { freelink: 77, ..sample(5000) };
                assert_eq!(get(&block, 1, &g), Ok(right));
                assert_eq!(inumber(&block, 1, &g), Some(Ino(77)));
                // The volume counts its own units: sectors in version 1, two of them here otherwise.
                let at = if version.is_wide() { size + 24 } else { size + 104 };
                let units = if version.is_wide() {
                    endian.get_u64(&block, at).unwrap()
                } else {
                    endian.get_u32(&block, at).unwrap().into()
                };
                assert_eq!(units, if version == Version::V1 { 32 } else { 16 });
                if version.is_wide() {
                    assert_eq!(block[size + 248..size + 256], [0xee; 8]);
                }
                assert_eq!(put(&mut block, g.inopb, &g, Ino(1), &sample(1)), None);
                assert_eq!(get(&block, g.inopb, &g).unwrap_err().field, "length");
            }
        }
    }

    #[test]
    fn later_slot_of_an_inode_is_the_newer_one() {
        for version in [Version::V1, Version::V2, Version::Lfs64] {
            let g = geometry(version, Endian::Little);
            let mut block = vec![0; index(g.ibsize)];
            for (slot, ino, size) in [(0, 5, 100), (1, 6, 200), (2, 5, 300)] {
                put(&mut block, slot, &g, Ino(ino), &sample(size)).unwrap();
            }
            assert_eq!(
                (find(&block, &g, Ino(5)), find(&block, &g, Ino(6)), find(&block, &g, Ino(7))),
                (Some(2), Some(1), None)
            );
            assert_eq!(get_ino(&block, &g, Ino(5)).unwrap().size, 300);
            assert_eq!(find(&block, &g, Ino(0)), None, "an unused slot is no inode");
            assert_eq!(slots(&block, &g).collect::<Vec<_>>(), [(0, Ino(5)), (1, Ino(6)), (2, Ino(5))]);
            let damage = get_ino(&block, &g, Ino(7)).unwrap_err();
            assert_eq!((damage.structure, damage.field), (Structure::Inode(Ino(7)), "di_inumber"));
        }
    }

    #[test]
    fn impossible_numbers_of_64_bits_are_damage() {
        let g = geometry(Version::Lfs64, Endian::Big);
        let mut block = vec![0; index(g.ibsize)];
        put(&mut block, 0, &g, Ino(5), &sample(1)).unwrap();
        g.endian.put_u64(&mut block, 24, u64::MAX).unwrap();
        assert_eq!(get(&block, 0, &g).unwrap_err().field, "di_blocks");
        g.endian.put_u64(&mut block, INUMBER64_AT, 1 << 32).unwrap();
        assert_eq!(get(&block, 0, &g).unwrap_err().field, "di_inumber");
        assert_eq!(find(&block, &g, Ino(0)), None);
    }
}
