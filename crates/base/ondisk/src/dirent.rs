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

use crate::num::{index, len64, low32};
use crate::{ByteOff, Corrupt, Endian, Geometry, Ino, Rule, Structure};

/// Bytes before the name, with inode numbers of 32 bits.
pub const HEADER: usize = 8;
/// And with those of 64 bits.
pub const WIDE_HEADER: usize = 12;
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
    /// 64-bit inode numbers, as LFS64 has them. They are aligned to 4 bytes only.
    pub wide: bool,
    /// A name of this inode is shown to no caller: it reads as a whiteout. 0 if all are shown.
    pub hidden: Ino,
}

impl DirFormat {
    /// Bytes before the name.
    pub const fn header(self) -> usize {
        if self.wide { WIDE_HEADER } else { HEADER }
    }

    /// Bytes that an entry with a name of `namelen` bytes needs: header, name, at least one NUL, to a multiple of 4.
    pub const fn min_reclen(self, namelen: usize) -> usize {
        namelen.saturating_add(self.header()).saturating_add(4) & !3
    }

    /// Index in an entry of its length; type and length of the name follow.
    const fn reclen_at(self) -> usize {
        self.header().saturating_sub(4)
    }

    /// Bytes of the name of the entry at the start of `entry`.
    pub fn namelen(self, entry: &[u8]) -> Option<usize> {
        let [kind, namlen] = *entry.get(self.reclen_at().checked_add(2)?..)?.first_chunk()?;
        Some(if self.old { self.endian.u16([kind, namlen]).into() } else { namlen.into() })
    }

    /// The inode number of the entry at the start of `entry`. One of more than 32 bits, which no program gives, is
    /// [`Ino`] `u32::MAX`.
    pub fn ino(self, entry: &[u8]) -> Option<Ino> {
        let narrow = || self.endian.get_u32(entry, 0).map(Ino);
        if self.wide { self.endian.get_u64(entry, 0).map(|n| Ino(low32(n))) } else { narrow() }
    }

    fn put_ino(self, entry: &mut [u8], ino: Ino) -> Option<()> {
        if self.wide { self.endian.put_u64(entry, 0, ino.0.into()) } else { self.endian.put_u32(entry, 0, ino.0) }
    }
}

impl Geometry {
    /// How the directories of this volume are stored.
    pub fn dir_format(&self) -> DirFormat {
        DirFormat {
            endian: self.endian,
            old: self.old_dirent,
            block: index(self.dirblksiz),
            wide: false,
            hidden: Ino::NONE,
        }
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
    /// Bytes that it needs itself.
    own: usize,
}

impl Dirent<'_> {
    /// `true` for an entry that refers to a file: neither unused nor a whiteout.
    pub fn is_name(&self) -> bool {
        self.ino.0 != 0 && self.kind != WHITEOUT
    }

    /// Bytes within it that are free for a new entry.
    pub fn free(&self) -> usize {
        usize::from(self.reclen).saturating_sub(self.own)
    }
}

/// [`DirFormat::min_reclen`] with inode numbers of 32 bits.
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
    let (e, header) = (format.endian, format.header());
    let ino = format.ino(block).ok_or_else(room)?;
    let reclen = e.get_u16(block, format.reclen_at()).ok_or_else(room)?;
    let namlen = format.namelen(block).ok_or_else(room)?;
    let kind = block.get(format.reclen_at().saturating_add(2)).filter(|_| !format.old).copied().unwrap_or(0);
    let broken = |field, rule| Err((field, u64::from(reclen), rule));
    if reclen % 4 != 0 {
        return broken("d_reclen", Rule::MultipleOf(4));
    }
    if usize::from(reclen) > block.len() {
        return broken("d_reclen", Rule::AtMost(len64(block.len()).into()));
    }
    let least = if ino.0 == 0 { header } else { format.min_reclen(namlen) };
    if usize::from(reclen) < least {
        return broken("d_reclen", Rule::AtLeast(len64(least).into()));
    }
    if ino.0 == 0 {
        return Ok(Dirent { offset: at, ino, reclen, kind: 0, name: &[], own: 0 });
    }
    if !(1..=MAX_NAME).contains(&namlen) {
        return Err(("d_namlen", len64(namlen), Rule::Words("which is no length of a name")));
    }
    if kind > 15 {
        return Err(("d_type", kind.into(), Rule::AtMost(15)));
    }
    if format.wide && ino.0 == u32::MAX {
        return Err(("d_ino", u64::from(ino.0), Rule::Words("which no file has")));
    }
    // Like the names that a union mount hides, it keeps its place.
    let kind = if ino == format.hidden { WHITEOUT } else { kind };
    let name_end = header.saturating_add(namlen);
    let name = block.get(header..name_end).ok_or_else(room)?;
    if let Some(&wrong) = name.iter().find(|&&b| b == 0 || b == b'/') {
        return Err(("d_name", wrong.into(), Rule::Words("a byte that no name has")));
    }
    match block.get(name_end) {
        Some(0) => Ok(Dirent { offset: at, ino, reclen, kind, name, own: least }),
        end => Err(("d_name", end.copied().unwrap_or(0).into(), Rule::Zero("behind the name"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: DirFormat = DirFormat { endian: Endian::Little, old: false, block: 512, wide: false, hidden: Ino::NONE };

    fn fields(bytes: &[u8]) -> Vec<&'static str> {
        entries(bytes, NEW, Ino(2), 0).filter_map(|e| e.err()).map(|damage| damage.field).collect()
    }

    #[test]
    fn length_of_an_entry_is_that_of_its_name_with_a_nul() {
        let least = [1, 3, 4, 7, 8, 11, 255].map(|len| NEW.min_reclen(len));
        assert_eq!(least, [12, 12, 16, 16, 20, 20, 264]);
        assert_eq!(NEW.min_reclen(usize::MAX) & 3, 0);
        let wide = DirFormat { wide: true, ..NEW };
        assert_eq!([1, 3, 4, 255].map(|len| wide.min_reclen(len)), [16, 16, 20, 268]);
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
            let format = DirFormat { endian, old: true, ..NEW };
            let block = new_directory(format, Ino(5), Ino(2));
            assert_eq!(block[6..8], endian.u16_bytes(1));
            let names: Vec<_> = entries(&block, format, Ino(5), 0).map(|e| e.unwrap().name.to_vec()).collect();
            assert_eq!(names, [b".".to_vec(), b"..".to_vec()]);
        }
        let format = DirFormat { old: true, ..NEW };
        let mut block = new_directory(format, Ino(5), Ino(2));
        block[7] = 1;
        assert_eq!(entries(&block, format, Ino(5), 0).next().unwrap().unwrap_err().field, "d_reclen");
    }

    #[test]
    fn entries_of_64_bit_numbers_are_read_as_they_were_written() {
        for endian in [Endian::Little, Endian::Big] {
            let format = DirFormat { endian, wide: true, ..NEW };
            let mut block = new_directory(format, Ino(5), Ino(2));
            assert_eq!((&block[..8], &block[8..10]), (&endian.u64_bytes(5)[..], &endian.u16_bytes(16)[..]));
            set_reclen(&mut block, 16, format, 16).unwrap();
            write(&mut block, 32, format, 480, Ino(77), 8, b"name").unwrap();
            set_inode(&mut block, 32, format, Ino(78), 4).unwrap();
            let told = |block: &[u8]| {
                let all = entries(block, format, Ino(5), 0).map(Result::unwrap);
                all.map(|e| (e.ino.0, e.kind, e.name.to_vec(), e.free())).collect::<Vec<_>>()
            };
            let dots = [(5, 4, b".".to_vec(), 0), (2, 4, b"..".to_vec(), 0)];
            let right = [&dots[..], &[(78, 4, b"name".to_vec(), 460)]].concat();
            assert_eq!(told(&block), right);
            assert_eq!((format.namelen(&block[32..]), kind_at(&block, 32, format)), (Some(4), 4));
            clear(&mut block, 32, Some(16), format).unwrap();
            let right = [&dots[..1], &[(2, 4, b"..".to_vec(), 480)]].concat();
            assert_eq!(told(&block), right);
            endian.put_u64(&mut block, 16, 1 << 40).unwrap();
            assert_eq!(entries(&block, format, Ino(5), 0).nth(1).unwrap().unwrap_err().field, "d_ino");
            assert_eq!(told(&fresh_block(format)), [(0, 0, vec![], 512)]);
        }
    }

    #[test]
    fn name_of_a_hidden_inode_keeps_its_place_and_is_no_name() {
        let mut block = new_directory(NEW, Ino(2), Ino(2));
        set_reclen(&mut block, 12, NEW, 12).unwrap();
        write(&mut block, 24, NEW, 488, Ino(1), 8, b"ifile").unwrap();
        let last = |format| entries(&block, format, Ino(2), 0).last().unwrap().unwrap();
        let hides = DirFormat { hidden: Ino(1), ..NEW };
        assert!(last(NEW).is_name() && !last(hides).is_name());
        assert_eq!((last(hides).name, last(hides).free()), (&b"ifile"[..], 488 - 16));
    }
}
