//! Blocks that records name.
//!
//! B1. A record is kept by the block on the disk in which it lies. What it says of fragments before is not looked at.
//!     Of equal uses a later allocation takes the place of the record before; a later free is ignored.
//! B2. A record counts as *there* only if the inode's pointer at its number is the very fragment that it names.
//! B3. There: fragments of the record beyond those that the file has by its size are freed. Not there: all are.
//! B4. A fragment is protected if a different use of it comes after the last record of the use that is freed.
//! B5. A freed tree that is not there is freed with what its pointers lead to, if its pointer block can be trusted: it
//!     has no record, or its last record is the one that frees it and the map still has it in use.

use crate::{Done, Replay, give_up};
use ordo_ondisk::suj::BlockRecord;
use ordo_ondisk::{FragNo, Geometry, Lbn};
use std::collections::{BTreeMap, BTreeSet};

/// A use of fragments of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) ino: u32,
    pub(crate) lbn: i64,
    /// First fragment within the block, and how many.
    pub(crate) first: u32,
    pub(crate) frags: u32,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    of: Use,
    freed: bool,
}

/// The records of blocks, by the first fragment of each block.
#[derive(Default)]
pub(crate) struct Blocks(BTreeMap<u64, Vec<Record>>);

impl Use {
    fn mask(&self) -> u8 {
        (((1u16 << self.frags.min(8)) - 1) << self.first.min(8)) as u8
    }
}

/// The block of a fragment, and its number in that.
fn split(geo: &Geometry, frag: FragNo) -> (u64, u32) {
    (geo.blknum(frag).0, geo.fragnum(frag))
}

impl Blocks {
    /// B1.
    pub(crate) fn tell(&mut self, geo: &Geometry, of: BlockRecord, freed: bool) -> Done<()> {
        let (base, first) = split(geo, of.blkno);
        let of = Use { ino: of.ino.0, lbn: of.lbn.0, first, frags: of.frags.into() };
        if of.first + of.frags > geo.frag {
            return give_up(format!("a record of block {base} leaves it"));
        }
        let records = self.0.entry(base).or_default();
        if let Some(known) = records.iter().position(|known| known.of == of) {
            if freed {
                return Ok(());
            }
            records.remove(known);
        }
        records.push(Record { of, freed });
        Ok(())
    }

    /// The inodes that records of blocks name.
    pub(crate) fn inos(&self) -> BTreeSet<u32> {
        self.0.values().flatten().map(|record| record.of.ino).collect()
    }

    /// The fragments of a use that may be freed (B4).
    pub(crate) fn unprotected(&self, base: u64, of: Use) -> u8 {
        let mut protected = 0;
        for record in self.0.get(&base).into_iter().flatten() {
            let other = record.of;
            let same = (other.ino, other.lbn, other.first) == (of.ino, of.lbn, of.first) && other.frags >= of.frags;
            match same {
                true => protected = 0,
                false => protected |= other.mask() & of.mask(),
            }
        }
        of.mask() & !protected
    }

    /// Whether the last record of this very run has fewer fragments: it counts as another use, and protects them (B4).
    fn is_cut_short(&self, base: u64, of: Use) -> bool {
        let key = |of: Use| (of.ino, of.lbn, of.first);
        let mut same = self.0.get(&base).into_iter().flatten().filter(|record| key(record.of) == key(of));
        same.next_back().is_some_and(|record| record.of.frags < of.frags)
    }
}

impl Replay {
    pub(crate) fn check_blocks(&mut self) -> Done<()> {
        let all: Vec<(u64, Vec<Record>)> = self.blocks.0.iter().map(|(base, all)| (*base, all.clone())).collect();
        for (base, records) in all {
            for record in records {
                self.check_block(base, record)?;
            }
        }
        Ok(())
    }

    /// B2, B3.
    fn check_block(&mut self, base: u64, Record { of, freed }: Record) -> Done<()> {
        let frag = FragNo(base + u64::from(of.first));
        if let Some(has) = self.has(of, frag)? {
            if has != of.frags && has < of.frags {
                let tail = Use { first: of.first + has, frags: of.frags - has, ..of };
                let mask = self.blocks.unprotected(base, of) & tail.mask();
                self.volume.free(base, mask)?;
            }
            return Ok(());
        }
        let unprotected = self.blocks.unprotected(base, of);
        if of.lbn <= -12 && freed && unprotected == of.mask() {
            return self.free_tree(of.ino, Lbn(of.lbn), frag);
        }
        self.volume.free(base, unprotected)
    }

    /// The fragments that the inode has there, if its pointer is this one.
    fn has(&self, of: Use, frag: FragNo) -> Done<Option<u32>> {
        let dinode = self.volume.dinode(of.ino)?;
        if dinode.mode == 0 || dinode.nlink == 0 {
            return Ok(None);
        }
        let (pointer, frags) = self.volume.pointer(&dinode, Lbn(of.lbn))?;
        Ok((pointer == frag).then_some(frags))
    }

    /// Frees a run of an inode, except what is protected.
    fn free_run(&mut self, ino: u32, lbn: Lbn, frag: FragNo, frags: u32) -> Done<()> {
        let (base, first) = split(&self.volume.geo, frag);
        let of = Use { ino, lbn: lbn.0, first, frags };
        if self.blocks.is_cut_short(base, of) {
            self.leaks.insert(self.volume.geo.dtog(frag).0);
        }
        self.volume.free(base, self.blocks.unprotected(base, of))
    }

    /// Frees the blocks of a dying inode.
    pub(crate) fn free_blocks_of(&mut self, ino: u32, dinode: &ordo_ondisk::Dinode) -> Done<()> {
        for (lbn, frag, frags) in self.volume.blocks(dinode)? {
            self.free_run(ino, lbn, frag, frags)?;
        }
        Ok(())
    }

    /// B5.
    fn free_tree(&mut self, ino: u32, name: Lbn, frag: FragNo) -> Done<()> {
        let whole = self.volume.geo.frag;
        if self.is_trusted(ino, name, frag)? {
            let Some(level) = Geometry::indirect_level(name) else {
                return give_up(format!("no block of a file has the number {}", name.0));
            };
            let bytes = self.volume.block(frag)?;
            for index in 0..self.volume.geo.nindir {
                let child = self.volume.geo.pointer(&bytes, index).unwrap_or_default();
                let lbn = self.volume.geo.indirect_child(name, level, index);
                match level {
                    _ if child.is_hole() => {}
                    0 => self.free_run(ino, lbn, child, whole)?,
                    _ => self.free_tree(ino, lbn, child)?,
                }
            }
        }
        self.free_run(ino, name, frag, whole)
    }

    fn is_trusted(&mut self, ino: u32, name: Lbn, frag: FragNo) -> Done<bool> {
        let (base, first) = split(&self.volume.geo, frag);
        let Some(last) = self.blocks.0.get(&base).and_then(|records| records.last()) else { return Ok(true) };
        let this = Use { ino, lbn: name.0, first, frags: self.volume.geo.frag };
        let freed = last.of == this && last.freed;
        Ok(freed && !self.volume.is_free(base, self.quirks.wrong_bit)?)
    }
}
