//! Partial segments that are built, sealed, and read again.

use super::*;
use crate::lfs::{NewfsOptions, Version, inode_block};
use crate::{Dinode, Endian};

fn geometry(version: Version, endian: Endian) -> Geometry {
    let of = NewfsOptions {
        endian,
        segment: Some(1 << 20),
        block: Some(4096),
        fragment: Some(1024),
        ident: 0x1234_5678,
        ..NewfsOptions::new(version, 256 << 20)
    };
    of.superblock().unwrap().geometry()
}

fn stamp(serial: u64, next: u64) -> Stamp {
    let flags = SumFlags::default();
    Stamp { flags, serial: Serial(serial), create: 1_000_000_000, next: Daddr(next), reclino: 0 }
}

/// The partial segment that the format's description gives byte by byte.
fn described() -> (Geometry, PsegBuilder, Vec<u8>) {
    let g = geometry(Version::V2, Endian::Little);
    let mut pseg = PsegBuilder::new(&g, Daddr(100)).unwrap();
    assert_eq!(pseg.block(Ino(3), 1, Lbn(0), 4096), Ok(Daddr(101)));
    assert_eq!(pseg.block(Ino(3), 1, Lbn(1), 1024), Ok(Daddr(105)));
    let slot = pseg.inode().unwrap();
    assert_eq!(slot, InodeSlot { at: Daddr(106), slot: 0, fresh: true });
    let mut bytes = vec![0; pseg.bytes()];
    bytes[pseg.offset_of(Daddr(101))..][..4].copy_from_slice(b"ABCD");
    bytes[pseg.offset_of(Daddr(105))..][..4].copy_from_slice(b"WXYZ");
    let mut inode = Dinode { mode: 0o100_644, nlink: 1, size: 5120, blocks: 10, gen_: 1, ..Dinode::default() };
    (inode.db[0], inode.db[1]) = (Daddr(101).pointer(), Daddr(105).pointer());
    let at = pseg.offset_of(slot.at);
    inode_block::put(&mut bytes[at..], slot.slot, &g, Ino(3), &inode).unwrap();
    assert_eq!(bytes[at..at + 4], [0xa4, 0x81, 1, 0]);
    // Five fragments are held.
    assert_eq!(bytes[at + 104..at + 108], [5, 0, 0, 0]);
    pseg.seal(&stamp(7, 1024), &mut bytes).unwrap();
    (g, pseg, bytes)
}

#[test]
fn partial_segment_of_the_description_has_its_bytes() {
    let (g, pseg, bytes) = described();
    let mut right = vec![0; 1024];
    let start = "74250000a98500006115060000040000785634120100010000000000000000000700000000000000\
                 00ca9a3b00000000020000000100000003000000000400000000000001000000";
    for (i, to) in right.iter_mut().take(start.len() / 2).enumerate() {
        *to = u8::from_str_radix(&start[2 * i..2 * i + 2], 16).unwrap();
    }
    right[1020] = 0x6a;
    assert_eq!(bytes[..1024], right);
    let summary = Summary::decode(&bytes, &g).unwrap();
    assert_eq!((summary.datasum, summary.serial, summary.next), (0x85a9, Serial(7), Daddr(1024)));
    let read = summary.walk(&g, Daddr(100)).unwrap();
    assert_eq!(read, pseg.pseg());
    assert_eq!((read.end, read.next_here(&g)), (Daddr(107), Some(Daddr(107))));
    assert_eq!(read.check_data(&summary, &bytes, &g), Ok(()));
}

#[test]
fn what_was_built_is_read_in_every_form() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            let g = geometry(version, endian);
            let start = g.first_pseg(SegNo(3), false);
            let mut pseg = PsegBuilder::new(&g, start).unwrap();
            for lbn in [0, 1, 2, -12] {
                pseg.block(Ino(9), 4, Lbn(lbn), 4096).unwrap();
            }
            pseg.inode().unwrap();
            pseg.block(Ino(9), 4, Lbn(3), 4096).unwrap();
            pseg.block(Ino(10), 1, Lbn(0), 1024).unwrap();
            pseg.block(Ino(10), 1, Lbn(1), 1024).unwrap();
            for _ in 0..g.inopb {
                pseg.inode().unwrap();
            }
            let mut bytes: Vec<u8> = (0..pseg.bytes()).map(|i| i.to_le_bytes()[0] | 1).collect();
            let next = g.segment_start(SegNo(4));
            pseg.seal(&Stamp { next, flags: SumFlags::CLEAN, ..stamp(5, 0) }, &mut bytes).unwrap();
            let summary = Summary::decode(&bytes, &g).unwrap();
            assert_eq!(summary, pseg.summary(&Stamp { next, flags: SumFlags::CLEAN, ..stamp(5, 0) }, summary.datasum));
            // The inode block and the short block each end a record.
            assert_eq!(summary.finfos.iter().map(|f| f.lbns.len()).collect::<Vec<_>>(), [4, 1, 1, 1]);
            let read = summary.walk(&g, start).unwrap();
            assert_eq!(read, pseg.pseg(), "{version:?} {endian:?}");
            assert_eq!(read.check_data(&summary, &bytes, &g), Ok(()));
            let at = pseg.offset_of(read.items[2].at());
            bytes[at] ^= 1;
            assert_eq!(read.check_data(&summary, &bytes, &g).unwrap_err().field, "ss_datasum");
        }
    }
}

#[test]
fn summary_takes_as_many_blocks_as_it_has_words() {
    // Words of 4 bytes behind the header: 121 in version 1, 244 in version 2 with 1024 bytes.
    for (version, words) in [(Version::V1, 121), (Version::V2, 244)] {
        let g = geometry(version, Endian::Little);
        assert_eq!((g.sumsize - version.summary_header()) / 4, words);
        // The seal keeps four of them, in version 1 six.
        let words = if version == Version::V1 { words - 6 } else { words - 4 };
        let mut pseg = PsegBuilder::new(&g, g.first_pseg(SegNo(1), false)).unwrap();
        assert_eq!(PsegBuilder::most_blocks(&g), words - 4 - 1);
        pseg.fits(Ino(5), 1, words - 4, 4096).unwrap();
        assert_eq!(pseg.fits(Ino(5), 1, words - 3, 4096), Err(Full::Summary));
        for lbn in 0..words - 4 {
            pseg.block(Ino(5), 1, Lbn(lbn.into()), 4096).unwrap();
        }
        assert_eq!((pseg.summary_left(), pseg.inode()), (0, Err(Full::Summary)));
        let before = pseg.end();
        assert_eq!(pseg.block(Ino(5), 1, Lbn(500), 4096), Err(Full::Summary));
        assert_eq!(pseg.end(), before);
    }
}

#[test]
fn segment_that_is_full_takes_nothing_more() {
    let g = geometry(Version::V2, Endian::Little);
    let end = g.segment_end(SegNo(1));
    let mut pseg = PsegBuilder::new(&g, Daddr(end.0 - 6)).unwrap();
    assert_eq!(pseg.segment_left(), 5 * 1024);
    pseg.block(Ino(5), 1, Lbn(0), 4096).unwrap();
    assert_eq!(pseg.block(Ino(6), 1, Lbn(0), 2048), Err(Full::Segment));
    pseg.inode().unwrap();
    assert_eq!((pseg.end(), pseg.segment_left()), (end, 0));
    // An open inode block needs no more bytes.
    assert_eq!(pseg.inode().map(|slot| (slot.slot, slot.fresh)), Ok((1, false)));
    assert_eq!(pseg.block(Ino(6), 1, Lbn(0), 1), Err(Full::Segment));
    assert!(PsegBuilder::new(&g, Daddr(end.0 - 1)).is_some());
    assert!(PsegBuilder::new(&g, Daddr(g.segment_end(SegNo(g.nseg - 1)).0)).is_none());
}

#[test]
fn sealing_too_few_bytes_changes_none() {
    let (_, pseg, bytes) = described();
    let mut short = vec![7; bytes.len() - 1024];
    assert_eq!(pseg.seal(&stamp(7, 1024), &mut short), None);
    assert!(short.iter().all(|&b| b == 7));
}

/// A change of the summary's bytes, and the field of the damage that is reported.
type Change = (&'static str, fn(&mut Vec<u8>), &'static str);

#[test]
fn every_rule_of_a_summary_is_enforced() {
    let rules: [Change; 14] = [
        ("magic", |b| b[8] ^= 1, "ss_magic"),
        ("next negative", |b| b[15] = 0x80, "ss_next"),
        ("next inside a segment", |b| b[12] = 1, "ss_next"),
        ("more records than there are", |b| b[20] = 2, "fi_nblocks"),
        ("many records", |b| b[21] = 0xff, "fi_nblocks"),
        ("no blocks", |b| b[48] = 0, "fi_nblocks"),
        ("too many blocks", |b| b[49] = 1, "fi_nblocks"),
        ("no generation", |b| b[52] = 0, "fi_version"),
        ("no inode", |b| b[56] = 0, "fi_ino"),
        ("no length", |b| b[61] = 0, "fi_lastlength"),
        ("long", |b| b[62] = 1, "fi_lastlength"),
        ("short indirect block", |b| b[68..72].copy_from_slice(&(-12i32).to_le_bytes()), "fi_lastlength"),
        ("no block's number", |b| b[64..68].copy_from_slice(&(-13i32).to_le_bytes()), "fi_blocks"),
        ("inode block elsewhere", |b| b[1020] = 0x67, "ss_inode_blocks"),
    ];
    let (g, _, bytes) = described();
    for (what, change, field) in rules {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        let sum = crate::lfs::cksum(&bytes[4..1024], g.endian);
        g.endian.put_u32(&mut bytes, 0, sum).unwrap();
        let read = Summary::decode(&bytes, &g).and_then(|s| s.walk(&g, Daddr(100)));
        assert_eq!(read.map_err(|e| e.field), Err(field), "{what}");
    }
    let mut torn = bytes.clone();
    torn[1000] ^= 1;
    assert_eq!(Summary::decode(&torn, &g).unwrap_err().field, "ss_sumsum");
    assert_eq!(Summary::decode(&bytes[..1023], &g).unwrap_err().field, "length");
}

#[test]
fn walk_that_leaves_its_segment_is_refused() {
    let (g, _, bytes) = described();
    let summary = Summary { inode_blocks: Vec::new(), ninos: 0, ..Summary::decode(&bytes, &g).unwrap() };
    let end = g.segment_end(SegNo(0)).0;
    // Summary, a block and a fragment: six units.
    assert_eq!(summary.walk(&g, Daddr(end - 6)).unwrap().end, Daddr(end));
    assert_eq!(summary.walk(&g, Daddr(end - 5)).unwrap_err().field, "block address");
    assert_eq!(summary.walk(&g, g.segment_end(SegNo(g.nseg - 1))).unwrap_err().field, "address");
}

#[test]
fn version_1_may_have_summed_words_of_eight_bytes() {
    let g = geometry(Version::V1, Endian::Little);
    let start = g.first_pseg(SegNo(1), false);
    let mut pseg = PsegBuilder::new(&g, start).unwrap();
    pseg.block(Ino(3), 1, Lbn(0), 4096).unwrap();
    let mut bytes = vec![0; pseg.bytes()];
    bytes[512..520].copy_from_slice(b"ABCDabcd");
    let next = Stamp { next: g.segment_start(SegNo(2)), ..stamp(1, 0) };
    let long = crate::lfs::cksum(b"ABCDabcd", g.endian);
    let summary = pseg.summary_bytes(&next, long);
    bytes[..512].copy_from_slice(&summary);
    let summary = Summary::decode(&bytes, &g).unwrap();
    assert_eq!(pseg.pseg().check_data(&summary, &bytes, &g), Ok(()));
    bytes[517] ^= 1;
    assert!(pseg.pseg().check_data(&summary, &bytes, &g).is_err());
}
