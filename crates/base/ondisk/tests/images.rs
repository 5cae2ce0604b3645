//! Structures of volumes written by FreeBSD, NetBSD and makefs, decoded and encoded again.

use ordo_ondisk::cg::{self, Cg};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{
    ByteOff, Cgx, CsumTotal, Dialect, Dinode, Endian, Format, FragNo, Geometry, Ino, Refused, Superblock, csum, dirent,
    extattr,
};

struct Image {
    name: &'static str,
    at: u64,
    sb: &'static [u8],
    cg0: &'static [u8],
    cg_last: &'static [u8],
    summary: &'static [u8],
    inodes: &'static [u8],
    root: &'static [u8],
}

macro_rules! image {
    ($name:literal, $at:literal) => {
        Image {
            name: $name,
            at: $at,
            sb: include_bytes!(concat!("images/", $name, ".sb")),
            cg0: include_bytes!(concat!("images/", $name, ".cg0")),
            cg_last: include_bytes!(concat!("images/", $name, ".cgN")),
            summary: include_bytes!(concat!("images/", $name, ".cs")),
            inodes: include_bytes!(concat!("images/", $name, ".inodes")),
            root: include_bytes!(concat!("images/", $name, ".root")),
        }
    };
}

const IMAGES: [Image; 8] = [
    image!("ufs-little", 65536),
    image!("ufs-big", 65536),
    image!("u1le", 8192),
    image!("u2le", 8192),
    image!("u2be", 8192),
    image!("netbsd-ffs0-be", 8192),
    image!("netbsd-ffs1-be", 8192),
    image!("netbsd-ffs2-le", 65536),
];

impl Image {
    fn named(name: &str) -> Image {
        IMAGES.into_iter().find(|i| i.name == name).unwrap()
    }

    fn superblock(&self) -> Superblock {
        Superblock::decode(self.sb, ByteOff(self.at)).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    fn geometry(&self) -> Geometry {
        self.superblock().geometry()
    }

    fn groups(&self) -> [(Cgx, &'static [u8]); 2] {
        [(Cgx(0), self.cg0), (Cgx(self.geometry().ncg - 1), self.cg_last)]
    }

    fn inode(&self, ino: u32) -> Dinode {
        let g = self.geometry();
        let (block, within) = g.inode_at(Ino(ino));
        assert_eq!(block, g.cgimin(Cgx(0)));
        Dinode::decode(&self.inodes[within..], &g, Ino(ino)).unwrap()
    }
}

#[test]
fn superblocks_are_recognised_with_their_system_and_their_right_to_be_written() {
    let of = |name: &str| {
        let sb = Image::named(name).superblock();
        (sb.format, sb.endian, sb.dialect, sb.write_gate())
    };
    use {Endian::*, Format::*};
    assert_eq!(of("ufs-little"), (Ufs2, Little, Dialect::FreeBsd, Ok(())));
    assert_eq!(of("ufs-big"), (Ufs2, Big, Dialect::FreeBsd, Ok(())));
    assert_eq!(of("u1le"), (Ufs1, Little, Dialect::NetBsd, Ok(())));
    assert_eq!(of("u2le"), (Ufs2, Little, Dialect::NetBsd, Ok(())));
    assert_eq!(of("u2be"), (Ufs2, Big, Dialect::NetBsd, Ok(())));
    assert_eq!(of("netbsd-ffs0-be"), (Ufs1, Big, Dialect::OldBsd, Err(Refused::OldFormat("inodes"))));
    assert_eq!(of("netbsd-ffs1-be"), (Ufs1, Big, Dialect::NetBsd, Ok(())));
    assert_eq!(of("netbsd-ffs2-le"), (Ufs2, Little, Dialect::NetBsd, Ok(())));
}

#[test]
fn superblock_written_back_unchanged_is_the_same_but_for_pointers_of_a_kernel() {
    for image in IMAGES {
        let sb = image.superblock();
        let mut right = image.sb.to_vec();
        if sb.has_wide_fields() {
            right[728..856].fill(0);
        }
        if sb.format == Format::Ufs1 && sb.has_wide_fields() {
            // NetBSD lets the narrow copies of the totals become stale; we write them, as FreeBSD does.
            right[192..208].copy_from_slice(&sb.encode_copy(sb.at)[192..208]);
        }
        let written = sb.encode_copy(sb.at);
        let differs: Vec<usize> = (0..right.len()).filter(|&i| written[i] != right[i]).collect();
        assert_eq!((image.name, differs), (image.name, vec![]));
    }
}

#[test]
fn check_hashes_are_those_that_freebsd_stored() {
    for (name, right) in [("ufs-little", 0x5ee0_619e), ("ufs-big", 0x486e_d67a)] {
        let image = Image::named(name);
        let mut sb = image.superblock();
        assert_eq!(sb.fields.ckhash, right);
        let again = sb.encode(sb.fields.time + 1);
        assert_ne!(sb.fields.ckhash, right);
        assert_eq!(Superblock::decode(&again, sb.at).unwrap().fields.time, image.superblock().fields.time + 1);
    }
    let hash = |bytes: &[u8], e: Endian| e.get_u32(bytes, 132);
    let (little, big) = (Image::named("ufs-little"), Image::named("ufs-big"));
    assert_eq!(hash(little.cg0, Endian::Little), Some(0x1c45_c8af));
    assert_eq!(hash(little.cg_last, Endian::Little), Some(0x4a99_1624));
    assert_eq!(hash(big.cg0, Endian::Big), Some(0x8e08_4f58));
    assert_eq!(hash(big.cg_last, Endian::Big), Some(0x6320_ff52));
    let of_inode = |image: &Image, ino: usize, e: Endian| e.get_u32(image.inodes, ino * 256 + 244);
    assert_eq!(
        [2, 3, 4].map(|i| of_inode(&little, i, Endian::Little)),
        [0x1aa9_c328, 0xf2ed_ebe1, 0x49a9_39ae].map(Some)
    );
    assert_eq!([2, 3, 4].map(|i| of_inode(&big, i, Endian::Big)), [0xe5a0_5d26, 0xe4eb_dbf4, 0x0e40_393d].map(Some));
}

#[test]
fn groups_are_sound_and_their_counts_are_those_of_their_maps() {
    for image in IMAGES {
        let g = image.geometry();
        for (c, bytes) in image.groups() {
            let layout = cg::check(bytes, &g, c).unwrap_or_else(|e| panic!("{}: {e}", image.name));
            let computed = ordo_ondisk::CgLayout::computed(&g, c);
            assert_eq!((image.name, layout), (image.name, computed));
            let view = Cg::new(bytes, layout, g.endian).unwrap();
            assert_eq!((image.name, view.recount(view.ndir())), (image.name, view.stated()));
            assert_eq!(Some(view.cs()), csum::get(image.summary, c, g.endian));
        }
    }
}

#[test]
fn group_rebuilt_from_its_maps_is_the_same_to_the_byte() {
    for image in IMAGES {
        let g = image.geometry();
        for (c, right) in image.groups() {
            let mut bytes = right.to_vec();
            let layout = cg::check(&bytes, &g, c).unwrap();
            let mut cg = cg::CgMut::new(&mut bytes, layout, g.endian).unwrap();
            let ndir = cg.view().ndir();
            cg.set_cs(Default::default());
            (1..8).for_each(|k| cg.set_frsum(k, 77));
            (1..=layout.contigsumsize).for_each(|k| cg.set_clustersum(k, 99));
            cg.clusters_mut().fill(0xa5);
            cg.rebuild_counts(ndir);
            assert!(bytes == right, "{} group {}", image.name, c.0);
        }
    }
}

#[test]
fn summary_adds_up_to_the_totals() {
    for image in IMAGES {
        let sb = image.superblock();
        let all = (0..sb.fields.ncg).map(|c| csum::get(image.summary, Cgx(c), sb.endian).unwrap());
        assert_eq!(all.fold(CsumTotal::default(), CsumTotal::plus), sb.totals(), "{}", image.name);
    }
}

#[test]
fn inodes_are_sound_and_written_back_to_the_byte() {
    for image in IMAGES {
        let g = image.geometry();
        let size = usize::try_from(g.dinode_size).unwrap();
        for (ino, bytes) in (0u32..).zip(image.inodes.chunks_exact(size)) {
            let inode = Dinode::decode(bytes, &g, Ino(ino)).unwrap_or_else(|e| panic!("{}: {e}", image.name));
            inode.check(&g, Ino(ino)).unwrap_or_else(|e| panic!("{}: {e}", image.name));
            let mut again = bytes.to_vec();
            inode.encode(&mut again, &g).unwrap();
            assert!(again == bytes, "{} inode {ino}", image.name);
        }
    }
}

#[test]
fn makefs_files_have_the_known_attributes() {
    for name in ["u1le", "u2le", "u2be"] {
        let image = Image::named(name);
        let g = image.geometry();
        let known = |ino: u32| {
            let i = image.inode(ino);
            (i.mode, i.nlink, i.size, i.blocks)
        };
        assert_eq!(known(2), (0o40755, 3, 512, 2));
        assert_eq!(known(4), (0o100_644, 2, 13, 2));
        assert_eq!(known(7), (0o100_644, 1, 5000, 10));
        assert_eq!(known(12), (0o100_644, 1, 200_000, 416));
        assert_eq!(image.inode(3).short_link(&g).unwrap().bytes(), b"README.txt");
        assert_eq!(image.inode(9).short_link(&g).unwrap().bytes(), [b'x'; 59]);
        assert_eq!(image.inode(6).short_link(&g).is_some(), g.format == Format::Ufs2);
        assert!(image.inode(10).short_link(&g).is_none());
        assert_eq!(image.inode(5).mtime.sec, 1_000_000_000);
    }
    let big = |name| {
        let i = Image::named(name).inode(12);
        (i.db[0], i.db[11], i.ib[0])
    };
    assert_eq!(big("u1le"), (FragNo(80), FragNo(168), FragNo(176)));
    assert_eq!(big("u2be"), (FragNo(112), FragNo(200), FragNo(208)));
    let byte = |name, ino| Dinode::place(&Image::named(name).geometry(), Ino(ino)).0;
    assert_eq!((byte("u1le", 2), byte("u1le", 7), byte("u1le", 12)), (33024, 33664, 34304));
    assert_eq!((byte("u2le", 2), byte("u2be", 7), byte("u2le", 12)), (33280, 34560, 35840));
}

#[test]
fn short_links_are_put_back_to_the_byte() {
    for name in ["u1le", "u2be"] {
        let image = Image::named(name);
        let g = image.geometry();
        let old = image.inode(9);
        let mut new = Dinode { db: Default::default(), ib: Default::default(), size: 0, ..old.clone() };
        assert_eq!(new.set_short_link(&g, &[b'x'; 59]), Some(()));
        assert_eq!(new, old);
        assert_eq!(new.set_short_link(&g, &[b'x'; 120]), None);
    }
}

#[test]
fn root_directories_hold_the_known_names() {
    let names = |name: &str| {
        let image = Image::named(name);
        let entries = dirent::entries(image.root, image.geometry().dir_format(), Ino::ROOT, 0);
        entries
            .map(|e| {
                let e = e.unwrap();
                format!("{}/{}/{}/{}/{}", e.offset, e.ino.0, e.reclen, e.kind, String::from_utf8_lossy(e.name))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let makefs = "0/2/12/4/. 12/2/12/4/.. 24/3/16/10/slink 40/4/20/8/README.txt 60/5/16/8/empty 76/6/16/10/sl60 \
                  92/7/20/8/frag.bin 112/8/16/4/dir1 128/9/16/10/sl59 144/10/16/10/sl120 160/11/16/10/sl119 \
                  176/12/336/8/big.bin";
    assert_eq!((names("u1le"), names("u2le"), names("u2be")), (makefs.into(), makefs.into(), makefs.into()));
    assert_eq!(names("netbsd-ffs0-be"), "0/2/12/0/. 12/2/12/0/.. 24/1440/488/0/t");
    assert_eq!(names("netbsd-ffs1-be"), "0/2/12/4/. 12/2/12/4/.. 24/1440/488/4/t");
    assert!(names("ufs-big").ends_with("204/13/308/8/xattrs3"));
}

#[test]
fn attribute_of_freebsd_is_read_and_written_to_the_byte() {
    let little: &[u8] = include_bytes!("images/ufs-little.ea");
    let big: &[u8] = include_bytes!("images/ufs-big.ea");
    for (name, area) in [("ufs-little", little), ("ufs-big", big)] {
        let g = Image::named(name).geometry();
        let found = extattr::find(area, g.endian, Ino(11), extattr::Namespace::USER, b"test").unwrap().unwrap();
        assert_eq!(found.value, b"testvalue");
        let new = extattr::with(&[], &g, Ino(11), extattr::Namespace::USER, b"test", Some(b"testvalue"));
        assert_eq!(new.unwrap().unwrap(), area);
    }
}

#[test]
fn newfs_computes_what_freebsds_newfs_wrote() {
    for (name, endian) in [("ufs-little", Endian::Little), ("ufs-big", Endian::Big)] {
        let theirs = Image::named(name).superblock();
        let f = &theirs.fields;
        let p = NewfsParams {
            endian,
            softdep: true,
            now: f.id[0].into(),
            id: f.id[1],
            ..NewfsParams::new(Format::Ufs2, 4 << 20)
        };
        let mut ours = p.superblock().unwrap();
        // The kernel's changes since then.
        ours.fields.fsmnt = f.fsmnt;
        ours.fields.cgrotor = f.cgrotor;
        ours.fields.time = f.time;
        ours.fields.mtime = f.mtime;
        ours.set_totals(theirs.totals());
        let ours = ours.encode_copy(ours.at);
        let differs: Vec<usize> = (0..ours.len()).filter(|&i| ours[i] != Image::named(name).sb[i]).collect();
        assert_eq!(differs, Vec::<usize>::new());
    }
}

#[test]
fn new_group_is_what_newfs_wrote_where_nothing_was_allocated() {
    let image = Image::named("u2le");
    let g = image.geometry();
    let mut ours = cg::init(&g, Cgx(3), cg::first_inodes(&g));
    g.endian.put_i64(&mut ours, 136, 1_000_000_000);
    assert!(ours == image.cg_last);
    let image = Image::named("u1le");
    let g = image.geometry();
    let mut ours = cg::init(&g, Cgx(3), cg::first_inodes(&g));
    g.endian.put_i32(&mut ours, 8, 1_000_000_000);
    assert!(ours == image.cg_last);
}

#[test]
fn any_changed_byte_of_a_hashed_structure_is_noticed() {
    let image = Image::named("ufs-little");
    let g = image.geometry();
    for at in (0..image.sb.len()).step_by(37) {
        let mut bytes = image.sb.to_vec();
        bytes[at] ^= 0x10;
        assert!(Superblock::decode(&bytes, ByteOff(65536)).is_err(), "superblock byte {at}");
    }
    for at in (0..image.cg0.len()).step_by(41) {
        let mut bytes = image.cg0.to_vec();
        bytes[at] ^= 0x10;
        assert!(cg::check(&bytes, &g, Cgx(0)).is_err(), "group byte {at}");
    }
    for at in 0..256 {
        let mut bytes = image.inodes[512..768].to_vec();
        bytes[at] ^= 0x10;
        assert!(Dinode::decode(&bytes, &g, Ino(2)).is_err(), "inode byte {at}");
    }
}
