//! Where repairs go: partial segments behind the log's end and in clean segments, with an address for each block.

use super::volume::Volume;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::{Full, PsegBuilder};
use ordo_ondisk::lfs::{Daddr, IFILE, SegNo};
use ordo_ondisk::{Dinode, Ino, Lbn};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks and inodes that must be written.
#[derive(Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) blocks: BTreeSet<(u32, i64)>,
    pub(crate) inodes: BTreeMap<u32, Dinode>,
}

/// Where everything goes.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) psegs: Vec<PsegBuilder>,
    pub(crate) blocks: BTreeMap<(u32, i64), Daddr>,
    pub(crate) inodes: BTreeMap<u32, (Daddr, u32)>,
    /// Segments in the order in which they are used, and the one after them.
    pub(crate) segments: Vec<SegNo>,
    pub(crate) end: Daddr,
}

/// Gives places, one after the other.
struct Placer<'a> {
    volume: &'a Volume,
    clean: std::vec::IntoIter<SegNo>,
    open: PsegBuilder,
    layout: Layout,
}

impl Volume {
    /// Gives everything that is wanted its place: file by file, the ifile last. `None` if there is no room.
    pub(crate) fn layout(&self, wanted: &Wanted) -> Option<Layout> {
        let mut placer = Placer::new(self)?;
        let ifile = wanted.inodes.iter().filter(|(ino, _)| **ino == IFILE.0);
        let files = wanted.inodes.iter().filter(|(ino, _)| **ino != IFILE.0);
        for (&ino, dinode) in files.chain(ifile) {
            for lbn in in_order(wanted, ino) {
                let bytes = self.g.block_bytes(dinode.size, Lbn(lbn)).max(self.g.fsize);
                let at = placer.add(|pseg| pseg.block(Ino(ino), dinode.gen_, Lbn(lbn), bytes))?;
                placer.layout.blocks.insert((ino, lbn), at);
            }
            let place = placer.add(PsegBuilder::inode)?;
            placer.layout.inodes.insert(ino, (place.at, place.slot));
        }
        placer.finish()
    }

    /// Segments into which may be written, in the order of use, after the current one: first those that the table has
    /// as clean, then those that become clean by this checkpoint.
    fn free_segments(&self) -> Vec<SegNo> {
        let from = self.current().or(self.g.segment_of(self.sb.fields.curseg)).unwrap_or_default();
        let order = || (1..=self.g.nseg).map(|i| self.g.after(from, i - 1)).filter(|n| Some(*n) != self.current());
        let clean = order().filter(|n| !self.ifile.usage_of(*n).flags.has(SegFlags::DIRTY) && self.is_dead(*n));
        clean.chain(order().filter(|n| self.becomes_clean(*n))).collect()
    }

    /// Nothing is alive in a segment, and it may be written.
    fn is_dead(&self, n: SegNo) -> bool {
        let live = self.live.get(n.0 as usize).copied().unwrap_or(1);
        !self.ifile.usage_of(n).flags.has(SegFlags::INVAL) && live == 0
    }

    /// A dirty segment becomes clean by a checkpoint that both superblocks stand for, if nothing in it is alive now,
    /// and nothing was at the checkpoint from which the log is rolled forward, and none of that log is in it: until
    /// both are durable, a repair that is cut begins there again.
    pub(crate) fn becomes_clean(&self, n: SegNo) -> bool {
        let flags = self.ifile.usage_of(n).flags;
        let before = self.ifile.empty_before.get(n.0 as usize).copied().unwrap_or(false);
        let dirty = flags.has(SegFlags::DIRTY) && !flags.has(SegFlags::ERROR);
        dirty && before && self.is_dead(n) && Some(n) != self.current() && !self.tail_segments.contains(&n.0)
    }

    /// Where the first partial segment of a segment goes.
    fn first_of(&self, n: SegNo) -> Daddr {
        self.g.first_pseg(n, self.ifile.usage_of(n).flags.has(SegFlags::SUPERBLOCK))
    }

    /// Where partial segments can go behind the log's end.
    fn tail(&self) -> Option<(SegNo, Daddr)> {
        let (n, at) = (self.current()?, self.log.offset);
        if !self.log.reached || self.used_behind(n, at) {
            return None;
        }
        let at = self.g.next_pseg(n, at)?;
        Some((n, if at == self.g.segment_start(n) { self.first_of(n) } else { at }))
    }
}

impl<'a> Placer<'a> {
    fn new(volume: &'a Volume) -> Option<Placer<'a>> {
        let mut clean = volume.free_segments().into_iter();
        let (n, at) = match volume.tail() {
            Some(tail) => tail,
            None => clean.next().map(|n| (n, volume.first_of(n)))?,
        };
        let layout = Layout { segments: vec![n], ..Layout::default() };
        Some(Placer { volume, clean, open: PsegBuilder::new(&volume.g, at)?, layout })
    }

    /// Where the partial segment after the open one begins.
    fn next(&mut self) -> Option<Daddr> {
        if let Some(at) = self.volume.g.next_pseg(self.open.segment(), self.open.end()) {
            return Some(at);
        }
        self.next_segment()
    }

    fn next_segment(&mut self) -> Option<Daddr> {
        let n = self.clean.next()?;
        self.layout.segments.push(n);
        Some(self.volume.first_of(n))
    }

    fn add<T>(&mut self, put: impl Fn(&mut PsegBuilder) -> Result<T, Full>) -> Option<T> {
        loop {
            if let Ok(place) = put(&mut self.open) {
                return Some(place);
            }
            // What does not fit into an empty one needs another segment.
            let at = if self.open.is_empty() { self.next_segment()? } else { self.next()? };
            let full = std::mem::replace(&mut self.open, PsegBuilder::new(&self.volume.g, at)?);
            if !full.is_empty() {
                self.layout.psegs.push(full);
            }
        }
    }

    fn finish(mut self) -> Option<Layout> {
        self.layout.end = self.next()?;
        self.layout.psegs.push(self.open);
        // The segment in which the log goes on after this one must be clean, too.
        self.layout.segments.push(self.clean.next()?);
        Some(self.layout)
    }
}

/// The blocks of a file that are wanted: data, then indirect blocks, lowest first.
fn in_order(wanted: &Wanted, ino: u32) -> Vec<i64> {
    let data = wanted.blocks.range((ino, 0)..=(ino, i64::MAX)).map(|(_, lbn)| *lbn);
    let indirect = wanted.blocks.range((ino, i64::MIN)..(ino, 0)).map(|(_, lbn)| *lbn);
    data.chain(indirect).collect()
}
