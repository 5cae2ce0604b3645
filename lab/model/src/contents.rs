//! The contents of a regular file: stored blocks, with holes between them.
//!
//! C1. A stored block may be shorter than a block; the rest reads as zero. Bytes at and beyond the size are never
//!     stored, so a file that shrinks and grows again shows zeroes.
//! C2. Pieces returned by [`Contents::read`] never change: a write replaces a block that a reader still holds.

use bytes::{Bytes, BytesMut};
use ordo_vfs::Segments;
use std::collections::BTreeMap;

static ZEROES: [u8; 65536] = [0; 65536];

#[derive(Debug)]
pub(crate) struct Contents {
    size: u64,
    block_size: u64,
    blocks: BTreeMap<u64, Bytes>,
}

impl Contents {
    pub(crate) fn new(block_size: u32) -> Contents {
        Contents { size: 0, block_size: u64::from(block_size), blocks: BTreeMap::new() }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Number of stored blocks, including those of zeroes.
    pub(crate) fn stored(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Blocks that a write to a (non-empty) range would add.
    pub(crate) fn missing(&self, offset: u64, len: u64) -> u64 {
        let (first, last) = (offset / self.block_size, (offset + len - 1) / self.block_size);
        last - first + 1 - self.blocks.range(first..=last).count() as u64
    }

    pub(crate) fn read(&self, offset: u64, len: u32) -> Segments {
        let end = offset.saturating_add(u64::from(len)).min(self.size);
        let mut pieces = Segments::new();
        if offset >= end {
            return pieces;
        }
        let mut at = offset;
        for (block, stored) in self.blocks.range(offset / self.block_size..=(end - 1) / self.block_size) {
            let start = block * self.block_size;
            push_zeroes(&mut pieces, at, start);
            at = at.max(start);
            let stored_end = end.min(start + stored.len() as u64);
            if stored_end > at {
                pieces.push(stored.slice((at - start) as usize..(stored_end - start) as usize));
                at = stored_end;
            }
        }
        push_zeroes(&mut pieces, at, end);
        pieces
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let (block, within) = (at / self.block_size, (at % self.block_size) as usize);
            let (now, later) = rest.split_at(rest.len().min(self.block_size as usize - within));
            let stored = self.blocks.entry(block).or_default();
            if within == 0 && now.len() as u64 == self.block_size {
                *stored = Bytes::copy_from_slice(now);
            } else {
                let mut bytes = to_mut(stored, self.block_size as usize);
                if bytes.len() < within + now.len() {
                    bytes.resize(within + now.len(), 0);
                }
                bytes[within..within + now.len()].copy_from_slice(now);
                *stored = bytes.freeze();
            }
            at += now.len() as u64;
            rest = later;
        }
        self.size = self.size.max(at);
    }

    /// Grows with a hole, or truncates.
    pub(crate) fn truncate(&mut self, size: u64) {
        if size <= self.size {
            self.blocks.split_off(&size.div_ceil(self.block_size));
            if let Some(last) = self.blocks.get_mut(&(size / self.block_size)) {
                last.truncate((size % self.block_size) as usize);
            }
        }
        self.size = size;
    }

    /// Stores blocks of zeroes in the holes of a (non-empty) range.
    pub(crate) fn allocate(&mut self, offset: u64, len: u64) {
        for block in offset / self.block_size..=(offset + len - 1) / self.block_size {
            self.blocks.entry(block).or_default();
        }
    }

    /// Frees the whole blocks of a (non-empty) range and zeroes its edges.
    pub(crate) fn punch(&mut self, offset: u64, len: u64) {
        let end = offset + len;
        let (first, first_from) = (offset / self.block_size, offset % self.block_size);
        let (last, last_to) = (end / self.block_size, end % self.block_size);
        if first == last {
            return self.zero(first, first_from, last_to);
        }
        let mut whole = first;
        if first_from != 0 {
            self.zero(first, first_from, self.block_size);
            whole += 1;
        }
        if last_to != 0 {
            self.zero(last, 0, last_to);
        }
        let mut after = self.blocks.split_off(&whole);
        self.blocks.append(&mut after.split_off(&last));
    }

    fn zero(&mut self, block: u64, from: u64, to: u64) {
        let Some(stored) = self.blocks.get_mut(&block) else { return };
        let (from, to) = (from as usize, to as usize);
        if to >= stored.len() {
            stored.truncate(from);
        } else if from < to {
            let mut bytes = to_mut(stored, self.block_size as usize);
            bytes[from..to].fill(0);
            *stored = bytes.freeze();
        }
    }

    /// Makes the size at least `size`.
    pub(crate) fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// The next stored byte at or after `offset`, if there is one below the size.
    pub(crate) fn next_data(&self, offset: u64) -> Option<u64> {
        let (block, _) = self.blocks.range(offset / self.block_size..).next()?;
        Some(offset.max(block * self.block_size)).filter(|at| *at < self.size)
    }

    /// The next byte at or after `offset` that is not stored; the size at the latest, which must be above `offset`.
    pub(crate) fn next_hole(&self, offset: u64) -> u64 {
        let mut hole = offset / self.block_size;
        for (block, _) in self.blocks.range(hole..) {
            if *block != hole {
                break;
            }
            hole += 1;
        }
        offset.max(hole * self.block_size).min(self.size)
    }
}

fn push_zeroes(pieces: &mut Segments, mut from: u64, to: u64) {
    while from < to {
        let len = (to - from).min(ZEROES.len() as u64);
        pieces.push(Bytes::from_static(&ZEROES[..len as usize]));
        from += len;
    }
}

/// Takes a block to be changed, copied only if a reader holds it (C2) or if it is new.
fn to_mut(stored: &mut Bytes, block_size: usize) -> BytesMut {
    let copy = |bytes: &[u8]| {
        let mut copy = BytesMut::with_capacity(block_size);
        copy.extend_from_slice(bytes);
        copy
    };
    if stored.is_empty() {
        return copy(&[]);
    }
    std::mem::take(stored).try_into_mut().unwrap_or_else(|shared| copy(&shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(contents: &Contents) -> Vec<u8> {
        contents.read(0, u32::MAX).concat()
    }

    #[test]
    fn contents_agree_with_a_flat_vector_under_mixed_changes() {
        let mut contents = Contents::new(16);
        let mut wanted: Vec<u8> = Vec::new();
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for step in 0..20_000u32 {
            let (offset, len) = (below(100), 1 + below(50));
            let end = (offset + len) as usize;
            let held = contents.read(offset, 20);
            let before = held.concat();
            match below(4) {
                0 => {
                    contents.write(offset, &vec![step as u8; len as usize]);
                    wanted.resize(wanted.len().max(end), 0);
                    wanted[offset as usize..end].fill(step as u8);
                }
                1 => {
                    contents.truncate(offset);
                    wanted.resize(offset as usize, 0);
                }
                2 => {
                    contents.punch(offset, len);
                    let end = end.min(wanted.len());
                    wanted.get_mut(offset as usize..end).into_iter().for_each(|range| range.fill(0));
                }
                _ => contents.allocate(offset, len),
            }
            assert_eq!(flat(&contents), wanted, "step {step}");
            assert_eq!(held.concat(), before, "C2, step {step}");
        }
    }

    #[test]
    fn holes_and_data_are_found_at_block_edges() {
        let mut contents = Contents::new(16);
        contents.write(35, b"x");
        contents.truncate(100);
        assert_eq!(contents.next_data(0), Some(32));
        assert_eq!(contents.next_hole(0), 0);
        assert_eq!(contents.next_hole(40), 48);
        assert_eq!(contents.next_data(48), None);
        contents.allocate(90, 40);
        assert_eq!(contents.next_data(48), Some(80));
        assert_eq!(contents.next_hole(80), 100);
    }
}
