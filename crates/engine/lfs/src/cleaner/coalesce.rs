//! Coalescing: a file whose blocks are far apart in the log is written again in one piece.
//!
//! O1. Blocks leave as the cleaner's do (cleaner-1, cleaner-2): nothing is written in place, and a crash in the middle
//!     finds the old copies.
//! O2. A file is taken a piece at a time, so that memory and clean segments suffice, and calls wait for no more than a
//!     piece. Another file may come between two pieces; within one they are neighbours.

use super::Reading;
use super::segment::Recorded;
use crate::log::Log;
use ordo_disk::{DiskOff, Tag};
use ordo_ondisk::lfs::{Daddr, NextFree};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Error, Kind, Refusal, Result};

/// A file of fewer blocks is not looked at, as in NetBSD's cleaner.
const LEAST: u64 = 12;
/// Blocks that are no further apart than this many bytes count as neighbours: summaries and inodes lie between them.
const NEAR: u64 = 64 << 10;
/// Bytes of a piece (O2).
const PIECE: u64 = 1 << 20;

/// What coalescing has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coalesced {
    /// Files that were looked at.
    pub files: u64,
    /// Files that were written again.
    pub rewritten: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Log {
    /// Writes all files again whose blocks are far apart.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `ReadOnly`.
    pub(crate) async fn coalesce(&self) -> Result<Coalesced> {
        let _one = self.cleaning.lock().await;
        self.turn_over().await?;
        let (mut done, last) = (Coalesced::default(), self.ifile.borrow().maxino());
        for ino in (Ino::ROOT.0..last).map(Ino) {
            let used = |ino| {
                self.ifile
                    .borrow()
                    .entry(ino)
                    .is_ok_and(|entry| !entry.daddr.is_hole() && entry.nextfree != NextFree::Orphan)
            };
            let Some(blocks) = (if used(ino) { self.scattered(ino, &mut done).await? } else { None }) else { continue };
            let bytes = self.rewrite(ino, &blocks).await?;
            done.rewritten += u64::from(bytes > 0);
            done.bytes += bytes;
        }
        self.turn_over().await?;
        Ok(done)
    }

    /// The blocks of a file in their order, with their places, if they are far apart.
    async fn scattered(&self, ino: Ino, done: &mut Coalesced) -> Result<Option<Vec<(Lbn, Daddr)>>> {
        let Some(buf) = self.dinode_in_use(ino).await? else { return Ok(None) };
        let dinode = self.dinode(&buf)?;
        let count = self.g.file_blocks(dinode.size);
        // No more than its inode counts, nor than the volume has: damaged pointers can lead round in a circle.
        let most = self.g.size / u64::from(self.g.block_units).max(1);
        let stored = (dinode.blocks.saturating_mul(512) / u64::from(self.g.bsize) + 1).min(most);
        if Kind::from_bits(dinode.mode >> 12) != Some(Kind::Regular) || count < LEAST || stored < LEAST {
            return Ok(None);
        }
        done.files += 1;
        let (mut blocks, mut breaks) = (Vec::new(), 0_u64);
        let mut expected: Option<u64> = None;
        let (mut next, mut holes) = (0, 0);
        while next < count && (blocks.len() as u64) < stored {
            let lbn = Lbn(next.cast_signed());
            let at = self.pointer(&buf, lbn).await?;
            if at.is_hole() {
                // A hole may be as long as the format allows. Behind each there is a block, of the file or an indirect
                // one.
                holes += 1;
                if holes > most + stored {
                    return Err(Error::corrupt(crate::block::cycle(ino, holes)));
                }
                next += self.alike(&buf, lbn).await?.1.max(1);
                continue;
            }
            let byte = self.g.byte(at).0;
            breaks += u64::from(expected.is_some_and(|end| byte < end || byte - end > NEAR));
            expected = Some(byte + u64::from(self.g.bsize));
            blocks.push((lbn, at));
            next += 1;
        }
        // Each segment that it fills is a break of its own, and few more cost little.
        let bytes = blocks.len() as u64 * u64::from(self.g.bsize);
        let natural = 2 * bytes / u64::from(self.g.ssize) + 1;
        let few = u64::from(blocks.len().max(1).ilog2());
        Ok((breaks > natural + few).then_some(blocks))
    }

    /// Writes the blocks again. Returns their bytes; less than all where there is no room.
    async fn rewrite(&self, ino: Ino, blocks: &[(Lbn, Daddr)]) -> Result<u64> {
        let (cache, mut bytes) = (self.cache()?, 0);
        let each = (PIECE.min(u64::from(self.g.ssize)) / u64::from(self.g.bsize)).max(1) as usize;
        for piece in blocks.chunks(each) {
            let need = 4 * PIECE.min(u64::from(self.g.ssize)) + self.cost_of_checkpoint();
            let aside = u64::from(self.g.minfreeseg / 2 + 2) * u64::from(self.g.ssize);
            if !self.clean_until(|| self.writable() >= need + aside).await? {
                break;
            }
            let mut moving = Vec::new();
            for (lbn, at) in piece {
                moving.extend(self.read_block(ino, *lbn, *at).await?);
            }
            bytes += moving.iter().map(|buf| buf.len() as u64).sum::<u64>();
            let _held = self.gate.hold().await;
            cache.gather(moving).await?;
        }
        Ok(bytes)
    }

    /// Brings a block into the cache as the cleaner does, if it is still there.
    async fn read_block(&self, ino: Ino, lbn: Lbn, at: Daddr) -> Result<Option<ordo_buf::BufRef>> {
        let Some(segment) = self.g.segment_of(at) else { return Ok(None) };
        let _reading = Reading::of(self, segment);
        let Ok(version) = self.ifile.borrow().entry(ino).map(|entry| entry.version) else { return Ok(None) };
        let size = self.on_disk.borrow().get(&ino).map(|disk| disk.size);
        let Some(size) = size.filter(|_| self.is_known(ino)) else { return Ok(None) };
        let len = self.length(size, lbn);
        if len == 0 {
            return Ok(None);
        }
        self.check_place(ino, at, len)?;
        let queue = self.cache()?.queue().clone();
        let byte = DiskOff(self.g.byte(at).0);
        let read = queue.read(byte, len as usize, Tag::of(ordo_buf::Role::Data)).await.map_err(Error::io)?;
        // Its last block may have another length by now: then it was written again.
        if self.on_disk.borrow().get(&ino).map(|disk| disk.size) != Some(size) {
            return Ok(None);
        }
        match self.keep_block(&Recorded { ino, version, lbn, at, bytes: len }, &read).await {
            Err(Error::Refused(Refusal::NoSpace)) => Ok(None),
            kept => kept,
        }
    }
}
