//! Reading a segment, and finding what is alive in it.

use crate::log::Log;
use ordo_buf::{BufRef, Key, Role, Want};
use ordo_disk::{Block, DiskOff, Tag};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::Item;
use ordo_ondisk::lfs::{Daddr, IFILE, SegNo, Serial, Summary, inode_block};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Error, Kind, Refusal, Result};

/// A block of a file, as its record says.
pub(super) struct Recorded {
    pub(super) ino: Ino,
    pub(super) version: u32,
    pub(super) lbn: Lbn,
    pub(super) at: Daddr,
    pub(super) bytes: u32,
}

impl Log {
    /// Reads a segment, brings what is alive into the cache, and makes it dirty. Returns the bufs.
    pub(super) async fn read_alive(&self, n: SegNo) -> Result<Vec<BufRef>> {
        let cache = self.cache()?;
        let (start, usage) = (self.g.segment_start(n), self.ifile.borrow().usage(n));
        let (at, len) = (DiskOff(self.g.byte(start).0), self.g.ssize as usize);
        let segment = cache.queue().read(at, len, Tag::of(Role::Data)).await.map_err(Error::io)?;
        self.count(|counts| {
            counts.segments_read += 1;
            counts.bytes_read += len as u64;
            counts.bytes_alive += u64::from(usage.nbytes);
        });
        let (blocks, inodes) = self.records(n, &segment);
        let mut alive = Vec::new();
        for (ino, at) in inodes {
            alive.extend(self.keep_inode(ino, at).await?);
        }
        for found in blocks {
            let from = self.g.bytes(found.at.since(start)) as usize;
            let bytes = segment.get(from..from + found.bytes as usize).unwrap_or_default();
            alive.extend(self.keep_block(&found, bytes).await?);
        }
        Ok(alive)
    }

    /// What the summaries of the segment say: blocks, and inodes with the places of their blocks.
    fn records(&self, n: SegNo, segment: &Block) -> (Vec<Recorded>, Vec<(Ino, Daddr)>) {
        let (g, usage) = (&self.g, self.ifile.borrow().usage(n));
        let start = g.segment_start(n);
        let (mut blocks, mut inodes, mut last) = (Vec::new(), Vec::new(), Serial(0));
        let mut at = g.first_pseg(n, usage.flags.has(SegFlags::SUPERBLOCK));
        let index = |at: Daddr| usize::try_from(g.bytes(at.since(start))).unwrap_or(usize::MAX);
        for _ in 0..usage.nsums {
            let Ok(summary) = Summary::decode(segment.get(index(at)..).unwrap_or_default(), g) else { break };
            // An older one behind the last of this turn.
            if summary.is_stale(g, last) {
                break;
            }
            last = summary.serial;
            let Ok(pseg) = summary.walk(g, at) else { break };
            for item in &pseg.items {
                match *item {
                    Item::Block { ino, version, lbn, at, bytes } => {
                        let bytes = bytes.next_multiple_of(g.fsize);
                        blocks.push(Recorded { ino, version, lbn, at, bytes });
                    }
                    Item::Inodes { at } => {
                        let block = segment.get(index(at)..).and_then(|rest| rest.get(..g.ibsize as usize));
                        let slots = block.map(|block| inode_block::slots(block, g).collect::<Vec<_>>());
                        inodes.extend(slots.unwrap_or_default().into_iter().map(|(_, ino)| (ino, at)));
                    }
                }
            }
            match pseg.next_here(g) {
                Some(next) => at = next,
                None => break,
            }
        }
        (blocks, inodes)
    }

    /// An inode that the inode map has here is written again.
    async fn keep_inode(&self, ino: Ino, at: Daddr) -> Result<Option<BufRef>> {
        let is_here = || self.ifile.borrow().entry(ino).is_ok_and(|entry| entry.daddr == at);
        if ino == IFILE || !is_here() {
            // The ifile's own moves with each checkpoint.
            return Ok(None);
        }
        let Some(buf) = self.dinode_in_use(ino).await? else { return Ok(None) };
        if is_here() {
            self.cache()?.mark_dirty(&buf);
            return Ok(Some(buf));
        }
        Ok(None)
    }

    /// The buf of an inode; none if the file was removed meanwhile: that is no fault of the segment.
    ///
    /// # Errors
    /// `Corrupt`; `Io`.
    pub(super) async fn dinode_in_use(&self, ino: Ino) -> Result<Option<BufRef>> {
        match self.dinode_buf(ino).await {
            Err(Error::Refused(Refusal::Stale)) => Ok(None),
            found => found.map(Some),
        }
    }

    /// A block to which its file's pointer leads here is written again.
    pub(super) async fn keep_block(&self, found: &Recorded, bytes: &[u8]) -> Result<Option<BufRef>> {
        let &Recorded { ino, version, lbn, at, .. } = found;
        if ino == IFILE {
            self.ifile.borrow_mut().keep(lbn, at);
            return Ok(None);
        }
        let is_current = || {
            let known = self.ifile.borrow().entry(ino).is_ok_and(|entry| entry.version == version);
            known && self.is_known(ino) && !self.dying.borrow().contains(&ino)
        };
        if !is_current() {
            return Ok(None);
        }
        let Some(dinode) = self.dinode_in_use(ino).await? else { return Ok(None) };
        let kind = Kind::from_bits(self.dinode(&dinode)?.mode >> 12);
        if !self.has_blocks(&self.dinode(&dinode)?) {
            return Ok(None);
        }
        let above = self.indirects_above(&dinode, lbn).await?;
        // From here on nothing waits (cleaner-2).
        if !is_current() || self.pointer_now(&dinode, &above, lbn) != at {
            return Ok(None);
        }
        let cache = self.cache()?;
        let clean = above.iter().chain([&dinode]).filter(|buf| !buf.is_dirty()).map(|buf| buf.len() as u64);
        if !self.may_move(&cache, clean.sum::<u64>() + bytes.len() as u64) {
            return Err(Refusal::NoSpace.into());
        }
        let role = match (lbn.0 < 0, kind) {
            (true, _) => Role::Indirect,
            (_, Some(Kind::Directory)) => Role::Directory,
            (_, Some(Kind::Symlink)) => Role::Symlink,
            _ => Role::Data,
        };
        let (key, addr) = (Key::File(ino, lbn), DiskOff(self.g.byte(at).0));
        let Some(buf) = cache.offer(Want { key, role, addr, len: bytes.len() }, bytes) else { return Ok(None) };
        if !buf.is_dirty() && lbn.0 >= 0 {
            self.count(|counts| counts.bytes_moved += bytes.len() as u64);
        }
        // They leave with it (space-3); and what leads to it must not be evicted between `prepare` and `shape`.
        above.iter().chain([&dinode, &buf]).for_each(|buf| cache.mark_dirty(buf));
        // It is on the disk, and stays counted there until it moves.
        Ok(Some(buf))
    }
}
