//! Arbitrary bytes as structures of LFS: nothing panics, and every walk ends. Accepted input is then used in
//! computations, in a build that detects overflow.

use ordo_ondisk::lfs::newfs::initial;
use ordo_ondisk::lfs::summary::{PsegBuilder, Stamp};
use ordo_ondisk::lfs::{
    CleanerInfo, Daddr, Geometry, IfileEntry, NewfsOptions, SegNo, SegUse, Serial, Summary, Superblock, Version, cksum,
    inode_block, superblock,
};
use ordo_ondisk::{Endian, Ino, Lbn};
use proptest::prelude::*;

/// Changes of a few bytes, mostly to values that corrupt numbers.
fn damage(len: usize) -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..len, prop_oneof![Just(0u8), Just(0xff), Just(0x80), Just(1), any::<u8>()]), 0..12)
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V1), Just(Version::V2), Just(Version::Lfs64)]
}

fn options(version: Version, big: bool) -> NewfsOptions {
    let endian = if big { Endian::Big } else { Endian::Little };
    NewfsOptions { endian, ident: 0x1234_5678, now: 1_000_000_000, ..NewfsOptions::new(version, 16 << 20) }
}

fn change(bytes: &mut [u8], damage: &[(usize, u8)]) {
    for (at, to) in damage {
        bytes[*at] = *to;
    }
}

/// All arithmetic, with numbers as from a damaged pointer.
fn compute(g: &Geometry, n: u64, lbn: i64) {
    let (at, segment, ino) = (Daddr(n), SegNo(n as u32), Ino(n as u32));
    let _ = (g.byte(at), g.units(n), g.bytes(n), g.segment_start(segment), g.segment_end(segment), g.maxino(n));
    let _ = (g.first_pseg(segment, true), g.next_pseg(segment, at), g.newfs_flags(segment), g.after(segment, n as u32));
    let _ = (g.block_bytes(n, Lbn(lbn)), g.file_blocks(n), g.seguse_place(segment), g.entry_place(ino));
    for units in [0, 1, n, u64::MAX] {
        if g.is_data_range(at, units) {
            assert!(units > 0 && g.segment_of(at).is_some() && n + units <= g.segment_end(g.segment_of(at).unwrap()).0);
        }
    }
    let (mut above, mut steps) = (g.tree().parent(Lbn(lbn)), 0);
    while let Some((parent, i)) = above {
        assert!(i < g.nindir && steps < 3);
        (above, steps) = (g.tree().parent(parent), steps + 1);
    }
}

fn read_pseg(bytes: &[u8], g: &Geometry, at: Daddr) {
    let Ok(summary) = Summary::decode(bytes, g) else { return };
    assert!(summary.nblocks() <= g.sumsize as usize / 4);
    let _ = (summary.follows(g.ident, Serial(1)), summary.is_empty());
    let Ok(pseg) = summary.walk(g, at) else { return };
    assert!(pseg.end > at && pseg.end <= g.segment_end(pseg.segment));
    let mut pos = at.plus(g.summary_units());
    for item in &pseg.items {
        assert_eq!(item.at(), pos);
        pos = pos.plus(item.units(g));
    }
    assert_eq!(pos, pseg.end);
    let _ = (pseg.check_data(&summary, bytes, g), pseg.next_here(g));
}

proptest! {
    #[test]
    fn damaged_superblock_is_refused_or_computes(
        version in version(), big: bool, damage in damage(512), n: u64, lbn: i64, summed: bool,
    ) {
        let mut sb = options(version, big).superblock().unwrap();
        let mut bytes = sb.encode();
        change(&mut bytes, &damage);
        if summed {
            let e = sb.endian;
            let sum = cksum(&bytes[..508], e);
            e.put_u32(&mut bytes, 508, sum).unwrap();
        }
        let read = Superblock::decode_whatever_the_sum(&bytes);
        if let Ok(read) = read {
            let g = read.geometry();
            for n in [n, n % (2 * g.size), n % 5000, 0, u64::MAX] {
                compute(&g, n, lbn);
                compute(&g, n, -(n as i64 % 5000));
            }
            let _ = (g.room(&read.fields), read.is_clean());
            let usage = (0..20).map(|_| SegUse { nbytes: u32::MAX, nsums: u16::MAX, ninos: 9, ..SegUse::default() });
            let _ = g.totals(usage, Daddr(n));
            prop_assert!(Superblock::decode(&read.encode()).is_ok());
            prop_assert_eq!(&Superblock::decode(&read.encode()).unwrap().fields, &read.fields);
            sb = read;
        }
        let _ = superblock::choose(&Superblock::decode(&bytes), &Ok(sb));
    }

    #[test]
    fn damaged_partial_segment_is_refused_or_walked(
        version in version(), big: bool, damage in damage(512), n: u64, summed: bool, head: bool,
    ) {
        let made = initial(&options(version, big)).unwrap();
        let g = made.superblock.geometry();
        let (place, mut bytes) = made.psegs[0].clone();
        for (at, to) in damage {
            // Damage in the header and the first records has the most effect.
            bytes[if head { at % 80 } else { at }] = to;
        }
        if summed {
            let sum = cksum(&bytes[4..g.sumsize as usize], g.endian);
            g.endian.put_u32(&mut bytes, 0, sum).unwrap();
        }
        for at in [g.daddr(place).unwrap(), Daddr(n), Daddr(n % g.size), g.segment_end(SegNo(3))] {
            read_pseg(&bytes, &g, at);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(
        version in version(), big: bool, bytes in prop::collection::vec(any::<u8>(), 0..1100), at in 0usize..1200,
    ) {
        let g = options(version, big).superblock().unwrap().geometry();
        let e = g.endian;
        let _ = (Superblock::decode(&bytes), superblock::recognise(&bytes));
        read_pseg(&bytes, &g, g.segment_start(SegNo(2)));
        let _ = CleanerInfo::decode(&bytes, version, e).map(|info| info.encode(&mut bytes.clone(), version, e).unwrap());
        if let Ok(usage) = SegUse::decode(&bytes, at, SegNo(0), version, e) {
            let mut again = bytes.clone();
            usage.encode(&mut again, at, version, e).unwrap();
            prop_assert_eq!(&again, &bytes);
        }
        if let Ok(entry) = IfileEntry::decode(&bytes, at, Ino(5), version, e) {
            let mut again = bytes.clone();
            entry.encode(&mut again, at, version, e).unwrap();
            prop_assert_eq!(IfileEntry::decode(&again, at, Ino(5), version, e), Ok(entry));
        }
        for slot in 0..g.inopb + 1 {
            let Ok(inode) = inode_block::get(&bytes, slot, &g) else { continue };
            let ino = inode_block::inumber(&bytes, slot, &g).unwrap();
            let mut again = bytes.clone();
            inode_block::put(&mut again, slot, &g, ino, &inode).unwrap();
            prop_assert_eq!(inode_block::get(&again, slot, &g), Ok(inode));
            let _ = inode_block::find(&bytes, &g, ino);
        }
    }

    #[test]
    fn any_order_of_blocks_and_inodes_is_read_as_it_was_built(
        version in version(), big: bool, late in 0u64..60,
        steps in prop::collection::vec((0u8..4, 2u32..5, 0i64..12, any::<bool>()), 1..60),
    ) {
        let g = options(version, big).superblock().unwrap().geometry();
        let start = Daddr(g.segment_end(SegNo(1)).0 - g.summary_units() - late);
        let mut pseg = PsegBuilder::new(&g, start).unwrap();
        for (what, ino, lbn, short) in steps {
            let bytes = if short { g.fsize } else { g.bsize };
            let before = (pseg.end(), pseg.summary_left());
            let refused = match what {
                0 => pseg.inode().is_err(),
                1 => {
                    pseg.end_record();
                    false
                }
                _ => pseg.block(Ino(ino), 1, Lbn(lbn), bytes).is_err(),
            };
            prop_assert!(!refused || before == (pseg.end(), pseg.summary_left()));
        }
        let mut bytes = vec![0x5a; pseg.bytes()];
        let next = g.segment_start(SegNo(2));
        pseg.seal(&Stamp { flags: Default::default(), serial: Serial(3), create: 9, next, reclino: 0 }, &mut bytes).unwrap();
        let summary = Summary::decode(&bytes, &g).unwrap();
        let read = summary.walk(&g, start).unwrap();
        prop_assert_eq!(&read, &pseg.pseg());
        prop_assert_eq!(read.check_data(&summary, &bytes, &g), Ok(()));
    }

    #[test]
    fn any_options_are_refused_or_make_a_volume(
        version in version(), mib in 0u64..200, block in 8u32..18, fragment in 8u32..15, ibsize in 8u32..15,
        segment in 14u32..21, keep in 0u32..30, interleave: u32, odd: bool,
    ) {
        let size = |shift: u32| Some(1 << shift).filter(|_| shift > 8);
        let of = NewfsOptions {
            device_bytes: (mib << 20) + if odd { 12345 } else { 0 },
            block: size(block),
            fragment: size(fragment),
            ibsize: size(ibsize),
            segment: Some(1 << segment).filter(|_| segment > 14),
            minfreeseg: Some(keep).filter(|_| odd),
            interleave,
            ..options(version, odd)
        };
        if let Ok(made) = initial(&of) {
            let g = made.superblock.geometry();
            for (at, bytes) in &made.psegs {
                let summary = Summary::decode(bytes, &g).unwrap();
                let pseg = summary.walk(&g, g.daddr(*at).unwrap()).unwrap();
                prop_assert_eq!(pseg.check_data(&summary, bytes, &g), Ok(()));
            }
            for (at, bytes) in &made.superblocks {
                prop_assert!(at.0 + 8192 <= of.device_bytes);
                prop_assert_eq!(Superblock::decode(bytes).unwrap().geometry(), g);
            }
        }
    }
}
