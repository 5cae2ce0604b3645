//! Steps 6 to 8: the blocks that records name, and the sizes of their files.
//!
//! First every surviving file is repaired: truncated if that was in progress, without pointers beyond its end, its
//! blocks counted. Then the blocks that its records name are looked up in it, and those that no file owns are free
//! (recover-suj-2).

use super::group::InodeKind;
use super::records::FileBlock;
use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use crate::walk::{Pointer, Slot, Walk};
use ordo_ondisk::{ByteOff, Dinode, FragNo, Lbn};
use std::collections::BTreeSet;

/// The block of the volume in which these fragments lie, and they as bits of it.
fn bits(block: &FileBlock, per_block: u32) -> (u64, u8) {
    let within = (block.frag % u64::from(per_block)) as u32;
    let mask = ((1u16 << block.count.min(8)) - 1) << within;
    (block.frag - u64::from(within), mask as u8)
}

impl Replay {
    pub(super) async fn settle_blocks(&mut self) -> Result<(), NotReplayed> {
        let mut claims = std::mem::take(&mut self.claims);
        let mut inos: BTreeSet<u32> = claims.iter().map(|claim| claim.block.ino).collect();
        inos.extend(self.truncations.keys());
        for ino in inos {
            let dinode = self.dinode(ino).await?;
            if dinode.mode == 0 {
                self.inode_bits.entry(ino).or_insert((false, InodeKind::Unknown));
            } else if dinode.nlink > 0 {
                self.make_whole(ino, dinode).await?;
            }
        }
        let per_block = u64::from(self.geo.frag);
        claims.sort_unstable_by_key(|claim| (claim.block.frag / per_block, claim.seq));
        self.free_trees(&claims).await?;
        let mut named: Vec<FileBlock> = claims.into_iter().map(|claim| claim.block).collect();
        named.append(&mut self.implied);
        let owned = self.owned(&mut named).await?;
        self.mark_blocks(&named, &owned).await
    }

    /// Which fragments the named blocks have now, sorted by fragment.
    async fn owned(&mut self, named: &mut Vec<FileBlock>) -> Result<Vec<FileBlock>, NotReplayed> {
        named.sort_unstable();
        named.dedup();
        let mut owned = vec![];
        for of_one in named.chunk_by(|a, b| a.ino == b.ino) {
            let Some(ino) = of_one.first().map(|block| block.ino) else { continue };
            let dinode = self.dinode(ino).await?;
            if dinode.mode == 0 || dinode.nlink == 0 {
                continue;
            }
            for of_block in of_one.chunk_by(|a, b| a.lbn == b.lbn) {
                let Some(lbn) = of_block.first().map(|block| block.lbn) else { continue };
                if let Some((frag, count)) = self.mapped(ino, &dinode, Lbn(lbn)).await? {
                    owned.push(FileBlock { ino, lbn, frag: frag.0, count });
                }
            }
        }
        owned.sort_unstable_by_key(|block| block.frag);
        let overlap = |pair: &&[FileBlock]| matches!(pair, [a, b] if b.frag < a.frag + u64::from(a.count));
        if let Some([a, b]) = owned.windows(2).find(overlap) {
            return Err(NotReplayed::Shared { frag: b.frag, first: a.ino, second: b.ino });
        }
        Ok(owned)
    }

    /// Frees what is named and not owned.
    async fn mark_blocks(&mut self, named: &[FileBlock], owned: &[FileBlock]) -> Result<(), NotReplayed> {
        let per_block = self.geo.frag;
        let mut named: Vec<(u64, u8)> = named.iter().map(|block| bits(block, per_block)).collect();
        named.sort_unstable();
        let mut owned = owned.iter().map(|block| bits(block, per_block)).peekable();
        for of_block in named.chunk_by(|a, b| a.0 == b.0) {
            let Some(base) = of_block.first().map(|(base, _)| *base) else { continue };
            let covered = of_block.iter().fold(0, |all, (_, mask)| all | mask);
            let mut used = 0;
            while let Some((at, mask)) = owned.next_if(|(at, _)| *at <= base) {
                used |= if at == base { mask } else { 0 };
            }
            if used != 0 {
                self.late.remove(&base);
            } else if self.late.contains_key(&base) {
                continue;
            }
            self.done.freed_frags += u64::from(self.mark(FragNo(base), covered & !used, used).await?);
        }
        Ok(())
    }

    /// Steps 6 and 8: repairs size, pointers and block count of a surviving file.
    async fn make_whole(&mut self, ino: u32, mut dinode: Dinode) -> Result<(), NotReplayed> {
        let (before, bsize) = (dinode.clone(), u64::from(self.geo.bsize));
        let (mut frags, mut end, mut beyond) = (0u64, 0u64, 0u64);
        let mut walk = Walk::new(&self.geo, &dinode);
        while let Some(pointer) = self.step(ino, &mut walk).await? {
            frags += u64::from(pointer.count);
            if matches!(pointer.slot, Slot::Direct(_)) && pointer.lbn >= dinode.size.div_ceil(bsize) {
                // The number of its fragments is not known.
                return Err(NotReplayed::Inode { ino, what: "it has a block beyond its end" });
            }
            if !matches!(pointer.slot, Slot::Ext(_)) {
                beyond = beyond.max(pointer.lbn + 1);
                end = end.max(if pointer.level == 0 { pointer.lbn + 1 } else { 0 });
            }
        }
        if dinode.has_blocks(&self.geo) {
            dinode.size = dinode.size.min(self.truncations.get(&ino).copied().unwrap_or(u64::MAX));
            // No file may end in a hole, and no pointer may lead beyond its end.
            let within = dinode.size.div_ceil(bsize).min(end);
            dinode.size = dinode.size.min(self.populated(ino, &before, within).await? * bsize);
            if dinode.size < before.size || beyond > dinode.size.div_ceil(bsize) {
                frags -= self.cut(ino, &before, &mut dinode).await?;
            }
        }
        dinode.blocks = frags * u64::from(self.geo.fsize / 512);
        if dinode != before {
            self.put_dinode(ino, &dinode).await?;
        }
        Ok(())
    }

    /// The end of the last block before `end` that is not a hole.
    async fn populated(&mut self, ino: u32, dinode: &Dinode, end: u64) -> Result<u64, NotReplayed> {
        if end > 0 && self.mapped(ino, dinode, Lbn(end as i64 - 1)).await?.is_some() {
            return Ok(end);
        }
        let (mut last, mut walk) = (0, Walk::new(&self.geo, dinode));
        while let Some(pointer) = self.step(ino, &mut walk).await? {
            if pointer.level == 0 && !matches!(pointer.slot, Slot::Ext(_)) && pointer.lbn < end {
                last = last.max(pointer.lbn + 1);
            }
        }
        Ok(last)
    }

    /// Removes what `before` has beyond the new size of `dinode`; returns its fragments.
    async fn cut(&mut self, ino: u32, before: &Dinode, dinode: &mut Dinode) -> Result<u64, NotReplayed> {
        let bsize = u64::from(self.geo.bsize);
        let (blocks, mut dropped, mut gone_to) = (dinode.size.div_ceil(bsize), 0, 0);
        let mut walk = Walk::new(&self.geo, before);
        while let Some(pointer) = self.step(ino, &mut walk).await? {
            if matches!(pointer.slot, Slot::Ext(_)) {
                continue;
            }
            if pointer.lbn >= blocks {
                dropped += u64::from(pointer.count);
                self.implied.push(FileBlock::of(ino, &pointer));
                // Everything below a removed indirect block is freed with it, and the block itself is not changed.
                if pointer.lbn >= gone_to {
                    self.drop_pointer(dinode, pointer.slot).await?;
                    gone_to = pointer.lbn.saturating_add(self.geo.span(pointer.level));
                }
            } else if pointer.level == 0 && pointer.lbn + 1 == blocks {
                dropped += self.cut_last(ino, before, dinode.size, &pointer).await?;
            }
        }
        Ok(dropped)
    }

    /// Truncates the last block to the size, and clears the bytes after it; returns the freed fragments.
    async fn cut_last(&mut self, ino: u32, before: &Dinode, size: u64, pointer: &Pointer) -> Result<u64, NotReplayed> {
        let keep = self.geo.blkfrags(size, pointer.lbn).clamp(1, pointer.count);
        let (from, to) = (self.geo.blkoff(size), keep * self.geo.fsize);
        if size < before.size && from != 0 && from < to && !before.is_dir() {
            let at = ByteOff(self.geo.byte(pointer.frag).0 + u64::from(from));
            self.image.write(at, &vec![0; (to - from) as usize], Order::Contents).await?;
        }
        if keep < pointer.count {
            let tail = Pointer { frag: pointer.frag.plus(keep), count: pointer.count - keep, ..*pointer };
            self.implied.push(FileBlock::of(ino, &tail));
        }
        Ok(u64::from(pointer.count - keep))
    }

    /// Sets the bitmaps of inodes.
    pub(super) async fn settle_inode_maps(&mut self) -> Result<(), NotReplayed> {
        self.done.freed_inodes = self.reclaimed.len() as u64;
        for (ino, (used, kind)) in std::mem::take(&mut self.inode_bits) {
            let changed = self.mark_inode(ino, used, kind).await?;
            let freed = changed && !used && !self.reclaimed.contains(&ino);
            self.done.freed_inodes += u64::from(freed);
        }
        Ok(())
    }
}
