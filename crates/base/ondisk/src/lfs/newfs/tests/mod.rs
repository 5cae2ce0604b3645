//! Geometry as the format's description computes it, and whole volumes.

use super::*;
use crate::lfs::{CleanerInfo, Daddr, Geometry, IFILE, Item, SegNo, SegUse, Summary, Version, inode_block};
use crate::{Dinode, Encoding, Endian, Ino, Lbn, Root};

fn of(mib: u64, segment: u32, block: u32, fragment: u32) -> NewfsOptions {
    let (segment, block, fragment) = (Some(segment), Some(block), Some(fragment));
    let ident = 0x1234_5678;
    NewfsOptions { segment, block, fragment, ident, now: 1_000_000_000, ..NewfsOptions::new(Version::V2, mib << 20) }
}

/// The value of a field in the notation of the tables below.
fn field(sb: &Superblock, name: &str) -> u64 {
    let f = &sb.fields;
    match name {
        "size" => f.size,
        "fsbpseg" => f.fsbpseg.into(),
        "nseg" => f.nseg.into(),
        "minfreeseg" => f.minfreeseg.into(),
        "resvseg" => f.resvseg.into(),
        "interval" => sb.geometry().superblock_interval().into(),
        "second" => f.sboffs[1].0,
        "tenth" => f.sboffs[9].0,
        "first" => f.sboffs[0].0,
        "dsize" => f.dsize,
        "sepb" => f.sepb.into(),
        "ifpb" => f.ifpb.into(),
        "nindir" => f.nindir.into(),
        "segtabsz" => f.segtabsz.into(),
        "inopb" => f.inopb.into(),
        "maxfilesize" => f.maxfilesize,
        "pseg" => sb.geometry().first_pseg(SegNo(0), true).0,
        other => panic!("no field {other}"),
    }
}

fn check(of: &NewfsOptions, expected: &str) {
    let sb = of.superblock().unwrap();
    for pair in expected.split(", ") {
        let (name, value) = pair.split_once(' ').unwrap();
        assert_eq!(field(&sb, name).to_string(), value, "{name}");
    }
}

#[test]
fn geometry_is_that_of_newfs() {
    check(
        &of(256, 1 << 20, 4096, 1024),
        "size 262144, fsbpseg 1024, nseg 255, minfreeseg 25, resvseg 15, interval 25, first 8, second 25600, \
         tenth 230400, dsize 235440, sepb 170, ifpb 204, nindir 1024, segtabsz 2, inopb 8, maxfilesize 4402345721856, \
         pseg 16",
    );
    check(
        &of(256, 1 << 20, 8192, 1024),
        "nseg 255, sepb 341, ifpb 409, nindir 2048, segtabsz 1, dsize 235440, inopb 8, maxfilesize 70403120791552",
    );
    check(
        &of(64, 512 << 10, 4096, 1024),
        "size 65536, fsbpseg 512, nseg 127, minfreeseg 20, resvseg 15, interval 12, second 6144, tenth 55296, \
         dsize 54704, segtabsz 1, inopb 8, pseg 16",
    );
    check(
        &of(512, 1 << 20, 4096, 4096),
        "size 131072, fsbpseg 256, nseg 511, minfreeseg 51, resvseg 26, interval 51, first 2, second 13056, \
         tenth 117504, dsize 117740, segtabsz 4, inopb 32, pseg 4",
    );
    // One segment of eight kept free, as by older programs.
    let older = NewfsOptions { minfreeseg: Some(31), ..of(256, 1 << 20, 4096, 1024) };
    check(&older, "resvseg 16, dsize 229296");
    let older = NewfsOptions { minfreeseg: Some(63), ..of(512, 1 << 20, 4096, 4096) };
    check(&older, "resvseg 32, dsize 114668");
}

#[test]
fn small_device_has_the_geometry_that_netbsd_gave_it() {
    let of = NewfsOptions::new(Version::V2, 32 << 20);
    check(
        &of,
        "size 65536, fsbpseg 64, nseg 1023, minfreeseg 102, resvseg 52, interval 102, first 16, second 6528, \
         dsize 58784, sepb 42, ifpb 51, nindir 256, segtabsz 25, inopb 4, maxfilesize 17247252480",
    );
}

#[test]
fn options_that_cannot_be_are_refused_by_name() {
    use NewfsError::*;
    let base = of(256, 1 << 20, 4096, 1024);
    let refused = |of: NewfsOptions| of.superblock().unwrap_err();
    assert_eq!(refused(NewfsOptions { block: Some(6000), ..base.clone() }), Block(6000));
    let most = Fragment { fragment: 8192, most: 4096 };
    assert_eq!(refused(NewfsOptions { fragment: Some(8192), ..base.clone() }), most);
    let most = Fragment { fragment: 16384, most: 8192 };
    assert_eq!(refused(NewfsOptions { block: Some(65536), fragment: Some(16384), ..base.clone() }), most);
    let ibsize = InodeBlock { ibsize: 512, least: 1024, most: 4096 };
    assert_eq!(refused(NewfsOptions { ibsize: Some(512), ..base.clone() }), ibsize);
    let ibsize = InodeBlock { ibsize: 1024, least: 4096, most: 4096 };
    assert_eq!(refused(NewfsOptions { version: Version::V1, ibsize: Some(1024), ..base.clone() }), ibsize);
    let segment = Segment { segment: 16384, least: 21504, fragment: 1024 };
    assert_eq!(refused(NewfsOptions { segment: Some(16384), ..base.clone() }), segment);
    assert!(NewfsOptions { segment: Some(21504), ..base.clone() }.superblock().is_ok());
    // No label in the first segment.
    let segment = Segment { segment: 8192, least: 13312, fragment: 1024 };
    assert_eq!(refused(NewfsOptions { version: Version::V1, segment: Some(8192), ..base.clone() }), segment);
    let one = OneSuperblock { nseg: 8, segment: 1 << 18 };
    let short = NewfsOptions { segment: Some(1 << 18), minfreeseg: Some(1), resvseg: Some(1), ..base.clone() };
    let short = NewfsOptions { device_bytes: 9 << 18, block: Some(8192), fragment: Some(8192), ..short };
    assert_eq!(refused(short), one);
    assert_eq!(refused(NewfsOptions { minfree: 100, ..base.clone() }), MinFree(100));
    let few = TooFew { nseg: 255, segment: 1 << 20, least: 400 };
    assert_eq!(refused(NewfsOptions { minfreeseg: Some(100), ..base.clone() }), few);
    let reserve = Reserve { resvseg: 300, nseg: 255 };
    assert_eq!(refused(NewfsOptions { resvseg: Some(300), ..base.clone() }), reserve);
    let power = SegmentPower(3 << 19);
    assert_eq!(refused(NewfsOptions { version: Version::V1, segment: Some(3 << 19), ..base.clone() }), power);
    let large = TooLarge { units: 1 << 31, most: (1 << 31) - 1 };
    assert_eq!(refused(NewfsOptions { device_bytes: 1 << 41, ..base.clone() }), large);
    assert!(NewfsOptions { device_bytes: 1 << 41, version: Version::Lfs64, ..base }.superblock().is_ok());
    assert!(matches!(refused(NewfsOptions::new(Version::V2, 1 << 20)), TooFew { .. }));
    assert!(matches!(refused(NewfsOptions::new(Version::V2, 0)), TooFew { .. }));
}

#[test]
fn segments_shrink_until_there_are_enough_unless_the_caller_chose_them() {
    let mut of = NewfsOptions::new(Version::V2, 40 << 20);
    let sb = of.superblock().unwrap();
    assert_eq!((sb.fields.ssize, sb.fields.nseg), (256 << 10, 159));
    of.segment = Some(1 << 20);
    assert!(matches!(of.superblock(), Err(NewfsError::TooFew { nseg: 39, .. })));
}

/// A volume in memory: a map of what was written.
struct Volume {
    g: Geometry,
    initial: Initial,
}

impl Volume {
    fn new(of: &NewfsOptions) -> Volume {
        let initial = initial(of).unwrap_or_else(|e| panic!("{of:?}: {e}"));
        Volume { g: initial.superblock.geometry(), initial }
    }

    fn at(&self, at: Daddr, bytes: u32) -> &[u8] {
        let from = self.g.byte(at).0;
        let holds = |(place, b): &&(crate::ByteOff, Vec<u8>)| (place.0..place.0 + b.len() as u64).contains(&from);
        let (place, all) = self.initial.psegs.iter().find(holds).expect("no partial segment has it");
        &all[(from - place.0) as usize..][..bytes as usize]
    }

    fn inode(&self, at: Daddr, ino: Ino) -> Dinode {
        inode_block::get_ino(self.at(at, self.g.ibsize), &self.g, ino).unwrap()
    }

    fn ifile_block(&self, ifile: &Dinode, lbn: Lbn) -> &[u8] {
        let path = self.g.tree().path(lbn).unwrap();
        let mut at = match path.root {
            Root::Direct(i) => ifile.db[i],
            Root::Indirect(i) => ifile.ib[i],
        };
        for (_, step) in path.indirects() {
            at = Encoding::from(&self.g).pointer(self.at(at.into(), self.g.bsize), step).unwrap();
        }
        self.at(at.into(), self.g.bsize)
    }

    fn usage(&self, ifile: &Dinode) -> Vec<SegUse> {
        let g = &self.g;
        let one = |n| {
            let place = g.seguse_place(n);
            SegUse::decode(self.ifile_block(ifile, place.lbn), place.at, n, g.version, g.endian).unwrap()
        };
        (0..g.nseg).map(|n| one(SegNo(n))).collect()
    }

    /// Walks the log from its start and recounts everything; gives the live bytes, summaries and inode blocks of each
    /// segment, and where the log ends.
    fn recount(&self) -> (Vec<(u64, u16, u16)>, Daddr) {
        let g = &self.g;
        let mut all = vec![(0, 0, 0); g.nseg as usize];
        let mut at = g.first_pseg(SegNo(0), true);
        for (serial, (place, bytes)) in (1..).zip(&self.initial.psegs) {
            assert_eq!(g.byte(at), *place);
            let summary = Summary::decode(bytes, g).unwrap();
            let expected = if g.version == Version::V1 { 0 } else { serial };
            summary.follows(g.ident, crate::lfs::Serial(expected)).unwrap();
            let pseg = summary.walk(g, at).unwrap();
            assert_eq!(pseg.bytes(g), bytes.len() as u64);
            pseg.check_data(&summary, bytes, g).unwrap();
            let count = &mut all[pseg.segment.0 as usize];
            count.1 += 1;
            count.0 += u64::from(summary.ninos) * u64::from(g.version.dinode_size());
            for item in &pseg.items {
                match item {
                    Item::Inodes { .. } => count.2 += 1,
                    Item::Block { .. } => count.0 += g.bytes(item.units(g)),
                }
            }
            let next = g.segment_starting(summary.next).unwrap();
            at = pseg.next_here(g).unwrap_or_else(|| g.first_pseg(next, g.newfs_flags(next)));
        }
        (all, at)
    }
}

fn every_kind() -> Vec<NewfsOptions> {
    let mut all = Vec::new();
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            for mut of in [
                NewfsOptions::new(version, 16 << 20),
                NewfsOptions::new(version, 300 << 20),
                // The ifile has double indirect blocks and is longer than a segment.
                NewfsOptions { segment: Some(32768), block: Some(1024), ..NewfsOptions::new(version, 600 << 20) },
                NewfsOptions { fragment: Some(8192), interleave: 3, ..NewfsOptions::new(version, 600 << 20) },
                NewfsOptions { ibsize: Some(8192), block: Some(8192), ..NewfsOptions::new(version, 128 << 20) },
            ] {
                (of.endian, of.ident, of.now) = (endian, 99, 1_700_000_000);
                all.push(of);
            }
        }
    }
    all
}

#[test]
fn new_volume_has_every_identity_of_the_format() {
    for of in every_kind() {
        let v = Volume::new(&of);
        let (g, f) = (&v.g, &v.initial.superblock.fields);
        let ifile = v.inode(f.idaddr, IFILE);
        let usage = v.usage(&ifile);
        let (recount, end) = v.recount();
        assert_eq!(f.offset, end, "{of:?}");
        for (n, (usage, (live, sums, blocks))) in usage.iter().zip(recount).enumerate() {
            assert_eq!((u64::from(usage.nbytes), usage.nsums, usage.ninos), (live, sums, blocks), "segment {n}");
            assert_eq!(*usage, usage.marked());
        }
        let totals = g.totals(usage.iter().copied(), f.offset);
        assert_eq!((totals.avail, totals.dmeta, totals.clean), (f.avail, f.dmeta.into(), f.nclean), "{of:?}");
        assert!((totals.bfree_least..=totals.bfree_most).contains(&f.bfree), "{of:?}");
        let info = CleanerInfo::decode(v.ifile_block(&ifile, Lbn(0)), g.version, g.endian).unwrap();
        assert_eq!((info.clean + info.dirty, info.clean), (g.nseg, f.nclean));
        let (current, next) = (g.segment_starting(f.curseg).unwrap(), g.segment_starting(f.nextseg).unwrap());
        assert!(current != next && !usage[next.0 as usize].flags.has(crate::lfs::ifile::SegFlags::DIRTY), "{of:?}");
        assert!(usage[current.0 as usize].flags.has(crate::lfs::ifile::SegFlags::DIRTY), "{of:?}");
        let last = Summary::decode(&v.initial.psegs.last().unwrap().1, g).unwrap();
        assert!([f.nextseg, f.curseg].contains(&last.next), "{of:?}");
    }
}

#[test]
fn superblock_copies_are_read_from_where_they_are() {
    for of in every_kind() {
        let v = Volume::new(&of);
        let there: Vec<_> = v.g.sboffs.iter().filter(|at| !at.is_hole()).map(|at| v.g.byte(*at)).collect();
        assert_eq!(v.initial.superblocks.iter().map(|copy| copy.0).collect::<Vec<_>>(), there);
        assert_eq!(there[0].0, 8192);
        for (i, (at, bytes)) in v.initial.superblocks.iter().enumerate() {
            let copy = Superblock::decode(bytes).unwrap();
            assert_eq!(copy.fields.tstamp, if i < 2 { of.now } else { 0 });
            assert_eq!((copy.geometry(), bytes.len()), (v.g, 8192));
            // No partial segment overlaps it.
            let clear =
                |(place, b): &(crate::ByteOff, Vec<u8>)| place.0 + b.len() as u64 <= at.0 || at.0 + 8192 <= place.0;
            assert!(v.initial.psegs.iter().all(clear), "{of:?}");
        }
    }
}

#[test]
fn root_directory_is_there_and_the_free_inodes_are_a_list() {
    for of in every_kind() {
        let v = Volume::new(&of);
        let (g, f) = (&v.g, &v.initial.superblock.fields);
        let ifile = v.inode(f.idaddr, IFILE);
        let entry = |ino: u32| {
            let place = g.entry_place(Ino(ino));
            let block = v.ifile_block(&ifile, place.lbn);
            crate::lfs::IfileEntry::decode(block, place.at, Ino(ino), g.version, g.endian).unwrap()
        };
        let root = v.inode(entry(2).daddr, Ino::ROOT);
        let v1 = g.version == Version::V1;
        assert_eq!((root.mode, root.nlink, root.size, root.gen_), (0o040_755, if v1 { 3 } else { 2 }, 512, 1));
        assert_eq!(f.freehd, Ino(if v1 { 4 } else { 3 }));
        assert_eq!((entry(1).version, entry(1).daddr), (1, Daddr::HOLE));
        let (mut free, mut count) = (f.freehd, 0);
        while let crate::lfs::NextFree::Ino(next) = entry(free.0).nextfree {
            assert!(entry(free.0).daddr.is_hole() && next.0 == free.0 + 1);
            (free, count) = (next, count + 1);
        }
        assert_eq!(free.0 + 1, g.maxino(ifile.size));
        assert_eq!(count + f.freehd.0 + 1, g.ifpb);
        let block = v.at(root.db[0].into(), 512);
        let shown = crate::dirent::DirFormat { hidden: Ino::NONE, ..g.dir_format() };
        let names: Vec<_> = crate::dirent::entries(block, shown, Ino::ROOT, 0)
            .map(|e| e.map(|e| (e.ino.0, e.kind, String::from_utf8_lossy(e.name).into_owned())).unwrap())
            .collect();
        let mut right = vec![(2, 4, ".".to_string()), (2, 4, "..".to_string())];
        if v1 {
            right.extend([(1, 8, "ifile".to_string()), (3, 4, "lost+found".to_string())]);
        }
        assert_eq!(names, right);
        let hidden = |name: &crate::dirent::Dirent<'_>| name.ino == crate::lfs::IFILE && !name.is_name();
        let count = crate::dirent::entries(block, g.dir_format(), Ino::ROOT, 0).flatten().filter(hidden).count();
        assert_eq!(count, usize::from(v1));
    }
}

#[test]
fn directory_with_wide_inode_numbers_has_headers_of_twelve_bytes() {
    let v = Volume::new(&NewfsOptions { endian: Endian::Big, ..NewfsOptions::new(Version::Lfs64, 64 << 20) });
    let slot = v.at(v.initial.superblock.fields.idaddr, v.g.ibsize);
    let root = inode_block::get_ino(slot, &v.g, Ino::ROOT).unwrap();
    let block = v.at(root.db[0].into(), 512);
    assert_eq!(block[..16], *b"\0\0\0\0\0\0\0\x02\0\x10\x04\x01.\0\0\0");
    assert_eq!(block[16..32], *b"\0\0\0\0\0\0\0\x02\x01\xf0\x04\x02..\0\0");
}

#[test]
fn same_options_give_the_same_bytes() {
    let of = of(256, 1 << 20, 4096, 1024);
    let (a, b) = (initial(&of).unwrap(), initial(&of).unwrap());
    assert_eq!((a.psegs, a.superblocks), (b.psegs, b.superblocks));
}
