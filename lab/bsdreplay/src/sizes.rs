//! Counts of blocks, and truncations.
//!
//! T1. The blocks of each inode that records of blocks name are counted. If its last one is behind the direct ones, the
//!     inode is truncated to the end of that, which drops pointers beyond the size.
//! T2. A truncation never lets a file grow. It frees what is beyond the size, whatever later records say, and clears
//!     the pointers. A file does not end in a hole afterwards.

use crate::outcome::{Done, give_up};
use crate::replay::Replay;
use crate::volume::Order;
use ordo_ondisk::{Dinode, FragNo, Lbn};

/// The blocks of an inode.
struct Count {
    frags: u64,
    /// The last block of the file that is not a hole, or 0.
    last: u64,
}

impl Replay {
    fn count(&self, dinode: &Dinode) -> Done<Count> {
        let mut count = Count { frags: 0, last: 0 };
        for (lbn, _, frags) in self.volume.blocks(dinode)? {
            count.frags += u64::from(frags);
            count.last = count.last.max(u64::try_from(lbn.0).unwrap_or(0));
        }
        Ok(count)
    }

    fn sectors(&self, frags: u64) -> u64 {
        frags * u64::from(self.volume.geo.fsize / 512)
    }

    /// T1.
    pub(crate) fn count_blocks(&mut self, ino: u32) -> Done<()> {
        let mut dinode = self.volume.dinode(ino)?;
        if dinode.mode == 0 {
            return Ok(());
        }
        let count = self.count(&dinode)?;
        if count.last >= 12 {
            let end = (count.last + 1) * u64::from(self.volume.geo.bsize);
            return self.truncate(ino, dinode.size.min(end));
        }
        let blocks = self.sectors(count.frags);
        if dinode.blocks != blocks {
            dinode.blocks = blocks;
            self.volume.put_dinode(ino, &dinode)?;
        }
        Ok(())
    }

    /// T2.
    pub(crate) fn truncate(&mut self, ino: u32, size: u64) -> Done<()> {
        let mut dinode = self.volume.dinode(ino)?;
        if dinode.mode == 0 || dinode.is_device() || dinode.is_short_link(&self.volume.geo) {
            return Ok(());
        }
        let (before, bsize) = (dinode.clone(), u64::from(self.volume.geo.bsize));
        let size = size.min(before.size);
        let first = size.div_ceil(bsize);
        for (i, pointer) in dinode.db.iter_mut().enumerate().filter(|(i, frag)| *i as u64 >= first && !frag.is_hole()) {
            let frags = self.volume.frags_by_size(before.size, i as u64);
            let frag = std::mem::take(pointer);
            self.free_unseen(frag, frags)?;
        }
        let mut lowest = 12;
        for level in 0..dinode.ib.len() {
            let span = self.volume.geo.span(level + 1);
            let root = dinode.ib.get(level).copied().unwrap_or_default();
            if !root.is_hole()
                && lowest + span > first
                && self.trim(root, level, lowest, first)?
                && let Some(root) = dinode.ib.get_mut(level)
            {
                *root = FragNo::HOLE;
            }
            lowest += span;
        }
        let count = self.count(&dinode)?;
        let size = size.min((count.last + 1) * bsize);
        if count.last < 12 && count.frags > 0 {
            self.cut_tail(&dinode, before.size, size, count.last)?;
        }
        dinode.size = size;
        dinode.blocks = self.sectors(self.count(&dinode)?.frags);
        if dinode != before {
            self.volume.put_dinode(ino, &dinode)?;
        }
        if !size.is_multiple_of(bsize) && !dinode.is_dir() {
            self.zero_behind(&dinode)?;
        }
        Ok(())
    }

    /// Frees, without a look at later records.
    fn free_unseen(&mut self, frag: FragNo, frags: u32) -> Done<()> {
        let (base, first) = (self.volume.geo.blknum(frag).0, self.volume.geo.fragnum(frag));
        let mask = ((1u16 << frags.min(8)) - 1) << first;
        self.volume.free(base, mask as u8)
    }

    /// Frees what an indirect block has from block `first` on; `lowest` is the first that it has. Returns whether it
    /// was freed itself.
    fn trim(&mut self, frag: FragNo, level: usize, lowest: u64, first: u64) -> Done<bool> {
        let (mut bytes, span, mut cut) = (self.volume.block(frag)?, self.volume.geo.span(level), false);
        for index in 0..self.volume.geo.nindir {
            let child = self.volume.geo.pointer(&bytes, index).unwrap_or_default();
            let start = lowest + u64::from(index) * span;
            if child.is_hole() || start + span <= first {
                continue;
            }
            let gone = match level.checked_sub(1) {
                None => {
                    self.free_unseen(child, self.volume.geo.frag)?;
                    true
                }
                Some(level) => self.trim(child, level, start, first)?,
            };
            if gone {
                cut |= self.volume.geo.put_pointer(&mut bytes, index, FragNo::HOLE).is_some();
            }
        }
        if first <= lowest {
            self.free_unseen(frag, self.volume.geo.frag)?;
            return Ok(true);
        }
        if cut {
            let at = self.volume.geo.byte(frag).0;
            self.volume.write(at, &bytes, Order::Contents);
        }
        Ok(false)
    }

    fn cut_tail(&mut self, dinode: &Dinode, before: u64, after: u64, last: u64) -> Done<()> {
        let frag = dinode.db.get(last as usize).copied().unwrap_or_default();
        if frag.is_hole() {
            return give_up("a truncated file would end in a hole");
        }
        let (had, keeps) = (self.volume.frags_by_size(before, last), self.volume.frags_by_size(after, last));
        if keeps < had {
            self.free_unseen(frag.plus(keeps), had - keeps)?;
        }
        Ok(())
    }

    fn zero_behind(&mut self, dinode: &Dinode) -> Done<()> {
        let lbn = dinode.size / u64::from(self.volume.geo.bsize);
        let (frag, frags) = self.volume.pointer(dinode, Lbn(lbn as i64))?;
        if frag.is_hole() {
            return give_up("a truncated file has no last block");
        }
        let (from, to) = (self.volume.geo.blkoff(dinode.size), frags * self.volume.geo.fsize);
        let at = self.volume.geo.byte(frag).0 + u64::from(from);
        let zeroes = vec![0; to.saturating_sub(from) as usize];
        if self.volume.read(at, zeroes.len())? != zeroes {
            self.volume.write(at, &zeroes, Order::Contents);
        }
        Ok(())
    }
}
