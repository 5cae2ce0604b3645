//! Counts, run lengths and cluster maps recomputed from the two maps that are the truth: free fragments, used inodes.
//! For newfs, for repair, and for tests of whoever keeps them up to date one step at a time.

use super::{Cg, CgMut, is_reserved, map};
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
        let used = (0..l.ipg).filter(|&i| map::get(self.iused(), i)).count();
        let free = index(l.ipg).saturating_sub(used);
        let cs = Csum { ndir, nbfree, nifree: i32::try_from(free).unwrap_or(i32::MAX), nffree };
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
        self.free_mut().fill(0);
        for i in (0..ndblk).filter(|&i| !is_reserved(g, c, i)) {
            map::set(self.free_mut(), i);
        }
    }
}
