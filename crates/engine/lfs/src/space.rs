//! Space: what a call may take, and when the log must be cleaned first.
//!
//! S1. A call is refused before it changes anything. What is in the cache always fits into the clean segments, with a
//!     reserve for the cleaner: otherwise a sync could fail, and what was acknowledged would be lost. A call is asked
//!     at its begin for what most calls take, and at each block, since nothing leaves while it runs.
//!     Where it is refused, the dead space that is left is cleaned before the caller learns of it ([`Wanted`]).
//! S2. Calls that free may use a part of the reserve: a full volume can always be made less full.
//! S3. What leaves with a block is dirty when the block is: the indirect blocks above it, and the inode. So the dirty
//!     bytes of the cache are all that will be written, but for summaries and the ends of segments.

use crate::log::{Log, Wanted};
use ordo_buf::{Cache, CallKind};
use ordo_ondisk::lfs::{Room, Totals};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Refusal, Result, StatFs};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Segments that only the cleaner and calls that free may open.
const FOR_THE_CLEANER: u64 = 3;
/// Segments that only the cleaner may open.
const LAST: u64 = 2;

/// Numbers of the inode map that no file can have: none, and the ifile's.
const NO_FILES: u64 = 2;

/// So many refused calls are remembered.
const MOST_REFUSED: usize = 64;

impl Log {
    /// What the usage table implies.
    pub(crate) fn totals(&self) -> Totals {
        let offset = self.sb.borrow().fields.offset;
        self.g.totals(self.ifile.borrow().all_usage().iter().copied(), offset)
    }

    /// How much can be allocated, with what is in memory taken off.
    fn room(&self) -> Room {
        let (g, sums, mut fields) = (&self.g, self.ifile.borrow().sums(), self.sb.borrow().fields.clone());
        let units = |bytes: u64| (bytes / u64::from(g.unit)).cast_signed();
        let summaries = units(sums.summaries * u64::from(g.sumsize));
        let inode_blocks = units(sums.inode_blocks * u64::from(g.ibsize));
        let unwritten = self.unwritten.get() * 512 / i64::from(g.unit);
        // In the middle of what the format allows: an inode block counts as a whole there, and its inodes are alive.
        let used = units(sums.live) + summaries + inode_blocks / 2 + units(8192);
        fields.bfree = g.dsize.cast_signed() - used - unwritten;
        fields.dmeta = i32::try_from(summaries + inode_blocks).unwrap_or(i32::MAX);
        fields.nclean = u32::try_from(sums.clean).unwrap_or(u32::MAX);
        g.room(&fields)
    }

    /// Whether a call may take `bytes` more.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn may_take(&self, bytes: u64, privileged: bool) -> Result<()> {
        let units = self.g.units(bytes);
        if bytes == 0 || self.room().allows(units, privileged) {
            return Ok(());
        }
        if self.spare_metadata() > bytes + u64::from(self.g.ssize) {
            self.refuse(Wanted { writable: 0, units: Some((units, privileged)) });
        }
        Err(Refusal::NoSpace.into())
    }

    /// Notes it for the caller, who asks with [`Log::find_room`]. Two calls may take each other's: both get room.
    fn refuse(&self, wanted: Wanted) {
        let mut refused = self.refused.borrow_mut();
        // Not every call asks.
        if refused.len() == MOST_REFUSED {
            refused.remove(0);
        }
        refused.push(wanted);
    }

    /// Bytes of summaries and inode blocks that cleaning would not write again, roughly: many small partial segments
    /// have more of them than few large ones.
    fn spare_metadata(&self) -> u64 {
        let (g, sums) = (&self.g, self.ifile.borrow().sums());
        let has = sums.summaries * u64::from(g.sumsize) + sums.inode_blocks * u64::from(g.ibsize) / 2;
        let needs = (sums.live / u64::from(g.ssize) + 1) * u64::from(2 * g.sumsize + g.ibsize / 2);
        has.saturating_sub(needs)
    }

    /// Bytes in segments that are not clean and in which they are not alive.
    pub(crate) fn dead(&self) -> u64 {
        let sums = self.ifile.borrow().sums();
        ((u64::from(self.g.nseg) - sums.clean) * u64::from(self.g.ssize)).saturating_sub(sums.live)
    }

    /// What a call was refused for is there.
    pub(crate) fn has(&self, wanted: Wanted) -> bool {
        self.writable() >= wanted.writable
            && wanted.units.is_none_or(|(units, privileged)| self.room().allows(units, privileged))
    }

    /// What is free is what can be allocated, and what is used is what files have; the whole is the sum of both. So it
    /// changes with the metadata of the log and with the ifile, which belong to neither, as it does in NetBSD.
    pub(crate) fn statfs(&self) -> StatFs {
        let (room, ifile) = (self.room(), self.ifile.borrow());
        let units = |bytes: u64| (bytes / u64::from(self.g.unit)).cast_signed();
        let live = units(ifile.sums().live.saturating_sub(ifile.own_bytes()));
        let used = (live + self.unwritten_units()).max(0).unsigned_abs();
        let inodes = u64::from(ifile.maxino()).max(room.efree / 2).min(u32::MAX.into());
        StatFs {
            frag_size: self.g.unit,
            block_size: self.g.bsize,
            frags: room.efree.saturating_add(used),
            free_frags: room.efree,
            avail_frags: room.available(),
            inodes: inodes.saturating_sub(NO_FILES),
            free_inodes: ifile.nfree() + (inodes - u64::from(ifile.maxino())),
            name_max: 255,
        }
    }

    /// Units that inodes in memory count and those on the disk do not.
    fn unwritten_units(&self) -> i64 {
        self.unwritten.get() * 512 / i64::from(self.g.unit)
    }

    /// Bytes that can be written before a segment must be cleaned.
    pub(crate) fn writable(&self) -> u64 {
        let clean = self.ifile.borrow().sums().clean;
        let (offset, curseg) = {
            let sb = self.sb.borrow();
            (sb.fields.offset, sb.fields.curseg)
        };
        let rest = self.g.segment_of(curseg).map_or(0, |n| self.g.segment_end(n).since(offset));
        // The last one is never opened: there is always a next. At the end of each a block does not fit, and what goes
        // on behind it begins with a summary and an inode block of its own. Where that is little, as much again.
        let own = u64::from(self.g.bsize) + u64::from(self.g.sumsize + self.g.ibsize);
        let lost = own + u64::from(self.g.bsize.min(self.g.ssize / 16));
        let each = u64::from(self.g.ssize).saturating_sub(lost);
        let pads = 8192 * (ordo_ondisk::lfs::MAX_SUPERBLOCKS as u64 + 1);
        (clean.saturating_sub(1) * each + self.g.bytes(rest).saturating_sub(lost)).saturating_sub(pads)
    }

    /// Bytes that these bytes of so many files take in the log at most.
    pub(crate) fn cost(&self, bytes: u64, files: u64) -> u64 {
        let inodes = files.div_ceil(self.g.inopb.into()) * u64::from(self.g.ibsize);
        let blocks = bytes.div_ceil(self.g.bsize.into()) + files;
        let words = u64::from(self.g.version.pointer_size()) * (blocks + 5 * files);
        // Each partial segment may end in an inode block that is hardly used.
        let each = u64::from(self.g.sumsize + self.g.ibsize);
        bytes + inodes + (words.div_ceil(u64::from(self.g.sumsize / 2)) + 2) * each
    }

    /// Bytes of the ifile that the next checkpoint writes, at most.
    pub(crate) fn cost_of_checkpoint(&self) -> u64 {
        let ifile = self.ifile.borrow();
        let blocks = ifile.dirty.len() as u64 + u64::from(self.g.segtabsz).min(64) + ifile.indirect.len() as u64 + 4;
        self.cost(blocks * u64::from(self.g.bsize), 1)
    }

    /// Whether these files' dirty blocks fit into the clean segments (S3).
    pub(crate) fn can_write(&self, cache: &Rc<Cache>, files: &BTreeSet<Ino>) -> bool {
        if self.cost(cache.stats().dirty_bytes as u64, files.len() as u64) <= self.writable() {
            return true;
        }
        let dirty = files.iter().flat_map(|ino| cache.dirty_run(*ino, Lbn(i64::MIN), Lbn(i64::MAX)));
        let bytes: u64 = dirty.map(|buf| buf.len() as u64).sum();
        self.cost(bytes, files.len() as u64) <= self.writable()
    }

    /// Whether what is in the cache and `more` bytes fit, with so many segments left.
    fn fits(&self, cache: &Rc<Cache>, more: u64, kept: u64) -> bool {
        self.needs(cache, more, kept) <= self.writable()
    }

    fn needs(&self, cache: &Rc<Cache>, more: u64, kept: u64) -> u64 {
        let dirty = cache.stats().dirty_bytes as u64 + more;
        2 * dirty + self.cost_of_checkpoint() + kept * u64::from(self.g.ssize)
    }

    /// Whether the log is too short for what is in the cache and another call of this kind (S1, S2).
    pub(crate) fn is_short(&self, cache: &Rc<Cache>, kind: CallKind) -> bool {
        // Half of what the format keeps aside, as in NetBSD (`lfs_avail`): the cleaner needs room for what it moves.
        let aside = u64::from(self.g.minfreeseg / 2).max(LAST + FOR_THE_CLEANER);
        let kept = if frees(kind) { LAST } else { aside };
        // A call takes as much as a write at most, and that is little on a small volume.
        let call = if frees(kind) { 0 } else { (1 << 20).min(self.g.bytes(self.g.dsize) / 64) };
        !self.fits(cache, call, kept)
    }

    /// Whether a call that is running may make so many more bytes dirty (S1).
    ///
    /// # Errors
    /// `NoSpace`: they could not be written. After a sync there may be room, or when dead space was cleaned.
    pub(crate) fn may_dirty(&self, kind: CallKind, bytes: u64) -> Result<()> {
        let kept = if frees(kind) { LAST - 1 } else { LAST };
        let cache = self.cache()?;
        if bytes == 0 || self.fits(&cache, bytes, kept) {
            return Ok(());
        }
        self.refuse(Wanted { writable: self.needs(&cache, bytes, kept), units: None });
        Err(Refusal::NoSpace.into())
    }

    /// Before a call gets a new inode: one that is too far beyond the checkpoint's map would not be found after a crash
    /// (rollforward-8). A roll-forward may begin at the checkpoint before the last, and calls that run now go on.
    ///
    /// # Errors
    /// Those of the checkpoint.
    pub(crate) async fn keep_map_near(&self, kind: CallKind) -> Result<()> {
        if frees(kind) || self.ifile.borrow().ahead() < self.g.inodes_ahead() / 4 {
            return Ok(());
        }
        self.checkpoint().await
    }

    /// Whether the cleaner may make so many more bytes dirty: its copies are what the last segments are for.
    pub(crate) fn may_move(&self, cache: &Rc<Cache>, bytes: u64) -> bool {
        self.fits(cache, bytes, 0)
    }
}

/// A call of this kind frees more than it takes, or takes an inode at most.
fn frees(kind: CallKind) -> bool {
    use CallKind::{Reclaim, Rmdir, SetAttr, Truncate, Unlink, Upkeep};
    matches!(kind, Unlink | Rmdir | Truncate | SetAttr | Reclaim | Upkeep)
}
