//! Superblocks of UFS and of LFS. One that is accepted is computed with, and written back as one that is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::cg::{self, Cg};
use ordo_ondisk::{ByteOff, CgFrag, Cgx, Dinode, FragNo, Geometry, Ino, Lbn, Superblock, lfs};

fn compute(g: &Geometry, n: u64) {
    let (frag, c, ino) = (FragNo(n), Cgx(n as u32), Ino(n as u32));
    let _ = (g.byte(frag), g.cgdata(c), g.cgsblock(c), g.cgtod(c), g.cg_ndblk(c), g.cgfrag(c, CgFrag(n as u32)));
    let _ = (g.dtog(frag), g.dtogd(frag), g.blknum(frag), g.fragnum(frag), g.inode_at(ino), g.is_valid_ino(ino));
    let _ = (g.blkoff(n), g.fragoff(n), g.lblkno(n), g.numfrags(n), g.blkroundup(n), g.fragroundup(n));
    let _ = (g.blksize(n, n), g.blkfrags(n, n), cg::is_reserved(g, c, n as u32), Dinode::place(g, ino));
    if let Some(path) = g.path(Lbn(n as i64)) {
        assert!(path.depth() <= 3 && path.indirects().all(|(name, step)| name.0 < 0 && step < g.nindir));
    }
}

fn of_ufs(bytes: &[u8]) {
    let Ok(mut sb) = Superblock::decode_whatever_the_hash(bytes, ByteOff(8192)) else { return };
    let g = sb.geometry();
    for n in [0, 1, g.size / 2, g.size, 2 * g.size, u64::from(u32::MAX), u64::MAX] {
        compute(&g, n);
    }
    let _ = (sb.features(), sb.write_gate(), sb.label(), sb.ufsid(), sb.last_mount_point(), sb.volume_bytes());
    let again = sb.encode(i64::MAX);
    Superblock::decode(&again, sb.at).expect("what was accepted is accepted again");
    let group = cg::init(&g, Cgx(0), u32::MAX);
    if let Ok(layout) = cg::check(&group, &g, Cgx(0)) {
        let _ = Cg::new(&group, layout, g.endian).expect("as long as it was checked").recount(0);
    }
}

fn of_lfs(bytes: &[u8]) {
    let Ok(sb) = lfs::Superblock::decode_whatever_the_sum(bytes) else { return };
    let g = sb.geometry();
    for n in [0, 1, 5000, g.size, u64::MAX] {
        let (at, segment) = (lfs::Daddr(n), lfs::SegNo(n as u32));
        let _ = (g.byte(at), g.units(n), g.bytes(n), g.segment_start(segment), g.segment_end(segment), g.maxino(n));
        let _ = (g.first_pseg(segment, true), g.next_pseg(segment, at), g.newfs_flags(segment));
        let _ = (g.block_bytes(n, Lbn(n as i64)), g.file_blocks(n), g.seguse_place(segment), g.is_data_range(at, n));
    }
    let _ = (g.room(&sb.fields), sb.is_clean(), sb.has_serial());
    let again = lfs::Superblock::decode(&sb.encode()).expect("what was accepted is accepted again");
    assert_eq!(again.fields, sb.fields);
}

fuzz_target!(|bytes: &[u8]| {
    of_ufs(bytes);
    of_lfs(bytes);
});
