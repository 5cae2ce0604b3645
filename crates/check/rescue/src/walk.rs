//! The walk over all names from a directory on.
//!
//! W1. A directory is entered once: on a damaged volume it may have many names, and lie below itself.
//! W2. The walk is not recursive, and the directories that wait are at most those of the volume.

use crate::Why;
use crate::volume::{Inode, Volume};
use ordo_ondisk::Ino;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// What a walk meets. Paths are relative to its start, without a leading slash; that of the start is empty.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "nearly all of them are files")]
pub enum Event {
    /// A file of any kind, or a directory, before what it holds.
    File {
        /// Its path.
        path: Vec<u8>,
        /// It.
        inode: Inode,
    },
    /// A name whose inode cannot be used.
    Lost {
        /// Its path.
        path: Vec<u8>,
        /// The number.
        ino: Ino,
        /// Why.
        why: Why,
    },
    /// Bytes of a directory that may have held names.
    Hidden {
        /// The directory.
        path: Vec<u8>,
        /// Its number.
        ino: Ino,
        /// Bytes of it.
        range: Range<u64>,
        /// Why.
        why: Why,
    },
    /// A directory that was met before.
    Again {
        /// The second name.
        path: Vec<u8>,
        /// Its number.
        ino: Ino,
    },
}

/// The directories that were entered.
pub type Entered = FxHashSet<Ino>;

/// A walk: an iterator over what it meets.
pub struct Walk<'a> {
    volume: &'a Volume,
    entered: &'a mut Entered,
    /// Names that are still to be looked at, the next one last.
    waiting: Vec<(Vec<u8>, Ino)>,
    met: std::collections::VecDeque<Event>,
}

impl Volume {
    /// Walks from `start` on, whose path is `path`. `entered` are the directories of earlier walks, which are not
    /// entered again, and then those of this one, too.
    pub fn walk<'a>(&'a self, path: Vec<u8>, start: Ino, entered: &'a mut Entered) -> Walk<'a> {
        Walk { volume: self, entered, waiting: vec![(path, start)], met: Default::default() }
    }
}

/// A path and a name below it.
fn below(path: &[u8], name: &[u8]) -> Vec<u8> {
    match path {
        [] => name.to_vec(),
        _ => [path, name].join(&b'/'),
    }
}

impl Walk<'_> {
    fn visit(&mut self, path: Vec<u8>, ino: Ino) {
        let inode = match self.volume.inode(ino) {
            Ok(inode) => inode,
            Err(why) => return self.met.push_back(Event::Lost { path, ino, why }),
        };
        if !inode.dinode.is_dir() {
            return self.met.push_back(Event::File { path, inode });
        }
        if !self.entered.insert(ino) {
            return self.met.push_back(Event::Again { path, ino });
        }
        let found = self.volume.names(&inode);
        self.met.push_back(Event::File { path: path.clone(), inode });
        let hidden = found.hidden.into_iter();
        self.met.extend(hidden.map(|(range, why)| Event::Hidden { path: path.clone(), ino, range, why }));
        let names = found.names.into_iter().rev();
        self.waiting.extend(names.map(|entry| (below(&path, &entry.name), entry.ino)));
    }
}

impl Iterator for Walk<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while self.met.is_empty() {
            let (path, ino) = self.waiting.pop()?;
            self.visit(path, ino);
        }
        self.met.pop_front()
    }
}
