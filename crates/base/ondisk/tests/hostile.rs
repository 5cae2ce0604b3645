//! Arbitrary bytes: nothing panics, and every walk ends. Accepted input is then used in computations, in a build that
//! detects overflow.

use ordo_ondisk::cg::{self, Cg, CgMut};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search;
use ordo_ondisk::{
    ByteOff, CgFrag, Cgx, Dinode, Endian, Format, FragNo, Geometry, Ino, Lbn, Superblock, acl, dirent, extattr,
};
use proptest::prelude::*;

/// Changes of a few bytes, mostly to values that corrupt numbers.
fn damage(len: usize) -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..len, prop_oneof![Just(0u8), Just(0xff), Just(0x80), Just(1), any::<u8>()]), 0..12)
}

fn volume(ufs1: bool, big: bool) -> Superblock {
    let format = if ufs1 { Format::Ufs1 } else { Format::Ufs2 };
    let endian = if big { Endian::Big } else { Endian::Little };
    let p = NewfsParams { endian, check_hashes: false, bsize: 8192, fsize: 1024, ..NewfsParams::new(format, 8 << 20) };
    p.superblock().unwrap()
}

/// All arithmetic, with numbers as from a damaged pointer.
fn compute(g: &Geometry, n: u64, size: u64) {
    let (frag, c, ino) = (FragNo(n), Cgx(n as u32), Ino(n as u32));
    let _ = (g.byte(frag), g.cgdata(c), g.cgsblock(c), g.cgtod(c), g.cg_ndblk(c), g.cgfrag(c, CgFrag(n as u32)));
    let _ = (g.dtog(frag), g.dtogd(frag), g.blknum(frag), g.fragnum(frag), g.inode_at(ino), g.is_valid_ino(ino));
    let _ =
        (g.blkoff(size), g.fragoff(size), g.lblkno(size), g.numfrags(size), g.blkroundup(size), g.fragroundup(size));
    let _ = (g.blksize(size, n), g.blkfrags(size, n), cg::is_reserved(g, c, size as u32), Dinode::place(g, ino));
    for frags in [0, 1, g.frag, u32::MAX] {
        if g.is_data_range(frag, frags) {
            assert!(n > 0 && n + u64::from(frags) <= g.size);
        }
    }
    if let Some(path) = g.path(Lbn(n as i64)) {
        assert!(path.depth() <= 3 && path.indirects().all(|(name, step)| name.0 < 0 && step < g.nindir));
    }
    let _ = (g.indirect_child(Lbn(n as i64), 2, u32::MAX), Geometry::indirect_level(Lbn(n as i64)));
}

fn read_group(bytes: &mut [u8], g: &Geometry, c: Cgx) {
    let Ok(layout) = cg::check(bytes, g, c) else { return };
    let view = Cg::new(bytes, layout, g.endian).unwrap();
    let _ = (view.recount(0), view.stated());
    assert_eq!((view.free().len(), view.iused().len()), (layout.free_len() as usize, layout.iused_len() as usize));
    let mut change = CgMut::new(bytes, layout, g.endian).unwrap();
    for block in [0, 5, layout.nclusterblks, u32::MAX] {
        change.mark_cluster(block, true);
        change.mark_cluster(block, false);
    }
    change.account_runs(0x5a, true);
    change.account_runs(0xff, false);
    change.rebuild_counts(-1);
    cg::seal(bytes, g, i64::MIN).unwrap();
}

proptest! {
    #[test]
    fn damaged_superblock_is_refused_or_computes(
        ufs1: bool, big: bool, change in damage(1376), n: u64, size: u64, hashed: bool,
    ) {
        let mut sb = volume(ufs1, big);
        if hashed {
            (sb.fields.flags, sb.fields.metackhash) = (0x200, 6);
        }
        let mut bytes = sb.encode_copy(sb.at);
        for (at, to) in change {
            bytes[at] = to;
        }
        if let Ok(mut sb) = Superblock::decode(&bytes, ByteOff(8192)) {
            let g = sb.geometry();
            for n in [n, n % (2 * g.size), n % 5000, 0] {
                compute(&g, n, size);
            }
            let _ = (sb.features(), sb.write_gate(), sb.label(), sb.volume_bytes());
            let again = sb.encode(i64::MAX);
            prop_assert!(Superblock::decode(&again, sb.at).is_ok());
            let mut group = cg::init(&g, Cgx(0), u32::MAX);
            read_group(&mut group, &g, Cgx(0));
        }
    }

    #[test]
    fn damaged_group_is_refused_or_counted(ufs1: bool, big: bool, change in damage(1024), all: bool) {
        let g = volume(ufs1, big).geometry();
        let mut bytes = cg::init(&g, Cgx(1), 64);
        for (at, to) in change {
            // Damage in the header has the most effect.
            let at = if all { at } else { at % 168 };
            bytes[at] = to;
        }
        read_group(&mut bytes, &g, Cgx(1));
    }

    #[test]
    fn any_inode_is_refused_or_followed(ufs1: bool, big: bool, mut bytes in prop::collection::vec(any::<u8>(), 256), mode: u16) {
        let g = volume(ufs1, big).geometry();
        g.endian.put_u16(&mut bytes, 0, mode).unwrap();
        let inode = Dinode::decode(&bytes, &g, Ino(5)).unwrap();
        let _ = (inode.check(&g, Ino(5)), inode.short_link(&g), ordo_ondisk::dinode::linux_rdev(&g, inode.rdev()));
        let _ = ordo_ondisk::dinode::volume_rdev(&g, inode.rdev());
        let mut again = vec![0; 256];
        inode.encode(&mut again, &g).unwrap();
        prop_assert_eq!(Dinode::decode(&again, &g, Ino(5)).unwrap(), inode);
    }

    #[test]
    fn any_directory_is_walked_to_its_end(
        old: bool, wide: bool, big: bool, bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(12), any::<u8>()], 0..1200),
        at in 0usize..1300, before in 0usize..1300,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let format = dirent::DirFormat { endian, old, block: 512, wide, hidden: Ino::NONE };
        let steps = dirent::entries(&bytes, format, Ino(2), u64::MAX).count();
        prop_assert!(steps <= bytes.len() / 8 + 1);
        for change in 0..4 {
            let mut block = bytes.clone();
            let done = match change {
                0 => dirent::clear(&mut block, at, Some(before), format),
                1 => dirent::write(&mut block, at, format, before as u16, Ino(9), 8, b"name"),
                2 => dirent::set_inode(&mut block, at, format, Ino(9), 8),
                _ => dirent::compact(&mut block, before, format, |_, _| {}).map(|_| ()),
            };
            prop_assert!(done.is_some() || block == bytes);
        }
    }

    #[test]
    fn any_attribute_area_is_walked_to_its_end(
        big: bool, bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(8), Just(16), any::<u8>()], 0..400),
    ) {
        let g = volume(false, big).geometry();
        prop_assert!(extattr::attributes(&bytes, g.endian, Ino(5)).count() <= bytes.len() / 8 + 1);
        let new = extattr::with(&bytes, &g, Ino(5), extattr::Namespace::USER, b"n", Some(&[7; 20]));
        if let Ok(Some(area)) = new {
            let found = extattr::find(&area, g.endian, Ino(5), extattr::Namespace::USER, b"n").unwrap();
            prop_assert_eq!(found.unwrap().value, &[7; 20]);
        }
    }

    #[test]
    fn any_list_is_refused_or_kept(mut bytes in prop::collection::vec(prop_oneof![Just(0u8), 0u8..9, any::<u8>()], 388)) {
        bytes[0] %= 8;
        (bytes[1], bytes[2], bytes[3]) = (0, 0, 0);
        if let Ok(list) = acl::Acl::decode(&bytes, Endian::Little) {
            prop_assert_eq!(acl::Acl::from_linux(&list.to_linux()), Some(list));
        }
        let _ = acl::Acl::from_linux(&bytes);
    }

    #[test]
    fn any_volume_is_searched(bytes in prop::collection::vec(any::<u8>(), 8192), at in 0usize..5, len in 0u64..300_000) {
        let sb = volume(true, true);
        let mut read = |place: ByteOff, buf: &mut [u8]| {
            let there = usize::try_from(place.0).unwrap() / 8192 == at;
            let from = if there { sb.encode_copy(sb.at) } else { bytes.clone() };
            buf.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            Ok(())
        };
        let _ = search::find(&mut read, len);
        let _ = search::find_backup(&mut read, len);
    }
}
