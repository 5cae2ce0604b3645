//! Counts, run lengths and cluster maps recomputed from the two authoritative maps: free fragments and used inodes. For
//! newfs, for repair, and for tests of code that maintains them step by step.

use super::{Cg, CgMut, map};
use crate::num::index;
use crate::{Cgx, Csum, Geometry};

/// The counts computed from the maps of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recount {
    /// The counts; the number of directories is as given, since the maps do not contain it.
    pub cs: Csum,
    /// Element k: runs of exactly k free fragments in blocks that are partly in use.
    pub frsum: [u32; 8],
    /// Map of free whole blocks; empty without one.
    pub clusters: Vec<u8>,
    /// Element k: maximal runs of k free blocks; element 0 is unused. Empty without one.
    pub clustersum: Vec<u32>,
}

impl Cg<'_> {
    /// Counts from the maps.
    pub fn recount(&self, ndir: i32) -> Recount {
        let l = self.layout();
        let mut right = Recount {
            cs: Csum { ndir, ..Csum::default() },
            frsum: [0; 8],
            clusters: vec![0; index(l.cluster_len())],
            clustersum: Vec::new(),
        };
        let blocks = l.ndblk.div_ceil(l.frag.max(1));
        let in_word = 64u32.checked_div(l.frag).unwrap_or(64);
        // A map has whole bytes, and the last block can be beyond them.
        let words = map::words(self.free()).chain(std::iter::repeat(0));
        for (first, word) in (0..blocks).step_by(index(in_word.max(1))).zip(words) {
            let last = blocks.min(first.saturating_add(in_word));
            match word {
                0 => {}
                u64::MAX if last.saturating_sub(first) == in_word => right.count_free(first, in_word, l.nclusterblks),
                _ => (first..last).for_each(|block| self.count_block(block, &mut right)),
            }
        }
        // A group has a multiple of 8 inodes, so no bit of the map is beyond them.
        let used = map::words(self.iused()).fold(0u32, |n, word| n.saturating_add(word.count_ones()));
        right.cs.nifree = i32::try_from(l.ipg.saturating_sub(used)).unwrap_or(i32::MAX);
        right.clustersum = cluster_runs(&right.clusters, l.contigsumsize);
        right
    }

    fn count_block(&self, block: u32, right: &mut Recount) {
        let l = self.layout();
        // Bits beyond the end of the group are 0, so a trailing partial block is never wholly free.
        let bits = map::block(self.free(), block, l.frag);
        if bits == map::whole(l.frag) {
            return right.count_free(block, 1, l.nclusterblks);
        }
        for (_, len) in map::runs(bits, l.frag) {
            right.cs.nffree = right.cs.nffree.saturating_add_unsigned(len);
            if let Some(n) = right.frsum.get_mut(index(len)) {
                *n = n.saturating_add(1);
            }
        }
    }

    /// The counts stored in the block, in the same form for comparison.
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

impl Recount {
    /// Counts `n` wholly free blocks, of which those before `nclusterblks` are in the cluster map.
    fn count_free(&mut self, first: u32, n: u32, nclusterblks: u32) {
        self.cs.nbfree = self.cs.nbfree.saturating_add_unsigned(n);
        map::fill(&mut self.clusters, first, n.min(nclusterblks.saturating_sub(first)), true);
    }
}

/// The summary of a cluster map without bits beyond its last block.
fn cluster_runs(clusters: &[u8], most: u32) -> Vec<u32> {
    if most == 0 {
        return Vec::new();
    }
    let mut sums = vec![0u32; index(most).saturating_add(1)];
    let mut run = 0u32;
    // A word beyond the end, without a free block, closes the last run.
    for word in map::words(clusters).chain([0]) {
        let (mut rest, mut left) = (word, 64u32);
        while left > 0 {
            let free = rest.trailing_ones().min(left);
            run = run.saturating_add(free);
            left = left.saturating_sub(free);
            rest = rest.checked_shr(free).unwrap_or(0);
            if left == 0 {
                break;
            }
            if run > 0 {
                if let Some(n) = sums.get_mut(index(run.min(most))) {
                    *n = n.saturating_add(1);
                }
                run = 0;
            }
            let gap = rest.trailing_zeros().min(left);
            left = left.saturating_sub(gap);
            rest = rest.checked_shr(gap).unwrap_or(0);
        }
    }
    sums
}

impl CgMut<'_> {
    /// Sets counts, run lengths, cluster map and summary to the values computed from the maps of fragments and inodes.
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
        /// Blocks and fragments are allocated and freed one by one, with the counts updated step by step; they must
        /// equal a recount.
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

    /// The same, block by block and bit by bit.
    fn recount_slowly(cg: &Cg<'_>, ndir: i32) -> Recount {
        let l = cg.layout();
        let mut right = Recount { cs: Csum { ndir, ..Csum::default() }, frsum: [0; 8], ..cg.stated() };
        right.clusters.fill(0);
        right.clustersum.fill(0);
        for block in 0..l.ndblk.div_ceil(l.frag) {
            let free: Vec<bool> = (0..l.frag).map(|i| map::get(cg.free(), block * l.frag + i)).collect();
            if free.iter().all(|&free| free) {
                right.cs.nbfree += 1;
                if block < l.nclusterblks {
                    map::set(&mut right.clusters, block);
                }
                continue;
            }
            for run in free.chunk_by(|a, b| a == b).filter(|run| run[0]) {
                right.cs.nffree += run.len() as i32;
                right.frsum[run.len()] += 1;
            }
        }
        let clusters: Vec<bool> = (0..l.nclusterblks).map(|block| map::get(&right.clusters, block)).collect();
        for run in clusters.chunk_by(|a, b| a == b).filter(|run| run[0]) {
            right.clustersum[run.len().min(l.contigsumsize as usize)] += 1;
        }
        right.cs.nifree = (0..l.ipg).filter(|&i| !map::get(cg.iused(), i)).count() as i32;
        right
    }

    proptest! {
        /// Long runs of both kinds, with any start and end, in groups whose last word and last block are partial.
        #[test]
        fn a_recount_by_words_equals_one_bit_by_bit(
            frag_log in 0u32..4, cut in 0u64..80, runs in prop::collection::vec((any::<bool>(), 1u32..400), 1..60)
        ) {
            let fsize = 32768 >> frag_log;
            let bytes = (9 << 20) + cut * u64::from(fsize);
            let p = NewfsParams { bsize: 32768, fsize, ..NewfsParams::new(Format::Ufs2, bytes) };
            let g = p.superblock().unwrap().geometry();
            for c in (0..g.ncg).map(Cgx) {
                let mut bytes = cg::init(&g, c, 64);
                let layout = cg::CgLayout::computed(&g, c);
                let mut group = CgMut::new(&mut bytes, layout, g.endian).unwrap();
                let mut at = 0;
                for &(free, len) in runs.iter().cycle() {
                    if at == layout.ndblk {
                        break;
                    }
                    let len = len.min(layout.ndblk - at);
                    map::fill(group.free_mut(), at, len, free);
                    map::fill(group.iused_mut(), at, len.min(layout.ipg.saturating_sub(at)), free);
                    at += len;
                }
                prop_assert_eq!(group.view().recount(7), recount_slowly(&group.view(), 7));
            }
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
