//! Changes directory entries in place. The caller has walked the block and knows where its entries are.
//!
//! Each function returns `None`, and changes nothing, if the bytes do not allow the change.

use super::{DirFormat, MAX_NAME, entries};
use crate::Ino;

/// Writes an entry of `reclen` bytes at byte `at`: header, name, and zeros up to the next multiple of 4 (dirent-2). The
/// bytes after that, up to `reclen`, are not changed.
pub fn write(
    bytes: &mut [u8],
    at: usize,
    format: DirFormat,
    reclen: u16,
    ino: Ino,
    kind: u8,
    name: &[u8],
) -> Option<()> {
    let (own, start) = (format.min_reclen(name.len()), format.header());
    if name.is_empty() || name.len() > MAX_NAME || usize::from(reclen) < own || !inside(bytes, at, reclen, format) {
        return None;
    }
    let entry = bytes.get_mut(at..at.checked_add(own)?)?;
    entry.fill(0);
    header(entry, format, ino, reclen, kind, name.len())?;
    entry.get_mut(start..start.checked_add(name.len())?)?.copy_from_slice(name);
    Some(())
}

/// `true` if `reclen` bytes from `at` on are within one directory block.
fn inside(bytes: &[u8], at: usize, reclen: u16, format: DirFormat) -> bool {
    let within = at.checked_rem(format.block).unwrap_or(usize::MAX);
    let ends = at.checked_add(reclen.into()).is_some_and(|end| end <= bytes.len());
    ends && within.saturating_add(reclen.into()) <= format.block && at.is_multiple_of(4) && reclen.is_multiple_of(4)
}

fn header(entry: &mut [u8], format: DirFormat, ino: Ino, reclen: u16, kind: u8, namlen: usize) -> Option<()> {
    let e = format.endian;
    let namlen = u8::try_from(namlen).ok()?;
    format.put_ino(entry, ino)?;
    e.put_u16(entry, format.reclen_at(), reclen)?;
    let tail = if format.old { e.u16_bytes(namlen.into()) } else { [kind, namlen] };
    *entry.get_mut(format.reclen_at().checked_add(2)?..)?.first_chunk_mut()? = tail;
    Some(())
}

/// Changes the length of the entry at `at`: when it releases bytes that it does not need, or absorbs the entry after
/// it.
pub fn set_reclen(bytes: &mut [u8], at: usize, format: DirFormat, reclen: u16) -> Option<()> {
    if !inside(bytes, at, reclen, format) {
        return None;
    }
    format.endian.put_u16(bytes, at.checked_add(format.reclen_at())?, reclen)
}

/// Makes the entry at `at` refer to another file: a rename over a name, or a new `..`.
pub fn set_inode(bytes: &mut [u8], at: usize, format: DirFormat, ino: Ino, kind: u8) -> Option<()> {
    // Both fields must be within `bytes` before one of them changes.
    let entry = bytes.get_mut(at..at.checked_add(format.header())?)?;
    format.put_ino(entry, ino)?;
    if !format.old {
        *entry.get_mut(format.reclen_at().checked_add(2)?)? = kind;
    }
    Some(())
}

/// The type in the entry at `at`; 0 if entries have none, or if there is no entry.
pub fn kind_at(bytes: &[u8], at: usize, format: DirFormat) -> u8 {
    let place = format.reclen_at().saturating_add(2);
    let kind = if format.old { None } else { at.checked_add(place).and_then(|at| bytes.get(at)) };
    kind.copied().unwrap_or(0)
}

/// Removes the entry at `at`. `before` is the entry before it in the same directory block, if there is one, and absorbs
/// its bytes; otherwise it stays as an unused entry (dirent-3), and only its inode is zeroed. Its other bytes stay
/// until a new entry needs them, as on 4.4BSD and NetBSD: `ordo ls --deleted` finds the name of a file removed by
/// mistake.
pub fn clear(bytes: &mut [u8], at: usize, before: Option<usize>, format: DirFormat) -> Option<()> {
    let (e, place) = (format.endian, format.reclen_at());
    let reclen = e.get_u16(bytes, at.checked_add(place)?)?;
    if usize::from(reclen) < format.header() || !inside(bytes, at, reclen, format) {
        return None;
    }
    let joined = match before {
        None => None,
        Some(before) => {
            let joined = e.get_u16(bytes, before.checked_add(place)?)?.checked_add(reclen)?;
            (before < at && inside(bytes, before, joined, format)).then_some(())?;
            Some((before, joined))
        }
    };
    match joined {
        Some((before, joined)) => set_reclen(bytes, before, format, joined),
        None => format.put_ino(bytes.get_mut(at..)?, Ino::NONE),
    }
}

/// Moves the entries of the directory block `block` (its own bytes only) to its front, from the entry at `from` on,
/// each with its minimal length and the last with the rest. Calls `moved` for each entry that moved, with its old and
/// new offset. An unused entry is removed, unless the block has no other.
///
/// Returns the offset of the last entry, or `None`, with nothing changed, for a damaged block.
pub fn compact(block: &mut [u8], from: usize, format: DirFormat, mut moved: impl FnMut(usize, usize)) -> Option<usize> {
    let mut packed = block.to_vec();
    let (mut last, mut end) = (from, from);
    let mut shifts = Vec::new();
    for entry in entries(block, format, Ino::NONE, 0) {
        let entry = entry.ok()?;
        if entry.offset < from || entry.ino.0 == 0 {
            continue;
        }
        let own = format.min_reclen(entry.name.len());
        let stop = end.checked_add(own)?;
        packed.get_mut(end..stop)?.copy_from_slice(block.get(entry.offset..entry.offset.checked_add(own)?)?);
        set_reclen(&mut packed, end, format, u16::try_from(own).ok()?)?;
        if entry.offset != end {
            shifts.push((entry.offset, end));
        }
        (last, end) = (end, stop);
    }
    if end == from {
        // No entry in use: the rest is one unused entry.
        packed.get_mut(from..from.checked_add(format.header())?)?.fill(0);
    }
    packed.get_mut(end.max(from.checked_add(format.header())?)..)?.fill(0);
    let rest = u16::try_from(block.len().checked_sub(last)?).ok()?;
    set_reclen(&mut packed, last, format, rest)?;
    block.copy_from_slice(&packed);
    shifts.into_iter().for_each(|(old, new)| moved(old, new));
    Some(last)
}

/// A directory block without a name: one unused entry.
pub fn fresh_block(format: DirFormat) -> Vec<u8> {
    let mut block = vec![0; format.block];
    // Cannot fail: a block is at least 512 bytes.
    let _ = format.endian.put_u16(&mut block, format.reclen_at(), u16::try_from(format.block).unwrap_or(512));
    block
}

/// The first block of a directory `ino` in `parent`: `.` and `..`.
pub fn new_directory(format: DirFormat, ino: Ino, parent: Ino) -> Vec<u8> {
    let mut block = vec![0; format.block];
    let own = format.min_reclen(1);
    let [first, rest] = [own, format.block.saturating_sub(own)].map(|len| u16::try_from(len).unwrap_or(500));
    // Cannot fail: a block is at least 512 bytes.
    let _ = write(&mut block, 0, format, first, ino, 4, b".");
    let _ = write(&mut block, own, format, rest, parent, 4, b"..");
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endian;

    const FORMAT: DirFormat = DirFormat { endian: Endian::Big, old: false, block: 512, wide: false, hidden: Ino::NONE };

    fn list(block: &[u8]) -> Vec<(usize, u16, String)> {
        let name = |n: &[u8]| String::from_utf8_lossy(n).into_owned();
        entries(block, FORMAT, Ino(2), 0).map(Result::unwrap).map(|e| (e.offset, e.reclen, name(e.name))).collect()
    }

    /// A block with the names a, bbbbb and c, each in 24 bytes but the last.
    fn sample() -> Vec<u8> {
        let mut block = vec![0xee; 512];
        write(&mut block, 0, FORMAT, 24, Ino(10), 8, b"a").unwrap();
        write(&mut block, 24, FORMAT, 24, Ino(11), 8, b"bbbbb").unwrap();
        write(&mut block, 48, FORMAT, 464, Ino(12), 8, b"c").unwrap();
        block
    }

    fn named(all: &[(usize, u16, &str)]) -> Vec<(usize, u16, String)> {
        all.iter().map(|&(offset, reclen, name)| (offset, reclen, name.to_string())).collect()
    }

    #[test]
    fn written_entry_has_zeros_behind_its_name_and_touches_nothing_else() {
        let block = sample();
        assert_eq!(block[24..40], *b"\0\0\0\x0b\0\x18\x08\x05bbbbb\0\0\0");
        assert_eq!(block[40..48], [0xee; 8]);
        assert_eq!(list(&block), named(&[(0, 24, "a"), (24, 24, "bbbbb"), (48, 464, "c")]));
    }

    #[test]
    fn entries_that_do_not_fit_are_refused() {
        let mut block = sample();
        let mut refused = |at, reclen, name: &[u8]| {
            assert_eq!(write(&mut block, at, FORMAT, reclen, Ino(3), 8, name), None);
            assert_eq!(block, sample());
        };
        refused(0, 8, b"a");
        refused(0, 12, b"abcd");
        refused(500, 16, b"a");
        refused(2, 12, b"a");
        refused(0, 13, b"a");
        refused(0, 512, b"");
        refused(512, 12, b"a");
        refused(usize::MAX - 3, 12, b"a");
        let mut two = [sample(), sample()].concat();
        assert_eq!(write(&mut two, 500, FORMAT, 24, Ino(3), 8, b"a"), None, "crosses a boundary");
    }

    #[test]
    fn removed_entry_joins_the_one_before_it_or_stays_unused() {
        let mut block = sample();
        clear(&mut block, 24, Some(0), FORMAT).unwrap();
        assert_eq!(list(&block), named(&[(0, 48, "a"), (48, 464, "c")]));
        assert_eq!(block[24..40], sample()[24..40], "the name stays until its bytes are needed");
        clear(&mut block, 0, None, FORMAT).unwrap();
        assert_eq!(list(&block), named(&[(0, 48, ""), (48, 464, "c")]));
        clear(&mut block, 48, Some(0), FORMAT).unwrap();
        assert_eq!(list(&block), named(&[(0, 512, "")]));
        assert_eq!(clear(&mut block, 510, None, FORMAT), None);
        assert_eq!(clear(&mut sample(), 24, Some(48), FORMAT), None);
    }

    #[test]
    fn entry_is_made_to_mean_another_file() {
        let mut block = sample();
        set_inode(&mut block, 24, FORMAT, Ino(99), 4).unwrap();
        let e = entries(&block, FORMAT, Ino(2), 0).nth(1).unwrap().unwrap();
        assert_eq!((e.ino, e.kind, e.name), (Ino(99), 4, &b"bbbbb"[..]));
        assert_eq!(set_inode(&mut block, 506, FORMAT, Ino(1), 4), None);
    }

    #[test]
    fn compacted_block_has_all_its_space_at_the_end() {
        let mut block = sample();
        let mut moves = Vec::new();
        assert_eq!(compact(&mut block, 0, FORMAT, |old, new| moves.push((old, new))), Some(28));
        assert_eq!(list(&block), named(&[(0, 12, "a"), (12, 16, "bbbbb"), (28, 484, "c")]));
        assert_eq!(moves, [(24, 12), (48, 28)]);

        let mut block = sample();
        clear(&mut block, 0, None, FORMAT).unwrap();
        assert_eq!(compact(&mut block, 0, FORMAT, |_, _| {}), Some(16));
        assert_eq!(list(&block), named(&[(0, 16, "bbbbb"), (16, 496, "c")]));

        let mut block = sample();
        assert_eq!(compact(&mut block, 24, FORMAT, |_, _| {}), Some(40));
        assert_eq!(list(&block), named(&[(0, 24, "a"), (24, 16, "bbbbb"), (40, 472, "c")]));

        let mut empty = fresh_block(FORMAT);
        assert_eq!(compact(&mut empty, 0, FORMAT, |_, _| {}), Some(0));
        assert_eq!(empty, fresh_block(FORMAT));

        let mut broken = sample();
        broken[5] = 1;
        let before = broken.clone();
        assert_eq!(compact(&mut broken, 0, FORMAT, |_, _| {}), None);
        assert_eq!(broken, before);
    }

    #[test]
    fn new_directory_has_the_two_entries_that_every_directory_has() {
        let block = new_directory(FORMAT, Ino(5), Ino(2));
        assert_eq!(block[..24], *b"\0\0\0\x05\0\x0c\x04\x01.\0\0\0\0\0\0\x02\x01\xf4\x04\x02..\0\0");
        assert!(block[24..].iter().all(|&b| b == 0) && block.len() == 512);
    }
}
