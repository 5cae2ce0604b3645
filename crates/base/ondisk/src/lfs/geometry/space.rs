//! Accounting of space: what follows from the segment usage table, and who may still allocate.

use super::Geometry;
use crate::lfs::ifile::SegFlags;
use crate::lfs::{Daddr, LABEL_PAD, SegNo, SegUse, Version, superblock::Fields};
use crate::num::{low32, signed64};

/// What the segment usage table implies at a checkpoint without changed blocks in memory; in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Exactly `avail`.
    pub avail: i64,
    /// Exactly `dmeta`.
    pub dmeta: i64,
    /// Least that `bfree` can be: an inode counts in its segment's bytes and its inode block counts as a whole.
    pub bfree_least: i64,
    /// Most that `bfree` can be.
    pub bfree_most: i64,
    /// Clean segments.
    pub clean: u32,
    /// Dirty segments.
    pub dirty: u32,
    /// Bytes that are live.
    pub live: u64,
}

impl Totals {
    /// The number in the allowed range that is nearest to `bfree`.
    pub fn nearest_bfree(&self, bfree: i64) -> i64 {
        bfree.min(self.bfree_most).max(self.bfree_least)
    }

    /// The middle of the range, which newfs stores.
    pub fn middle_bfree(&self) -> i64 {
        let width = self.bfree_most.saturating_sub(self.bfree_least);
        self.bfree_least.saturating_add(width / 2)
    }
}

/// How much can be allocated; in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Free space less the metadata that it will need.
    pub efree: u64,
    /// All space less all metadata.
    pub nonmeta: u64,
    /// Kept for the privileged.
    pub reserved: u64,
}

impl Room {
    /// `true` if `n` units may be allocated.
    pub fn allows(&self, n: u64, privileged: bool) -> bool {
        let kept = if privileged { 0 } else { self.reserved };
        self.efree >= n.saturating_add(kept)
    }

    /// Units that the unprivileged may allocate.
    pub fn available(&self) -> u64 {
        self.efree.saturating_sub(self.reserved)
    }
}

impl Geometry {
    /// What the entries of all segments imply, in order from segment 0, with the log's end at `offset`.
    pub fn totals(&self, usage: impl IntoIterator<Item = SegUse>, offset: Daddr) -> Totals {
        let (mut avail, mut dmeta, mut least, mut most) = (0u64, 0u64, 0u64, 0u64);
        let (mut clean, mut dirty, mut live) = (0u32, 0u32, 0u64);
        for (n, usage) in (0..self.nseg).map(SegNo).zip(usage) {
            if !usage.flags.has(SegFlags::DIRTY) {
                clean = clean.saturating_add(1);
                avail = avail.saturating_add(self.usable(n, &usage));
                continue;
            }
            dirty = dirty.saturating_add(1);
            live = live.saturating_add(usage.nbytes.into());
            let (summaries, inodes) = self.metadata(&usage);
            dmeta = dmeta.saturating_add(self.whole(summaries)).saturating_add(self.whole(inodes));
            let data = u64::from(usage.nbytes).saturating_add(summaries);
            least = least.saturating_add(self.whole(data));
            most = most.saturating_add(self.whole(data.saturating_add(inodes)));
        }
        let tail = self.segment_of(offset).map_or(0, |n| self.segment_end(n).since(offset));
        let kept = u64::from(self.minfreeseg.saturating_sub(self.minfreeseg / 2)).saturating_mul(self.fsbpseg.into());
        let avail = signed64(avail.saturating_add(tail)).saturating_sub(signed64(kept));
        let all = signed64(self.dsize).saturating_sub(signed64(self.skew()));
        let (bfree_most, bfree_least) = (all.saturating_sub(signed64(least)), all.saturating_sub(signed64(most)));
        Totals { avail, dmeta: signed64(dmeta), bfree_least, bfree_most, clean, dirty, live }
    }

    /// Units that cleaning segment `n` adds to `avail`.
    pub fn usable(&self, n: SegNo, usage: &SegUse) -> u64 {
        u64::from(self.fsbpseg).saturating_sub(self.pad(n, usage.flags.has(SegFlags::SUPERBLOCK)))
    }

    /// Units of summaries and inode blocks in a segment: what cleaning it adds to `bfree` and takes from `dmeta`.
    pub fn metadata_units(&self, usage: &SegUse) -> u64 {
        let (summaries, inodes) = self.metadata(usage);
        self.whole(summaries).saturating_add(self.whole(inodes))
    }

    /// Bytes of summaries and of inode blocks in a segment.
    fn metadata(&self, usage: &SegUse) -> (u64, u64) {
        let bytes = |n: u16, of: u32| u64::from(n).saturating_mul(of.into());
        (bytes(usage.nsums, self.sumsize), bytes(usage.ninos, self.ibsize))
    }

    /// Whole units in these bytes: rounded down, as fsck counts.
    fn whole(&self, bytes: u64) -> u64 {
        bytes.checked_div(self.unit.into()).unwrap_or(0)
    }

    /// The label, if it is in segment 0; `dsize` counts it.
    fn skew(&self) -> u64 {
        let label = self.units(LABEL_PAD.into());
        if self.version != Version::V1 && self.s0addr.0 < label { label } else { 0 }
    }

    /// How much can be allocated, by the superblock's counts.
    pub fn room(&self, f: &Fields) -> Room {
        let positive = |n: i64| u64::try_from(n).unwrap_or(0);
        let (bfree, dmeta) = (positive(f.bfree), positive(f.dmeta.into()));
        let share = u128::from(dmeta).saturating_mul(f.nclean.into()).checked_div(self.nseg.into()).unwrap_or(0);
        let coming = u64::try_from(share).unwrap_or(u64::MAX);
        let nonmeta = self.dsize.saturating_sub(dmeta).saturating_sub(coming);
        let reserved = u128::from(nonmeta).saturating_mul(self.minfree.into()) / 100;
        Room {
            efree: bfree.saturating_sub(coming),
            nonmeta,
            // Cannot fail: at most 99 percent of a 64-bit number.
            reserved: u64::try_from(reserved).unwrap_or(u64::MAX),
        }
    }

    /// The number of the segment after `n`, by newfs's interleave, around the end.
    #[must_use]
    pub fn after(&self, n: SegNo, skip: u32) -> SegNo {
        let next = u64::from(n.0).saturating_add(skip.into()).saturating_add(1);
        SegNo(low32(next.checked_rem(self.nseg.into()).unwrap_or(0)))
    }
}
