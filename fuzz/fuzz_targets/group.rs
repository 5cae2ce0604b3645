//! Cylinder groups, with a right check hash. The first byte chooses the volume and the group.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::Cgx;
use ordo_ondisk::cg::{self, Cg, CgMut};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let g = ordo_fuzz::ufs(*which);
    let c = Cgx(u32::from(which >> 4) % g.ncg);
    let mut bytes = rest.to_vec();
    bytes.resize(g.cgsize as usize, 0);
    // OK to ignore: a volume may have no hashes.
    let _ = cg::rehash(&mut bytes, &g);
    let _ = cg::check_maps(&bytes, &g, c);
    let Ok(layout) = cg::check(&bytes, &g, c) else { return };
    let view = Cg::new(&bytes, layout, g.endian).expect("as long as it was checked");
    let _ = (view.recount(0), view.stated());
    assert_eq!((view.free().len(), view.iused().len()), (layout.free_len() as usize, layout.iused_len() as usize));
    let mut change = CgMut::new(&mut bytes, layout, g.endian).expect("as long as it was checked");
    for block in [0, 5, layout.nclusterblks, u32::MAX] {
        change.mark_cluster(block, true);
        change.mark_cluster(block, false);
    }
    change.account_runs(0x5a, true);
    change.account_runs(0xff, false);
    change.rebuild_counts(-1);
    cg::seal(&mut bytes, &g, i64::MIN).expect("as long as it was checked");
});
