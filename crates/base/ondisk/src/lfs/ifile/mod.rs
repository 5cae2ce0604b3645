//! The ifile: cleaner information, segment usage table, inode map. Entries are decoded and encoded at their place in a
//! block; [`super::Geometry`] knows the places.
//!
//! E1. Entries never cross blocks.
//! E2. What version 1 does not have decodes as zero and is not encoded.

mod cleaner;
mod entry;
mod raw;
mod usage;

pub use cleaner::CleanerInfo;
pub use entry::{IfileEntry, NextFree};
pub use raw::{
    RawCleanerInfo1, RawCleanerInfo2, RawCleanerInfo64, RawEntry1, RawEntry2, RawEntry64, RawSegUse1, RawSegUse2,
};
pub use usage::{SegFlags, SegUse};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lfs::{Daddr, SegNo, Version};
    use crate::{Endian, Ino, Timestamp};

    const FORMS: [Version; 3] = [Version::V1, Version::V2, Version::Lfs64];
    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    #[test]
    fn cleaner_information_is_read_as_it_was_written() {
        let info = CleanerInfo {
            clean: 5,
            dirty: 6,
            bfree: -7,
            avail: 8,
            free_head: Ino(9),
            free_tail: Ino(10),
            flags: CleanerInfo::MUST_CLEAN,
        };
        for (version, e) in FORMS.into_iter().flat_map(|v| ORDERS.map(|e| (v, e))) {
            let size = usize::try_from(version.cleaner_info_size()).unwrap();
            let mut block = vec![0xee; 64];
            info.encode(&mut block, version, e).unwrap();
            let right = if version == Version::V1 {
                CleanerInfo { clean: 5, dirty: 6, ..CleanerInfo::default() }
            } else {
                info
            };
            assert_eq!(CleanerInfo::decode(&block, version, e), Ok(right));
            assert!(block[size..].iter().all(|&b| b == 0xee));
            assert!(CleanerInfo::decode(&block[..size - 1], version, e).is_err());
            assert_eq!(info.encode(&mut block[..size - 1], version, e), None);
        }
        let mut block = [0; 48];
        Endian::Big.put_u64(&mut block, 24, 1 << 32).unwrap();
        assert_eq!(CleanerInfo::decode(&block, Version::Lfs64, Endian::Big).unwrap_err().field, "free_head");
    }

    #[test]
    fn usage_is_read_as_it_was_written_and_keeps_what_it_does_not_know() {
        let flags = SegFlags::DIRTY.with(SegFlags::ACTIVE).with(SegFlags(0x4000_0000));
        let usage = SegUse { nbytes: 1 << 20, nsums: 3, ninos: 40_000, flags, lastmod: 1_700_000_000 };
        for (version, e) in FORMS.into_iter().flat_map(|v| ORDERS.map(|e| (v, e))) {
            let size = usize::try_from(version.seguse_size()).unwrap();
            let mut block = vec![0xee; 3 * size];
            usage.encode(&mut block, size, version, e).unwrap();
            assert_eq!(SegUse::decode(&block, size, SegNo(1), version, e), Ok(usage));
            assert!(block[..size].iter().chain(&block[2 * size..]).all(|&b| b == 0xee));
            if version != Version::V1 {
                assert_eq!(block[size + 4..size + 8], [0xee; 4]);
            }
            assert!(SegUse::decode(&block, 3 * size - 1, SegNo(1), version, e).is_err());
            assert_eq!(usage.encode(&mut block, usize::MAX, version, e), None);
        }
        assert_eq!(usage.marked(), usage);
        let empty = SegUse { nbytes: 0, ..usage }.marked();
        assert!(empty.flags.has(SegFlags::EMPTY));
        assert!(!SegUse { nbytes: 1, ..empty }.marked().flags.has(SegFlags::EMPTY));
        assert_eq!(format!("{:?} {:?}", usage.flags, SegFlags::default()), "ACTIVE|DIRTY|0x40000000 0x0");
    }

    #[test]
    fn entry_is_read_as_it_was_written() {
        let atime = Timestamp { sec: 1_700_000_000, nsec: 999 };
        for (version, e) in FORMS.into_iter().flat_map(|v| ORDERS.map(|e| (v, e))) {
            for nextfree in [NextFree::End, NextFree::Ino(Ino(77)), NextFree::Orphan] {
                let size = usize::try_from(version.ifile_entry_size()).unwrap();
                let entry = IfileEntry { version: 3, daddr: Daddr(12345), nextfree, atime };
                let mut block = vec![0xee; 3 * size];
                entry.encode(&mut block, size, version, e).unwrap();
                assert!(block[..size].iter().chain(&block[2 * size..]).all(|&b| b == 0xee));
                let read = IfileEntry::decode(&block, size, Ino(5), version, e).unwrap();
                let atime = if version == Version::V1 { Timestamp::default() } else { atime };
                assert_eq!(read, IfileEntry { nextfree, atime, ..entry });
                assert!(IfileEntry::decode(&block, 3 * size - 1, Ino(5), version, e).is_err());
            }
        }
        assert_eq!(IfileEntry::unused(NextFree::End).version, 1);
    }

    #[test]
    fn impossible_numbers_of_an_entry_are_damage() {
        let mut block = [0; 32];
        Endian::Little.put_i32(&mut block, 4, -2).unwrap();
        let damage = IfileEntry::decode(&block, 0, Ino(5), Version::V2, Endian::Little).unwrap_err();
        assert_eq!(damage.to_string(), "inode map entry of inode 5: field if_daddr is -2, must be at least 0");
        Endian::Little.put_u64(&mut block, 24, 1 << 32).unwrap();
        let damage = IfileEntry::decode(&block, 0, Ino(5), Version::Lfs64, Endian::Little).unwrap_err();
        assert_eq!(damage.field, "if_nextfree");
        let far = IfileEntry { daddr: Daddr(1 << 31), ..IfileEntry::unused(NextFree::End) };
        assert_eq!(far.encode(&mut block, 0, Version::V2, Endian::Little), None);
    }
}
