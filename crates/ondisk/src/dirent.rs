//! Entries of a directory.
//!
//! A directory is a sequence of directory blocks (512 bytes; 1024 on Apple's volumes), each of which entries tile from
//! end to end. So a block can be changed by one write of one sector, and a crash never tears an entry.
//!
//! D1. An entry is looked at only after its length was checked: at least its header and name, a multiple of 4, and
//!     within its block. So a walk over any bytes ends, at the latest after as many steps as there are headers.
//! D2. The padding of a name is zero. Bytes of other files would otherwise reach the disk, and a comparison of whole
//!     words would fail.
//! D3. An entry that is not the first of its block disappears into the one before it; the first stays as an unused one.

mod edit;

pub use edit::{clear, compact, fresh_block, new_directory, set_inode, set_reclen, write};

use crate::num::{index, len64};
use crate::{ByteOff, Corrupt, Endian, Geometry, Ino, Rule, Structure};

/// Bytes before the name.
pub const HEADER: usize = 8;
/// Longest name in bytes.
pub const MAX_NAME: usize = 255;
/// Type of a whiteout: a name that a union mount hides.
pub const WHITEOUT: u8 = 14;

/// How the directories of a volume are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirFormat {
    /// Byte order.
    pub endian: Endian,
    /// 4.2BSD's entries: 16 bits of name length, no type.
    pub old: bool,
    /// Bytes of a directory block.
    pub block: usize,
}

impl Geometry {
    /// How the directories of this volume are stored.
    pub fn dir_format(&self) -> DirFormat {
        DirFormat { endian: self.endian, old: self.old_dirent, block: index(self.dirblksiz) }
    }
}

/// An entry that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// Byte at which it starts, from the start of the bytes given.
    pub offset: usize,
    /// The file; 0 in an unused entry.
    pub ino: Ino,
    /// Bytes to the next entry.
    pub reclen: u16,
    /// Kind of file, `mode >> 12`; 0 where the format does not store it.
    pub kind: u8,
    /// The name; empty in an unused entry.
    pub name: &'a [u8],
}

impl Dirent<'_> {
    /// `true` for an entry that means a file: neither unused nor a whiteout.
    pub fn is_name(&self) -> bool {
        self.ino.0 != 0 && self.kind != WHITEOUT
    }

    /// Bytes within it that a new entry could have.
    pub fn free(&self) -> usize {
        let own = if self.ino.0 == 0 { 0 } else { min_reclen(self.name.len()) };
        usize::from(self.reclen).saturating_sub(own)
    }
}

/// Bytes that an entry with a name of `namelen` bytes needs: header, name, at least one NUL, to a multiple of 4.
pub const fn min_reclen(namelen: usize) -> usize {
    namelen.saturating_add(HEADER).saturating_add(4) & !3
}

/// The entries of `bytes`, which start at byte `from` of directory `dir` and at a boundary of its blocks. A part of a
/// block at the end is damage. After an error the walk goes on with the next block.
pub fn entries(bytes: &[u8], format: DirFormat, dir: Ino, from: u64) -> Entries<'_> {
    Entries { bytes, format, dir, from, next: 0 }
}

/// See [`entries`].
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    format: DirFormat,
    dir: Ino,
    from: u64,
    next: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Dirent<'a>, Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        if at >= self.bytes.len() {
            return None;
        }
        let block_end = at.saturating_sub(at.checked_rem(self.format.block)?).checked_add(self.format.block)?;
        let found = entry(self.bytes, at, block_end, self.format).map_err(|(field, found, rule)| {
            let place = ByteOff(self.from.saturating_add(len64(at)));
            Corrupt::new(Structure::Directory(self.dir), field, found, rule).at(place)
        });
        self.next = match &found {
            Ok(entry) => at.saturating_add(entry.reclen.into()),
            Err(_) => block_end,
        };
        Some(found)
    }
}

type Broken = (&'static str, u64, Rule);

/// The entry at byte `at`, in a block that ends at `block_end` (D1).
fn entry(bytes: &[u8], at: usize, block_end: usize, format: DirFormat) -> Result<Dirent<'_>, Broken> {
    let block = bytes.get(at..block_end).ok_or(("di_size", len64(bytes.len()), Rule::MultipleOf(512)))?;
    let room = || ("d_reclen", len64(block.len()), Rule::AtLeast(12));
    let e = format.endian;
    let ino = Ino(e.get_u32(block, 0).ok_or_else(room)?);
    let reclen = e.get_u16(block, 4).ok_or_else(room)?;
    let [kind, namlen] = *block.get(6..).and_then(|b| b.first_chunk()).ok_or_else(room)?;
    let (kind, namlen) = match format.old {
        true => (0, e.u16([kind, namlen]).into()),
        false => (kind, usize::from(namlen)),
    };
    let broken = |field, rule| Err((field, u64::from(reclen), rule));
    if reclen % 4 != 0 {
        return broken("d_reclen", Rule::MultipleOf(4));
    }
    if usize::from(reclen) > block.len() {
        return broken("d_reclen", Rule::AtMost(len64(block.len()).into()));
    }
    let least = if ino.0 == 0 { HEADER } else { min_reclen(namlen) };
    if usize::from(reclen) < least {
        return broken("d_reclen", Rule::AtLeast(len64(least).into()));
    }
    if ino.0 == 0 {
        return Ok(Dirent { offset: at, ino, reclen, kind: 0, name: &[] });
    }
    if !(1..=MAX_NAME).contains(&namlen) {
        return Err(("d_namlen", len64(namlen), Rule::Words("which is no length of a name")));
    }
    if kind > 15 {
        return Err(("d_type", kind.into(), Rule::AtMost(15)));
    }
    let name_end = HEADER.saturating_add(namlen);
    let name = block.get(HEADER..name_end).ok_or_else(room)?;
    if let Some(&wrong) = name.iter().find(|&&b| b == 0 || b == b'/') {
        return Err(("d_name", wrong.into(), Rule::Words("a byte that no name has")));
    }
    match block.get(name_end) {
        Some(0) => Ok(Dirent { offset: at, ino, reclen, kind, name }),
        end => Err(("d_name", end.copied().unwrap_or(0).into(), Rule::Zero("behind the name"))),
    }
}
