//! Reading and writing the contents of files.

use crate::{Inode, Layout, Ufs, attr};
use bytes::Bytes;
use ordo_buf::{CallKind, Fields, Key, Op};
use ordo_ondisk::Lbn;
use ordo_vfs::{Caller, Kind, Refusal, Result, Segments};
use std::rc::Rc;

/// The contents of a hole.
static ZEROES: [u8; 65536] = [0; 65536];
/// Blocks of a directory that are read ahead.
const AHEAD_IN_DIRECTORY: u64 = 8;

impl<L: Layout> Ufs<L> {
    /// Up to `len` bytes from `offset`.
    pub(crate) async fn read(&self, inode: &Rc<Inode>, offset: u64, len: u32) -> Result<Segments> {
        match inode.kind() {
            Some(Kind::Regular) => {}
            Some(Kind::Directory) => return Err(Refusal::IsDirectory.into()),
            _ => return Err(Refusal::Invalid.into()),
        }
        let segments = {
            let _shared = inode.lock.read().await;
            self.read_locked(inode, offset, len).await?
        };
        self.accessed(inode).await?;
        Ok(segments)
    }

    /// The same, under the inode's lock.
    pub(crate) async fn read_locked(&self, inode: &Inode, offset: u64, len: u32) -> Result<Segments> {
        let shape = self.layout.shape();
        let end = inode.size().min(offset.saturating_add(u64::from(len)));
        if offset >= end {
            return Ok(Segments::new());
        }
        let (first, last) = (shape.lblkno(offset), shape.lblkno(end - 1));
        let (met, _) = inode.read_cursor.get();
        self.prefetch(inode, first, last).await?;
        let mut segments = Segments::with_capacity((last - first + 1) as usize);
        let mut at = offset;
        for lbn in first..=last {
            let from = shape.blkoff(at) as usize;
            let take = (shape.bsize() as usize - from).min((end - at) as usize);
            match self.layout.block(inode, Lbn(lbn as i64)).await? {
                None => segments.push(Bytes::from_static(&ZEROES[..take])),
                Some(block) => {
                    if lbn >= met {
                        inode.read_stored.set(inode.read_stored.get() + 1);
                        shape.bound(inode.ino(), inode.read_stored.get())?;
                    }
                    let stored = Bytes::from_owner(Shared(block.image()));
                    let here = stored.len().saturating_sub(from).min(take);
                    segments.push(stored.slice(from.min(stored.len())..from.min(stored.len()) + here));
                    if here < take {
                        segments.push(Bytes::from_static(&ZEROES[..take - here]));
                    }
                }
            }
            at += take as u64;
        }
        Ok(segments)
    }

    /// Prefetches blocks `first..=last`, and for a sequential reader the blocks behind them.
    async fn prefetch(&self, inode: &Inode, first: u64, last: u64) -> Result<()> {
        let shape = self.layout.shape();
        let (expected, ahead) = inode.read_cursor.get();
        let sequential = first == expected || first + 1 == expected;
        let window = self.policy().read_ahead / u64::from(shape.bsize());
        if self.policy().clusters_of_files && first == 0 && last > 0 && expected == 0 {
            self.layout.block(inode, Lbn(0)).await?;
        }
        if !sequential {
            inode.read_stored.set(0);
        }
        let mut end = last + 1;
        // The next window is started when half of this one is used, so that a reader seldom waits for the disk.
        if sequential && ahead < end + window / 2 {
            end = (end + window).min(shape.lblkno(inode.size() - 1) + 1);
        }
        inode.read_cursor.set((last + 1, if sequential { end.max(ahead) } else { end }));
        self.layout.read_ahead(inode, Lbn(first as i64), Lbn(end as i64)).await
    }

    /// Prefetches the next blocks of a directory that is read sequentially.
    pub(crate) async fn read_ahead_dir(&self, dir: &Inode, offset: u64, size: u64) -> Result<()> {
        let shape = self.layout.shape();
        if shape.blkoff(offset) != 0 {
            return Ok(());
        }
        let (from, to) = (shape.lblkno(offset), shape.lblkno(size.saturating_sub(1)));
        let to = to.min(from + AHEAD_IN_DIRECTORY);
        self.layout.read_ahead(dir, Lbn(from as i64), Lbn(to as i64 + 1)).await
    }

    /// Writes `data` at `offset`; fewer bytes only if space ran out.
    pub(crate) async fn write(&self, who: &Caller, inode: &Rc<Inode>, offset: u64, data: &[u8]) -> Result<u32> {
        if inode.kind() != Some(Kind::Regular) {
            return Err(if inode.is_dir() { Refusal::IsDirectory } else { Refusal::Invalid }.into());
        }
        attr::may_change(inode)?;
        if inode.dinode().flags & attr::flags::APPEND != 0 && offset != inode.size() {
            return Err(Refusal::NotPermitted.into());
        }
        let limit = self.layout.shape().maxfilesize;
        if offset >= limit && !data.is_empty() {
            return Err(Refusal::TooBig.into());
        }
        let data = &data[..data.len().min((limit - offset.min(limit)) as usize)];
        let mut done = 0;
        loop {
            let most = self.layout.most_at_once().min(data.len() - done);
            let (at, rest) = (offset + done as u64, &data[done..done + most]);
            let written = self.call_with_room(CallKind::Write, async |op| {
                let _alone = inode.lock.write().await;
                inode.read_stored.set(0);
                let (written, outcome) = self.write_blocks(op, who, inode, at, rest).await;
                if written == 0 && !rest.is_empty() {
                    outcome?;
                }
                let now = self.now();
                attr::set_times(&mut inode.dinode_mut(), None, Some(now), Some(now));
                self.changed(op, inode, Fields::Times).await?;
                Ok(written)
            });
            match written.await {
                Ok(written) if written == most && done + written < data.len() => {
                    done += written;
                    continue;
                }
                Ok(written) => done += written,
                // What is written counts; the next write is told.
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
            // The rest may find room: what a call may take at once is limited on a log.
            if done == data.len() || !self.layout.find_room(true).await? {
                break;
            }
        }
        Ok(done as u32)
    }

    async fn write_blocks(
        &self,
        op: Op,
        who: &Caller,
        inode: &Rc<Inode>,
        offset: u64,
        data: &[u8],
    ) -> (usize, Result<()>) {
        let shape = self.layout.shape();
        let bsize = shape.bsize() as usize;
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let (lbn, from) = (shape.lblkno(at), shape.blkoff(at) as usize);
            let take = (bsize - from).min(data.len() - done);
            let piece = &data[done..done + take];
            let mut fill = |block: &mut [u8]| block[from..from + take].copy_from_slice(piece);
            match self.layout.write_block(op, who, inode, Lbn(lbn as i64), from, from + take, &mut fill).await {
                Ok(_) => done += take,
                Err(error) => return (done, Err(error)),
            }
            if from + take == bsize {
                match self.policy().clusters_of_files {
                    true => self.block_full(op, inode, lbn).await,
                    false => self.cluster_full(op, inode, lbn).await,
                }
            }
        }
        (done, Ok(()))
    }

    /// A writer has filled a block, where clusters are of files (`cluster_write`): a cluster has up to `maxcontig`
    /// blocks that follow each other in the file and on the disk. A block that does not follow has those before it
    /// written; on the disk only where clusters are not reallocated, which brings the blocks together.
    async fn block_full(&self, op: Op, inode: &Inode, lbn: u64) {
        if self.policy().cluster == 0 {
            return;
        }
        let shape = self.layout.shape();
        let (first, next) = inode.write_cursor.get();
        let place = |lbn: u64| self.cache().find(Key::File(inode.ino(), Lbn(lbn as i64)))?.addr();
        let follows = || match (lbn.checked_sub(1).and_then(place), place(lbn)) {
            (Some(before), Some(here)) => before.0 + u64::from(shape.bsize()) == here.0,
            _ => true,
        };
        if lbn != next || first < next && !self.policy().reallocates && !follows() {
            self.write_cluster(op, inode, first, next).await;
            inode.write_cursor.set((lbn, lbn + 1));
        } else {
            inode.write_cursor.set((first, next + 1));
        }
        let (first, next) = inode.write_cursor.get();
        if next - first >= u64::from(shape.maxcontig.max(self.policy().cluster / shape.bsize())) {
            inode.write_cursor.set((next, next));
            self.write_cluster(op, inode, first, next).await;
        }
    }

    async fn write_cluster(&self, op: Op, inode: &Inode, first: u64, next: u64) {
        let (from, to) = (Lbn(first as i64), Lbn(next as i64));
        if self.policy().reallocates {
            self.layout.gather_cluster(op, inode, from, to).await;
        }
        match self.policy().clusters_of_files {
            true => self.cache().write_as_one(&self.cache().dirty_run(inode.ino(), from, to)),
            false => self.cache().write_soon(&self.cache().dirty_run(inode.ino(), from, to)),
        }
    }

    /// A sequential writer has filled a cluster: it is written now, as one request, instead of with the next sweep.
    async fn cluster_full(&self, op: Op, inode: &Inode, lbn: u64) {
        let shape = self.layout.shape();
        let maxcontig = u64::from(shape.maxcontig.max(self.policy().cluster / shape.bsize()).max(1));
        if self.policy().cluster == 0 || !(lbn + 1).is_multiple_of(maxcontig) {
            return;
        }
        let (from, to) = (Lbn((lbn + 1 - maxcontig) as i64), Lbn(lbn as i64 + 1));
        let run = self.cache().dirty_run(inode.ino(), from, to);
        if run.len() as u64 == maxcontig {
            self.write_cluster(op, inode, lbn + 1 - maxcontig, lbn + 1).await;
        }
    }
}

/// An image that a reader shares with the cache.
struct Shared(ordo_disk::Image);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0[..]
    }
}
