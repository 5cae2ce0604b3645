//! Changes of entries in place. The caller has walked the block and knows where its entries are.
//!
//! Each returns `None`, and changes nothing, where the bytes do not allow it.

use super::{DirFormat, HEADER, MAX_NAME, entries, min_reclen};
use crate::Ino;

/// Writes an entry of `reclen` bytes at byte `at`: header, name, and zeros up to the next multiple of 4 (D2). The bytes
/// behind that, up to `reclen`, stay as they are.
pub fn write(
    bytes: &mut [u8],
    at: usize,
    format: DirFormat,
    reclen: u16,
    ino: Ino,
    kind: u8,
    name: &[u8],
) -> Option<()> {
    let own = min_reclen(name.len());
    if name.is_empty() || name.len() > MAX_NAME || usize::from(reclen) < own || !inside(bytes, at, reclen, format) {
        return None;
    }
    let entry = bytes.get_mut(at..at.checked_add(own)?)?;
    entry.fill(0);
    header(entry, format, ino, reclen, kind, name.len())?;
    entry.get_mut(HEADER..HEADER.checked_add(name.len())?)?.copy_from_slice(name);
    Some(())
}

/// `true` when `reclen` bytes from `at` on are within one directory block.
fn inside(bytes: &[u8], at: usize, reclen: u16, format: DirFormat) -> bool {
    let within = at.checked_rem(format.block).unwrap_or(usize::MAX);
    let ends = at.checked_add(reclen.into()).is_some_and(|end| end <= bytes.len());
    ends && within.saturating_add(reclen.into()) <= format.block && at.is_multiple_of(4) && reclen.is_multiple_of(4)
}

fn header(entry: &mut [u8], format: DirFormat, ino: Ino, reclen: u16, kind: u8, namlen: usize) -> Option<()> {
    let e = format.endian;
    let namlen = u8::try_from(namlen).ok()?;
    e.put_u32(entry, 0, ino.0)?;
    e.put_u16(entry, 4, reclen)?;
    let tail = if format.old { e.u16_bytes(namlen.into()) } else { [kind, namlen] };
    *entry.get_mut(6..)?.first_chunk_mut()? = tail;
    Some(())
}

/// Changes the length of the entry at `at`: when it gives up what it does not need, or takes over what follows it.
pub fn set_reclen(bytes: &mut [u8], at: usize, format: DirFormat, reclen: u16) -> Option<()> {
    if !inside(bytes, at, reclen, format) {
        return None;
    }
    format.endian.put_u16(bytes, at.checked_add(4)?, reclen)
}

/// Makes the entry at `at` mean another file: a rename over a name, or a new `..`.
pub fn set_inode(bytes: &mut [u8], at: usize, format: DirFormat, ino: Ino, kind: u8) -> Option<()> {
    // Both bytes must be there before one of them changes.
    bytes.get(at..at.checked_add(HEADER)?)?;
    format.endian.put_u32(bytes, at, ino.0)?;
    if !format.old {
        *bytes.get_mut(at.checked_add(6)?)? = kind;
    }
    Some(())
}

/// Removes the entry at `at`. `before` is the entry before it in the same directory block, if there is one, and takes
/// its bytes over; else it stays as an unused entry (D3). Name, type and inode are zeroed.
pub fn clear(bytes: &mut [u8], at: usize, before: Option<usize>, format: DirFormat) -> Option<()> {
    let e = format.endian;
    let reclen = e.get_u16(bytes, at.checked_add(4)?)?;
    if usize::from(reclen) < HEADER || !inside(bytes, at, reclen, format) {
        return None;
    }
    let joined = match before {
        None => None,
        Some(before) => {
            let joined = e.get_u16(bytes, before.checked_add(4)?)?.checked_add(reclen)?;
            (before < at && inside(bytes, before, joined, format)).then_some(())?;
            Some((before, joined))
        }
    };
    let namlen = match format.old {
        true => e.get_u16(bytes, at.checked_add(6)?)?.into(),
        false => usize::from(*bytes.get(at.checked_add(7)?)?),
    };
    let own = min_reclen(namlen).min(reclen.into());
    bytes.get_mut(at..at.checked_add(own)?)?.fill(0);
    match joined {
        Some((before, joined)) => set_reclen(bytes, before, format, joined),
        None => e.put_u16(bytes, at.checked_add(4)?, reclen),
    }
}

/// Moves the entries of the directory block `block` (its own bytes only) to its front, from the entry at `from` on, each
/// as short as it can be and the last with what is left. Tells each that moved: where it was, and where it is now. An
/// unused one vanishes, unless nothing else is left of the block.
///
/// Returns where the last entry starts, or `None`, with nothing changed, for a block that is damaged.
pub fn compact(block: &mut [u8], from: usize, format: DirFormat, mut moved: impl FnMut(usize, usize)) -> Option<usize> {
    let mut packed = block.to_vec();
    let (mut last, mut end) = (from, from);
    let mut shifts = Vec::new();
    for entry in entries(block, format, Ino::NONE, 0) {
        let entry = entry.ok()?;
        if entry.offset < from || entry.ino.0 == 0 {
            continue;
        }
        let own = min_reclen(entry.name.len());
        let stop = end.checked_add(own)?;
        packed.get_mut(end..stop)?.copy_from_slice(block.get(entry.offset..entry.offset.checked_add(own)?)?);
        set_reclen(&mut packed, end, format, u16::try_from(own).ok()?)?;
        if entry.offset != end {
            shifts.push((entry.offset, end));
        }
        (last, end) = (end, stop);
    }
    if end == from {
        // Nothing used: what is left is one unused entry.
        packed.get_mut(from..from.checked_add(HEADER)?)?.fill(0);
    }
    packed.get_mut(end.max(from.checked_add(HEADER)?)..)?.fill(0);
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
    let _ = format.endian.put_u16(&mut block, 4, u16::try_from(format.block).unwrap_or(512));
    block
}

/// The first block of a directory `ino` in `parent`: `.` and `..`.
pub fn new_directory(format: DirFormat, ino: Ino, parent: Ino) -> Vec<u8> {
    let mut block = vec![0; format.block];
    let rest = u16::try_from(format.block.saturating_sub(12)).unwrap_or(500);
    // Cannot fail: a block is at least 512 bytes.
    let _ = write(&mut block, 0, format, 12, ino, 4, b".");
    let _ = write(&mut block, 12, format, rest, parent, 4, b"..");
    block
}
