//! The memory: pages and the slab's inodes and names, in one order of last use (Table I: LRU).
//!
//! K1. Something dirty, or being written, is never thrown out. It can be thrown out, in its order, once it is clean.
//! K2. What is thrown out has been used longest ago, page or slab object: each weighs its bytes.

use crate::volume::NONE;

const HERE: u8 = 1;
const DIRTY: u8 = 2;
const WRITING: u8 = 4;
const HELD: u8 = DIRTY | WRITING;

/// Bytes of a page, an inode and a name (Table I).
const PAGE: u64 = 4096;
const INODE: u64 = 128;
const NAME: u64 = 256;

/// The memory of one run.
#[derive(Debug)]
pub(crate) struct Cache {
    state: Vec<u8>,
    /// The neighbours in the order of use: the newer one and the older one.
    links: Vec<(u32, u32)>,
    newest: u32,
    oldest: u32,
    pages: u32,
    inodes: u32,
    used: u64,
    capacity: u64,
    dirty: u64,
}

impl Cache {
    /// Memory of `capacity` bytes for so many pages, inodes and names; a name is numbered after the inode that it
    /// names.
    pub(crate) fn new(capacity: u64, pages: u32, inodes: u32) -> Cache {
        let all = pages as usize + 2 * inodes as usize;
        Cache {
            state: vec![0; all],
            links: vec![(NONE, NONE); all],
            newest: NONE,
            oldest: NONE,
            pages,
            inodes,
            used: 0,
            capacity,
            dirty: 0,
        }
    }

    /// The slab object of an inode.
    pub(crate) fn inode(&self, number: u32) -> u32 {
        self.pages + number
    }

    /// The slab object of its name.
    pub(crate) fn name(&self, number: u32) -> u32 {
        self.pages + self.inodes + number
    }

    fn weight(&self, id: u32) -> u64 {
        match id {
            id if id < self.pages => PAGE,
            id if id < self.pages + self.inodes => INODE,
            _ => NAME,
        }
    }

    fn unlink(&mut self, id: u32) {
        let (newer, older) = self.links[id as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.links[newer as usize].1 = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.links[older as usize].0 = newer,
        }
    }

    fn link(&mut self, id: u32) {
        self.links[id as usize] = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = id,
            newest => self.links[newest as usize].0 = id,
        }
        self.newest = id;
    }

    /// Uses something; `false` if it is not in memory.
    pub(crate) fn touch(&mut self, id: u32) -> bool {
        let state = self.state[id as usize];
        if state & HERE == 0 {
            return false;
        }
        if state & HELD == 0 && self.newest != id {
            self.unlink(id);
            self.link(id);
        }
        true
    }

    /// Whether it is in memory; that is no use of it.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.state[id as usize] & HERE != 0
    }

    /// Puts something into memory, and throws out what has not been used for longest.
    pub(crate) fn insert(&mut self, id: u32) {
        if self.touch(id) {
            return;
        }
        self.state[id as usize] |= HERE;
        self.used += self.weight(id);
        self.link(id);
        while self.used > self.capacity && self.oldest != NONE && self.oldest != id {
            let gone = self.oldest;
            self.unlink(gone);
            self.state[gone as usize] = 0;
            self.used -= self.weight(gone);
        }
    }

    /// Makes a page dirty; `true` if it was not.
    pub(crate) fn soil(&mut self, page: u32) -> bool {
        self.insert(page);
        let state = &mut self.state[page as usize];
        let before = *state;
        *state |= DIRTY;
        if before & HELD == 0 {
            self.unlink(page);
        }
        self.dirty += u64::from(before & DIRTY == 0);
        before & DIRTY == 0
    }

    /// A dirty page begins to be written: changes from now on are not part of it.
    pub(crate) fn begin(&mut self, page: u32) {
        let state = &mut self.state[page as usize];
        *state = (*state & !DIRTY) | WRITING;
        self.dirty -= 1;
    }

    /// It has been written.
    pub(crate) fn end(&mut self, page: u32) {
        let state = &mut self.state[page as usize];
        *state &= !WRITING;
        if *state & DIRTY == 0 {
            self.link(page);
        }
    }

    /// Too much of the memory is dirty: two fifths, Linux' limit.
    pub(crate) fn is_soiled(&self) -> bool {
        self.dirty * PAGE > self.capacity / 5 * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_thrown_out() {
        let mut cache = Cache::new(3 * PAGE, 10, 0);
        (0..3).for_each(|page| cache.insert(page));
        assert!(cache.touch(0));
        cache.insert(3);
        assert_eq!((0..4).map(|page| cache.has(page)).collect::<Vec<_>>(), [true, false, true, true]);
    }

    #[test]
    fn inodes_and_names_weigh_less_than_pages() {
        let mut cache = Cache::new(PAGE, 1, 40);
        (0..32).for_each(|number| cache.insert(cache.inode(number)));
        assert!(cache.has(cache.inode(0)), "32 inodes are one page");
        cache.insert(cache.name(0));
        assert!(!cache.has(cache.inode(0)) && !cache.has(cache.inode(1)) && cache.has(cache.inode(2)));
    }

    #[test]
    fn a_dirty_page_stays_until_it_has_been_written() {
        let mut cache = Cache::new(2 * PAGE, 10, 0);
        assert!(cache.soil(0) && !cache.soil(0));
        (1..5).for_each(|page| cache.insert(page));
        assert!(cache.has(0) && cache.has(4) && !cache.has(3));
        cache.begin(0);
        assert!(cache.soil(0), "a change while it is written is a new one");
        cache.end(0);
        cache.insert(5);
        assert!(cache.has(0));
        cache.begin(0);
        cache.end(0);
        cache.insert(6);
        cache.insert(7);
        assert!(!cache.has(0));
    }
}
