//! Sizes and holes: truncate, fallocate, seek.

use crate::{Inode, Layout, Mapped, Ufs, attr};
use ordo_buf::{CallKind, Fields, Op};
use ordo_ondisk::Lbn;
use ordo_vfs::{Caller, FallocMode, Kind, Refusal, Result, Whence};
use std::ops::Range;
use std::rc::Rc;

impl<L: Layout> Ufs<L> {
    /// Sets the size of a file, or of a directory that has no names left. The inode's lock is held.
    pub(crate) async fn resize(&self, op: Op, inode: &Rc<Inode>, size: u64) -> Result<()> {
        if size == inode.size() {
            return Ok(());
        }
        inode.read_stored.set(0);
        let who = Caller { uid: inode.dinode().uid, privileged: true, ..Caller::default() };
        self.layout.truncate(op, &who, inode, size).await
    }

    /// Allocates, zeroes or frees a range of a file.
    pub(crate) async fn fallocate(
        &self,
        who: &Caller,
        inode: &Rc<Inode>,
        offset: u64,
        len: u64,
        mode: FallocMode,
    ) -> Result<()> {
        if inode.kind() != Some(Kind::Regular) {
            return Err(if inode.is_dir() { Refusal::IsDirectory } else { Refusal::Invalid }.into());
        }
        let end = offset.checked_add(len).ok_or(Refusal::TooBig)?;
        if len == 0 {
            return Err(Refusal::Invalid.into());
        }
        if end > self.layout.shape().maxfilesize {
            return Err(Refusal::TooBig.into());
        }
        attr::may_change(inode)?;
        let appends = matches!(mode, FallocMode::Allocate { .. });
        if !appends && inode.dinode().flags & attr::flags::APPEND != 0 {
            return Err(Refusal::NotPermitted.into());
        }
        self.call_with_room(CallKind::Allocate, async |op| {
            let _alone = inode.lock.write().await;
            inode.read_stored.set(0);
            match mode {
                FallocMode::Allocate { keep_size } => self.fill_range(op, who, inode, offset, end, keep_size).await?,
                FallocMode::PunchHole => self.zero_range(op, who, inode, offset, end.min(inode.size())).await?,
                FallocMode::ZeroRange { keep_size } => {
                    // Stored blocks are overwritten in place; holes come first, since there may be no room for them.
                    let stored = end.min(inode.size());
                    self.fill_range(op, who, inode, offset, end, keep_size).await?;
                    self.zero_bytes(op, who, inode, offset, stored).await?;
                }
            }
            let now = self.now();
            attr::set_times(&mut inode.dinode_mut(), None, Some(now), Some(now));
            self.changed(op, inode, Fields::Times).await.map(drop)
        })
        .await
    }

    /// Allocates the holes in the range. The format has no blocks beyond the end of a file, so a size that must be kept
    /// limits the range.
    async fn fill_range(
        &self,
        op: Op,
        who: &Caller,
        inode: &Rc<Inode>,
        offset: u64,
        end: u64,
        keep_size: bool,
    ) -> Result<()> {
        let shape = self.layout.shape();
        let end = if keep_size { end.min(inode.size()) } else { end };
        let before = inode.size();
        let mut filled: Vec<Range<u64>> = Vec::new();
        let (mut at, mut met) = (offset, 0);
        while at < end {
            let lbn = shape.lblkno(at);
            let next = end.min((lbn + 1) * u64::from(shape.bsize()));
            let hole = matches!(self.layout.map(inode, Lbn(lbn as i64), 1).await?, Mapped::Hole { .. });
            met += u64::from(!hole);
            shape.bound(inode.ino(), met)?;
            if hole || next > inode.size() {
                // The layout does not read bytes that are about to be written, and nothing is written here: a range
                // that began before the end of the file would lose what the file has there.
                let first = if hole { at } else { at.max(inode.size()) };
                let start = lbn * u64::from(shape.bsize());
                let (from, to) = ((first - start) as usize, (next - start) as usize);
                if let Err(error) =
                    self.layout.write_block(op, who, inode, Lbn(lbn as i64), from, to, &mut |_| ()).await
                {
                    self.unfill(op, who, inode, before, &filled).await?;
                    return Err(error);
                }
                match filled.last_mut() {
                    Some(run) if run.end == lbn && hole => run.end += 1,
                    _ if hole => filled.push(lbn..lbn + 1),
                    _ => {}
                }
            }
            at = next;
        }
        Ok(())
    }

    /// ufs-4: frees the blocks that grew the file, and those that filled holes.
    async fn unfill(&self, op: Op, who: &Caller, inode: &Rc<Inode>, before: u64, filled: &[Range<u64>]) -> Result<()> {
        if inode.size() > before {
            self.layout.truncate(op, who, inode, before).await?;
        }
        for run in filled {
            self.layout.punch(op, inode, Lbn(run.start as i64), Lbn(run.end as i64)).await?;
        }
        Ok(())
    }

    /// Makes a range read as zeroes: whole blocks are freed, the edges overwritten.
    async fn zero_range(&self, op: Op, who: &Caller, inode: &Rc<Inode>, offset: u64, end: u64) -> Result<()> {
        if offset >= end {
            return Ok(());
        }
        let shape = self.layout.shape();
        let bsize = u64::from(shape.bsize());
        let (first, last) = (offset.div_ceil(bsize), end / bsize);
        // The block of the last byte stays: the format knows no file that ends in a hole.
        let last = last.min(shape.lblkno(inode.size() - 1));
        let edges =
            if first > last { [(offset, end), (end, end)] } else { [(offset, first * bsize), (last * bsize, end)] };
        for (from, to) in edges {
            self.zero_bytes(op, who, inode, from, to.min(end)).await?;
        }
        if first < last {
            self.layout.punch(op, inode, Lbn(first as i64), Lbn(last as i64)).await?;
        }
        Ok(())
    }

    /// Overwrites the stored part of a range with zeroes.
    async fn zero_bytes(&self, op: Op, who: &Caller, inode: &Rc<Inode>, from: u64, to: u64) -> Result<()> {
        let shape = self.layout.shape();
        let mut at = from;
        while at < to {
            let lbn = shape.lblkno(at);
            let next = to.min((lbn + 1) * u64::from(shape.bsize()));
            self.zero_within(op, who, inode, lbn, at, next).await?;
            at = next;
        }
        Ok(())
    }

    async fn zero_within(&self, op: Op, who: &Caller, inode: &Rc<Inode>, lbn: u64, at: u64, next: u64) -> Result<()> {
        if matches!(self.layout.map(inode, Lbn(lbn as i64), 1).await?, Mapped::Hole { .. }) {
            return Ok(());
        }
        let start = lbn * u64::from(self.layout.shape().bsize());
        let (from, to) = ((at - start) as usize, (next - start) as usize);
        self.layout
            .write_block(op, who, inode, Lbn(lbn as i64), from, to, &mut |block| block[from..to].fill(0))
            .await?;
        Ok(())
    }

    /// Copies a range block by block. A block of zeroes is not copied into a hole: it reads the same.
    pub(crate) async fn copy_range(
        &self,
        who: &Caller,
        source: &Rc<Inode>,
        offset: u64,
        target: &Rc<Inode>,
        at: u64,
        len: u64,
    ) -> Result<u64> {
        let bsize = u64::from(self.layout.shape().bsize());
        let len = len.min(source.size().saturating_sub(offset));
        if Rc::ptr_eq(source, target) && offset < at.saturating_add(len) && at < offset.saturating_add(len) {
            return Err(Refusal::Invalid.into());
        }
        let mut done = 0;
        while done < len {
            let here = at + done;
            let piece = (bsize - here % bsize).min(len - done);
            let bytes = self.read(source, offset + done, piece as u32).await?.concat();
            let zero = bytes.len() as u64 == bsize && bytes.iter().all(|&b| b == 0);
            if !(zero && self.is_hole(target, here).await?) {
                match self.write(who, target, here, &bytes).await {
                    Ok(_) => {}
                    Err(error) if done == 0 => return Err(error),
                    Err(_) => break,
                }
            }
            done += bytes.len() as u64;
        }
        if at + done > target.size() {
            // The copy ends in zeroes that were not stored.
            let set = ordo_vfs::SetAttr { size: Some(at + done), ..ordo_vfs::SetAttr::default() };
            self.setattr(target, &set).await?;
        }
        Ok(done)
    }

    /// Nothing is stored in the block at this offset.
    async fn is_hole(&self, inode: &Inode, offset: u64) -> Result<bool> {
        let lbn = self.layout.shape().lblkno(offset);
        let _shared = inode.lock.read().await;
        let beyond = offset >= inode.size();
        Ok(beyond || matches!(self.layout.map(inode, Lbn(lbn as i64), 1).await?, Mapped::Hole { .. }))
    }

    /// The next stored byte, or the next hole.
    pub(crate) async fn seek(&self, inode: &Rc<Inode>, offset: u64, whence: Whence) -> Result<u64> {
        let shape = self.layout.shape();
        let _shared = inode.lock.read().await;
        let size = inode.size();
        if offset >= size {
            return Err(Refusal::BeyondEnd.into());
        }
        let end = shape.lblkno(size - 1) + 1;
        let (mut lbn, mut met) = (shape.lblkno(offset), 0u64);
        while lbn < end {
            let (is_hole, blocks) = match self.layout.map(inode, Lbn(lbn as i64), end - lbn).await? {
                Mapped::Hole { blocks } => (true, blocks),
                Mapped::Stored { blocks } | Mapped::Unplaced { blocks } => (false, blocks),
            };
            if is_hole == (whence == Whence::Hole) {
                return Ok(offset.max(lbn * u64::from(shape.bsize())));
            }
            lbn += blocks.max(1);
            met = met.saturating_add(if is_hole { 0 } else { blocks });
            shape.bound(inode.ino(), met)?;
        }
        match whence {
            Whence::Hole => Ok(size),
            Whence::Data => Err(Refusal::BeyondEnd.into()),
        }
    }
}
