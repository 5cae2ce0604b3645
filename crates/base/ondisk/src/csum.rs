//! The counts of a cylinder group; the summary array has a copy for all groups.

use crate::field::on_disk;
use crate::num::{index, roundup};
use crate::{Cgx, Endian};

on_disk! {
    /// The free resources of a group (`struct csum`).
    #[derive(Copy, Default, Hash)]
    pub struct Csum, 16 bytes {
        /// Directories.
        0 ndir: i32,
        /// Free whole blocks.
        4 nbfree: i32,
        /// Free inodes.
        8 nifree: i32,
        /// Free fragments outside free whole blocks.
        12 nffree: i32,
    }
}

impl Csum {
    /// Converts to the type of the volume's counts.
    pub fn total(self) -> CsumTotal {
        CsumTotal::default().plus(self)
    }
}

/// The sum over all groups, as the superblock stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[allow(missing_docs)]
pub struct CsumTotal {
    pub ndir: i64,
    pub nbfree: i64,
    pub nifree: i64,
    pub nffree: i64,
}

impl CsumTotal {
    /// Adds the counts of a group.
    #[must_use]
    pub fn plus(self, cs: Csum) -> CsumTotal {
        CsumTotal {
            ndir: self.ndir.saturating_add(cs.ndir.into()),
            nbfree: self.nbfree.saturating_add(cs.nbfree.into()),
            nifree: self.nifree.saturating_add(cs.nifree.into()),
            nffree: self.nffree.saturating_add(cs.nffree.into()),
        }
    }
}

/// The entry of group `c` in the summary array; `None` if the array ends before it.
pub fn get(array: &[u8], c: Cgx, endian: Endian) -> Option<Csum> {
    Csum::load(array.get(index(c.0).checked_mul(Csum::SIZE)?..)?, endian)
}

/// Stores the entry of group `c`; `None`, and nothing stored, if the array ends before it.
pub fn put(array: &mut [u8], c: Cgx, cs: Csum, endian: Endian) -> Option<()> {
    cs.store(array.get_mut(index(c.0).checked_mul(Csum::SIZE)?..)?, endian)
}

/// Bytes of the summary array of `ncg` groups, in fragments of `fsize` bytes.
pub fn array_bytes(ncg: u32, fsize: u32) -> u64 {
    roundup(u64::from(ncg).saturating_mul(16), fsize.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_where_they_were_put_and_not_beyond_the_array() {
        let mut array = [0u8; 40];
        let cs = Csum { ndir: 3, nbfree: 92, nifree: 241, nffree: 2 };
        assert_eq!(put(&mut array, Cgx(1), cs, Endian::Big), Some(()));
        assert_eq!(array[16..24], [0, 0, 0, 3, 0, 0, 0, 92]);
        assert_eq!(get(&array, Cgx(1), Endian::Big), Some(cs));
        assert_eq!(get(&array, Cgx(2), Endian::Big), None);
        assert_eq!(get(&array, Cgx(u32::MAX), Endian::Big), None);
        assert_eq!(CsumTotal::default().plus(cs).plus(cs).nbfree, 184);
        assert_eq!((array_bytes(4, 1024), array_bytes(65, 1024)), (1024, 2048));
    }
}
