//! Blocks that records name.
//!
//! B1. A record is kept by the block on the disk in which it lies. What it says of fragments before is not looked at.
//!     Of equal uses a later allocation takes the place of the record before; a later free is ignored.
//! B2. A record counts as *there* only if the inode's pointer at its number is the very fragment that it names.
//! B3. There: fragments of the record beyond those that the file has by its size are freed. Not there: all are.
//! B4. A fragment is protected if a different use of it comes after the last record of the use that is freed.
//! B5. A freed tree that is not there is freed with what its pointers lead to, if its pointer block can be trusted: it
//!     has no record, or its last record is the one that frees it and the map still has it in use.

use crate::outcome::{Done, give_up};
use crate::replay::Replay;
use crate::uses::{Record, Use, split};
use ordo_ondisk::{FragNo, Geometry, Lbn};

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
