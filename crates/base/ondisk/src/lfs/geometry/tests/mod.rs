//! Places, sizes and space.

use super::*;
use crate::lfs::ifile::SegFlags;
use crate::lfs::{IfilePlace, NewfsOptions, SegNo, SegUse, Superblock};
use crate::{Ino, Lbn};

/// A volume of 256 MiB in 255 segments of 1 MiB, blocks of 8192 bytes, fragments of 1024.
fn superblock(version: Version) -> Superblock {
    NewfsOptions::new(version, 256 << 20).superblock().unwrap()
}

#[test]
fn segments_begin_behind_label_and_superblock() {
    let g = superblock(Version::V2).geometry();
    assert_eq!((g.segment_start(SegNo(3)), g.segment_of(Daddr(3071))), (Daddr(3072), Some(SegNo(2))));
    assert_eq!((g.segment_of(Daddr(255 * 1024 - 1)), g.segment_of(Daddr(255 * 1024))), (Some(SegNo(254)), None));
    assert_eq!((g.segment_starting(Daddr(1024)), g.segment_starting(Daddr(1025))), (Some(SegNo(1)), None));
    assert_eq!(g.first_pseg(SegNo(0), true), Daddr(16));
    assert_eq!((g.first_pseg(SegNo(25), true), g.first_pseg(SegNo(25), false)), (Daddr(25608), Daddr(25600)));
    let g = superblock(Version::V1).geometry();
    assert_eq!((g.segment_start(SegNo(0)), g.first_pseg(SegNo(0), true)), (Daddr(16), Daddr(32)));
    assert_eq!(g.byte(Daddr(32)), ByteOff(16384));
    assert_eq!((g.daddr(ByteOff(1024)), g.daddr(ByteOff(1000))), (Some(Daddr(2)), None));
}

#[test]
fn label_in_segment_0_is_skipped_only_as_far_as_it_is_there() {
    let mut g = superblock(Version::V2).geometry();
    g.s0addr = Daddr(8);
    assert_eq!((g.pad(SegNo(0), true), g.pad(SegNo(0), false), g.pad(SegNo(1), false)), (8, 0, 0));
    g.s0addr = Daddr(3);
    assert_eq!(g.pad(SegNo(0), true), 13);
}

#[test]
fn log_goes_on_in_the_segment_while_more_than_a_block_remains() {
    let g = superblock(Version::V2).geometry();
    let end = g.segment_end(SegNo(7)).0;
    assert_eq!(g.next_pseg(SegNo(7), Daddr(end - 9)), Some(Daddr(end - 9)));
    assert_eq!(g.next_pseg(SegNo(7), Daddr(end - 8)), None);
    assert_eq!(g.next_pseg(SegNo(7), Daddr(end)), None);
    // In version 1 a block is 16 sectors, whatever fragments are.
    let g = superblock(Version::V1).geometry();
    let end = g.segment_end(SegNo(7)).0;
    assert_eq!(
        (g.next_pseg(SegNo(7), Daddr(end - 17)).is_some(), g.next_pseg(SegNo(7), Daddr(end - 16))),
        (true, None)
    );
}

#[test]
fn pointers_out_of_the_data_are_recognised() {
    let g = superblock(Version::V2).geometry();
    for (at, units) in [(0, 1), (7, 1), (8, 0), (1020, 8), (255 * 1024, 1), (u64::MAX, 1), (9, u64::MAX)] {
        assert!(!g.is_data_range(Daddr(at), units), "{at}, {units}");
    }
    assert!(g.is_data_range(Daddr(16), 8) && g.is_data_range(Daddr(1016), 8));
}

#[test]
fn only_the_last_direct_block_is_short() {
    let g = superblock(Version::V2).geometry();
    let bytes = |size, lbn| g.block_bytes(size, Lbn(lbn));
    assert_eq!((bytes(1, 0), bytes(1024, 0), bytes(1025, 0), bytes(8192, 0)), (1024, 1024, 2048, 8192));
    assert_eq!((bytes(8193, 0), bytes(8193, 1), bytes(8193, 2), bytes(0, 0)), (8192, 1024, 0, 0));
    assert_eq!((bytes(12 * 8192, 11), bytes(12 * 8192 + 1, 12), bytes(5, -12)), (8192, 8192, 8192));
    assert_eq!((g.file_blocks(0), g.file_blocks(8193)), (0, 2));
}

#[test]
fn entries_of_the_ifile_have_their_places() {
    let g = superblock(Version::V2).geometry();
    let place = |lbn, at| IfilePlace { lbn: Lbn(lbn), at };
    assert_eq!(g.cleaner_info_place(), place(0, 0));
    assert_eq!((g.seguse_place(SegNo(0)), g.seguse_place(SegNo(254))), (place(1, 0), place(1, 254 * 24)));
    assert_eq!((g.entry_place(Ino(0)), g.entry_place(Ino(409))), (place(2, 0), place(3, 0)));
    assert_eq!(g.entry_place(Ino(408)), place(2, 408 * 20));
    assert_eq!((g.maxino(3 * 8192), g.maxino(4 * 8192), g.maxino(2 * 8192), g.maxino(0)), (409, 818, 0, 0));
    assert_eq!(g.maxino(u64::MAX), u32::MAX);
}

#[test]
fn copies_of_the_superblock_are_ten_at_equal_distances() {
    let g = superblock(Version::V2).geometry();
    let flagged: Vec<u32> = (0..g.nseg).filter(|&n| g.newfs_flags(SegNo(n))).collect();
    assert_eq!(flagged, [0, 25, 50, 75, 100, 125, 150, 175, 200, 225]);
    for (n, copy) in flagged.into_iter().zip(g.sboffs).skip(1) {
        assert_eq!(g.segment_start(SegNo(n)), copy);
    }
    assert_eq!((g.after(SegNo(3), 0), g.after(SegNo(254), 0), g.after(SegNo(253), 3)), (SegNo(4), SegNo(0), SegNo(2)));
}

#[test]
fn segment_usage_implies_the_space() {
    let g = superblock(Version::V2).geometry();
    let mut usage = vec![SegUse::default(); 255];
    usage[0] = SegUse { nbytes: 10_000, nsums: 2, ninos: 3, flags: SegFlags::DIRTY, lastmod: 0 };
    usage[1] = SegUse { nbytes: 1024, nsums: 1, ninos: 1, flags: SegFlags::DIRTY, lastmod: 0 };
    for n in [25, 50] {
        usage[n].flags = SegFlags::SUPERBLOCK;
    }
    let totals = g.totals(usage.iter().copied(), Daddr(1024 + 100));
    // 253 clean segments less two superblocks, the tail of segment 1, less 13 of 25 segments.
    assert_eq!(totals.avail, 253 * 1024 - 2 * 8 + 924 - 13 * 1024);
    assert_eq!((totals.dmeta, totals.clean, totals.dirty, totals.live), (2 + 3 + 1 + 1, 253, 2, 11_024));
    // 10000 bytes and two summaries are 11.8 units, with three inode blocks 14.8: rounded down.
    let all = i64::try_from(g.dsize).unwrap() - 8;
    assert_eq!((totals.bfree_most, totals.bfree_least), (all - 11 - 2, all - 14 - 3));
    assert_eq!(totals.nearest_bfree(i64::MIN), totals.bfree_least);
    assert_eq!(totals.nearest_bfree(i64::MAX), totals.bfree_most);
    assert_eq!(totals.middle_bfree(), all - 15);
    assert_eq!(g.metadata_units(&usage[0]), 5);
    assert_eq!((g.usable(SegNo(25), &usage[25]), g.usable(SegNo(0), &SegUse::default())), (1016, 1016));
}

#[test]
fn reserve_is_kept_from_the_unprivileged() {
    let mut sb = superblock(Version::V2);
    (sb.fields.bfree, sb.fields.dmeta, sb.fields.nclean) = (100_000, 510, 51);
    let g = sb.geometry();
    let room = g.room(&sb.fields);
    // A fifth of the segments is clean, so a fifth of the metadata will come again.
    let nonmeta = g.dsize - 510 - 102;
    assert_eq!((room.efree, room.nonmeta, room.reserved), (99_898, nonmeta, nonmeta / 10));
    assert!(room.allows(99_898, true) && !room.allows(99_899, true));
    assert!(room.allows(room.available(), false) && !room.allows(room.available() + 1, false));
    (sb.fields.bfree, sb.fields.dmeta) = (-1, -1);
    assert_eq!((g.room(&sb.fields).efree, g.room(&sb.fields).available()), (0, 0));
}

#[test]
fn reserved_segments_follow_the_free_ones_where_none_are_stored() {
    let mut sb = superblock(Version::V2);
    for (minfreeseg, right) in [(0, 0), (10, 9), (25, 15), (60, 31)] {
        (sb.fields.minfreeseg, sb.fields.resvseg) = (minfreeseg, 0);
        assert_eq!(sb.geometry().resvseg, right);
    }
}
