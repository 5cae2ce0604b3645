//! Phase 5: the segment usage table and the counts that follow from it.

use super::log::{Position, of_segment, position};
use super::volume::Volume;
use crate::{Error, LfsFinding, Phase};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{Daddr, SegNo, SegUse, Version};

impl Volume {
    /// Phase 5. After a roll-forward the table is what was counted, without findings: the volume has no such table yet.
    pub(crate) async fn check_segments(&mut self) -> Result<(), Error> {
        for n in (0..self.g.nseg).map(SegNo) {
            if n.0 % 1024 == 0 {
                self.step(Phase::Groups, n.0.into(), self.g.nseg.into());
            }
            self.check_segment(n).await?;
        }
        if !self.rolled {
            self.check_counts();
            self.check_place().await?;
        }
        self.step(Phase::Groups, self.g.nseg.into(), self.g.nseg.into());
        Ok(())
    }

    async fn check_segment(&mut self, n: SegNo) -> Result<(), Error> {
        let before = self.ifile.usage_of(n);
        let mut usage = before;
        let (segment, bytes) = (n.0, self.live.get(n.0 as usize).copied().unwrap_or(0));
        if bytes > 0 && !usage.flags.has(SegFlags::DIRTY) {
            self.unless_rolled(LfsFinding::CleanSegmentInUse { segment, bytes });
            usage.flags = usage.flags.with(SegFlags::DIRTY);
        }
        if u64::from(usage.nbytes) != bytes {
            self.unless_rolled(LfsFinding::SegmentBytes { segment, found: usage.nbytes.into(), right: bytes });
            usage.nbytes = bytes.min(u32::MAX.into()) as u32;
        }
        self.check_flags(n, &mut usage);
        let metadata = self.g.bytes(self.g.metadata_units(&usage));
        if usage.flags.has(SegFlags::DIRTY) && metadata > self.g.ssize.into() {
            let (summaries, inode_blocks) = (usage.nsums, usage.ninos);
            self.find(LfsFinding::SegmentCounts { segment, summaries, inode_blocks });
            (usage.nsums, usage.ninos) = self.counts_of(n, usage.flags.has(SegFlags::SUPERBLOCK)).await?;
        }
        if usage != before
            && let Some(place) = self.ifile.usage.get_mut(n.0 as usize)
        {
            *place = usage;
        }
        Ok(())
    }

    /// Reports, unless the difference comes from rolling the log forward.
    fn unless_rolled(&mut self, finding: LfsFinding) {
        if !self.rolled {
            self.find(finding);
        }
    }

    fn check_flags(&mut self, n: SegNo, usage: &mut SegUse) {
        let segment = n.0;
        if self.has_superblock(n) && !usage.flags.has(SegFlags::SUPERBLOCK) {
            self.find(LfsFinding::SegmentFlag { segment, flag: "SUPERBLOCK", right: true });
            usage.flags = usage.flags.with(SegFlags::SUPERBLOCK);
        }
        if self.current() == Some(n) && !usage.flags.has(SegFlags::DIRTY) {
            self.unless_rolled(LfsFinding::SegmentFlag { segment, flag: "DIRTY", right: true });
            usage.flags = usage.flags.with(SegFlags::DIRTY);
        }
        // Kernels leave it on segments that were written since the checkpoint before the last; at a mount it means
        // nothing.
        if usage.flags.has(SegFlags::ACTIVE) && self.current() != Some(n) {
            usage.flags = usage.flags.without(SegFlags::ACTIVE);
        }
        let marked = usage.marked();
        if self.g.version != Version::V1 && usage.flags.has(SegFlags::DIRTY) && marked.flags != usage.flags {
            self.unless_rolled(LfsFinding::SegmentFlag { segment, flag: "EMPTY", right: usage.nbytes == 0 });
            *usage = marked;
        }
    }

    /// Summaries and inode blocks that a segment has, by the summaries.
    async fn counts_of(&mut self, n: SegNo, superblock: bool) -> Result<(u16, u16), Error> {
        let psegs = of_segment(&mut self.image, &self.g, n, superblock).await?;
        let inodes = |pseg: &ordo_ondisk::lfs::Pseg| {
            pseg.items.iter().filter(|item| matches!(item, ordo_ondisk::lfs::Item::Inodes { .. })).count()
        };
        let blocks: usize = psegs.iter().map(|(_, pseg)| inodes(pseg)).sum();
        Ok((psegs.len().min(u16::MAX.into()) as u16, blocks.min(u16::MAX.into()) as u16))
    }

    fn check_counts(&mut self) {
        let totals = self.g.totals(self.ifile.usage.iter().copied(), self.log.offset);
        let f = self.sb.fields.clone();
        // Not all systems count it in version 1.
        let dmeta_least = if self.g.version == Version::V1 && f.dmeta == 0 { 0 } else { totals.dmeta };
        let counts = [
            ("lfs_dmeta", f.dmeta.into(), dmeta_least, totals.dmeta),
            ("lfs_nclean", f.nclean.into(), totals.clean.into(), totals.clean.into()),
            ("lfs_avail", f.avail, totals.avail, totals.avail),
            ("lfs_bfree", f.bfree, totals.bfree_least, totals.bfree_most),
        ];
        for (field, found, least, most) in counts {
            if !(least..=most).contains(&found) {
                self.find(LfsFinding::Count { field, found, least, most });
            }
        }
        let f = &mut self.sb.fields;
        (f.avail, f.nclean, f.bfree) = (totals.avail, totals.clean, totals.nearest_bfree(f.bfree));
        f.dmeta = totals.dmeta.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        for (field, found, right) in
            [("clean", self.ifile.info.clean, totals.clean), ("dirty", self.ifile.info.dirty, totals.dirty)]
        {
            if found != right {
                self.find(LfsFinding::CleanerCount { field, found, right });
            }
        }
        (self.ifile.info.clean, self.ifile.info.dirty) = (totals.clean, totals.dirty);
    }

    /// The place at which the log goes on. It is wrong until the repairs are written, so it is checked until it is
    /// found to be wrong.
    async fn check_place(&mut self) -> Result<(), Error> {
        if self.misplaced {
            return Ok(());
        }
        let before = self.found;
        self.find_place().await?;
        self.misplaced = self.found > before;
        Ok(())
    }

    async fn find_place(&mut self) -> Result<(), Error> {
        let (f, g) = (self.sb.fields.clone(), self.g);
        let at = f.offset.0;
        match position(&mut self.image, &g, &self.sb).await? {
            Position::Inside => {
                self.find(LfsFinding::LogEnd { field: "lfs_offset", at, why: "inside a partial segment" });
                self.log.reached = false;
            }
            Position::Reached(Some(last)) if last > f.serial => {
                let at = f.serial.0;
                self.find(LfsFinding::LogEnd { field: "lfs_serial", at, why: "less than that of the log's end" });
            }
            Position::Unknown => self.log.reached = false,
            Position::Reached(_) => self.log.reached = true,
        }
        if let Some(n) = self.current()
            && self.used_behind(n, f.offset)
        {
            self.find(LfsFinding::LogEnd { field: "lfs_offset", at, why: "and live data lie behind it" });
            self.log.reached = false;
        }
        let next = g.segment_of(f.nextseg).map(|n| self.ifile.usage_of(n).flags);
        if f.nextseg == f.curseg || next.is_none_or(|flags| flags.has(SegFlags::DIRTY)) {
            let at = f.nextseg.0;
            self.find(LfsFinding::LogEnd { field: "lfs_nextseg", at, why: "where no clean segment is" });
        }
        if f.serial.0 > u64::MAX >> 2 {
            let at = f.serial.0;
            self.find(LfsFinding::LogEnd { field: "lfs_serial", at, why: "which no log reaches" });
        }
        Ok(())
    }

    /// Whether anything live is in a segment at or behind an address.
    pub(crate) fn used_behind(&self, n: SegNo, at: Daddr) -> bool {
        let end = self.g.segment_end(n);
        at < end && self.used.any(at.0, end.since(at))
    }
}
