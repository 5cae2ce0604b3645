//! Records of inodes, found by inode number.
//!
//! Files made and removed one after the other have adjacent inodes, and so adjacent records here: finding one reads no
//! index, and the next one is beside it.

use super::arena::{Cell, Id};
use ordo_ondisk::Ino;
use prefetch_index::prefetch_index;
use std::num::NonZeroU32;

/// Inodes per leaf. A record pins the buf of its inode, so a leaf with only one record takes less memory than that buf.
const LEAF: usize = 128;

struct Leaf<T> {
    /// Records in it.
    used: usize,
    places: [Cell<T>; LEAF],
}

/// At most one record per inode. As in an arena, an id names nothing once its record is gone, even if the inode gets
/// another record.
pub(crate) struct ByIno<T> {
    leaves: Vec<Option<Box<Leaf<T>>>>,
    /// The turn of the newest record. Leaves come and go, so they cannot count.
    turn: NonZeroU32,
    len: usize,
}

impl<T> Default for ByIno<T> {
    fn default() -> Self {
        ByIno { leaves: Vec::new(), turn: NonZeroU32::MIN, len: 0 }
    }
}

fn split(ino: u32) -> (usize, usize) {
    (ino as usize / LEAF, ino as usize % LEAF)
}

impl<T> ByIno<T> {
    #[inline]
    fn place(&self, ino: u32) -> Option<&Cell<T>> {
        let (leaf, at) = split(ino);
        Some(&self.leaves.get(leaf)?.as_ref()?.places[at])
    }

    #[inline]
    fn place_mut(&mut self, ino: u32) -> Option<&mut Cell<T>> {
        let (leaf, at) = split(ino);
        Some(&mut self.leaves.get_mut(leaf)?.as_mut()?.places[at])
    }

    /// The id of the record that this inode had, or has, at a turn.
    #[inline]
    pub(crate) fn id(ino: Ino, turn: NonZeroU32) -> Id<T> {
        Id::new(ino.0, turn)
    }

    /// The id of this inode's record.
    #[inline]
    pub(crate) fn id_of(&self, ino: Ino) -> Option<Id<T>> {
        let place = self.place(ino.0).filter(|place| place.record.is_some())?;
        Some(Id::new(ino.0, place.turn))
    }

    /// This inode's record.
    #[inline]
    pub(crate) fn of(&self, ino: Ino) -> Option<&T> {
        self.place(ino.0)?.record.as_ref()
    }

    /// Prefetches this inode's record, which will soon be needed.
    #[inline]
    pub(crate) fn prefetch(&self, ino: Ino) {
        let (leaf, at) = split(ino.0);
        if let Some(Some(leaf)) = self.leaves.get(leaf) {
            prefetch_index(&leaf.places, at);
        }
    }

    /// The same, mutable.
    #[inline]
    pub(crate) fn of_mut(&mut self, ino: Ino) -> Option<&mut T> {
        self.place_mut(ino.0)?.record.as_mut()
    }

    /// The record, if it still exists.
    #[inline]
    pub(crate) fn get(&self, id: Id<T>) -> Option<&T> {
        self.place(id.place()).filter(|place| place.turn == id.turn())?.record.as_ref()
    }

    /// The same, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        self.place_mut(id.place()).filter(|place| place.turn == id.turn())?.record.as_mut()
    }

    /// Adds a record for an inode that has none.
    #[inline(always)]
    pub(crate) fn insert(&mut self, ino: Ino, record: T) -> Id<T> {
        let (leaf, at) = split(ino.0);
        self.turn = self.turn.checked_add(1).unwrap_or(NonZeroU32::MIN);
        let turn = self.turn;
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        let leaf = self.leaves[leaf].get_or_insert_with(new_leaf);
        debug_assert!(leaf.places[at].record.is_none(), "an inode has one record");
        leaf.used += 1;
        leaf.places[at] = Cell { turn, record: Some(record) };
        self.len += 1;
        Id::new(ino.0, turn)
    }

    /// Drops the record; from then on `id` names nothing.
    #[inline]
    pub(crate) fn discard(&mut self, id: Id<T>) {
        let (leaf, at) = split(id.place());
        if let Some(Some(leaf)) = self.leaves.get_mut(leaf)
            && leaf.places[at].turn == id.turn()
            && leaf.places[at].record.is_some()
        {
            leaf.places[at].record = None;
            leaf.used -= 1;
            self.len -= 1;
        }
    }

    /// The ids of all records, in the order of their inodes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id<T>> {
        let leaves = (0..).step_by(LEAF).zip(&self.leaves);
        let places = leaves.filter_map(|(first, leaf)| Some((first..).zip(&leaf.as_ref()?.places))).flatten();
        places.filter(|(_, place)| place.record.is_some()).map(|(ino, place)| Id::new(ino, place.turn))
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Frees the leaves without records.
    pub(crate) fn drop_idle_leaves(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| drop(leaf.take_if(|leaf| leaf.used == 0)));
        while self.leaves.pop_if(|leaf| leaf.is_none()).is_some() {}
    }
}

#[cold]
fn new_leaf<T>() -> Box<Leaf<T>> {
    Box::new(Leaf { used: 0, places: std::array::from_fn(|_| Cell::empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_its_inode_until_it_is_taken_away() {
        let mut records = ByIno::default();
        let ids = [2, 127, 128, 100_000].map(|ino| records.insert(Ino(ino), ino));
        assert_eq!(records.ids().collect::<Vec<_>>(), ids);
        records.discard(ids[3]);
        records.discard(ids[3]);
        records.drop_idle_leaves();
        assert_eq!((records.len(), records.leaves.len()), (3, 2), "two leaves have records, and none comes after them");
        let found = [2, 3, 127, 128, 100_000, u32::MAX].map(|ino| records.of(Ino(ino)).copied());
        assert_eq!(found, [Some(2), None, Some(127), Some(128), None, None]);
        assert_eq!(ids.map(|id| records.get(id).copied()), [Some(2), Some(127), Some(128), None]);
    }

    #[test]
    fn a_number_names_nothing_once_its_record_is_gone_and_its_leaf_with_it() {
        let mut records = ByIno::default();
        let first = records.insert(Ino(700), 'a');
        records.discard(first);
        records.drop_idle_leaves();
        let second = records.insert(Ino(700), 'b');
        records.discard(first);
        assert_eq!((records.get(first), records.get(second)), (None, Some(&'b')));
        assert_eq!(records.get_mut(first), None);
        assert_eq!(records.id_of(Ino(700)), Some(second));
    }
}
