//! Names that were removed, and whose bytes nothing has used since.
//!
//! A removed entry that is not the first of its directory block is merged into the one before it: its bytes stay behind
//! that one's name. The first one of a block stays with inode 0. OrdoFS, NetBSD, 4.4BSD and FreeBSD before 13 leave the
//! name there; later FreeBSD clears it.
//!
//! X1. A candidate is a guess, whatever its bytes say: it must have the form of an entry, a kind of file and a name
//!     without control characters, and its inode must exist.

use crate::volume::{Inode, Volume, entry_kind, is_kind};
use ordo_ondisk::dirent::{self, DirFormat, MAX_NAME};
use ordo_ondisk::{Dinode, Ino};

/// What has become of the inode of a removed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is free: nothing has used it since.
    Free,
    /// It is in use, by a file of the same kind: by the same one under another name, or by a new one.
    InUse,
    /// It is in use by a file of another kind.
    Reused,
    /// The entry has lost its number.
    Unknown,
    /// It cannot be read.
    Unreadable,
}

impl State {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            State::Free => "free",
            State::InUse => "in use",
            State::Reused => "reused",
            State::Unknown => "unknown",
            State::Unreadable => "unreadable",
        }
    }
}

/// A removed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The name.
    pub name: Vec<u8>,
    /// What it named; `None` if the number is gone.
    pub ino: Option<Ino>,
    /// The kind of file: `mode >> 12`; 0 if the format does not store it.
    pub kind: u8,
    /// Byte of the directory at which the entry lies.
    pub offset: u64,
    /// What has become of the inode.
    pub state: State,
}

impl Volume {
    /// The removed names of a directory, in the order of their places.
    pub fn deleted(&self, dir: &Inode) -> Vec<Deleted> {
        let mut found = Vec::new();
        self.chunks(dir, &mut |at, chunk| {
            if let Ok(chunk) = chunk {
                self.deleted_of(dir.ino, at, chunk, &mut found);
            }
        });
        found
    }

    fn deleted_of(&self, dir: Ino, at: u64, chunk: &[u8], found: &mut Vec<Deleted>) {
        let format = self.geo.dir_format();
        for entry in dirent::entries(chunk, format, dir, at) {
            // What lies behind a damaged entry may be in use: a guess there would be worth nothing.
            let Ok(entry) = entry else { break };
            let end = entry.offset + usize::from(entry.reclen);
            let mut from = match entry.ino {
                Ino::NONE => entry.offset,
                _ => end.saturating_sub(entry.free()),
            };
            while from + format.header() < end {
                match candidate(chunk, from, end, format).filter(|c| c.ino == Ino::NONE || self.geo.is_valid_ino(c.ino))
                {
                    Some(c) => {
                        let ino = (c.ino != Ino::NONE).then_some(c.ino);
                        let state = self.state_of(ino, c.kind);
                        let offset = at + from as u64;
                        found.push(Deleted { name: c.name.to_vec(), ino, kind: c.kind, offset, state });
                        from += format.min_reclen(c.name.len());
                    }
                    None => from += 4,
                }
            }
        }
    }

    fn state_of(&self, ino: Option<Ino>, kind: u8) -> State {
        let Some(ino) = ino else { return State::Unknown };
        let Ok(Inode { dinode: Dinode { mode, .. }, .. }) = self.raw_inode(ino) else { return State::Unreadable };
        match (mode, kind) {
            (0, _) => State::Free,
            (mode, kind) if kind != 0 && entry_kind(mode) != kind => State::Reused,
            _ => State::InUse,
        }
    }
}

struct Candidate<'a> {
    ino: Ino,
    kind: u8,
    name: &'a [u8],
}

/// The removed entry at byte `at` of a directory block, within slack that ends at `end` (X1).
fn candidate(chunk: &[u8], at: usize, end: usize, format: DirFormat) -> Option<Candidate<'_>> {
    let entry = chunk.get(at..end)?;
    let (ino, namelen) = (format.ino(entry)?, format.namelen(entry)?);
    let own = format.min_reclen(namelen);
    let reclen = usize::from(format.endian.get_u16(entry, format.header() - 4)?);
    let kind = if format.old { 0 } else { *entry.get(format.header() - 2)? };
    // The length was right when the entry was removed: it ended within the block.
    let fits = reclen.is_multiple_of(4) && reclen >= own && at + reclen <= chunk.len() && own <= entry.len();
    let kinds = if format.old { kind == 0 } else { is_kind(kind) };
    let name = entry.get(format.header()..)?.get(..namelen)?;
    let padding = entry.get(format.header() + namelen..own)?;
    let printable = name.iter().all(|&b| b >= 0x20 && b != 0x7f && b != b'/');
    let is_name = (1..=MAX_NAME).contains(&namelen) && name != b"." && name != b"..";
    let good = fits && kinds && printable && is_name && padding.iter().all(|&b| b == 0);
    good.then_some(Candidate { ino, kind, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::Endian;

    const FORMAT: DirFormat =
        DirFormat { endian: Endian::Little, old: false, block: 512, wide: false, hidden: Ino::NONE };

    #[test]
    fn only_what_has_the_form_of_an_entry_is_a_candidate() {
        let mut chunk = vec![0; 512];
        dirent::write(&mut chunk, 100, FORMAT, 20, Ino(9), 8, b"removed").unwrap();
        let found = |chunk: &[u8]| candidate(chunk, 100, 512, FORMAT).map(|c| (c.ino, c.kind, c.name.to_vec()));
        assert_eq!(found(&chunk), Some((Ino(9), 8, b"removed".to_vec())));
        // Length, kind, length of the name, a slash, a control character, padding.
        for (at, byte) in [(104, 13), (104, 8), (106, 3), (107, 200), (107, 0), (109, b'/'), (109, 7), (115, 1)] {
            let mut broken = chunk.clone();
            broken[at] = byte;
            assert_eq!(found(&broken), None, "{at}");
        }
        assert!(candidate(&chunk, 100, 110, FORMAT).is_none(), "cut off by what lies behind");
    }
}
