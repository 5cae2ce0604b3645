//! The map in memory: what is known of each fragment that a transaction has written (logs-active-1).

use crate::area::Area;
use ordo_disk::Stored;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A fragment of the volume, by its number.
pub(crate) type Frag = u64;

/// A block in the group journals, counted from 1.
pub(crate) type CopyNo = NonZeroU32;

/// What is known of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// CRC-32C of its newest committed bytes.
    pub(crate) sum: u32,
    /// Where the group journals have them.
    pub(crate) copy: Option<CopyNo>,
    /// The home has them. Not on the disk: recovery writes everything home.
    pub(crate) home: bool,
    /// It was last written as contents of a file. Not on the disk.
    pub(crate) data: bool,
}

/// The map.
#[derive(Debug, Default)]
pub(crate) struct Map {
    entries: BTreeMap<Frag, Entry>,
    /// The fragment of which each block of the group journals is the copy, counted from 1; 0: of none.
    of_block: Vec<Frag>,
    copies: u64,
    /// Entries whose home lacks their bytes.
    away: u64,
    /// Sums of older committed bytes of fragments whose home may still get them.
    older: FxHashMap<Frag, Vec<u32>>,
    /// The most entries.
    most: usize,
    /// Where the search for an entry to give up begins.
    hand: Frag,
}

/// What a home is about to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gets {
    /// Nothing is known of the place.
    Unknown,
    /// The newest committed bytes.
    Newest,
    /// Older committed ones: newer ones follow.
    Older,
    /// Others: the entry must go first.
    Others,
}

impl Map {
    pub(crate) fn new(area: &Area, most: usize) -> Map {
        let blocks = area.places as usize * area.blocks as usize;
        Map { of_block: vec![0; blocks], most, ..Map::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn copies(&self) -> u64 {
        self.copies
    }

    /// A home lacks committed bytes.
    pub(crate) fn is_away(&self) -> bool {
        self.away > 0
    }

    pub(crate) fn get(&self, frag: Frag) -> Option<Entry> {
        self.entries.get(&frag).copied()
    }

    pub(crate) fn entries(&self, range: std::ops::Range<Frag>) -> impl Iterator<Item = (Frag, Entry)> + '_ {
        self.entries.range(range).map(|(frag, entry)| (*frag, *entry))
    }

    /// True if nothing between these is known: a fast answer.
    pub(crate) fn has_none(&self, range: std::ops::Range<Frag>) -> bool {
        self.entries.range(range).next().is_none()
    }

    /// Sets an entry, as the pages of the map or a transaction have it. Returns the one that was given up for it.
    pub(crate) fn set(&mut self, frag: Frag, entry: Entry) -> Option<Frag> {
        let given_up = (self.entries.len() >= self.most && !self.entries.contains_key(&frag)).then(|| self.give_up());
        self.drop_entry(frag);
        if let Some(copy) = entry.copy {
            // In memory only: recovery and what is read from pages know which claim is the newer one.
            let _ = self.forget_copy(copy);
            if let Some(of) = self.of_block.get_mut(copy.get() as usize - 1) {
                *of = frag + 1;
                self.copies += 1;
            }
        }
        self.away += u64::from(!entry.home);
        self.entries.insert(frag, entry);
        given_up.flatten()
    }

    /// The entry of an old block makes room for a new one: what is not known is only not verified.
    fn give_up(&mut self) -> Option<Frag> {
        let at_home = |(frag, entry): (&Frag, &Entry)| entry.home.then_some(*frag);
        let after = self.entries.range(self.hand..).find_map(at_home);
        let frag = after.or_else(|| self.entries.iter().find_map(at_home))?;
        self.hand = frag + 1;
        self.remove(frag);
        Some(frag)
    }

    /// A transaction is durable.
    pub(crate) fn commit(&mut self, frag: Frag, stored: &Stored, copy: Option<CopyNo>) -> Option<Frag> {
        let before = self.entries.get(&frag).copied();
        if let Some(before) = before {
            let older = self.older.entry(frag).or_default();
            if !older.contains(&before.sum) {
                older.push(before.sum);
            }
        }
        let data = before.is_some_and(|before| before.data);
        self.set(frag, Entry { sum: stored.sum, copy, home: false, data })
    }

    fn drop_entry(&mut self, frag: Frag) -> Option<Entry> {
        let entry = self.entries.remove(&frag)?;
        self.away -= u64::from(!entry.home);
        if let Some(of) = entry.copy.and_then(|copy| self.of_block.get_mut(copy.get() as usize - 1)) {
            *of = 0;
            self.copies -= 1;
        }
        Some(entry)
    }

    /// Nothing is known of this fragment any more.
    pub(crate) fn remove(&mut self, frag: Frag) -> bool {
        self.older.remove(&frag);
        self.drop_entry(frag).is_some()
    }

    /// A block of the group journals is about to be overwritten: it is nobody's copy. Returns the fragment of which it
    /// was one.
    pub(crate) fn forget_copy(&mut self, copy: CopyNo) -> Option<Frag> {
        let frag = std::mem::take(self.of_block.get_mut(copy.get() as usize - 1)?).checked_sub(1)?;
        self.entries.get_mut(&frag)?.copy = None;
        self.copies -= 1;
        Some(frag)
    }

    /// The journal has the newest committed bytes of this fragment here, and the home may lack them: if the sum is that
    /// of the entry. Of an older transaction it is another one.
    pub(crate) fn confirm(&mut self, frag: Frag, sum: u32, copy: Option<CopyNo>) {
        let Some(entry) = self.get(frag).filter(|entry| entry.sum == sum) else { return };
        self.set(frag, Entry { copy, home: false, ..entry });
    }

    /// What the home of `frag` is about to get, with bytes of this sum.
    pub(crate) fn gets(&self, frag: Frag, sum: u32) -> Gets {
        let Some(entry) = self.entries.get(&frag) else { return Gets::Unknown };
        let is_older = || self.older.get(&frag).is_some_and(|older| older.contains(&sum));
        match entry.sum == sum {
            true => Gets::Newest,
            false if is_older() => Gets::Older,
            false => Gets::Others,
        }
    }

    /// The home has got bytes of this sum.
    pub(crate) fn came_home(&mut self, frag: Frag, sum: u32, data: bool) {
        let Some(entry) = self.entries.get_mut(&frag).filter(|entry| entry.sum == sum) else { return };
        self.away -= u64::from(!entry.home);
        (entry.home, entry.data) = (true, data);
        self.older.remove(&frag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_disk::DiskOff;

    fn map(most: usize) -> Map {
        let extents: Vec<_> = (0..6).map(|i| (DiskOff((1 + i) << 20), 128 << 10)).collect();
        Map::new(&Area::new(&extents, 1024).unwrap(), most)
    }

    fn commit(map: &mut Map, frag: Frag, sum: u32, copy: u32) -> Option<Frag> {
        map.commit(frag, &Stored { home: DiskOff(frag * 1024), at: None, sum }, CopyNo::new(copy))
    }

    #[test]
    fn a_home_may_get_what_was_committed_and_nothing_else() {
        let mut map = map(10);
        assert_eq!(map.gets(7, 1), Gets::Unknown);
        commit(&mut map, 7, 1, 1);
        assert_eq!((map.gets(7, 1), map.gets(7, 2)), (Gets::Newest, Gets::Others));
        map.came_home(7, 1, false);
        commit(&mut map, 7, 2, 2);
        commit(&mut map, 7, 3, 3);
        assert_eq!([1, 2, 3, 4].map(|sum| map.gets(7, sum)), [Gets::Older, Gets::Older, Gets::Newest, Gets::Others]);
        map.came_home(7, 2, false);
        assert!(!map.get(7).unwrap().home, "newer bytes follow");
        map.came_home(7, 3, false);
        assert!(map.get(7).unwrap().home);
        assert_eq!(map.gets(7, 2), Gets::Others, "an older state does not come after the newest");
    }

    #[test]
    fn a_copy_is_counted_while_it_is_there() {
        let mut map = map(10);
        commit(&mut map, 7, 1, 4);
        commit(&mut map, 8, 1, 5);
        assert_eq!(map.copies(), 2);
        map.forget_copy(CopyNo::new(4).unwrap());
        assert_eq!((map.get(7).unwrap().copy, map.copies()), (None, 1));
        commit(&mut map, 8, 2, 6);
        assert_eq!(map.copies(), 1, "the entry has one copy");
        map.forget_copy(CopyNo::new(5).unwrap());
        assert_eq!(map.get(8).unwrap().copy, CopyNo::new(6));
        commit(&mut map, 9, 2, 6);
        assert_eq!(map.get(8).unwrap().copy, None, "a block is the copy of one fragment");
        assert!(map.remove(9) && !map.remove(9));
        assert_eq!(map.copies(), 0);
    }

    #[test]
    fn a_full_map_gives_up_an_entry_whose_home_has_its_bytes() {
        let mut map = map(3);
        for frag in [1, 2, 3] {
            assert_eq!(commit(&mut map, frag, 1, 0), None);
        }
        assert_eq!(commit(&mut map, 4, 1, 0), None, "all are needed");
        map.came_home(2, 1, false);
        assert_eq!(commit(&mut map, 5, 1, 0), Some(2));
        assert_eq!(map.get(2), None);
    }
}
