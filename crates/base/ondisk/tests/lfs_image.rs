//! Structures of a volume of LFS that NetBSD's newfs_lfs made and its kernel filled, decoded and encoded again.

use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::SumFlags;
use ordo_ondisk::lfs::superblock::{Choice, Copy, choose};
use ordo_ondisk::lfs::{
    CleanerInfo, Daddr, Geometry, IFILE, IfileEntry, IfilePlace, Item, NextFree, Pseg, SegNo, SegUse, Serial, Summary,
    Superblock, Version, inode_block,
};
use ordo_ondisk::{Endian, Ino, Lbn};

const SB: &[u8] = include_bytes!("images/netbsd-lfs2.sb");
const THIRD: &[u8] = include_bytes!("images/netbsd-lfs2.sb2");
const IFILE_BYTES: &[u8] = include_bytes!("images/netbsd-lfs2.ifile");
/// Segment 1, from its start.
const SEGMENT_1: &[u8] = include_bytes!("images/netbsd-lfs2.seg1");
/// Segments 184 and 185 up to the end of the log.
const END: &[u8] = include_bytes!("images/netbsd-lfs2.end");

fn superblock() -> Superblock {
    Superblock::decode(SB).unwrap()
}

fn geometry() -> Geometry {
    superblock().geometry()
}

fn place(of: IfilePlace) -> usize {
    usize::try_from(of.lbn.0).unwrap() * 1024 + of.at
}

fn usage() -> Vec<SegUse> {
    let g = geometry();
    let one = |n| SegUse::decode(IFILE_BYTES, place(g.seguse_place(n)), n, g.version, g.endian).unwrap();
    (0..g.nseg).map(|n| one(SegNo(n))).collect()
}

fn entry(ino: u32) -> IfileEntry {
    let g = geometry();
    IfileEntry::decode(IFILE_BYTES, place(g.entry_place(Ino(ino))), Ino(ino), g.version, g.endian).unwrap()
}

/// The partial segments in `bytes`, which start at `first`, as far as they follow each other.
fn psegs(bytes: &[u8], first: Daddr) -> Vec<(Summary, Pseg)> {
    let (g, mut at, mut found) = (geometry(), first, Vec::new());
    while let Some(rest) = bytes.get(usize::try_from(g.bytes(at.since(first))).unwrap()..).filter(|b| b.len() >= 512) {
        let summary = Summary::decode(rest, &g).unwrap();
        let pseg = summary.walk(&g, at).unwrap();
        pseg.check_data(&summary, rest, &g).unwrap();
        at = pseg.next_here(&g).unwrap_or(summary.next);
        found.push((summary, pseg));
    }
    found
}

#[test]
fn superblock_is_read_and_written_back_to_the_byte() {
    let sb = superblock();
    assert_eq!((sb.version, sb.endian, sb.is_clean()), (Version::V2, Endian::Little, true));
    let f = &sb.fields;
    assert_eq!((f.size, f.ssize, f.nseg, f.nclean, f.serial), (65536, 32768, 1023, 837, Serial(195)));
    assert_eq!((f.bfree, f.avail, f.dmeta, f.idaddr), (47175, 50218, 283, Daddr(11849)));
    assert_eq!((f.curseg, f.nextseg, f.offset), (Daddr(11840), Daddr(11904), Daddr(11862)));
    assert_eq!(&f.fsmnt[..5], b"/mnt\0");
    let written = sb.encode();
    assert_eq!((&written[..512], written.len()), (SB, 8192));
    assert_eq!(written[512..], [0; 7680]);
    assert_eq!(Superblock::decode(THIRD).unwrap().encode()[..512], *THIRD);
}

#[test]
fn older_superblock_is_the_one_to_mount() {
    let (now, old) = (Superblock::decode(SB), Superblock::decode(THIRD));
    assert_eq!(choose(&now, &now).mount(), Some(Copy::First));
    assert_eq!(choose(&now, &old), Choice::Older(Copy::Second));
    assert_eq!(choose(&old, &now), Choice::Older(Copy::First));
    assert_eq!(choose(&old, &now).newer(), Some(Copy::Second));
}

#[test]
fn usage_of_the_segments_implies_the_counts_of_the_superblock() {
    let (g, f) = (geometry(), superblock().fields);
    let totals = g.totals(usage(), f.offset);
    assert_eq!((totals.avail, totals.dmeta, totals.clean, totals.dirty), (f.avail, f.dmeta.into(), f.nclean, 186));
    assert!((totals.bfree_least..=totals.bfree_most).contains(&f.bfree), "{totals:?}");
    assert_eq!(totals.nearest_bfree(f.bfree), f.bfree);
    let all = usage();
    assert_eq!(all.iter().filter(|u| u.flags.has(SegFlags::SUPERBLOCK)).count(), 10);
    for (n, usage) in (0..).map(SegNo).zip(all) {
        assert_eq!(usage.flags.has(SegFlags::SUPERBLOCK), g.newfs_flags(n), "{n:?}");
        assert_eq!(usage, usage.marked(), "{n:?}");
        // The kernel leaves the current segment marked.
        assert_eq!(usage.flags.has(SegFlags::ACTIVE), n == SegNo(185), "{n:?}");
    }
}

#[test]
fn ifile_is_read_and_written_back_to_the_byte() {
    let g = geometry();
    assert_eq!((g.maxino(29696), g.inode_map_start()), (153, 26));
    let info = CleanerInfo::decode(IFILE_BYTES, g.version, g.endian).unwrap();
    assert_eq!((info.clean, info.dirty, info.free_head, info.free_tail), (837, 186, Ino(105), Ino(152)));
    let mut written = vec![0; IFILE_BYTES.len()];
    info.encode(&mut written, g.version, g.endian).unwrap();
    for (n, usage) in (0..).map(SegNo).zip(usage()) {
        usage.encode(&mut written, place(g.seguse_place(n)), g.version, g.endian).unwrap();
    }
    for ino in 0..153 {
        entry(ino).encode(&mut written, place(g.entry_place(Ino(ino))), g.version, g.endian).unwrap();
    }
    assert!(written == IFILE_BYTES);
}

#[test]
fn free_inodes_are_one_list_in_order() {
    let free: Vec<u32> = (2..153).filter(|&ino| entry(ino).daddr.is_hole()).collect();
    assert_eq!(free, (105..153).collect::<Vec<_>>());
    for ino in 105..152 {
        assert_eq!(entry(ino).nextfree, NextFree::Ino(Ino(ino + 1)));
    }
    assert_eq!((entry(152).nextfree, superblock().fields.freehd), (NextFree::End, Ino(105)));
}

#[test]
fn segment_is_walked_from_newfs_to_the_kernel() {
    let found = psegs(SEGMENT_1, Daddr(64));
    let told: Vec<_> =
        found.iter().map(|(s, p)| (s.serial.0, p.at.0, p.end.0, s.flags, s.nblocks(), s.ninos)).collect();
    let kernel = SumFlags::DIROP.with(SumFlags::CONT);
    let right = [
        (2, 64, 98, SumFlags::RFW, 16, 1),
        (3, 98, 100, SumFlags::RFW, 0, 1),
        (4, 100, 104, SumFlags::RFW, 1, 1),
        (5, 104, 110, SumFlags::RFW, 2, 1),
        (6, 110, 128, kernel, 11, 9),
    ];
    assert_eq!(told, right);
    let counted = usage()[1];
    assert_eq!(usize::from(counted.nsums), found.len());
    assert_eq!(usize::from(counted.ninos), found.iter().map(|(s, _)| s.inode_blocks.len()).sum::<usize>());
}

#[test]
fn log_is_followed_over_a_segment_to_its_end() {
    let found = psegs(END, Daddr(11776));
    let serials: Vec<_> = found.iter().map(|(s, p)| (s.serial.0, p.at.0)).collect();
    // One unit of segment 184 was left.
    assert_eq!(serials, [(192, 11776), (193, 11798), (194, 11820), (195, 11840)]);
    let f = superblock().fields;
    assert_eq!(found.last().unwrap().1.end, f.offset);
    for ((summary, _), serial) in found.iter().zip(192..) {
        assert_eq!(summary.follows(f.ident, Serial(serial)), Ok(()));
        assert_eq!(summary.follows(f.ident, Serial(serial + 1)).unwrap_err().field, "ss_serial");
        assert_eq!(summary.follows(f.ident ^ 1, Serial(serial)).unwrap_err().field, "ss_ident");
    }
}

#[test]
fn inodes_are_where_the_map_says_and_are_written_back_to_the_byte() {
    let (g, f) = (geometry(), superblock().fields);
    let bytes = |at: Daddr| &END[usize::try_from(g.bytes(at.since(Daddr(11776)))).unwrap()..][..512];
    let ifile = inode_block::get_ino(bytes(f.idaddr), &g, IFILE).unwrap();
    // 29 blocks and an indirect one.
    assert_eq!((ifile.mode, ifile.nlink, ifile.size, ifile.blocks), (0o100_600, 1, 29696, 60));
    assert_eq!(ifile.flags, ordo_ondisk::dinode::flags::SF_IMMUTABLE);
    let mut checked = 0;
    for ino in (2..105).filter(|&ino| entry(ino).daddr >= Daddr(11776)) {
        let (at, version) = (entry(ino).daddr, entry(ino).version);
        let slot = inode_block::find(bytes(at), &g, Ino(ino)).unwrap();
        let inode = inode_block::get(bytes(at), slot, &g).unwrap();
        assert_eq!((inode.freelink, inode.gen_), (ino, version));
        let mut written = vec![0; 512];
        inode_block::put(&mut written, slot, &g, Ino(ino), &inode).unwrap();
        let from = inode_block::slot_at(&g, slot);
        assert_eq!(written[from..from + 128], bytes(at)[from..from + 128], "inode {ino}");
        checked += 1;
    }
    assert_eq!(checked, 103);
}

#[test]
fn blocks_of_the_ifile_in_the_log_are_those_of_the_ifile() {
    let g = geometry();
    let mut newest = vec![None; 29];
    for (_, pseg) in psegs(END, Daddr(11776)) {
        for item in pseg.items {
            if let Item::Block { ino: IFILE, lbn: Lbn(lbn @ 0..), at, .. } = item {
                newest[usize::try_from(lbn).unwrap()] = Some(at);
            }
        }
    }
    let found: Vec<_> = (0..).zip(newest).filter_map(|(lbn, at)| Some((lbn, at?))).collect();
    assert_eq!(found.len(), 9);
    for (lbn, at) in found {
        let from = usize::try_from(g.bytes(at.since(Daddr(11776)))).unwrap();
        assert!(END[from..from + 1024] == IFILE_BYTES[lbn * 1024..][..1024], "block {lbn}");
    }
}
