//! The state of the scan, and what notifications change in it: names entered and cleared, tickets issued and returned.

use crate::names::Names;
use ordo_buf::{Freed, TicketEvent};
use ordo_ondisk::Ino;
use ordo_ufs::{EntryAt, Inode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A directory, and the byte of it at which an entry begins.
pub(crate) type DirOffset = (Ino, u64);

/// A directory without a name, and the inodes that its entries name.
pub(crate) struct Nameless {
    pub(crate) inode: Rc<Inode>,
    pub(crate) names: Vec<Ino>,
}

/// The state of the scan.
pub(crate) struct Scan {
    pub(crate) names: Names,
    /// Directories scanned, wholly or up to the cursor.
    pub(crate) walked: FxHashSet<Ino>,
    /// The directory being scanned, and up to which byte.
    pub(crate) cursor: Option<(Ino, u64)>,
    /// Directories that were named and are to be scanned.
    pub(crate) waiting: Vec<Ino>,
    /// The first name found of each directory.
    named: FxHashMap<Ino, DirOffset>,
    /// Directories with two names, and the places of both.
    pub(crate) second_names: Vec<(DirOffset, DirOffset, Ino)>,
    /// Directories without a name.
    pub(crate) nameless: Vec<Nameless>,
    /// Links that wait to be dropped.
    pending: BTreeMap<Ino, u32>,
    /// Directories that are being removed, with all their links.
    going: BTreeSet<Ino>,
}

impl Scan {
    pub(crate) fn new(names: Names) -> Scan {
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
    pub(crate) fn take_names_of_one(&mut self) -> Option<(Ino, Vec<DirOffset>)> {
        let (first, second, ino) = self.second_names.pop()?;
        let mut places = vec![first, second];
        places.extend(self.second_names.extract_if(.., |pair| pair.2 == ino).map(|pair| pair.1));
        Some((ino, places))
    }

    /// The scan has found a name of a directory. An earlier name may be stale: the directory may have moved since.
    pub(crate) fn met_directory(&mut self, dir: Ino, offset: u64, ino: Ino) {
        let first = *self.named.entry(ino).or_insert((dir, offset));
        if first != (dir, offset) {
            self.second_names.push((first, (dir, offset), ino));
        }
        self.wait_for(ino);
    }

    /// Links that wait to be dropped.
    pub(crate) fn pending(&self, ino: Ino) -> u32 {
        self.pending.get(&ino).copied().unwrap_or(0)
    }

    /// The directory is being removed.
    pub(crate) fn is_going(&self, ino: Ino) -> bool {
        self.going.contains(&ino)
    }

    fn wait_for(&mut self, ino: Ino) {
        if !self.walked.contains(&ino) {
            self.waiting.push(ino);
        }
    }

    /// A name was entered; `new`: of a new directory.
    pub(crate) fn entered(&mut self, entry: EntryAt, directory: bool, new: bool) {
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

    /// A name was cleared, or redirected.
    pub(crate) fn left(&mut self, entry: EntryAt, freed: &Freed) {
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

    /// A ticket was issued or returned.
    pub(crate) fn ticket(&mut self, event: TicketEvent<'_>) {
        let (freed, issued) = match event {
            TicketEvent::Issued(freed) => (freed, true),
            TicketEvent::Settled(freed) => (freed, false),
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
