//! Volumes that the kernels of FreeBSD and NetBSD made and unmounted: the check finds nothing.

use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{ByteOff, Cgx, Dialect, Dinode, Endian, Geometry, Ino, Superblock};

fn are_whole(names: &[&str]) {
    for name in names {
        let bytes = ordo_volumes::volume(name);
        let disk = RamDisk::from_bytes(&bytes);
        let report = common::run(&disk, Mode::Check).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(report.exit_code(), 0, "{name}:\n{}", common::told(&report));
        assert!(report.clean && report.scanned && !report.modified, "{name}");
        eprintln!("{name}: {:?}", report.usage);
        assert!(disk.to_vec() == bytes, "{name}: -n wrote");
    }
}

#[test]
fn volumes_of_netbsd_are_whole() {
    are_whole(&["netbsd-ffs2-le", "netbsd-ffs1-be", "netbsd-ffs0-be"]);
}

ordo_volumes::freebsds_volumes!(volumes_of_freebsd_are_whole, are_whole(&["ufs-little", "ufs-big"]));

#[test]
fn volume_of_the_old_format_is_checked_and_never_repaired() {
    let mut bytes = ordo_volumes::volume("netbsd-ffs0-be");
    // A count of the superblock: free fragments.
    bytes[8192 + 192 + 15] ^= 1;
    let disk = RamDisk::from_bytes(&bytes);
    let check = common::run(&disk, Mode::Check).expect("a volume");
    assert_eq!(check.exit_code(), 4);
    let repair = common::run(&disk, Mode::Repair).expect("a volume");
    assert!(repair.refused.is_some() && repair.exit_code() == 4, "{:?}", repair.refused);
    assert!(disk.to_vec() == bytes, "it was written to");
}

/// A volume of NetBSD's with a log in a file without a name.
struct Logged {
    disk: RamDisk,
    at: u64,
    endian: Endian,
}

/// Fragments of the log.
const LOG_FRAGS: u64 = 8;

impl Logged {
    /// The log's fields are in `order`.
    fn new(mut bytes: Vec<u8>, at: u64, order: Endian) -> Logged {
        let sb = Superblock::decode(&bytes[at as usize..], ByteOff(at)).expect("NetBSD's superblock");
        let g = sb.geometry();
        let (ino, first) = free(&bytes, &g);
        let log = Dinode {
            mode: mode::REG | 0o600,
            nlink: 1,
            size: LOG_FRAGS * u64::from(g.fsize),
            blocks: Dinode::sectors(LOG_FRAGS * u64::from(g.fsize)),
            flags: flags::SF_LOG,
            ..Dinode::default()
        };
        let log = Dinode { db: std::array::from_fn(|i| if i == 0 { first } else { log.db[i] }), ..log };
        let place = Dinode::place(&g, ino).0 as usize;
        log.encode(&mut bytes[place..place + g.dinode_size as usize], &g).expect("an inode");
        let start = &mut bytes[at as usize..];
        start[864..866].copy_from_slice(&[1, 2]);
        let fields = [g.byte(first).0 / 512, LOG_FRAGS * u64::from(g.fsize) / 512, 512, ino.0.into()];
        for (i, field) in fields.into_iter().enumerate() {
            order.put_u64(start, 872 + 8 * i, field).expect("within the superblock");
        }
        start[209] = 0;
        let volume = Logged { disk: RamDisk::from_bytes(&bytes), at, endian: sb.endian };
        // The preen updates the bitmaps.
        let report = common::run(&volume.disk, Mode::Preen).expect("a volume");
        let of_maps = report.findings.iter().all(|found| (42..=46).contains(&found.finding.rule()));
        assert!(of_maps && report.clean, "{}", common::told(&report));
        volume
    }

    fn superblock(&self) -> Superblock {
        let bytes = self.disk.to_vec();
        Superblock::decode(&bytes[self.at as usize..], ByteOff(self.at)).expect("a superblock")
    }

    /// The state after a crash of NetBSD: in use, with a valid log.
    fn crash(&self) {
        let mut bytes = self.disk.to_vec();
        let sb = &mut bytes[self.at as usize..];
        sb[209] = 2;
        self.endian.put_u32(sb, 1312, flag::NETBSD_WAPBL).expect("within the superblock");
        self.disk.poke(self.at, &sb[..1376]);
    }
}

/// A free inode and a free block of the first group.
fn free(bytes: &[u8], g: &Geometry) -> (Ino, ordo_ondisk::FragNo) {
    let cg = &bytes[g.byte(g.cgtod(Cgx(0))).0 as usize..];
    let offset = |at| g.endian.get_u32(cg, at).expect("a group") as usize;
    let (used, free) = (&cg[offset(92)..], &cg[offset(96)..]);
    let ino = (3..g.ipg).find(|&ino| used[ino as usize / 8] >> (ino % 8) & 1 == 0).expect("a free inode");
    let block = (0..g.fpg / g.frag).map(|block| block * g.frag);
    let block = block.into_iter().find(|at| (*at..at + 8).all(|bit| free[bit as usize / 8] >> (bit % 8) & 1 == 1));
    (Ino(ino), ordo_ondisk::FragNo(block.expect("a free block").into()))
}

#[test]
fn volume_with_a_log_is_netbsds_in_whichever_order_the_log_was_made() {
    for (name, at) in [("netbsd-ffs1-be", 8192), ("netbsd-ffs2-le", 65536)] {
        for order in [Endian::Little, Endian::Big] {
            let volume = Logged::new(ordo_volumes::volume(name), at, order);
            let sb = volume.superblock();
            assert_eq!((sb.dialect, sb.write_gate()), (Dialect::NetBsd, Ok(())), "{name}, {order:?}");
            let whole = common::run(&volume.disk, Mode::Check).expect("a volume");
            assert_eq!(whole.exit_code(), 0, "{name}, {order:?}: {}", common::told(&whole));
            let fields = sb.encode_copy(sb.at)[860..992].to_vec();
            let mut other = sb.clone();
            other.fields.clean = 0;
            assert!(other.encode(1)[860..992] == fields, "{name}, {order:?}: fields of the log changed");

            volume.crash();
            let before = volume.disk.to_vec();
            // The log's file has none yet, so it cannot be replayed.
            let report = common::run(&volume.disk, Mode::Preen).expect("a volume");
            assert!(report.refused.as_deref().is_some_and(|why| why.contains("NetBSD's log")), "{:?}", report.refused);
            assert!(report.findings.is_empty(), "{name}, {order:?}: {}", common::told(&report));
            assert!(volume.disk.to_vec() == before, "{name}, {order:?}: a log in force, and a preen wrote");
            let report = common::run(&volume.disk, Mode::Repair).expect("a volume");
            assert!(report.clean && report.findings.is_empty(), "{name}, {order:?}: {}", common::told(&report));
            let whole = common::run(&volume.disk, Mode::Check).expect("a volume");
            assert_eq!((whole.exit_code(), whole.journal), (0, None), "{name}, {order:?}: the log was not given up");
        }
    }
}
