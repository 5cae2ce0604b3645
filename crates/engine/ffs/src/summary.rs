//! What is known in memory about every group without reading its block: a copy of the summary array, and what placement
//! needs to remember.
//!
//! M1. An entry equals the counts in its group's block as soon as the block is in the cache. The block is trusted over
//!     the array, which may be stale after a crash; so entry and totals follow the block when it is read.
//! M2. A group found damaged is not used until the volume is unmounted: nothing is allocated in it.

use crate::cg::plus;
use ordo_ondisk::{Cgx, Csum, CsumTotal, Geometry, csum};
use std::cell::{Cell, RefCell};

/// The counts of all groups.
pub(crate) struct Summary {
    groups: Vec<Group>,
    total: Cell<CsumTotal>,
    /// Blocks of the array that differ from the disk.
    changed: RefCell<Vec<bool>>,
    /// Groups per block of the array.
    per_block: usize,
    damaged: Cell<bool>,
}

struct Group {
    cs: Cell<Csum>,
    /// Directories placed here since the last file (`fs_contigdirs`): limits how many are placed one after the other.
    contigdirs: Cell<u8>,
    bad: Cell<bool>,
    /// A search for this many free blocks in a row has failed; 0 if none has (`fs_maxcluster`).
    no_cluster: Cell<u8>,
}

impl Summary {
    /// The counts in the array on the disk.
    pub(crate) fn from_array(g: &Geometry, array: &[u8]) -> Summary {
        let entry = |c| csum::get(array, Cgx(c), g.endian).unwrap_or_default();
        let group = |c| Group {
            cs: Cell::new(entry(c)),
            contigdirs: Cell::new(0),
            bad: Cell::new(false),
            no_cluster: Cell::new(0),
        };
        let groups: Vec<Group> = (0..g.ncg).map(group).collect();
        let total = groups.iter().fold(CsumTotal::default(), |sum, group| sum.plus(group.cs.get()));
        let per_block = g.bsize as usize / Csum::SIZE;
        Summary {
            changed: RefCell::new(vec![false; groups.len().div_ceil(per_block)]),
            groups,
            total: Cell::new(total),
            per_block,
            damaged: Cell::new(false),
        }
    }

    /// The counts of a group.
    #[inline]
    pub(crate) fn cs(&self, c: Cgx) -> Csum {
        self.groups[c.0 as usize].cs.get()
    }

    /// The sum over all groups.
    #[inline]
    pub(crate) fn total(&self) -> CsumTotal {
        self.total.get()
    }

    /// Adds a change that was made to a group's block.
    #[inline]
    pub(crate) fn add(&self, c: Cgx, change: Csum) {
        self.set(c, plus(self.cs(c), change));
    }

    /// Takes over the counts of a group's block (M1).
    #[inline]
    pub(crate) fn set(&self, c: Cgx, cs: Csum) {
        let old = self.groups[c.0 as usize].cs.replace(cs);
        if old == cs {
            return;
        }
        let t = self.total.get();
        let moved = |sum: i64, from: i32, to: i32| sum - i64::from(from) + i64::from(to);
        self.total.set(CsumTotal {
            ndir: moved(t.ndir, old.ndir, cs.ndir),
            nbfree: moved(t.nbfree, old.nbfree, cs.nbfree),
            nifree: moved(t.nifree, old.nifree, cs.nifree),
            nffree: moved(t.nffree, old.nffree, cs.nffree),
        });
        self.changed.borrow_mut()[c.0 as usize / self.per_block] = true;
        if cs.nbfree > old.nbfree {
            self.groups[c.0 as usize].no_cluster.set(0);
        }
    }

    /// Returns the blocks of the array that differ from the disk, and marks them as equal.
    pub(crate) fn take_changed(&self) -> Vec<usize> {
        let mut changed = self.changed.borrow_mut();
        let blocks = (0..changed.len()).filter(|&i| changed[i]).collect();
        changed.fill(false);
        blocks
    }

    /// These blocks were returned, but still differ from the disk.
    pub(crate) fn put_back(&self, blocks: &[usize]) {
        let mut changed = self.changed.borrow_mut();
        blocks.iter().for_each(|&block| changed[block] = true);
    }

    /// Puts the entries of block `block` of the array into its bytes.
    pub(crate) fn encode(&self, g: &Geometry, block: usize, bytes: &mut [u8]) {
        let first = block * self.per_block;
        for (i, group) in self.groups[first..].iter().take(self.per_block).enumerate() {
            // OK to ignore: the array has room for all groups, as the superblock's check saw.
            let _ = csum::put(bytes, Cgx(i as u32), group.cs.get(), g.endian);
        }
    }

    /// Marks a group as damaged (M2).
    pub(crate) fn condemn(&self, c: Cgx) {
        self.groups[c.0 as usize].bad.set(true);
        self.damaged.set(true);
    }

    /// Records damage outside the groups.
    pub(crate) fn set_damaged(&self) {
        self.damaged.set(true);
    }

    /// Nothing may be allocated in this group (M2).
    #[inline]
    pub(crate) fn is_bad(&self, c: Cgx) -> bool {
        self.groups[c.0 as usize].bad.get()
    }

    /// Whether any damage was found.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.get()
    }

    /// A search for `len` free blocks in a row has failed in this group.
    pub(crate) fn no_cluster(&self, c: Cgx, len: u32) {
        self.groups[c.0 as usize].no_cluster.set(u8::try_from(len).unwrap_or(0));
    }

    /// Such a search has failed, and no block was freed since.
    pub(crate) fn lacks_cluster(&self, c: Cgx, len: u32) -> bool {
        let failed = u32::from(self.groups[c.0 as usize].no_cluster.get());
        failed > 0 && len >= failed
    }

    /// Directories placed in this group since the last file.
    pub(crate) fn contigdirs(&self, c: Cgx) -> u8 {
        self.groups[c.0 as usize].contigdirs.get()
    }

    /// Records that an inode was placed in this group.
    #[inline]
    pub(crate) fn placed(&self, c: Cgx, directory: bool) {
        let count = &self.groups[c.0 as usize].contigdirs;
        count.set(if directory { count.get().saturating_add(1) } else { count.get().saturating_sub(1) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::geometries;

    #[test]
    fn totals_follow_the_entries_and_the_array_reads_back() {
        for g in geometries() {
            let bytes = |n: u32| vec![0u8; n as usize];
            let sum = Summary::from_array(&g, &bytes(g.cssize));
            let last = Cgx(g.ncg - 1);
            sum.add(last, Csum { ndir: 1, nbfree: 20, nifree: 7, nffree: 3 });
            sum.add(last, Csum { nbfree: -5, nffree: 8, ..Csum::default() });
            sum.set(Cgx(0), Csum { nifree: 4, ..Csum::default() });
            assert_eq!(sum.total(), CsumTotal { ndir: 1, nbfree: 15, nifree: 11, nffree: 11 });
            assert_eq!(sum.take_changed().first(), Some(&0));
            assert!(sum.take_changed().is_empty());
            let mut array = bytes(g.cssize);
            sum.encode(&g, 0, &mut array);
            assert_eq!(Summary::from_array(&g, &array).total(), sum.total());
        }
    }

    #[test]
    fn directories_in_a_row_are_counted_and_files_take_back() {
        let g = &geometries()[0];
        let sum = Summary::from_array(g, &vec![0; g.cssize as usize]);
        sum.placed(Cgx(0), false);
        for _ in 0..300 {
            sum.placed(Cgx(0), true);
        }
        sum.placed(Cgx(0), false);
        assert_eq!(sum.contigdirs(Cgx(0)), 254);
    }
}
