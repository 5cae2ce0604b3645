//! Pointer blocks that were being freed: the blocks below them have no records of their own.
//!
//! Such a block is trusted only if it cannot have been reused: its last record is the one that frees it, and its group
//! still says that it is in use. A file system frees the block in its group last, after everything that the block leads
//! to. A block that was new in the journal is never followed: the blocks below it are newer, and have records.

use super::records::{Claim, FileBlock};
use super::replay::Replay;
use crate::outcome::NotReplayed;
use ordo_ondisk::{FragNo, Geometry, Lbn};

impl Replay {
    /// Adds everything below the freed trees to `implied`. The claims are sorted by block, then in the order of the
    /// journal.
    pub(super) async fn free_trees(&mut self, claims: &[Claim]) -> Result<(), NotReplayed> {
        let per_block = u64::from(self.geo.frag);
        for of_block in claims.chunk_by(|a, b| a.block.frag / per_block == b.block.frag / per_block) {
            // One that was new in the journal may never have been written: garbage would be taken for pointers.
            let Some(last) = of_block.last().filter(|_| of_block.iter().all(|claim| claim.freed)) else { continue };
            let FileBlock { ino, lbn, frag, count } = last.block;
            let Some(level) = Geometry::indirect_level(Lbn(lbn)) else { continue };
            if count != self.geo.frag || self.has(&last.block).await? || !self.in_use(FragNo(frag), count).await? {
                continue;
            }
            self.descend(claims, ino, Lbn(lbn), FragNo(frag), level).await?;
        }
        Ok(())
    }

    /// Whether the inode has the block where the record says.
    async fn has(&mut self, block: &FileBlock) -> Result<bool, NotReplayed> {
        let dinode = self.dinode(block.ino).await?;
        if dinode.mode == 0 || dinode.nlink == 0 {
            return Ok(false);
        }
        let now = self.mapped(block.ino, &dinode, Lbn(block.lbn)).await?;
        Ok(now.is_some_and(|(frag, _)| frag.0 == block.frag))
    }

    async fn descend(
        &mut self,
        claims: &[Claim],
        ino: u32,
        name: Lbn,
        frag: FragNo,
        level: usize,
    ) -> Result<(), NotReplayed> {
        let per_block = self.geo.frag;
        let mut waiting = vec![(name, frag, level)];
        while let Some((name, frag, level)) = waiting.pop() {
            // If it were visited twice, everything below it would be, and so on for each level.
            if self.late.insert(frag.0, level + 1).is_some() {
                return Err(NotReplayed::Endless);
            }
            let (line, within) = self.pointers(frag).await?;
            let block = line.get(within..).unwrap_or_default();
            for index in 0..self.geo.nindir {
                let child = self.geo.pointer(block, index).unwrap_or_default();
                let Some((child, count)) = self.in_range(ino, (child, per_block))? else { continue };
                self.spend(count.into())?;
                let lbn = self.geo.indirect_child(name, level, index);
                self.implied.push(FileBlock { ino, lbn: lbn.0, frag: child.0, count });
                if level > 0 && !recorded(claims, child, per_block) && self.in_use(child, count).await? {
                    waiting.push((lbn, child, level - 1));
                }
            }
        }
        Ok(())
    }
}

/// Whether any record names a part of the block at `frag`.
fn recorded(claims: &[Claim], frag: FragNo, per_block: u32) -> bool {
    let block = |frag: u64| frag / u64::from(per_block);
    claims.binary_search_by_key(&block(frag.0), |claim| block(claim.block.frag)).is_ok()
}
