//! Reading all groups at a mount: many reads in flight at a time, past the cache, which is still empty.

use crate::{Ffs, corrupt};
use ordo_buf::Role;
use ordo_disk::queue::Answer;
use ordo_disk::{Block, Tag};
use ordo_ondisk::cg::{self, Cg, CgMut};
use ordo_ondisk::{CgLayout, Cgx, Geometry};
use ordo_vfs::{Error, Result};
use std::collections::VecDeque;

/// Reads in flight at a time.
const READS: usize = 32;

impl Ffs {
    /// Takes the counts from the groups themselves: after a crash they are right, and the array may be stale. A group
    /// that cannot be read is marked bad, and the others are counted.
    pub(crate) async fn recount(&self) {
        self.suspects.begin(self.g.ncg);
        let mut reads: VecDeque<(Cgx, Answer<Block>)> = VecDeque::new();
        let mut next = 0;
        while next < self.g.ncg || !reads.is_empty() {
            while next < self.g.ncg && reads.len() < READS {
                let (addr, len) = self.group_place(self.g.cgtod(Cgx(next)));
                reads.push_back((Cgx(next), self.cache.queue().read(addr, len, Tag::of(Role::Maps))));
                next += 1;
            }
            let Some((c, read)) = reads.pop_front() else { return };
            let right = match read.await {
                Ok(block) => self.look_at_group(c, &block),
                Err(_) => false,
            };
            if !right && let Ok(group) = self.group(c).await {
                group.look(self, |cg| self.suspect_group(c, cg));
            }
        }
    }

    /// Takes over the counts of a group's block. `false` if it must be repaired, or marked bad.
    fn look_at_group(&self, c: Cgx, bytes: &[u8]) -> bool {
        let Ok(layout) = cg::check(bytes, &self.g, c) else { return false };
        let Some(cg) = Cg::new(bytes, layout, self.g.endian) else { return false };
        if self.suspects.at_work() && cg.stated() != cg.recount(cg.ndir()) {
            return false;
        }
        self.summary.set(c, cg.cs());
        self.suspect_group(c, &cg);
        true
    }

    fn suspect_group(&self, c: Cgx, cg: &Cg<'_>) {
        if self.suspects.at_work() {
            self.suspects.add_group(&self.g, c, cg);
        }
    }

    /// Checks a group's block in the cache, and repairs one that a crash may have torn (ffs-leaks-4).
    pub(crate) fn accept_group(&self, c: Cgx, buf: &ordo_buf::BufRef) -> Result<CgLayout> {
        let checked = cg::check(&buf.bytes(), &self.g, c);
        if !self.suspects.at_work() {
            return checked.map_err(corrupt);
        }
        let (layout, torn) = match checked {
            Ok(layout) => (layout, false),
            Err(damage) if self.g.cg_hash => {
                let mut any_hash = Geometry::clone(&self.g);
                any_hash.cg_hash = false;
                (cg::check(&buf.bytes(), &any_hash, c).map_err(|_| corrupt(damage))?, true)
            }
            Err(damage) => return Err(corrupt(damage)),
        };
        let too_short = || Error::corrupt("a group too short");
        let wrong = {
            let bytes = buf.bytes();
            let cg = Cg::new(&bytes, layout, self.g.endian).ok_or_else(too_short)?;
            torn || cg.stated() != cg.recount(cg.ndir())
        };
        if wrong {
            self.cache.modify(buf, |bytes| {
                CgMut::new(bytes, layout, self.g.endian).map(|mut group| self.mend_torn(&mut group))
            });
        }
        Ok(layout)
    }
}
