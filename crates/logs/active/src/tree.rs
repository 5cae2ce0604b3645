//! The pages of the map: a B+ tree by fragment, written beside the old one (logs-active-3).
//!
//! Of each page only its range of fragments and its place are in memory; what is in a leaf comes from the map. A page
//! that changed is written to a free place, and with it all above it.

use crate::entry::Frag;
use crate::map::Map;
use crate::page::{self, Down, FULL, ITEMS, Items};
use ordo_disk::Block;
use std::collections::BTreeMap;

/// A page with fewer items is put together with a neighbour.
const FEW: usize = ITEMS / 4;

/// A page in memory.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// Where it is on the disk, if it is there and has not changed since.
    down: Option<Down>,
    /// The place of its last version, which counts until the next root.
    last: Option<u32>,
}

/// The pages of a level by the first fragment that each may have: the first page begins at 0.
type Level = BTreeMap<Frag, Node>;

/// The tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Leaves first.
    levels: Vec<Level>,
    /// For each page of the disk, whether it is in use by the newest root or the one that is being made.
    used: Vec<bool>,
    /// Where the search for a free page begins.
    hand: usize,
}

/// What must be written before the next root.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) pages: Vec<(u32, Block)>,
    /// Pages that are free once that root is durable.
    pub(crate) gone: Vec<u32>,
    pub(crate) top: Option<(Down, u32)>,
}

/// No page is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Tree {
    pub(crate) fn new(pages: u32) -> Tree {
        let leaves = BTreeMap::from([(0, Node::default())]);
        Tree { levels: vec![leaves], used: vec![false; pages as usize], hand: 0 }
    }

    /// The most entries for which there is always room: in half of the pages, as the other half is for the next tree.
    /// Two neighbours have more than three quarters of a page between them.
    pub(crate) fn most(pages: u32) -> usize {
        (pages as usize / 2).saturating_sub(3) * FULL / 3
    }

    /// A page was found while the tree was read.
    pub(crate) fn found(&mut self, level: u32, first: Frag, down: Down) {
        while self.levels.len() <= level as usize {
            self.levels.push(BTreeMap::new());
        }
        self.levels[level as usize].insert(first, Node { down: Some(down), last: Some(down.page) });
        if let Some(used) = self.used.get_mut(down.page as usize) {
            *used = true;
        }
    }

    /// The page could not be read: what it had is lost, and it is written again.
    pub(crate) fn lost(&mut self, level: u32, first: Frag) {
        self.levels[level as usize].entry(first).or_default().down = None;
        self.touch(first);
    }

    /// What the map has of this fragment has changed.
    pub(crate) fn touch(&mut self, frag: Frag) {
        for level in &mut self.levels {
            if let Some((_, node)) = level.range_mut(..=frag).next_back() {
                node.down = None;
            }
        }
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.levels.iter().any(|level| level.values().any(|node| node.down.is_none()))
    }

    fn free_page(&mut self) -> Result<u32, Full> {
        let len = self.used.len();
        let free = (self.hand..len).chain(0..self.hand).find(|page| !self.used[*page]).ok_or(Full)?;
        (self.used[free], self.hand) = (true, free + 1);
        Ok(free as u32)
    }

    /// Makes the changed pages for what the map has now. After this the tree is that of the next root.
    pub(crate) fn change(&mut self, map: &Map) -> Result<Change, Full> {
        let mut change = Change::default();
        let mut level = 0;
        loop {
            self.change_level(level, map, &mut change)?;
            let pages = &self.levels[level];
            if pages.len() == 1 {
                break;
            }
            level += 1;
            if self.levels.len() == level {
                self.levels.push(BTreeMap::from([(0, Node::default())]));
            }
        }
        // A tree that became lower: the pages above are not needed.
        for above in self.levels.split_off(level + 1) {
            change.gone.extend(above.values().filter_map(|node| node.last));
        }
        let top = self.levels[level].values().next().and_then(|node| node.down);
        change.top = top.map(|down| (down, level as u32));
        Ok(change)
    }

    fn change_level(&mut self, level: usize, map: &Map, change: &mut Change) -> Result<(), Full> {
        let mut at = 0;
        while let Some((first, node)) = self.levels[level].range(at..).next().map(|(first, node)| (*first, *node)) {
            let next = self.levels[level].range(first + 1..).next().map_or(Frag::MAX, |(next, _)| *next);
            at = first + 1;
            if node.down.is_some() {
                continue;
            }
            let next = self.absorb(level, first, next, map, change);
            let items = self.items(level, first..next, map);
            let count = items.len();
            change.gone.extend(node.last);
            if let Some(before) = self.fits_before(level, first, count, map) {
                self.levels[level].remove(&first);
                self.parent_changes(level, first);
                self.levels[level].entry(before).or_default().down = None;
                self.parent_changes(level, before);
                at = before;
                continue;
            }
            let parts = count.div_ceil(FULL).max(1);
            let cut = |part: usize| items.boundary(count * part / parts);
            for part in 0..parts {
                let (from, to) = (cut(part), cut(part + 1));
                let (some, begins) = match &items {
                    Items::Entries(all) => (Items::Entries(all[from..to].to_vec()), all.get(from).map(|item| item.0)),
                    Items::Pages(all) => (Items::Pages(all[from..to].to_vec()), all.get(from).map(|item| item.0)),
                };
                let begins = if part == 0 { first } else { begins.unwrap_or(first) };
                let page = self.free_page()?;
                let (block, sum) = page::encode(level as u32, &some);
                change.pages.push((page, block));
                let down = Down { page, sum };
                self.levels[level].insert(begins, Node { down: Some(down), last: Some(page) });
                self.parent_changes(level, begins);
            }
            at = next;
            if next == Frag::MAX {
                break;
            }
        }
        Ok(())
    }

    /// Takes in the pages behind a short one, as long as all fit well into one page. Returns where the range ends then.
    fn absorb(&mut self, level: usize, first: Frag, mut next: Frag, map: &Map, change: &mut Change) -> Frag {
        let mut count = self.count(level, first..next, map);
        while count < FEW && next < Frag::MAX {
            let end = self.levels[level].range(next + 1..).next().map_or(Frag::MAX, |(end, _)| *end);
            count += self.count(level, next..end, map);
            if count > ITEMS * 3 / 4 {
                break;
            }
            if let Some(node) = self.levels[level].remove(&next) {
                change.gone.extend(node.last);
            }
            self.parent_changes(level, next);
            next = end;
        }
        next
    }

    /// The page before, if a short one of `count` items fits well into it.
    fn fits_before(&self, level: usize, first: Frag, count: usize, map: &Map) -> Option<Frag> {
        let (before, _) = self.levels[level].range(..first).next_back()?;
        let together = count + self.count(level, *before..first, map);
        (count < FEW && together <= ITEMS * 3 / 4).then_some(*before)
    }

    fn parent_changes(&mut self, level: usize, first: Frag) {
        let parent = self.levels.get_mut(level + 1).and_then(|above| above.range_mut(..=first).next_back());
        if let Some((_, node)) = parent {
            node.down = None;
        }
    }

    fn count(&self, level: usize, range: std::ops::Range<Frag>, map: &Map) -> usize {
        match level.checked_sub(1) {
            None => map.count(range),
            Some(below) => self.levels[below].range(range).count(),
        }
    }

    fn items(&self, level: usize, range: std::ops::Range<Frag>, map: &Map) -> Items {
        match level.checked_sub(1) {
            None => Items::Entries(map.items(range)),
            Some(below) => {
                let pages = self.levels[below].range(range);
                Items::Pages(pages.map(|(first, node)| (*first, node.down.unwrap_or_default())).collect())
            }
        }
    }

    /// The root of the last change is durable.
    pub(crate) fn release(&mut self, gone: &[u32]) {
        for page in gone {
            if let Some(used) = self.used.get_mut(*page as usize) {
                *used = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::Area;
    use crate::entry::{Entry, Item};
    use ordo_disk::DiskOff;

    /// A disk of pages, with the tree and the map over it.
    struct Bed {
        map: Map,
        tree: Tree,
        disk: BTreeMap<u32, Block>,
        top: Option<(Down, u32)>,
    }

    impl Bed {
        fn new(pages: u32) -> Bed {
            let extents: Vec<_> = (0..6).map(|i| (DiskOff((1 + i) << 20), 128 << 10)).collect();
            let map = Map::new(&Area::new(&extents, 1024).unwrap(), Tree::most(pages));
            Bed { map, tree: Tree::new(pages), disk: BTreeMap::new(), top: None }
        }

        fn set(&mut self, frag: Frag, sum: u32) {
            self.map.set(frag, Entry { sum, copy: None, home: true, data: false, again: false, since: 0 });
            self.tree.touch(frag);
            self.map.take_made_room().into_iter().for_each(|frag| self.tree.touch(frag));
        }

        fn remove(&mut self, frag: Frag) {
            self.map.remove(frag);
            self.tree.touch(frag);
        }

        /// Writes a change; returns how many pages it took. Nothing that the last root leads to is overwritten.
        fn write(&mut self) -> usize {
            let before = self.read();
            let change = self.tree.change(&self.map).unwrap();
            let count = change.pages.len();
            for (page, block) in change.pages {
                self.disk.insert(page, block);
            }
            assert_eq!(self.read(), before, "the old tree is whole until the new root is there");
            self.top = change.top;
            self.tree.release(&change.gone);
            count
        }

        fn read(&self) -> Vec<(Frag, Item)> {
            let mut found = Vec::new();
            let Some((down, level)) = self.top else { return found };
            let mut todo = vec![(down, level, 0..Frag::MAX)];
            while let Some((down, level, range)) = todo.pop() {
                let items = page::decode(&self.disk[&down.page], level, down.sum, range.clone()).expect("a whole page");
                match items {
                    Items::Entries(entries) => found.extend(entries),
                    Items::Pages(pages) => {
                        let ends = pages.iter().skip(1).map(|(first, _)| *first).chain([range.end]);
                        todo.extend(pages.iter().zip(ends).map(|((first, down), end)| (*down, level - 1, *first..end)));
                    }
                }
            }
            found.sort_by_key(|(frag, _)| *frag);
            found
        }

        fn is_right(&self) {
            assert_eq!(self.read(), self.map.items(0..Frag::MAX));
        }
    }

    #[test]
    fn the_tree_has_what_the_map_has_after_any_changes() {
        let mut bed = Bed::new(400);
        let mut rng = ordo_rt::Rng::new(3);
        for round in 0..200 {
            for _ in 0..rng.below(400) {
                let frag = rng.below(60_000);
                match rng.below(3) {
                    0 if round > 100 => bed.remove(frag),
                    _ => bed.set(frag, rng.below(1 << 30) as u32),
                }
            }
            bed.write();
            bed.is_right();
        }
        assert!(bed.top.unwrap().1 >= 1, "more than a leaf");
        for frag in 0..60_000 {
            bed.remove(frag);
        }
        bed.write();
        bed.is_right();
        assert_eq!(bed.top.unwrap().1, 0, "it became a leaf again");
        assert_eq!(bed.tree.used.iter().filter(|used| **used).count(), 1, "no page is lost");
    }

    #[test]
    fn a_small_change_writes_few_pages() {
        let mut bed = Bed::new(1000);
        for frag in 0..30_000 {
            bed.set(frag, 1);
        }
        bed.write();
        assert!(!bed.tree.is_changed());
        bed.set(17_000, 2);
        assert!(bed.tree.is_changed());
        assert!(bed.write() <= 3);
        bed.is_right();
    }

    #[test]
    fn short_pages_are_put_together() {
        let mut bed = Bed::new(400);
        for frag in 0..30_000 {
            bed.set(frag, 1);
        }
        bed.write();
        let full = bed.tree.levels[0].len();
        for frag in (0..30_000).filter(|frag| frag % 50 != 0).rev() {
            bed.remove(frag);
            if frag % 311 == 0 {
                bed.write();
            }
        }
        bed.write();
        bed.is_right();
        assert!(bed.tree.levels[0].len() < full / 10, "{} leaves of {full}", bed.tree.levels[0].len());
    }

    #[test]
    fn there_is_room_for_the_most_entries_however_they_come() {
        for step in [1, 7919] {
            let mut bed = Bed::new(64);
            for i in 0..20_000_u64 {
                bed.set(i * step % 100_003, i as u32);
                if i % 97 == 0 {
                    bed.write();
                }
            }
            bed.write();
            bed.is_right();
        }
    }
}
