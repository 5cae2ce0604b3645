//! Directory entries.
//!
//! A directory is a sequence of directory blocks (512 bytes; 1024 on Apple's volumes), each of which is completely
//! covered by entries. So a block can be changed by one write of one sector, and a crash never tears an entry.
//!
//! D1. An entry is used only after its length was checked: at least its header and name, a multiple of 4, and within
//!     its block. So a walk over any bytes ends, at the latest after as many steps as there are headers.
//! D2. The padding of a name is zero. Bytes of other files would otherwise reach the disk, and a comparison of whole
//!     words would fail.
//! D3. A removed entry that is not the first of its block is merged into the one before it; the first stays as an
//!     unused entry.

mod edit;

pub use edit::{clear, compact, fresh_block, kind_at, new_directory, set_inode, set_reclen, write};

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

/// An entry, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// Byte at which it starts, from the start of the given bytes.
    pub offset: usize,
    /// The file; 0 in an unused entry.
    pub ino: Ino,
    /// Bytes from its start to the next entry.
    pub reclen: u16,
    /// Kind of file, `mode >> 12`; 0 if the format does not store it.
    pub kind: u8,
    /// The name; empty in an unused entry.
    pub name: &'a [u8],
}

impl Dirent<'_> {
    /// `true` for an entry that refers to a file: neither unused nor a whiteout.
    pub fn is_name(&self) -> bool {
        self.ino.0 != 0 && self.kind != WHITEOUT
    }

    /// Bytes within it that are free for a new entry.
    pub fn free(&self) -> usize {
        let own = if self.ino.0 == 0 { 0 } else { min_reclen(self.name.len()) };
        usize::from(self.reclen).saturating_sub(own)
    }
}

/// Bytes that an entry with a name of `namelen` bytes needs: header, name, at least one NUL, to a multiple of 4.
pub const fn min_reclen(namelen: usize) -> usize {
    namelen.saturating_add(HEADER).saturating_add(4) & !3
}

/// The entries of `bytes`, which start at byte `from` of directory `dir` and at a boundary of its blocks. A partial
/// block at the end is damage. After an error the walk continues with the next block.
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

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: DirFormat = DirFormat { endian: Endian::Little, old: false, block: 512 };

    fn fields(bytes: &[u8]) -> Vec<&'static str> {
        entries(bytes, NEW, Ino(2), 0).filter_map(|e| e.err()).map(|damage| damage.field).collect()
    }

    #[test]
    fn length_of_an_entry_is_that_of_its_name_with_a_nul() {
        let least = [1, 3, 4, 7, 8, 11, 255].map(min_reclen);
        assert_eq!(least, [12, 12, 16, 16, 20, 20, 264]);
        assert_eq!(min_reclen(usize::MAX) & 3, 0);
    }

    #[test]
    fn every_rule_of_an_entry_is_enforced_and_the_walk_goes_on_with_the_next_block() {
        let mut good = new_directory(NEW, Ino(5), Ino(2));
        good.extend(new_directory(NEW, Ino(5), Ino(2)));
        assert_eq!(fields(&good), Vec::<&str>::new());
        let broken = |changes: &[(usize, u8)]| {
            let mut bytes = good.clone();
            changes.iter().for_each(|&(at, to)| bytes[at] = to);
            let after = entries(&bytes, NEW, Ino(2), 0).skip_while(|e| e.is_ok()).skip(1).count();
            (fields(&bytes), after)
        };
        assert_eq!(broken(&[(4, 0)]), (vec!["d_reclen"], 2));
        assert_eq!(broken(&[(4, 8)]), (vec!["d_reclen"], 2));
        assert_eq!(broken(&[(4, 13)]), (vec!["d_reclen"], 2));
        assert_eq!(broken(&[(17, 2)]), (vec!["d_reclen"], 2));
        assert_eq!(broken(&[(7, 0)]), (vec!["d_namlen"], 2));
        assert_eq!(broken(&[(7, 5)]), (vec!["d_reclen"], 2));
        assert_eq!(broken(&[(6, 16)]), (vec!["d_type"], 2));
        assert_eq!(broken(&[(8, b'/')]), (vec!["d_name"], 2));
        assert_eq!(broken(&[(8, 0)]), (vec!["d_name"], 2));
        assert_eq!(broken(&[(9, b'x')]), (vec!["d_name"], 2));
        assert_eq!(fields(&good[..700]), ["di_size"]);
        let place = entries(&good[..700], NEW, Ino(2), 8192).last().unwrap().unwrap_err().at;
        assert_eq!(place, Some(ByteOff(8192 + 512)));
    }

    #[test]
    fn unused_entries_and_whiteouts_are_no_names() {
        let mut block = fresh_block(NEW);
        let all: Vec<_> = entries(&block, NEW, Ino(2), 0).map(Result::unwrap).collect();
        assert_eq!((all.len(), all[0].reclen, all[0].free(), all[0].is_name()), (1, 512, 512, false));
        write(&mut block, 0, NEW, 512, Ino::WHITEOUT, WHITEOUT, b"hidden").unwrap();
        let only = entries(&block, NEW, Ino(2), 0).next().unwrap().unwrap();
        assert_eq!((only.name, only.is_name(), only.free()), (&b"hidden"[..], false, 512 - 16));
    }

    #[test]
    fn old_entries_have_wide_lengths_in_the_order_of_the_volume() {
        for endian in [Endian::Little, Endian::Big] {
            let format = DirFormat { endian, old: true, block: 512 };
            let block = new_directory(format, Ino(5), Ino(2));
            assert_eq!(block[6..8], endian.u16_bytes(1));
            let names: Vec<_> = entries(&block, format, Ino(5), 0).map(|e| e.unwrap().name.to_vec()).collect();
            assert_eq!(names, [b".".to_vec(), b"..".to_vec()]);
        }
        let format = DirFormat { endian: Endian::Little, old: true, block: 512 };
        let mut block = new_directory(format, Ino(5), Ino(2));
        block[7] = 1;
        assert_eq!(entries(&block, format, Ino(5), 0).next().unwrap().unwrap_err().field, "d_reclen");
    }
}
