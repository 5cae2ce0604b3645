//! Notifications to the scan: names entered and cleared, tickets issued and returned.

use super::Leaks;
use super::names::Names;
use crate::Inode;
use ordo_buf::{Freed, Told};
use ordo_ondisk::Ino;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A directory, and the byte of it at which an entry begins.
pub(super) type Place = (Ino, u64);

/// A directory without a name, and the inodes that its entries name.
pub(super) struct Nameless {
    pub(super) inode: Rc<Inode>,
    pub(super) names: Vec<Ino>,
}

/// The state of the scan.
pub(crate) struct Scan {
    pub(super) names: Names,
    /// Directories scanned, wholly or up to the cursor.
    pub(super) walked: FxHashSet<Ino>,
    /// The directory being scanned, and up to which byte.
    pub(super) cursor: Option<(Ino, u64)>,
    /// Directories that were named and are to be scanned.
    pub(super) waiting: Vec<Ino>,
    /// The first name found of each directory.
    named: FxHashMap<Ino, Place>,
    /// Directories with two names, and the places of both.
    pub(super) second_names: Vec<(Place, Place, Ino)>,
    /// Directories without a name.
    pub(super) nameless: Vec<Nameless>,
    /// Links that wait to be dropped.
    pending: BTreeMap<Ino, u32>,
    /// Directories that are being removed, with all their links.
    going: BTreeSet<Ino>,
}

/// An entry of a directory: its place, and what it names.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) dir: Ino,
    /// Where it begins in the directory, in bytes.
    pub(crate) offset: u64,
    pub(crate) ino: Ino,
}

impl Scan {
    pub(super) fn new(names: Names) -> Scan {
        Scan {
            names,
            walked: FxHashSet::default(),
            cursor: None,
            waiting: vec![Ino::ROOT],
            named: FxHashMap::default(),
            second_names: Vec::new(),
            nameless: Vec::new(),
            pending: BTreeMap::new(),
            going: BTreeSet::new(),
        }
    }

    /// The byte at `offset` of this directory lies in the scanned part of the tree.
    fn has_scanned(&self, dir: Ino, offset: u64) -> bool {
        match self.cursor {
            Some((at, end)) if at == dir => offset < end,
            _ => self.walked.contains(&dir),
        }
    }

    /// A directory with several names, and their places.
    pub(super) fn take_names_of_one(&mut self) -> Option<(Ino, Vec<Place>)> {
        let (first, second, ino) = self.second_names.pop()?;
        let mut places = vec![first, second];
        places.extend(self.second_names.extract_if(.., |pair| pair.2 == ino).map(|pair| pair.1));
        Some((ino, places))
    }

    /// The scan has found a name of a directory. An earlier name may be stale: the directory may have moved since.
    pub(super) fn met_directory(&mut self, dir: Ino, offset: u64, ino: Ino) {
        let first = *self.named.entry(ino).or_insert((dir, offset));
        if first != (dir, offset) {
            self.second_names.push((first, (dir, offset), ino));
        }
        self.wait_for(ino);
    }

    /// Links that wait to be dropped.
    pub(super) fn pending(&self, ino: Ino) -> u32 {
        self.pending.get(&ino).copied().unwrap_or(0)
    }

    /// The directory is being removed.
    pub(super) fn is_going(&self, ino: Ino) -> bool {
        self.going.contains(&ino)
    }

    fn wait_for(&mut self, ino: Ino) {
        if !self.walked.contains(&ino) {
            self.waiting.push(ino);
        }
    }

    fn entered(&mut self, entry: Entry, directory: bool, new: bool) {
        self.names.touch(entry.ino);
        if new {
            self.names.touch(entry.dir);
        }
        if !self.has_scanned(entry.dir, entry.offset) {
            return;
        }
        self.names.add(entry.ino);
        if new {
            // Its `.` and `..`; it has no other entries yet.
            self.walked.insert(entry.ino);
            self.names.add(entry.ino);
            self.names.add(entry.dir);
        } else if directory {
            self.wait_for(entry.ino);
        }
    }

    fn left(&mut self, entry: Entry, freed: &Freed) {
        self.names.touch(entry.ino);
        if self.has_scanned(entry.dir, entry.offset) {
            self.names.sub(entry.ino);
        }
        // The name of a removed directory takes its `.` and `..` along.
        if let Freed::DropLink { ino, parent: Some(parent), .. } = *freed {
            self.names.touch(parent);
            if self.has_scanned(ino, 0) {
                self.names.sub(ino);
                self.names.sub(parent);
            }
            self.walked.insert(ino);
        }
    }

    fn ticket(&mut self, told: Told<'_>) {
        let (freed, issued) = match told {
            Told::Issued(freed) => (freed, true),
            Told::Settled(freed) => (freed, false),
        };
        match *freed {
            Freed::DropLink { ino, parent: None, .. } => self.link_pends(ino, issued),
            Freed::DropLink { ino, parent: Some(parent), .. } => {
                self.link_pends(parent, issued);
                match issued {
                    true => self.going.insert(ino),
                    false => self.going.remove(&ino),
                };
            }
            Freed::Inode { ino, directory } if issued => {
                self.names.freed(ino, directory);
                self.walked.remove(&ino);
                self.named.remove(&ino);
                if self.cursor.is_some_and(|(at, _)| at == ino) {
                    self.cursor = None;
                }
            }
            Freed::Inode { .. } | Freed::Blocks { .. } => {}
        }
    }

    fn link_pends(&mut self, ino: Ino, issued: bool) {
        self.names.touch(ino);
        let links = self.pending.entry(ino).or_insert(0);
        *links = if issued { *links + 1 } else { links.saturating_sub(1) };
        if *links == 0 {
            self.pending.remove(&ino);
        }
    }
}

/// Each of these is called while the directory is locked exclusively, after the change and before its step.
impl Leaks {
    /// A name was entered; `new`: of a new directory.
    #[inline]
    pub(crate) fn entered(&self, entry: Entry, directory: bool, new: bool) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.entered(entry, directory, new);
        }
    }

    /// A name of `was` was redirected to `now.ino`.
    #[inline]
    pub(crate) fn redirected(&self, was: Ino, now: Entry, directory: bool, freed: &Freed) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.left(Entry { ino: was, ..now }, freed);
            scan.entered(now, directory, false);
        }
    }

    /// A name was cleared.
    #[inline]
    pub(crate) fn cleared(&self, entry: Entry, freed: &Freed) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.left(entry, freed);
        }
    }

    /// A ticket was issued or returned.
    pub(super) fn ticket(&self, told: Told<'_>) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.ticket(told);
        }
    }
}
