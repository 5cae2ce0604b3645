//! The names of a directory, of which some blocks may be damaged.

use crate::Why;
use crate::contents::Piece;
use crate::volume::{Inode, Volume};
use ordo_ondisk::{Ino, dirent};
use std::convert::Infallible;
use std::ops::Range;

/// Ranges of one directory that are kept apart.
const HIDDEN_MOST: usize = 1000;

/// A directory block, or how many bytes are missing and why.
pub(crate) type Chunk<'a> = Result<&'a [u8], (u64, Why)>;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Without slash and NUL; neither `.` nor `..`.
    pub name: Vec<u8>,
    /// What it names.
    pub ino: Ino,
}

/// What a directory holds.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The names, without `.` and `..`.
    pub names: Vec<Name>,
    /// Bytes of the directory whose names are hidden, and why.
    pub hidden: Vec<(Range<u64>, Why)>,
}

impl Names {
    /// Adjoining ranges with one cause are one; of a directory that is nothing but damage, the last range is the rest.
    fn hide(&mut self, range: Range<u64>, why: Why) {
        let full = self.hidden.len() >= HIDDEN_MOST;
        match self.hidden.last_mut() {
            Some((last, cause)) if full || last.end == range.start && *cause == why => last.end = range.end,
            _ => self.hidden.push((range, why)),
        }
    }
}

impl Volume {
    /// The names of a directory. After an entry that is damaged the names of the next directory block follow.
    pub fn names(&self, dir: &Inode) -> Names {
        let mut found = Names::default();
        self.chunks(dir, &mut |at, chunk| match chunk {
            Ok(chunk) => self.names_of(dir, at, chunk, &mut found),
            Err((len, why)) => found.hide(at..at.saturating_add(len), why),
        });
        found
    }

    fn names_of(&self, dir: &Inode, at: u64, chunk: &[u8], found: &mut Names) {
        let mut reached = 0;
        for entry in dirent::entries(chunk, self.geo.dir_format(), dir.ino, at) {
            match entry {
                Ok(entry) => {
                    reached = entry.offset + usize::from(entry.reclen);
                    // A name that leads to another directory is none: it would leave the place that is copied to.
                    if entry.is_name() && entry.name != b"." && entry.name != b".." {
                        found.names.push(Name { name: entry.name.to_vec(), ino: entry.ino });
                    }
                }
                Err(why) => {
                    let hidden = at + reached as u64..at + chunk.len() as u64;
                    found.hide(hidden, Why::Damaged(why.to_string()));
                }
            }
        }
    }

    /// The directory blocks, in order, each with its place in the directory; or how many bytes are missing, and why.
    pub(crate) fn chunks(&self, dir: &Inode, each: &mut dyn FnMut(u64, Chunk<'_>)) {
        let size = self.geo.dirblksiz.max(512) as usize;
        let end: Result<(), Infallible> = self.contents(dir, &mut |at, piece| {
            match piece {
                Piece::Data(bytes) => {
                    for (n, chunk) in (0u64..).zip(bytes.chunks(size)) {
                        each(at + n * size as u64, Ok(chunk));
                    }
                }
                Piece::Hole(len) => each(at, Err((len, Why::Damaged("a directory with a hole".into())))),
                Piece::Gap(len, why) => each(at, Err((len, why.clone()))),
            }
            Ok(())
        });
        let Ok(()) = end;
    }
}
