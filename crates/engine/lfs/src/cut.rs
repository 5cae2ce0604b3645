//! Freeing blocks of files: truncate, punch, and the end of an inode.
//!
//! C1. What leads to the blocks is read first; then pointers, counts and size change without a wait (block-1).
//! C2. A freed block stays counted in its segment until the inode that led to it is written (engine-lfs-4): until
//!     then a crash finds the old inode, and it must find the old block.
//! C3. What a call frees has one pointer of the file each ([`Once`]): that is checked before the first one is cleared.

use crate::Lfs;
use ordo_buf::{BufRef, Key, Op};
use ordo_ondisk::lfs::Daddr;
use ordo_ondisk::{Corrupt, FragNo, Lbn, NIADDR, Rule, Structure};
use ordo_ufs::{Inode, Once};
use ordo_vfs::{Caller, Error, Refusal, Result};
use std::ops::Range;

/// What leads to blocks that are about to be freed.
struct Doomed {
    dinode: BufRef,
    /// Indirect blocks with a pointer into the range, from the deepest up.
    indirect: Vec<(BufRef, Span)>,
}

#[derive(Clone, Copy)]
struct Span {
    name: Lbn,
    /// Levels of indirect blocks below it.
    below: usize,
    /// First block that it leads to.
    first: u64,
}

impl Lfs {
    pub(crate) async fn truncate(&self, op: Op, who: &Caller, inode: &Inode, size: u64) -> Result<()> {
        let (now, block) = (inode.size(), u64::from(self.log.g.bsize));
        if size > self.log.g.maxfilesize {
            return Err(Refusal::TooBig.into());
        }
        if size > now {
            // As in FFS a file ends in a block: NetBSD cuts one that does not.
            let (lbn, at) = ((size - 1) / block, ((size - 1) % block) as usize);
            let mut fill = |bytes: &mut [u8]| bytes[at] = 0;
            self.write_block(op, who, inode, Lbn(lbn.cast_signed()), at, at + 1, &mut fill).await?;
            return Ok(());
        }
        if size < now {
            self.cut(inode, size).await?;
        }
        Ok(())
    }

    /// Shortens a file or a directory to `size` bytes.
    pub(crate) async fn cut(&self, inode: &Inode, size: u64) -> Result<()> {
        let before = self.log.on_disk.borrow().get(&inode.ino()).map_or(0, |disk| disk.size);
        self.cut_from(inode, before, size).await
    }

    /// The same, where the freed blocks are as long as in a file of `before` bytes.
    pub(crate) async fn cut_from(&self, inode: &Inode, before: u64, size: u64) -> Result<()> {
        if !self.log.has_blocks(&inode.dinode()) || (inode.size() == 0 && inode.dinode().blocks == 0) {
            return Ok(());
        }
        let g = &self.log.g;
        let keep = g.file_blocks(size);
        let last = match size {
            0 => None,
            _ => self.block(inode, Lbn(keep.cast_signed() - 1)).await?,
        };
        let doomed = self.doomed(inode, keep..u64::MAX).await?;
        if let Some(last) = last {
            let lbn = Lbn(keep.cast_signed() - 1);
            let length = self.log.length(size, lbn) as usize;
            let less = last.len().saturating_sub(length);
            let within = ((size - 1) % u64::from(g.bsize) + 1) as usize;
            self.cache.resize(&last, length.min(last.len()));
            self.cache.modify(&last, |bytes| bytes[within..].fill(0));
            let mut dinode = inode.dinode_mut();
            dinode.blocks = dinode.blocks.saturating_sub((less / 512) as u64);
        }
        self.free_range(inode, &doomed, before, keep..u64::MAX)?;
        inode.dinode_mut().size = size;
        self.put(inode, &doomed.dinode)
    }

    pub(crate) async fn punch(&self, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        let range = from.0.unsigned_abs()..to.0.unsigned_abs();
        // The last block stays: a file ends in one.
        let range = range.start..range.end.min(self.log.g.file_blocks(inode.size()));
        // Behind the end there is nothing: blocks that a refused allocation had filled there went with the end.
        if range.is_empty() {
            return Ok(());
        }
        let doomed = self.doomed(inode, range.clone()).await?;
        let before = self.log.on_disk.borrow().get(&inode.ino()).map_or(0, |disk| disk.size);
        self.free_range(inode, &doomed, before, range)?;
        self.put(inode, &doomed.dinode)
    }

    /// Reads the indirect blocks that lead into the range.
    async fn doomed(&self, inode: &Inode, range: Range<u64>) -> Result<Doomed> {
        let (dinode, tree) = (self.block_of(inode).await?, self.log.g.tree());
        let (mut indirect, mut first) = (Vec::new(), crate::block::DIRECT);
        let mut met = Once::default();
        for root in 0..NIADDR {
            let span = Span { name: tree.indirect_root(root), below: root, first };
            self.descend(inode, &dinode, span, &range, &mut indirect, &mut met).await?;
            first = first.saturating_add(tree.span(root + 1));
        }
        Ok(Doomed { dinode, indirect })
    }

    async fn descend(
        &self,
        inode: &Inode,
        dinode: &BufRef,
        span: Span,
        range: &Range<u64>,
        found: &mut Vec<(BufRef, Span)>,
        met: &mut Once,
    ) -> Result<()> {
        let tree = self.log.g.tree();
        let most = self.log.most_indirect();
        let mut waiting = vec![span];
        let mut order = Vec::new();
        while let Some(span) = waiting.pop() {
            let after = span.first.saturating_add(tree.span(span.below + 1));
            if span.first >= range.end || after <= range.start {
                continue;
            }
            let way = self.log.indirects_above(dinode, span.name).await?;
            if tree.parent(span.name).is_some() && way.is_empty() {
                continue;
            }
            self.meet(inode, met, self.log.pointer_now(dinode, &way, span.name))?;
            let Some(buf) = self.log.indirect(dinode, way.last(), inode.ino(), span.name).await? else { continue };
            if span.below == 0 {
                for index in 0..self.log.g.nindir {
                    if range.contains(&(span.first + u64::from(index))) {
                        let at = self.log.encoding.pointer(&buf.bytes(), index).unwrap_or(FragNo::HOLE);
                        self.meet(inode, met, at.into())?;
                    }
                }
            }
            if span.below > 0 {
                for index in 0..self.log.g.nindir {
                    let name = tree.indirect_child(span.name, span.below, index);
                    let first = span.first + tree.span(span.below) * u64::from(index);
                    let there = !self.log.encoding.pointer(&buf.bytes(), index).unwrap_or(FragNo::HOLE).is_hole();
                    if there || self.cache.find(Key::File(inode.ino(), name)).is_some() {
                        waiting.push(Span { name, below: span.below - 1, first });
                    }
                }
            }
            order.push((buf, span));
            if found.len() + order.len() > most {
                return Err(Error::corrupt(crate::block::cycle(inode.ino(), order.len() as u64)));
            }
        }
        // From the deepest up.
        order.sort_by_key(|(_, span)| span.below);
        found.extend(order);
        Ok(())
    }

    /// A pointer to something that will be freed (C3).
    fn meet(&self, inode: &Inode, met: &mut Once, at: Daddr) -> Result<()> {
        if at.is_hole() || met.add(at.0, self.log.g.block_units.into()) {
            return Ok(());
        }
        let rule = Rule::Words("to which another pointer of the file leads, too");
        let damage = Corrupt::new(Structure::Inode(inode.ino()), "block pointer", at.0, rule);
        let text = format!("inode {}: two of its pointers lead to address {}", inode.ino().0, at.0);
        Err(Error::corrupt(damage).told_as(text))
    }

    /// Clears the pointers of the range; without a wait (C1).
    fn free_range(&self, inode: &Inode, doomed: &Doomed, size: u64, range: Range<u64>) -> Result<()> {
        let (ino, log) = (inode.ino(), &self.log);
        let mut freed = Freed { sectors: 0, dead: Vec::new() };
        // What has no place yet is in the cache alone.
        let (first, last) = (Lbn(range.start.cast_signed()), Lbn(i64::try_from(range.end).unwrap_or(i64::MAX)));
        for buf in self.cache.dirty_run(ino, first, last) {
            freed.sectors += (buf.len() / 512) as u64;
        }
        let blocks = log.g.file_blocks(size.max(inode.size()));
        for lbn in range.start..range.end.min(crate::block::DIRECT) {
            let (within, lbn) = (lbn < blocks, Lbn(lbn.cast_signed()));
            let at = log.direct_pointer(&doomed.dinode, lbn);
            // Most files are shorter.
            if at.is_hole() && !within {
                continue;
            }
            let from = log.pointers_at();
            let put = |bytes: &mut [u8]| log.encoding.put_pointer(&mut bytes[from..], lbn.0 as u32, FragNo::HOLE);
            if !at.is_hole() {
                self.cache.modify(&doomed.dinode, put);
            }
            self.free_block(inode, lbn, at, log.length(size, lbn), &mut freed);
        }
        for (buf, span) in &doomed.indirect {
            self.free_below(inode, doomed, buf, *span, &range, &mut freed)?;
        }
        let mut dinode = inode.dinode_mut();
        dinode.blocks = dinode.blocks.saturating_sub(freed.sectors);
        log.on_disk.borrow_mut().entry(ino).or_default().dead.append(&mut freed.dead);
        Ok(())
    }

    /// A block is gone: its buf, and later its bytes in its segment (C2).
    fn free_block(&self, inode: &Inode, lbn: Lbn, at: Daddr, length: u32, freed: &mut Freed) {
        let key = Key::File(inode.ino(), lbn);
        let dirty = self.cache.find(key).is_some_and(|buf| buf.is_dirty());
        if !at.is_hole() {
            freed.dead.push((at, length));
            // A dirty one was counted as it is in the cache.
            freed.sectors += if dirty { 0 } else { u64::from(length / 512) };
        }
        self.cache.discard_key(key);
    }

    /// The pointers of an indirect block into the range; the block itself, if it leads nowhere else.
    fn free_below(
        &self,
        inode: &Inode,
        doomed: &Doomed,
        buf: &BufRef,
        span: Span,
        range: &Range<u64>,
        freed: &mut Freed,
    ) -> Result<()> {
        let (log, tree) = (&self.log, self.log.g.tree());
        let each = tree.span(span.below);
        if span.below == 0 {
            for index in 0..log.g.nindir {
                let lbn = span.first + u64::from(index);
                if range.contains(&lbn) {
                    let at: Daddr = log.encoding.pointer(&buf.bytes(), index).unwrap_or(FragNo::HOLE).into();
                    if !at.is_hole() {
                        self.cache.modify(buf, |bytes| log.encoding.put_pointer(bytes, index, FragNo::HOLE));
                    }
                    self.free_block(inode, Lbn(lbn.cast_signed()), at, log.g.bsize, freed);
                }
            }
        }
        let after = span.first.saturating_add(each.saturating_mul(log.g.nindir.into()));
        if range.start > span.first || range.end < after {
            return Ok(());
        }
        let at = self.clear_pointer(inode, doomed, span.name)?;
        if buf.is_dirty() || !at.is_hole() {
            freed.sectors += u64::from(log.g.bsize / 512);
        }
        if !at.is_hole() {
            freed.dead.push((at, log.g.bsize));
        }
        self.cache.discard(buf);
        Ok(())
    }

    /// Clears the pointer to an indirect block; returns where it led.
    fn clear_pointer(&self, inode: &Inode, doomed: &Doomed, name: Lbn) -> Result<Daddr> {
        let log = &self.log;
        let missing = || Error::bug("an indirect block is not in memory");
        let Some((above, index)) = log.g.tree().parent(name) else {
            let index = log.pointer_in_inode(name).ok_or_else(missing)?;
            let at = log.direct_pointer(&doomed.dinode, name);
            if !at.is_hole() {
                let from = log.pointers_at();
                let put = |bytes: &mut [u8]| log.encoding.put_pointer(&mut bytes[from..], index, FragNo::HOLE);
                self.cache.modify(&doomed.dinode, put);
            }
            return Ok(at);
        };
        let above = self.cache.find(Key::File(inode.ino(), above)).ok_or_else(missing)?;
        let at: Daddr = log.encoding.pointer(&above.bytes(), index).unwrap_or(FragNo::HOLE).into();
        if !at.is_hole() {
            self.cache.modify(&above, |bytes| log.encoding.put_pointer(bytes, index, FragNo::HOLE));
        }
        Ok(at)
    }
}

/// What a call frees.
struct Freed {
    sectors: u64,
    dead: Vec<(Daddr, u32)>,
}
