//! One directory block: repairing its structure, and finding its entries. Pure functions of bytes.

use ordo_ondisk::Ino;
use ordo_ondisk::dirent::{self, DirFormat};

/// An entry in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Byte within the block.
    pub(crate) at: usize,
    pub(crate) ino: u32,
    pub(crate) reclen: u16,
    pub(crate) kind: u8,
    pub(crate) name: Vec<u8>,
}

impl Entry {
    pub(crate) fn is_dot(&self) -> bool {
        self.name == b"."
    }

    pub(crate) fn is_dotdot(&self) -> bool {
        self.name == b".."
    }

    /// The name, with control characters made visible.
    pub(crate) fn shown(&self) -> String {
        self.name.escape_ascii().to_string()
    }
}

/// The entries in use, up to the first damaged one; and where that one is, and what is wrong with it.
pub(crate) fn entries(block: &[u8], format: DirFormat) -> (Vec<Entry>, Option<(usize, &'static str)>) {
    let mut found = vec![];
    let mut next = 0;
    for entry in dirent::entries(block, format, Ino::NONE, 0) {
        let Ok(entry) = entry else { return (found, Some((next, why(block, next, format)))) };
        next = entry.offset + usize::from(entry.reclen);
        if entry.ino != Ino::NONE {
            let (at, ino, reclen, kind) = (entry.offset, entry.ino.0, entry.reclen, entry.kind);
            found.push(Entry { at, ino, reclen, kind, name: entry.name.to_vec() });
        }
    }
    (found, None)
}

fn why(block: &[u8], at: usize, format: DirFormat) -> &'static str {
    let reclen = usize::from(format.endian.get_u16(block, at + 4).unwrap_or(0));
    match reclen {
        0 => "an entry of length 0",
        _ if reclen % 4 != 0 => "an entry whose length is not a multiple of 4",
        _ if reclen > block.len().saturating_sub(at) => "an entry that crosses the end of its block",
        _ => "an entry whose name is damaged or does not fit",
    }
}

/// Turns the bytes from `at` on into one unused entry, or, if that does not fit, adds them to the entry before.
pub(crate) fn cut(block: &mut [u8], at: usize, format: DirFormat) {
    let rest = block.len().saturating_sub(at);
    let Some(tail) = block.get_mut(at..) else { return };
    tail.fill(0);
    if rest >= 8 {
        let done = format.endian.put_u16(block, at + 4, rest as u16);
        debug_assert!(done.is_some(), "the header fits");
        return;
    }
    let before = dirent::entries(block.get(..at).unwrap_or_default(), DirFormat { block: at, ..format }, Ino::NONE, 0);
    if let Some(Ok(last)) = before.last() {
        let done = dirent::set_reclen(block, last.offset, format, last.reclen + rest as u16);
        debug_assert!(done.is_some(), "the entry before ends where this one began");
    }
}

/// A rebuilt first block: `.` and `..`, then those of `names` that fit. The others are lost here, and are found again
/// as files without a name.
pub(crate) fn with_dots(format: DirFormat, ino: u32, parent: u32, names: &[Entry]) -> Vec<u8> {
    let mut block = dirent::new_directory(format, Ino(ino), Ino(parent));
    for entry in names.iter().filter(|entry| !entry.is_dot() && !entry.is_dotdot()) {
        insert(&mut block, format, entry.ino, entry.kind, &entry.name);
    }
    block
}

/// Puts a name into free space of the block; `false` if no free piece is long enough.
pub(crate) fn insert(block: &mut [u8], format: DirFormat, ino: u32, kind: u8, name: &[u8]) -> bool {
    let needed = dirent::min_reclen(name.len());
    let room = dirent::entries(block, format, Ino::NONE, 0).filter_map(Result::ok).find(|e| e.free() >= needed);
    let Some((at, reclen, own)) = room.map(|e| (e.offset, e.reclen, usize::from(e.reclen) - e.free())) else {
        return false;
    };
    if own > 0 && dirent::set_reclen(block, at, format, own as u16).is_none() {
        return false;
    }
    dirent::write(block, at + own, format, reclen - own as u16, Ino(ino), kind, name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::Endian;

    const FORMAT: DirFormat =
        DirFormat { endian: Endian::Little, old: false, block: 512, wide: false, hidden: Ino::NONE };

    fn block() -> Vec<u8> {
        let mut block = with_dots(FORMAT, 5, 2, &[]);
        assert!(insert(&mut block, FORMAT, 6, 8, b"one"));
        assert!(insert(&mut block, FORMAT, 7, 4, b"second"));
        block
    }

    fn names(block: &[u8]) -> Vec<String> {
        entries(block, FORMAT).0.iter().map(Entry::shown).collect()
    }

    #[test]
    fn names_are_inserted_behind_the_last() {
        let block = block();
        assert_eq!(names(&block), [".", "..", "one", "second"]);
        assert_eq!(entries(&block, FORMAT).1, None);
    }

    #[test]
    fn damage_takes_the_rest_of_the_block() {
        let mut block = block();
        block[24 + 4] = 3;
        assert_eq!(entries(&block, FORMAT).1, Some((24, "an entry whose length is not a multiple of 4")));
        cut(&mut block, 24, FORMAT);
        assert_eq!((names(&block), entries(&block, FORMAT).1), (vec![".".into(), "..".into()], None));
    }

    #[test]
    fn rest_too_small_for_an_entry_goes_to_the_one_before() {
        let mut block = block();
        let last = entries(&block, FORMAT).0[3].at;
        dirent::set_reclen(&mut block, last, FORMAT, (512 - last - 4) as u16).unwrap();
        assert_eq!(entries(&block, FORMAT).1.map(|(at, _)| at), Some(508));
        cut(&mut block, 508, FORMAT);
        assert_eq!((names(&block).len(), entries(&block, FORMAT).1), (4, None));
    }

    #[test]
    fn full_block_takes_no_more_names() {
        let mut block = block();
        while insert(&mut block, FORMAT, 8, 8, b"another-name") {}
        assert!(!insert(&mut block, FORMAT, 8, 8, b"another-name"));
        assert_eq!(entries(&block, FORMAT).1, None);
    }

    #[test]
    fn control_characters_are_made_visible() {
        let entry = Entry { at: 0, ino: 3, reclen: 12, kind: 8, name: b"a\x1b[2J".to_vec() };
        assert_eq!(entry.shown(), "a\\x1b[2J");
    }
}
