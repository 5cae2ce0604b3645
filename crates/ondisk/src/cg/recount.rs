//! Counts, run lengths and cluster maps recomputed from the two maps that are the truth: free fragments, used inodes.
//! For newfs, for repair, and for tests of whoever keeps them up to date one step at a time.

use super::{Cg, CgMut, map};
use crate::num::index;
use crate::{Cgx, Csum, Geometry};

/// What the maps of a group add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recount {
    /// The counts; the directories are as given, for the maps do not tell them.
    pub cs: Csum,
    /// Element k: runs of exactly k free fragments in blocks that are partly in use.
    pub frsum: [u32; 8],
    /// Map of free whole blocks; empty without one.
    pub clusters: Vec<u8>,
    /// Element k: maximal runs of k free blocks; element 0 is unused. Empty without one.
    pub clustersum: Vec<u32>,
}

impl Cg<'_> {
    /// Counts what the maps say.
    pub fn recount(&self, ndir: i32) -> Recount {
        let l = self.layout();
        let mut frsum = [0u32; 8];
        let mut clusters = vec![0; index(l.cluster_len())];
        let (mut nbfree, mut nffree) = (0i32, 0i32);
        for block in 0..l.ndblk.div_ceil(l.frag.max(1)) {
            // Bits beyond the end of the group are 0, so a trailing partial block is never wholly free.
            let bits = map::block(self.free(), block, l.frag);
            if bits == map::whole(l.frag) {
                nbfree = nbfree.saturating_add(1);
                if block < l.nclusterblks {
                    map::set(&mut clusters, block);
                }
                continue;
            }
            for (_, len) in map::runs(bits, l.frag) {
                nffree = nffree.saturating_add_unsigned(len);
                if let Some(n) = frsum.get_mut(index(len)) {
                    *n = n.saturating_add(1);
                }
            }
        }
        // A group has a multiple of 8 inodes, so no bit of the map lies beyond them.
        let used = self.iused().iter().fold(0u32, |n, byte| n.saturating_add(byte.count_ones()));
        let nifree = i32::try_from(l.ipg.saturating_sub(used)).unwrap_or(i32::MAX);
        let cs = Csum { ndir, nbfree, nifree, nffree };
        let clustersum = cluster_runs(&clusters, l.nclusterblks, l.contigsumsize);
        Recount { cs, frsum, clusters, clustersum }
    }

    /// What the block says itself, in the same form, to compare.
    pub fn stated(&self) -> Recount {
        let l = self.layout();
        let mut frsum = [0u32; 8];
        for (k, n) in (0u32..).zip(&mut frsum) {
            *n = self.frsum(k);
        }
        let sums =
            if l.contigsumsize == 0 { Vec::new() } else { (0..=l.contigsumsize).map(|k| self.clustersum(k)).collect() };
        Recount { cs: self.cs(), frsum, clusters: self.clusters().to_vec(), clustersum: sums }
    }
}

fn cluster_runs(clusters: &[u8], blocks: u32, most: u32) -> Vec<u32> {
    if most == 0 {
        return Vec::new();
    }
    let mut sums = vec![0u32; index(most).saturating_add(1)];
    let mut run = 0u32;
    // One block beyond the end, which is not free, closes the last run.
    for block in 0..=blocks {
        if block < blocks && map::get(clusters, block) {
            run = run.saturating_add(1);
        } else if run > 0 {
            if let Some(n) = sums.get_mut(index(run.min(most))) {
                *n = n.saturating_add(1);
            }
            run = 0;
        }
    }
    sums
}

impl CgMut<'_> {
    /// Sets counts, run lengths, cluster map and summary to what the maps of fragments and inodes add up to.
    pub fn rebuild_counts(&mut self, ndir: i32) -> Csum {
        let right = self.view().recount(ndir);
        self.set_cs(right.cs);
        for (k, &n) in (0u32..).zip(&right.frsum) {
            self.set_frsum(k, n);
        }
        for (k, &n) in (0u32..).zip(&right.clustersum) {
            self.set_clustersum(k, n);
        }
        self.clusters_mut().copy_from_slice(&right.clusters);
        right.cs
    }

    /// Marks every fragment of group `c` that is not reserved as free, and all others as in use.
    pub fn free_all_data(&mut self, g: &Geometry, c: Cgx) {
        let ndblk = self.view().layout().ndblk;
        let free = self.free_mut();
        free.fill(0);
        map::fill(free, 0, ndblk, true);
        for reserved in super::reserved(g, c) {
            let len = reserved.end.min(ndblk).saturating_sub(reserved.start);
            map::fill(free, reserved.start, len, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;
    use crate::{Format, cg};
    use proptest::prelude::*;

    fn geometry(format: Format, bsize: u32, fsize: u32) -> Geometry {
        NewfsParams { bsize, fsize, ..NewfsParams::new(format, 8 << 20) }.superblock().unwrap().geometry()
    }

    proptest! {
        /// Blocks and fragments are taken and freed one by one, the counts kept up step by step; they must be what a
        /// recount gives.
        #[test]
        fn counts_kept_step_by_step_equal_a_recount(
            frag_log in 0u32..4, steps in prop::collection::vec((any::<u32>(), 1u32..8), 1..200)
        ) {
            let g = geometry(Format::Ufs2, 32768, 32768 >> frag_log);
            let mut bytes = cg::init(&g, Cgx(0), 64);
            let layout = cg::check(&bytes, &unhashed(&g), Cgx(0)).unwrap();
            let mut group = CgMut::new(&mut bytes, layout, g.endian).unwrap();
            for (place, mask) in steps {
                let block = place % (layout.ndblk / layout.frag);
                if cg::is_reserved(&g, Cgx(0), block * layout.frag) {
                    continue;
                }
                let old = map::block(group.view().free(), block, layout.frag);
                let flip = if mask == 1 { map::whole(layout.frag) } else { (mask as u8) & map::whole(layout.frag) };
                for i in (0..layout.frag).filter(|i| flip >> i & 1 != 0) {
                    let at = block * layout.frag + i;
                    if map::get(group.view().free(), at) {
                        map::clear(group.free_mut(), at);
                    } else {
                        map::set(group.free_mut(), at);
                    }
                }
                let new = map::block(group.view().free(), block, layout.frag);
                group.account_runs(old, false);
                group.account_runs(new, true);
                group.mark_cluster(block, new == map::whole(layout.frag));
                let whole = |bits| i32::from(bits == map::whole(layout.frag));
                let loose = |bits: u8| if whole(bits) == 1 { 0 } else { bits.count_ones() as i32 };
                let mut cs = group.view().cs();
                cs.nbfree += whole(new) - whole(old);
                cs.nffree += loose(new) - loose(old);
                group.set_cs(cs);
            }
            prop_assert_eq!(group.view().stated(), group.view().recount(0));
        }
    }

    fn unhashed(g: &Geometry) -> Geometry {
        let mut g = g.clone();
        g.cg_hash = false;
        g
    }

    #[test]
    fn new_groups_have_all_but_the_metadata_free() {
        for (format, bsize, fsize) in
            [(Format::Ufs1, 4096, 512), (Format::Ufs2, 32768, 4096), (Format::Ufs2, 8192, 8192)]
        {
            let g = geometry(format, bsize, fsize);
            let mut free = 0;
            for c in (0..g.ncg).map(Cgx) {
                let mut bytes = cg::init(&g, c, cg::first_inodes(&g));
                cg::seal(&mut bytes, &g, 5).unwrap();
                let layout = cg::check(&bytes, &g, c).unwrap();
                assert_eq!(layout, cg::CgLayout::computed(&g, c));
                let view = Cg::new(&bytes, layout, g.endian).unwrap();
                assert_eq!(view.stated(), view.recount(0));
                let reserved = (0..layout.ndblk).filter(|&i| cg::is_reserved(&g, c, i)).count();
                let cs = view.cs();
                assert_eq!(cs.nbfree as u32 * g.frag + cs.nffree as u32 + reserved as u32, layout.ndblk);
                assert_eq!(cs.nifree as u32, g.ipg - if c.0 == 0 { 2 } else { 0 });
                assert_eq!(
                    (0..8).map(|i| map::get(view.iused(), i)).filter(|&b| b).count(),
                    if c.0 == 0 { 2 } else { 0 }
                );
                free += cs.nbfree as u64 * u64::from(g.frag) + cs.nffree as u64;
            }
            assert_eq!(free, g.dsize);
        }
    }
}
