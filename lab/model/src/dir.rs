//! A directory: names by hash, and their order by cookie.
//!
//! D1. An entry keeps its cookie for life, and cookies are never reused. So a reader that continues from a cookie sees
//!     every entry that exists throughout exactly once, whatever is created or removed meanwhile.

use crate::ino::Ino;
use ordo_vfs::Kind;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The node that a name refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) ino: Ino,
    pub(crate) kind: Kind,
    cookie: u64,
}

/// Cookies 1 and 2 are those of `.` and `..`.
const FIRST_COOKIE: u64 = 3;

#[derive(Debug)]
pub(crate) struct Dir {
    pub(crate) parent: Ino,
    /// Removed (model-5).
    pub(crate) dead: bool,
    by_name: FxHashMap<Rc<[u8]>, Entry>,
    /// Ascending by cookie; `None` where the entry was removed.
    order: Vec<(u64, Option<Rc<[u8]>>)>,
    next_cookie: u64,
}

impl Dir {
    pub(crate) fn new(parent: Ino) -> Dir {
        Dir { parent, dead: false, by_name: FxHashMap::default(), order: Vec::new(), next_cookie: FIRST_COOKIE }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<Entry> {
        self.by_name.get(name).copied()
    }

    /// Makes `name` refer to a node. An existing name keeps its position and its cookie.
    pub(crate) fn set(&mut self, name: &[u8], ino: Ino, kind: Kind) {
        if let Some(entry) = self.by_name.get_mut(name) {
            (entry.ino, entry.kind) = (ino, kind);
            return;
        }
        let name: Rc<[u8]> = name.into();
        self.order.push((self.next_cookie, Some(name.clone())));
        self.by_name.insert(name, Entry { ino, kind, cookie: self.next_cookie });
        self.next_cookie += 1;
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        let Some(entry) = self.by_name.remove(name) else { return };
        if let Ok(place) = self.order.binary_search_by_key(&entry.cookie, |slot| slot.0) {
            self.order[place].1 = None;
        }
        while self.order.last().is_some_and(|slot| slot.1.is_none()) {
            self.order.pop();
        }
        // Gaps stay fewer than the names, so the cost of reading a directory is proportional to its entries.
        if self.order.len() > 2 * self.by_name.len() + 16 {
            self.order.retain(|slot| slot.1.is_some());
        }
    }

    /// Entries whose cookie is above `cookie`, in order.
    pub(crate) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], Entry)> {
        let first = self.order.partition_point(|slot| slot.0 <= cookie);
        self.order[first..].iter().filter_map(|(cookie, name)| {
            let name = name.as_deref()?;
            Some((*cookie, name, *self.by_name.get(name)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_on_after_removals_sees_every_other_entry_once() {
        let mut dir = Dir::new(Ino(2));
        for n in 0..200u32 {
            dir.set(&n.to_le_bytes(), Ino(n), Kind::Regular);
        }
        let seen: Vec<u64> = dir.after(0).take(100).map(|(cookie, ..)| cookie).collect();
        for n in 0..150u32 {
            if n % 10 != 0 {
                dir.remove(&n.to_le_bytes());
            }
        }
        dir.set(b"new", Ino(9), Kind::Regular);
        let rest: Vec<u32> = dir.after(seen[99]).map(|(.., entry)| entry.ino.0).collect();
        let wanted: Vec<u32> = (100..200).filter(|n| n % 10 == 0 || *n >= 150).chain([9]).collect();
        assert_eq!(rest, wanted);
    }

    #[test]
    fn a_name_made_again_and_again_leaves_no_gaps_behind() {
        let mut dir = Dir::new(Ino(2));
        for n in 0..10_000 {
            dir.set(format!("{n}").as_bytes(), Ino(7), Kind::Regular);
            if n > 10 {
                dir.remove(format!("{}", n - 10).as_bytes());
            }
        }
        assert!(dir.order.len() <= 2 * dir.by_name.len() + 16);
    }
}
