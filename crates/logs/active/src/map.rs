//! The map in memory: what is known of each fragment that a transaction has written (logs-active-1), and which older
//! versions of it the group journals still have (logs-active-8).

use crate::area::Area;
use crate::entry::{CopyNo, Entry, Frag, Item, Old, SPAN, SPAN_ITEM, SPANS, Stamp, VERSIONS, Wide};
use ordo_disk::Stored;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The map.
#[derive(Debug, Default)]
pub(crate) struct Map {
    entries: BTreeMap<Frag, Entry>,
    /// Older versions, by the transaction since which a fragment had them.
    old: BTreeMap<(Frag, Stamp), Old>,
    /// Spans, by the first fragment of the item.
    wide: BTreeMap<Frag, Wide>,
    /// The last transaction.
    stamp: Stamp,
    /// The fragment of which each block of the group journals is the copy, counted from 1; 0: of none.
    of_block: Vec<Frag>,
    copies: u64,
    /// Entries whose home lacks their bytes.
    away: u64,
    /// Sums of older committed bytes of fragments whose home may still get them.
    older: FxHashMap<Frag, Vec<u32>>,
    /// The most entries and older versions.
    most: usize,
    /// Fragments of which something made room since [`Map::take_made_room`]: their pages have changed.
    made_room: Vec<Frag>,
    /// Entries, and items of spans, that made room and are still in the pages on the disk (logs-active-1); and those of
    /// them that the pages being written have no more.
    given_up: BTreeSet<Frag>,
    going: BTreeSet<Frag>,
    /// Where the search for an entry, or an older version, to give up begins.
    hand: Frag,
    old_hand: (Frag, Stamp),
}

/// What a block of the group journals has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Has {
    Nothing,
    /// An older version.
    Old,
    /// The newest bytes.
    Copy,
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
            + self.wide.values().map(|wide| wide.known.count_ones() as usize * SPAN as usize).sum::<usize>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.wide.is_empty()
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
        self.entries.range(range.clone()).next().is_none() && self.spans(range).next().is_none()
    }

    /// The known spans that touch these fragments: the first fragment of each, and its checksum.
    pub(crate) fn spans(&self, range: std::ops::Range<Frag>) -> impl Iterator<Item = (Frag, u32)> + '_ {
        let groups = self.wide.range(range.start / SPAN_ITEM * SPAN_ITEM..range.end);
        let all = groups.flat_map(|(first, wide)| {
            let known = (0..SPANS).filter(|n| wide.known & 1 << n != 0);
            known.map(move |n| (first + n * SPAN, wide.sums[n as usize]))
        });
        all.filter(move |(first, _)| first + SPAN > range.start && *first < range.end)
    }

    /// The checksum of a span is known from now on.
    pub(crate) fn learn_span(&mut self, first: Frag, sum: u32) {
        let wide = self.wide.entry(first / SPAN_ITEM * SPAN_ITEM).or_default();
        let n = first / SPAN % SPANS;
        (wide.known, wide.sums[n as usize]) = (wide.known | 1 << n, sum);
    }

    /// The span with this fragment is not known any more. Returns whether it was.
    pub(crate) fn forget_span(&mut self, frag: Frag) -> bool {
        let group = frag / SPAN_ITEM * SPAN_ITEM;
        let Some(wide) = self.wide.get_mut(&group) else { return false };
        let (bit, n) = (1 << (frag / SPAN % SPANS), (frag / SPAN % SPANS) as usize);
        let was = wide.known & bit != 0;
        (wide.known, wide.sums[n]) = (wide.known & !bit, 0);
        if wide.known == 0 {
            self.wide.remove(&group);
        }
        was
    }

    /// What a home lacks may be left in its copy: less than half of the map would be bound by that.
    pub(crate) fn may_stay_away(&self) -> bool {
        self.away < self.most as u64 / 2
    }

    /// There is room for what is not a copy's entry: a tenth of the map is for these.
    pub(crate) fn has_room(&self) -> bool {
        self.size() - self.old.len() < self.most / 10 * 9
    }

    /// Another transaction begins.
    pub(crate) fn next_stamp(&mut self) {
        self.stamp = self.stamp.saturating_add(1);
    }

    /// The older versions of these fragments, by the transaction since which each was there.
    pub(crate) fn versions(&self, range: std::ops::Range<Frag>) -> impl Iterator<Item = (Frag, Stamp, Old)> + '_ {
        self.old.range((range.start, 0)..(range.end, 0)).map(|((frag, since), old)| (*frag, *since, *old))
    }

    /// What the pages of the map have of these fragments: of each its entry, then its older versions, then spans.
    pub(crate) fn items(&self, range: std::ops::Range<Frag>) -> Vec<(Frag, Item)> {
        let mut items: Vec<(Frag, Item)> =
            self.entries(range.clone()).map(|(frag, entry)| (frag, Item::Entry(entry))).collect();
        items.extend(self.versions(range.clone()).map(|(frag, since, old)| (frag, Item::Old(since, old))));
        items.extend(self.wide.range(range).map(|(first, wide)| (*first, Item::Wide(*wide))));
        items.sort_unstable_by_key(|(frag, item)| (*frag, item.rank()));
        items
    }

    /// How many [`Map::items`] are there.
    pub(crate) fn count(&self, range: std::ops::Range<Frag>) -> usize {
        let old = self.old.range((range.start, 0)..(range.end, 0)).count();
        self.entries.range(range.clone()).count() + old + self.wide.range(range).count()
    }

    fn size(&self) -> usize {
        self.entries.len() + self.old.len() + self.wide.len()
    }

    /// Sets what a page of the map has.
    pub(crate) fn load(&mut self, frag: Frag, item: Item) {
        match item {
            Item::Entry(entry) => {
                self.stamp = self.stamp.max(entry.since);
                self.set(frag, entry);
            }
            Item::Old(since, old) => {
                self.stamp = self.stamp.max(old.until);
                self.keep(frag, since, old);
            }
            Item::Wide(wide) => {
                self.wide.insert(frag, wide);
            }
        }
    }

    /// The fragments of which something made room for something else.
    pub(crate) fn take_made_room(&mut self) -> Vec<Frag> {
        std::mem::take(&mut self.made_room)
    }

    /// Sets an entry, as the pages of the map or a transaction have it.
    pub(crate) fn set(&mut self, frag: Frag, entry: Entry) {
        if !self.entries.contains_key(&frag) && self.size() >= self.most {
            self.give_up();
        }
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
    }

    /// Keeps an older version; if there are too many, the oldest of this fragment goes.
    fn keep(&mut self, frag: Frag, since: Stamp, old: Old) {
        if since >= old.until {
            return;
        }
        if self.size() >= self.most {
            // A quarter of the map is for older versions, if there are so many.
            if self.old.len() >= self.most / 4 {
                return;
            }
            self.give_up();
            if self.size() >= self.most {
                return;
            }
        }
        // In memory only, as above.
        let _ = self.forget_copy(old.copy);
        let Some(of) = self.of_block.get_mut(old.copy.get() as usize - 1) else { return };
        *of = frag + 1;
        if let Some(before) = self.old.insert((frag, since), old)
            && let Some(of) = self.of_block.get_mut(before.copy.get() as usize - 1)
            && before.copy != old.copy
        {
            *of = 0;
        }
        let of_frag = (frag, 0)..(frag + 1, 0);
        if self.old.range(of_frag.clone()).count() > VERSIONS
            && let Some(key) = self.old.range(of_frag).next().map(|(key, _)| *key)
        {
            self.drop_old(key);
        }
    }

    fn drop_old(&mut self, key: (Frag, Stamp)) {
        if let Some(old) = self.old.remove(&key)
            && let Some(of) = self.of_block.get_mut(old.copy.get() as usize - 1)
        {
            *of = 0;
        }
    }

    /// An older version, a span, or the entry of an old block makes room for something new: what is not known is only
    /// not verified.
    fn give_up(&mut self) {
        if self.old.len() <= self.most / 4
            && let Some(frag) = self.give_up_entry()
        {
            self.made_room.push(frag);
            return;
        }
        let old = self.old.range(self.old_hand..).next().or_else(|| self.old.iter().next()).map(|(key, _)| *key);
        if let Some((frag, since)) = old {
            self.old_hand = (frag, since.saturating_add(1));
            self.drop_old((frag, since));
            self.made_room.push(frag);
        }
    }

    fn give_up_entry(&mut self) -> Option<Frag> {
        if let Some((first, _)) = self.wide.pop_first() {
            self.given_up.insert(first);
            return Some(first);
        }
        let at_home = |(frag, entry): (&Frag, &Entry)| entry.home.then_some(*frag);
        let after = self.entries.range(self.hand..).find_map(at_home);
        let frag = after.or_else(|| self.entries.iter().find_map(at_home))?;
        self.hand = frag + 1;
        self.older.remove(&frag);
        self.drop_entry(frag);
        self.given_up.insert(frag);
        Some(frag)
    }

    /// Something of these fragments, or of those around them, made room, and may still be in the pages on the disk.
    pub(crate) fn gave_up(&self, range: &std::ops::Range<Frag>) -> bool {
        let near = range.start / SPAN_ITEM * SPAN_ITEM..range.end;
        [&self.given_up, &self.going].into_iter().any(|those| those.range(near.clone()).next().is_some())
    }

    /// The pages are being written.
    pub(crate) fn goes_down(&mut self) {
        self.going.append(&mut self.given_up);
    }

    /// They are on the disk.
    pub(crate) fn went_down(&mut self) {
        self.going.clear();
    }

    /// A transaction is durable.
    pub(crate) fn commit(&mut self, frag: Frag, stored: &Stored, copy: Option<CopyNo>) {
        self.forget_span(frag);
        let before = self.entries.get(&frag).copied();
        if let Some(before) = before {
            let older = self.older.entry(frag).or_default();
            if !older.contains(&before.sum) {
                older.push(before.sum);
            }
            if before.sum != stored.sum {
                self.becomes_old(frag, before);
            }
        }
        let data = before.is_some_and(|before| before.data);
        let again = before.is_some_and(|before| before.copy.is_some());
        let since = before.filter(|before| before.sum == stored.sum).map_or(self.stamp, |before| before.since);
        self.set(frag, Entry { sum: stored.sum, copy, home: false, data, again, since });
    }

    /// The entry's copy is kept as that of an older version.
    fn becomes_old(&mut self, frag: Frag, entry: Entry) {
        self.drop_entry(frag);
        if let Some(copy) = entry.copy {
            self.keep(frag, entry.since, Old { sum: entry.sum, copy, until: self.stamp });
        }
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

    /// Nothing is known of this fragment any more. What it had stays as an older version.
    pub(crate) fn remove(&mut self, frag: Frag) -> bool {
        self.older.remove(&frag);
        let Some(entry) = self.get(frag) else { return false };
        self.becomes_old(frag, entry);
        true
    }

    /// A block of the group journals is about to be overwritten: it is nobody's copy. Returns the fragment of which it
    /// was one.
    pub(crate) fn forget_copy(&mut self, copy: CopyNo) -> Option<Frag> {
        let frag = std::mem::take(self.of_block.get_mut(copy.get() as usize - 1)?).checked_sub(1)?;
        match self.entries.get_mut(&frag) {
            Some(entry) if entry.copy == Some(copy) => {
                entry.copy = None;
                self.copies -= 1;
            }
            _ => {
                let of_frag = self.old.range((frag, 0)..(frag + 1, 0));
                let key = of_frag.filter(|(_, old)| old.copy == copy).map(|(key, _)| *key).next();
                key.map(|key| self.old.remove(&key));
            }
        }
        Some(frag)
    }

    /// What this block of the group journals has.
    pub(crate) fn has(&self, copy: CopyNo) -> Has {
        let frag = self.of_block.get(copy.get() as usize - 1).and_then(|of| of.checked_sub(1));
        let Some(frag) = frag else { return Has::Nothing };
        if self.entries.get(&frag).is_some_and(|entry| entry.copy == Some(copy)) { Has::Copy } else { Has::Old }
    }

    /// The fragment that only this block of the group journals has.
    pub(crate) fn only_in(&self, copy: CopyNo) -> Option<Frag> {
        let frag = self.of_block.get(copy.get() as usize - 1)?.checked_sub(1)?;
        let entry = self.entries.get(&frag)?;
        (!entry.home && entry.copy == Some(copy)).then_some(frag)
    }

    /// The home of this fragment need not get its bytes now: its copy has them.
    pub(crate) fn stays_away(&mut self, frag: Frag, data: bool) {
        self.older.remove(&frag);
        if let Some(entry) = self.entries.get_mut(&frag) {
            entry.data = data;
        }
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

    /// The home has got bytes of this sum. The page need not say so: recovery finds the same. Returns whether it lacked
    /// them.
    pub(crate) fn came_home(&mut self, frag: Frag, sum: u32, data: bool) -> bool {
        let Some(entry) = self.entries.get_mut(&frag).filter(|entry| entry.sum == sum) else { return false };
        let lacked = !entry.home;
        self.away -= u64::from(lacked);
        (entry.home, entry.data) = (true, data);
        self.older.remove(&frag);
        lacked
    }

    /// These are the bytes of a home of which nothing is known. They may belong to the transaction that comes next:
    /// contents are at home before the inode that names them is committed. So they count after it only; otherwise a
    /// version from before it would have them.
    pub(crate) fn learn(&mut self, frag: Frag, sum: u32, data: bool) {
        if self.has_none(frag..frag + 1) {
            let since = self.stamp.saturating_add(1);
            self.set(frag, Entry { sum, copy: None, home: true, data, again: false, since });
        }
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
        map.commit(frag, &Stored { home: DiskOff(frag * 1024), at: None, sum }, CopyNo::new(copy));
        map.take_made_room().pop()
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
