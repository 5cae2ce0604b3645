//! What the files have: their contents near the edges of the layout, attributes, access lists.

use super::super::ground::Ground;
use super::super::profile::What;
use super::{Author, DIRECT};
use crate::random::Op;
use ordo_vfs::{FallocMode, XattrMode};

/// A large allocation takes at most one part of the volume in so many; a large write, which a journal may have to hold
/// whole, of these.
const RESERVED: u64 = 3;
const FILLED: u64 = 32;
/// Names of attributes; and an upper bound of the bytes that one takes beside its value.
const ATTRIBUTES: [&str; 3] = ["x", "y", "long-name-of-an-attribute-of-this-file"];
const ATTRIBUTE_HEAD: u64 = 80;

/// What each name leaves for the two access lists that a directory may have beside them.
pub(in crate::script::random) const LISTS: u64 = 400;

/// Most bytes of an attribute: all names together fit in the two blocks that a file has for them.
pub(in crate::script::random) fn longest_attribute(ground: Ground) -> u64 {
    ground.block * 2 / ATTRIBUTES.len() as u64 - ATTRIBUTE_HEAD
}

impl Author {
    /// A file to change; sometimes an open one.
    fn contents_of(&mut self) -> Option<(String, u64)> {
        if self.rng.chance(self.ways.held, 100) {
            return Some((self.slot(), 0));
        }
        if self.rng.chance(65, 100) {
            let known = self.known.files.iter().find(|(path, _)| Some(path) == self.focus.as_ref());
            if let Some(known) = known {
                return Some(known.clone());
            }
        }
        self.file()
    }

    pub(super) fn contents(&mut self, what: What) -> Option<Op> {
        let (path, size) = self.contents_of()?;
        self.focus = Some(path.clone());
        Some(match what {
            What::Append => {
                let small = *self.rng.pick(&[1, 200, 512, 700, 1024, 2048, 3000, 5000]);
                Op::Write { path, offset: size, len: small, seed: 0 }
            }
            What::Write => {
                let offset = if self.rng.chance(30, 100) { size } else { self.edge(size) };
                Op::Write { path, offset, len: self.length() as u32, seed: 0 }
            }
            What::Truncate => Op::Truncate { path, size: self.edge(size) },
            What::Reserve => {
                let mode = match self.rng.below(4) {
                    0 => FallocMode::ZeroRange { keep_size: false },
                    other => FallocMode::Allocate { keep_size: other == 1 },
                };
                let offset = if self.rng.chance(50, 100) { 0 } else { self.edge(size) };
                Op::Fallocate { path, offset, len: self.many_blocks(RESERVED), mode }
            }
            What::Fill => {
                let len = self.many_blocks(FILLED);
                let offset = match self.rng.below(4) {
                    0 => size,
                    1 => self.edge(size),
                    // Not at the edge of a block: the ends of what is written are filled up from the disk.
                    2 => self.rng.below(size + 1),
                    _ => self.rng.below(size + 1) / self.ground.block * self.ground.block,
                };
                Op::Write { path, offset, len: len as u32, seed: 0 }
            }
            _ => {
                let keep_size = self.rng.chance(40, 100);
                let mode = match self.rng.below(4) {
                    0 | 1 => FallocMode::PunchHole,
                    2 => FallocMode::ZeroRange { keep_size },
                    _ => FallocMode::Allocate { keep_size },
                };
                Op::Fallocate { path, offset: self.edge(size), len: self.length(), mode }
            }
        })
    }

    /// An offset at which the layout of a file that ends at `size` changes, and a byte before and after; often in its
    /// last block.
    fn edge(&mut self, size: u64) -> u64 {
        let Ground { block, frag, .. } = self.ground;
        let frags = block / frag;
        if self.small {
            let at = frag * self.rng.below(2 * frags + 1);
            return match self.rng.below(5) {
                0 => at + 1,
                1 => at.saturating_sub(1),
                2 => self.rng.below(block),
                _ => at,
            };
        }
        let near_end = size.saturating_sub(1) / block * block;
        let at = match self.rng.below(20) {
            0..8 => near_end + frag * self.rng.below(frags + 1),
            8..11 => frag * self.rng.below(frags + 1),
            11..14 => block * self.rng.below(DIRECT + 2),
            14..16 => block * DIRECT + frag * self.rng.below(frags),
            16 => block * (DIRECT + 1),
            17 if self.ground.block <= 8192 => block * (DIRECT + self.ground.pointers()),
            18 => self.rng.below(block * 2),
            _ => 0,
        };
        // The largest size for which every scheme's log leaves room.
        let at = at.min(self.ground.size / 3);
        match self.rng.below(5) {
            0 => at + 1,
            1 => at.saturating_sub(1),
            _ => at,
        }
    }

    /// A length of many blocks, up to a part of the volume, at the edge of a block or of indirect ones, or beside it.
    fn many_blocks(&mut self, part: u64) -> u64 {
        let Ground { block, size, .. } = self.ground;
        let most = (size / part / block).max(2);
        let blocks = match self.rng.below(3) {
            0 => (DIRECT + self.rng.below(3)).min(most),
            1 => self.ground.pointers().min(most),
            _ => self.rng.within(2, most),
        };
        blocks * block + *self.rng.pick(&[0, 0, 1, self.ground.frag]) - *self.rng.pick(&[0, 0, 1])
    }

    /// A length of a transfer, at least 1.
    fn length(&mut self) -> u64 {
        let Ground { block, frag, .. } = self.ground;
        let len = match self.rng.below(8) {
            0 | 1 => 1,
            2 | 3 => self.rng.within(frag - 1, frag + 1),
            4 => frag * self.rng.within(1, block / frag),
            5 => self.rng.within(block - 1, block + 1),
            6 => self.rng.within(1, block),
            _ => block * 2,
        };
        len.max(1)
    }

    /// A list for a file or a directory: the mode and the entries change together.
    pub(super) fn access_list(&mut self) -> Option<Op> {
        if self.ground.ufs1 {
            return None;
        }
        let path = if self.rng.chance(40, 100) { self.dir_path()? } else { self.file()?.0 };
        let default = self.known.dirs.contains(&path) && self.rng.chance(40, 100);
        let mode = *self.rng.pick(&[0o777, 0o750, 0o700, 0o644, 0o640, 0o070]);
        Some(Op::SetAcl { path, default, mode, user: *self.rng.pick(&[0, 7, 7, 1000]) })
    }

    pub(super) fn attribute(&mut self, what: What) -> Option<Op> {
        if self.ground.ufs1 {
            return None;
        }
        let path = if self.rng.chance(20, 100) { self.dir_path()? } else { self.file()?.0 };
        let name = format!("user.{}", self.rng.pick(&ATTRIBUTES));
        if what == What::RemoveXattr {
            return Some(Op::RemoveXattr { path, name });
        }
        let Ground { block, frag, .. } = self.ground;
        let len = match self.rng.below(8) {
            0 => 0,
            1 => 1,
            2 => self.rng.within(1, 400),
            3 | 4 => (frag * self.rng.within(1, block / frag)).saturating_sub(self.rng.below(60)),
            5 => block.saturating_sub(self.rng.below(80)),
            6 => block + self.rng.below(frag),
            _ => block * 2,
        };
        let longest = longest_attribute(self.ground);
        let lists = self.ways.weights.iter().any(|(_, what)| *what == What::SetAcl);
        let len = len.min(if lists { longest - LISTS } else { longest });
        Some(Op::SetXattr { path, name, len: len as u32, seed: 0, mode: XattrMode::Set })
    }
}
