//! Whose dialect a superblock is in, and what NetBSD has in its own: the place of a log, and the inodes of quotas.
//!
//! The systems gave the same bytes different meanings, so the volume's system must be guessed first.

use super::MAGIC_UFS2EA;
use super::fields::SbFields;
use crate::{Dialect, Endian, Format, Ino};

/// Guesses from what each system leaves in fields that the others do not use. OpenBSD's flags are moved to the
/// field that the others use.
pub(super) fn guess(f: &mut SbFields, format: Format, endian: Endian, wide: bool) -> Dialect {
    if !wide {
        return Dialect::OldBsd;
    }
    // OpenBSD stores the time of its last check where FreeBSD stores the flags: a time after 1987.
    let time_for_flags = (0x2000_0000..0x8000_0000).contains(&f.flags);
    if time_for_flags && f.metackhash < 0x100 {
        f.flags = f.metackhash;
        f.metackhash = 0;
        return Dialect::OpenBsd;
    }
    let logged = Wapbl::of(f, endian).is_some() || Wapbl::is_asked_for(f, endian);
    if f.magic == MAGIC_UFS2EA || logged || quota_magic(f, endian) {
        return Dialect::NetBsd;
    }
    // Where NetBSD has the place of its log, which may be damaged, FreeBSD has the size of the device.
    let sized = f.providersize != 0 && !Wapbl::may_be(f, endian);
    let freebsd = f.metackhash != 0 || f.mtime != 0 || f.sblockactualloc != 0 || sized;
    let home = format == Format::Ufs1 || f.sblockloc == 65536;
    if freebsd && home { Dialect::FreeBsd } else { Dialect::NetBsd }
}

/// The place of NetBSD's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wapbl {
    /// `true` if it is in the file system, in an inode's blocks; `false` if it is after it.
    pub within: bool,
    /// First block, in units of `block_bytes` from the start of the partition.
    pub first_block: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of a block of the log.
    pub block_bytes: u64,
    /// The byte order of these fields. A NetBSD machine with the opposite byte order of the volume swaps every field of
    /// the superblock except these: they have the byte order of the machine that made the log.
    pub order: Endian,
}

// NetBSD's journal and quota fields are where FreeBSD has 64-bit fields and spares.
impl Wapbl {
    /// `fs_journal_flags`: create a log, or remove it, at the next mount with logging.
    const FLAGS: u32 = 3;
    /// Bytes of a block of the log: a sector of the disk.
    const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=65536;

    /// The log, in the first byte order in which its fields are valid. They are never valid in both: a sector size read
    /// in the wrong order is not a sector size.
    pub(super) fn of(f: &SbFields, volume: Endian) -> Option<Wapbl> {
        [volume, volume.other()].into_iter().find_map(|order| Wapbl::read(f, volume, order))
    }

    /// `fs_journal_location`, if version, location and flags are NetBSD's; and the flags.
    fn head(f: &SbFields, volume: Endian, order: Endian) -> Option<(u8, u32)> {
        let bytes = volume.i64_bytes(f.unrefs);
        let ([version, location, ..], flags) = (bytes, order.get_u32(&bytes, 4)?);
        let known = version == 1 && (1..=2).contains(&location) && flags <= Wapbl::FLAGS;
        known.then_some((location, flags))
    }

    fn read(f: &SbFields, volume: Endian, order: Endian) -> Option<Wapbl> {
        let (location, _) = Wapbl::head(f, volume, order)?;
        let number = |field| order.u64(volume.i64_bytes(field));
        let [block_bytes, ..] = f.sparecon64;
        let (first_block, blocks, block_bytes) = (number(f.providersize), number(f.metaspace), number(block_bytes));
        let end = first_block.checked_add(blocks)?.checked_mul(block_bytes)?;
        let sector = block_bytes.is_power_of_two() && Wapbl::BLOCK_BYTES.contains(&block_bytes);
        let place = first_block > 0 && blocks > 0 && i64::try_from(end).is_ok();
        (sector && place).then_some(Wapbl { within: location == 2, first_block, blocks, block_bytes, order })
    }

    /// Whether the first fields look like those of a log.
    fn may_be(f: &SbFields, volume: Endian) -> bool {
        [volume, volume.other()].into_iter().any(|order| Wapbl::head(f, volume, order).is_some())
    }

    /// Whether NetBSD's `tunefs -l` has requested a log, which the next mount there creates.
    fn is_asked_for(f: &SbFields, volume: Endian) -> bool {
        let asked = |order| Wapbl::head(f, volume, order).is_some_and(|(_, flags)| flags != 0);
        asked(volume) || asked(volume.other())
    }
}

/// The inodes of NetBSD's quotas; `None` for those that are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota2 {
    /// The table of users.
    pub users: Option<Ino>,
    /// The table of groups.
    pub groups: Option<Ino>,
}

impl Quota2 {
    /// The superblock's fields: the magic and the flags in the third spare of FreeBSD's table, then the two inodes.
    pub(super) fn of(f: &SbFields, endian: Endian) -> Option<Quota2> {
        let [_, _, third, users, groups, ..] = f.sparecon64;
        let [_, _, _, _, flags, ..] = endian.i64_bytes(third);
        if !quota_magic(f, endian) || flags & !3 != 0 {
            return None;
        }
        let inode = |bit, number: i64| match flags & bit {
            0 => Some(None),
            // The first numbers are those of no file and of the root directory.
            _ => u32::try_from(number).ok().filter(|&ino| ino > 2).map(|ino| Some(Ino(ino))),
        };
        Some(Quota2 { users: inode(1, users)?, groups: inode(2, groups)? })
    }
}

/// Whether NetBSD's quotas are where FreeBSD has spares.
pub(super) fn quota_magic(f: &SbFields, endian: Endian) -> bool {
    const Q2_HEAD_MAGIC: u32 = 0xb746_915e;
    // Byte 904: the third spare of FreeBSD's table.
    let [_, _, third, ..] = f.sparecon64;
    endian.get_u32(&endian.i64_bytes(third), 0) == Some(Q2_HEAD_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::{NewfsParams, System};

    #[test]
    fn a_log_makes_sense_or_there_is_none() {
        let p = NewfsParams { system: System::NetBsd, ..NewfsParams::new(Format::Ufs2, 8 << 20) };
        let of_netbsd = p.superblock().unwrap().fields;
        let log = |head: [u8; 8], first: i64, blocks: i64, unit: i64| {
            let fields = SbFields {
                unrefs: i64::from_be_bytes(head),
                providersize: first,
                metaspace: blocks,
                sparecon64: {
                    let mut spare = [0; 13];
                    spare[0] = unit;
                    spare
                },
                ..of_netbsd.clone()
            };
            (Wapbl::of(&fields, Endian::Big).is_some(), Wapbl::is_asked_for(&fields, Endian::Big))
        };
        let head = [1, 2, 0, 0, 0, 0, 0, 0];
        assert_eq!(log(head, 1000, 64, 512), (true, false));
        assert_eq!(log(head, 1000, 64, 4096), (true, false));
        for (head, first, blocks, unit) in [
            ([2, 2, 0, 0, 0, 0, 0, 0], 1000, 64, 512),
            ([1, 0, 0, 0, 0, 0, 0, 0], 1000, 64, 512),
            ([1, 3, 0, 0, 0, 0, 0, 0], 1000, 64, 512),
            ([1, 2, 0, 0, 0, 0, 1, 0], 1000, 64, 512),
            (head, 0, 64, 512),
            (head, 1000, 0, 512),
            (head, 1000, 64, 0),
            (head, 1000, 64, 513),
            (head, -1, 64, 512),
            (head, 1000, i64::MAX, 512),
        ] {
            assert_eq!(log(head, first, blocks, unit), (false, false), "{head:?} {first} {blocks} {unit}");
        }
        assert_eq!(log([1, 2, 0, 0, 0, 0, 0, 1], 0, 4 << 20, 0), (false, true));
        assert_eq!(log([1, 2, 0, 0, 1, 0, 0, 0], 0, 4 << 20, 0), (false, true));
    }
}
