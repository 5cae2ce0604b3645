//! The log of a new volume while its addresses are given: partial segment after partial segment, from segment 0 on.

use super::NewfsError;
use crate::lfs::ifile::SegFlags;
use crate::lfs::summary::{Full, Item, PsegBuilder};
use crate::lfs::{Daddr, Geometry, SegNo, SegUse};
use crate::num::{index, low32};
use crate::{Corrupt, Rule, Structure};

/// The log so far.
pub(super) struct Log<'a> {
    pub(super) g: &'a Geometry,
    /// Complete partial segments.
    pub(super) done: Vec<PsegBuilder>,
    open: PsegBuilder,
}

fn no_room(at: Daddr) -> NewfsError {
    let why = Rule::Words("where nothing fits into a partial segment");
    NewfsError::Wrong(Corrupt::new(Structure::PartialSegment, "address", at.0, why))
}

impl<'a> Log<'a> {
    pub(super) fn new(g: &'a Geometry) -> Result<Log<'a>, NewfsError> {
        let at = g.first_pseg(SegNo(0), g.newfs_flags(SegNo(0)));
        let open = PsegBuilder::new(g, at).ok_or_else(|| no_room(at))?;
        Ok(Log { g, done: Vec::new(), open })
    }

    /// Adds to the open partial segment, or to the next if that is full.
    pub(super) fn add<T>(&mut self, put: impl Fn(&mut PsegBuilder) -> Result<T, Full>) -> Result<T, NewfsError> {
        // At most one partial segment in this segment and one in the next are in vain.
        for _ in 0..3 {
            if let Ok(there) = put(&mut self.open) {
                return Ok(there);
            }
            let (at, _) = if self.open.is_empty() { self.next_segment() } else { self.next() };
            let full = std::mem::replace(&mut self.open, PsegBuilder::new(self.g, at).ok_or_else(|| no_room(at))?);
            if !full.is_empty() {
                self.done.push(full);
            }
        }
        Err(no_room(self.open.at()))
    }

    /// Where the partial segment after the open one starts.
    fn next(&self) -> (Daddr, SegNo) {
        let segment = self.open.segment();
        self.g.next_pseg(segment, self.open.end()).map_or_else(|| self.next_segment(), |at| (at, segment))
    }

    fn next_segment(&self) -> (Daddr, SegNo) {
        let next = self.g.after(self.open.segment(), 0);
        (self.g.first_pseg(next, self.g.newfs_flags(next)), next)
    }

    /// Completes the last partial segment.
    pub(super) fn finish(&mut self) {
        if !self.open.is_empty() {
            self.done.push(self.open.clone());
        }
    }

    /// Where the log goes on, and in which segment.
    pub(super) fn end(&self) -> (Daddr, SegNo) {
        if self.open.is_empty() { (self.open.at(), self.open.segment()) } else { self.next() }
    }

    /// The usage of all segments.
    pub(super) fn usage(&self, now: u64) -> Vec<SegUse> {
        let flags = |n| SegFlags::default().when(SegFlags::SUPERBLOCK, self.g.newfs_flags(n));
        let mut all: Vec<_> =
            (0..self.g.nseg).map(|n| SegUse { flags: flags(SegNo(n)), ..SegUse::default() }).collect();
        for pseg in &self.done {
            if let Some(usage) = all.get_mut(index(pseg.segment().0)) {
                self.count(pseg, usage);
                usage.lastmod = now;
            }
        }
        // The segment in which the log goes on is no longer clean, even if nothing is in it yet.
        if let Some(current) = all.get_mut(index(self.end().1.0)) {
            current.flags = current.flags.with(SegFlags::DIRTY);
        }
        all.into_iter().map(SegUse::marked).collect()
    }

    fn count(&self, pseg: &PsegBuilder, usage: &mut SegUse) {
        usage.flags = usage.flags.with(SegFlags::DIRTY);
        usage.nsums = usage.nsums.saturating_add(1);
        let inodes = u32::from(pseg.ninos()).saturating_mul(self.g.version.dinode_size());
        usage.nbytes = usage.nbytes.saturating_add(inodes);
        for item in pseg.items() {
            match item {
                Item::Inodes { .. } => usage.ninos = usage.ninos.saturating_add(1),
                Item::Block { .. } => {
                    usage.nbytes = usage.nbytes.saturating_add(low32(self.g.bytes(item.units(self.g))));
                }
            }
        }
    }
}
