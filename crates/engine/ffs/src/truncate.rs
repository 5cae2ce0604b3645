//! Sizes, holes, and the end of a file.
//!
//! Z1. A file never ends in a hole, and the bytes between its end and the end of its last fragment are zero: code that
//!     grows it later relies on that.
//! Z2. A direct pointer changes in one change of the dinode with the size that covers it.

use crate::Ffs;
use crate::balloc::size_field;
use crate::cut::{Runs, Why};
use ordo_buf::{Fields, Freed, Key, Op, Run, Step};
use ordo_ondisk::{FragNo, Lbn};
use ordo_ufs::{Inode, Once};
use ordo_vfs::{Caller, Refusal, Result};

impl Ffs {
    pub(crate) async fn truncate(&self, op: Op, who: &Caller, inode: &Inode, size: u64) -> Result<()> {
        if size > self.g.maxfilesize {
            return Err(Refusal::TooBig.into());
        }
        let now = inode.size();
        if size > now {
            return self.store_last_byte(op, who, inode, size, &mut |block, at| block[at] = 0).await;
        }
        if size == now {
            return Ok(());
        }
        self.can_be_cut(inode, self.g.lblkno(size))?;
        self.block_of(inode).await?;
        if size > 0 {
            self.end_in_data(op, inode, size).await?;
        }
        let keep = size.div_ceil(self.g.bsize.into());
        let (mut to, mut met) = (u64::MAX, Once::default());
        while let Some(lowest) = self.cut_piece(op, inode, keep.max(12), to, Why::Shrink(size), &mut met).await? {
            to = lowest;
        }
        self.cut_direct(op, inode, size).await
    }

    /// Writes the last byte of a file of `size` bytes, which allocates its block.
    async fn store_last_byte(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        size: u64,
        touch: &mut dyn FnMut(&mut [u8], usize),
    ) -> Result<()> {
        let (lbn, at) = (self.g.lblkno(size - 1), self.g.blkoff(size - 1) as usize);
        let mut fill = |block: &mut [u8]| touch(block, at);
        self.write_block(op, who, inode, Lbn(lbn as i64), at, at + 1, &mut fill).await.map(drop)
    }

    /// Allocates the block in which the file will end, and zeroes the rest of it (Z1).
    async fn end_in_data(&self, op: Op, inode: &Inode, size: u64) -> Result<()> {
        if self.block(inode, Lbn(self.g.lblkno(size - 1) as i64)).await?.is_none() {
            // Truncating a file must not fail because only the reserve is left.
            let who = Caller { privileged: true, ..Caller::default() };
            return self.store_last_byte(op, &who, inode, size, &mut |_, _| {}).await;
        }
        self.zero_behind(op, inode, size).await
    }

    /// Zeroes the bytes behind byte `size` in its block (Z1). Not in a directory: its empty chunks there have the form
    /// that it needs when it grows again.
    pub(crate) async fn zero_behind(&self, op: Op, inode: &Inode, size: u64) -> Result<()> {
        let (lbn, end) = (Lbn(self.g.lblkno(size) as i64), self.g.blkoff(size) as usize);
        if end == 0 || inode.is_dir() {
            return Ok(());
        }
        let Some(block) = self.block(inode, lbn).await? else { return Ok(()) };
        let clear = match self.cache.keeps_bytes(&block) {
            true => block.bytes().get(end..).is_none_or(|rest| rest.iter().all(|&b| b == 0)),
            // Behind the end of the file all is zero (Z1); of what is cut off it is not known, and seldom is.
            false => size >= inode.size(),
        };
        if clear {
            return Ok(());
        }
        self.cache.before_change(&block).await;
        self.cache.modify(&block, |bytes| bytes[end..].fill(0));
        self.report(op, Step::DataWritten { ino: inode.ino(), lbn, block: &block }).await
    }

    /// Cuts the direct blocks to `size`, the last one to the fragments that it needs, and sets the size.
    async fn cut_direct(&self, op: Op, inode: &Inode, size: u64) -> Result<()> {
        let (ino, keep) = (inode.ino(), size.div_ceil(self.g.bsize.into()).min(12) as usize);
        let mut gone = Runs::default();
        if let Some(last) = keep.checked_sub(1) {
            let (run, frags) = (self.direct_run(inode, last)?, self.g.blkfrags(size, last as u64));
            if run.frags > frags {
                let tail = Run { at: run.at.plus(frags), frags: run.frags - frags };
                self.add_tail(&mut gone, Lbn(last as i64), frags, tail);
                if let Some(block) = self.cache.find(Key::File(ino, Lbn(last as i64))) {
                    self.cache.before_change(&block).await;
                    self.cache.resize(&block, (frags * self.g.fsize) as usize);
                }
            }
        }
        self.drop_direct(inode, keep, 12, &mut gone)?;
        if gone.frags == 0 && inode.size() == size {
            return Ok(());
        }
        inode.dinode_mut().size = size;
        self.tell_released(op, inode, gone).await?;
        let inode_buf = self.block_of(inode).await?;
        self.report(op, Step::InodeChanged { ino, inode: &inode_buf, fields: size_field(inode) }).await
    }

    /// Clears direct pointers, adds what they led to to `gone`, and discards the bufs. Nothing has changed after an
    /// error.
    fn drop_direct(&self, inode: &Inode, from: usize, to: usize, gone: &mut Runs) -> Result<()> {
        if inode.dinode().db[from..to].iter().all(|p| p.is_hole()) {
            return Ok(());
        }
        for i in from..to {
            let run = self.direct_run(inode, i)?;
            if run.frags > 0 {
                self.add_run(gone, Lbn(i as i64), run.at, run.frags);
            }
        }
        let mut dinode = inode.dinode_mut();
        for i in from..to {
            if !std::mem::take(&mut dinode.db[i]).is_hole() {
                self.cache.discard_key(Key::File(inode.ino(), Lbn(i as i64)));
            }
        }
        Ok(())
    }

    /// Stores the inode, from which the pointers to `gone` were cleared, and reports that.
    async fn tell_released(&self, op: Op, inode: &Inode, gone: Runs) -> Result<()> {
        let ino = inode.ino();
        {
            let mut dinode = inode.dinode_mut();
            dinode.blocks = dinode.blocks.saturating_sub(self.sectors(gone.frags));
        }
        let at = self.store(inode).await?;
        if gone.frags == 0 {
            return Ok(());
        }
        let ticket = self.cache.ledger().issue(Freed::Blocks { ino, runs: gone.runs });
        self.report(op, Step::BlocksReleased { ino, at: &at, blocks: &gone.blocks, ticket }).await
    }

    pub(crate) async fn punch(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        let number = |lbn: Lbn| u64::try_from(lbn.0).unwrap_or(0);
        let blocks = inode.size().div_ceil(self.g.bsize.into());
        let (from, mut to) = (number(from), number(to).min(blocks));
        if from >= to {
            return Ok(());
        }
        self.can_be_cut(inode, from)?;
        self.block_of(inode).await?;
        if to == blocks {
            // The last block stays, since the file must not end in a hole (Z1); it reads as zeroes.
            to -= 1;
            let lbn = Lbn(to as i64);
            if let Some(block) = self.block(inode, lbn).await? {
                self.cache.before_change(&block).await;
                self.cache.modify(&block, |bytes| bytes.fill(0));
                self.report(op, Step::DataWritten { ino: inode.ino(), lbn, block: &block }).await?;
            }
        }
        let (mut end, mut met) = (to, Once::default());
        while let Some(lowest) = self.cut_piece(op, inode, from.max(12), end, Why::Punch, &mut met).await? {
            end = lowest;
        }
        let mut gone = Runs::default();
        let direct = |lbn: u64| lbn.min(12) as usize;
        self.drop_direct(inode, direct(from), direct(to), &mut gone)?;
        if gone.frags == 0 {
            return Ok(());
        }
        self.tell_released(op, inode, gone).await?;
        let (ino, at) = (inode.ino(), self.block_of(inode).await?);
        self.report(op, Step::InodeChanged { ino, inode: &at, fields: Fields::Times }).await
    }

    pub(crate) async fn release(&self, op: Op, inode: &Inode) -> Result<()> {
        let ino = inode.ino();
        self.block_of(inode).await?;
        let (has_blocks, has_tree) = {
            let dinode = inode.dinode();
            let has_blocks = dinode.has_blocks(&self.g);
            (has_blocks, has_blocks && dinode.ib.iter().any(|p| !p.is_hole()))
        };
        self.can_be_cut(inode, 0)?;
        let (mut to, mut met) = (u64::MAX, Once::default());
        while has_tree && let Some(lowest) = self.cut_piece(op, inode, 12, to, Why::Shrink(0), &mut met).await? {
            to = lowest;
        }
        let mut gone = Runs::default();
        self.count_attributes(inode, &mut gone)?;
        if has_blocks {
            self.drop_direct(inode, 0, 12, &mut gone)?;
        }
        self.drop_attribute_bufs(inode);
        let directory = inode.is_dir();
        {
            let mut dinode = inode.dinode_mut();
            (dinode.mode, dinode.nlink, dinode.flags, dinode.freelink) = (0, 0, 0, 0);
            (dinode.size, dinode.blocks, dinode.extsize) = (0, 0, 0);
            (dinode.db, dinode.ib, dinode.extb) = ([FragNo::HOLE; 12], [FragNo::HOLE; 3], [FragNo::HOLE; 2]);
        }
        let freed_blocks = self.tell_released(op, inode, gone).await;
        // Whether or not freeing the blocks failed, the dinode is cleared, and its number is freed.
        let at = self.block_of(inode).await?;
        let ticket = self.cache.ledger().issue(Freed::Inode { ino, directory });
        let freed_inode = self.report(op, Step::InodeReleased { ino, inode: &at, ticket }).await;
        freed_blocks.and(freed_inode)
    }
}
