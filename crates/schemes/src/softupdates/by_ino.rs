//! Which inode has a record.

use super::arena::Id;
use ondisk::Ino;

/// Inodes to a leaf.
const LEAF: usize = 512;

type Leaf<T> = [Option<Id<T>>; LEAF];

/// The numbers of records by inode. Files that are made and removed one after the other have inodes side by side, and
/// find their records side by side here.
pub(super) struct ByIno<T> {
    leaves: Vec<Option<(usize, Box<Leaf<T>>)>>,
}

impl<T> Default for ByIno<T> {
    fn default() -> Self {
        ByIno { leaves: Vec::new() }
    }
}

fn place(ino: Ino) -> (usize, usize) {
    (ino.0 as usize / LEAF, ino.0 as usize % LEAF)
}

impl<T> ByIno<T> {
    /// The record of this inode.
    #[inline]
    pub(super) fn get(&self, ino: Ino) -> Option<Id<T>> {
        let (leaf, at) = place(ino);
        self.leaves.get(leaf)?.as_ref()?.1[at]
    }

    /// It has this record from now on.
    #[inline]
    pub(super) fn insert(&mut self, ino: Ino, id: Id<T>) {
        let (leaf, at) = place(ino);
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        let (used, ids) = self.leaves[leaf].get_or_insert_with(|| (0, Box::new([None; LEAF])));
        *used += usize::from(ids[at].replace(id).is_none());
    }

    /// It has none any more.
    #[inline]
    pub(super) fn remove(&mut self, ino: Ino) {
        let (leaf, at) = place(ino);
        if let Some(Some((used, ids))) = self.leaves.get_mut(leaf) {
            *used -= usize::from(ids[at].take().is_some());
        }
    }

    /// Lets go of the leaves on which nothing is left.
    pub(super) fn drop_idle_leaves(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| drop(leaf.take_if(|(used, _)| *used == 0)));
        while self.leaves.pop_if(|leaf| leaf.is_none()).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Arena;
    use super::*;

    #[test]
    fn a_record_is_found_by_its_inode_until_it_is_taken_away() {
        let (mut records, mut by_ino) = (Arena::default(), ByIno::default());
        for ino in [2, 511, 512, 100_000] {
            by_ino.insert(Ino(ino), records.insert(ino));
        }
        by_ino.remove(Ino(100_000));
        by_ino.remove(Ino(3));
        by_ino.drop_idle_leaves();
        assert_eq!(by_ino.leaves.len(), 2, "two leaves have records, and none comes after them");
        let found: Vec<_> = [2, 3, 511, 512, 100_000, u32::MAX].map(|ino| by_ino.get(Ino(ino))).to_vec();
        let records = found.iter().map(|id| id.and_then(|id| records.get(id)).copied()).collect::<Vec<_>>();
        assert_eq!(records, [Some(2), None, Some(511), Some(512), None, None]);
    }
}
