//! Where segments begin, where in them the first partial segment begins, and where the next one does.

use super::Geometry;
use crate::lfs::{Daddr, LABEL_PAD, SB_PAD, SegNo, Version};

impl Geometry {
    /// First unit of a segment.
    #[inline]
    pub fn segment_start(&self, n: SegNo) -> Daddr {
        self.s0addr.plus(u64::from(n.0).saturating_mul(self.fsbpseg.into()))
    }

    /// First unit after a segment.
    #[inline]
    pub fn segment_end(&self, n: SegNo) -> Daddr {
        self.segment_start(n).plus(self.fsbpseg.into())
    }

    /// The segment that an address is in; `None` outside of all.
    #[inline]
    pub fn segment_of(&self, at: Daddr) -> Option<SegNo> {
        let n = at.0.checked_sub(self.s0addr.0)?.checked_div(self.fsbpseg.into())?;
        u32::try_from(n).ok().filter(|&n| n < self.nseg).map(SegNo)
    }

    /// The segment that starts at an address; `None` if none does.
    pub fn segment_starting(&self, at: Daddr) -> Option<SegNo> {
        self.segment_of(at).filter(|&n| self.segment_start(n) == at)
    }

    /// Units at the start of a segment that are never written by the log. `superblock` is the segment's flag
    /// [`crate::lfs::ifile::SegFlags::SUPERBLOCK`]: it decides, not the list of copies, which may disagree.
    pub fn pad(&self, n: SegNo, superblock: bool) -> u64 {
        let copy = if superblock { self.units(SB_PAD.into()) } else { 0 };
        copy.saturating_add(self.label_units(n))
    }

    /// Units of the label that are in segment `n`: some only in segment 0, and not in version 1.
    fn label_units(&self, n: SegNo) -> u64 {
        if self.version == Version::V1 || n != SegNo(0) {
            return 0;
        }
        self.units(LABEL_PAD.into()).saturating_sub(self.s0addr.0)
    }

    /// Where the first partial segment of a segment is.
    pub fn first_pseg(&self, n: SegNo, superblock: bool) -> Daddr {
        self.segment_start(n).plus(self.pad(n, superblock))
    }

    /// Where a partial segment follows one of segment `n` that ends at `end`; `None` if that is in the next segment. A
    /// reader that used another rule would lose the log.
    pub fn next_pseg(&self, n: SegNo, end: Daddr) -> Option<Daddr> {
        let remaining = self.segment_end(n).since(end);
        (remaining > self.block_units.into()).then_some(end)
    }

    /// `true` if these units are in one segment, and not in a place where no file can be.
    pub fn is_data_range(&self, at: Daddr, units: u64) -> bool {
        let Some(n) = self.segment_of(at) else { return false };
        let pads = self.segment_start(n).plus(self.label_units(n));
        let end = at.0.checked_add(units).is_some_and(|end| end <= self.segment_end(n).0);
        units > 0 && end && at >= pads && !at.is_hole()
    }

    /// `true` if newfs gives segment `n` the flag of a superblock.
    pub fn newfs_flags(&self, n: SegNo) -> bool {
        let interval = self.superblock_interval();
        let turn = n.0.checked_div(interval).unwrap_or(0);
        let due = n.0.checked_rem(interval) == Some(0) && u64::from(turn) < crate::num::len64(self.sboffs.len());
        due && (n.0 != 0 || self.s0addr.0 < self.units(u64::from(LABEL_PAD).saturating_add(SB_PAD.into())))
    }

    /// Segments from one copy of the superblock to the next, as newfs places them.
    pub fn superblock_interval(&self) -> u32 {
        crate::lfs::superblock::interval(self.nseg)
    }
}
