//! What the calls tell the scan: names that come and go, tickets that are written and given back.

use super::Leaks;
use super::names::Names;
use crate::Inode;
use buf::{Freed, Told};
use ondisk::Ino;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A directory, and the byte of it at which an entry begins.
pub(super) type Place = (Ino, u64);

/// A directory that nobody names, and what is named in it.
pub(super) struct Nameless {
    pub(super) inode: Rc<Inode>,
    pub(super) names: Vec<Ino>,
}

/// What the scan knows.
pub(crate) struct Scan {
    pub(super) names: Names,
    /// Directories that were scanned, wholly or up to the cursor.
    pub(super) walked: FxHashSet<Ino>,
    /// The directory that is being scanned, and up to where.
    pub(super) cursor: Option<(Ino, u64)>,
    /// Directories that were named and wait.
    pub(super) waiting: Vec<Ino>,
    /// Where a directory was named first.
    named: FxHashMap<Ino, Place>,
    /// Directories with two names: where these are.
    pub(super) second_names: Vec<(Place, Place, Ino)>,
    /// Directories that nobody names.
    pub(super) nameless: Vec<Nameless>,
    /// Links that wait to be dropped.
    pending: BTreeMap<Ino, u32>,
    /// Directories that are being removed, with all their links.
    going: BTreeSet<Ino>,
}

/// An entry of a directory: where it is, and what it names.
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

    /// The byte at `offset` of this directory lies in the part of the tree that was scanned.
    fn has_scanned(&self, dir: Ino, offset: u64) -> bool {
        match self.cursor {
            Some((at, end)) if at == dir => offset < end,
            _ => self.walked.contains(&dir),
        }
    }

    /// A directory with several names, and where these are.
    pub(super) fn take_names_of_one(&mut self) -> Option<(Ino, Vec<Place>)> {
        let (first, second, ino) = self.second_names.pop()?;
        let mut places = vec![first, second];
        places.extend(self.second_names.extract_if(.., |pair| pair.2 == ino).map(|pair| pair.1));
        Some((ino, places))
    }

    /// The scan has met a name of a directory. That it had one before need not mean much: it may have been moved since.
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

    /// It is a directory that is being removed.
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
            // Its `.` and `..`; nobody has entered anything else yet.
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
        // With the name of a directory that is removed go its `.` and its `..`.
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

/// Each of these is called by whoever has the directory's lock alone, after the change and before the step is told.
impl Leaks {
    /// A name was entered; `new` with a new directory.
    #[inline]
    pub(crate) fn entered(&self, entry: Entry, directory: bool, new: bool) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.entered(entry, directory, new);
        }
    }

    /// A name that meant `was` means `now.ino`.
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

    /// A ticket was written or given back.
    pub(super) fn ticket(&self, told: Told<'_>) {
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.ticket(told);
        }
    }
}
