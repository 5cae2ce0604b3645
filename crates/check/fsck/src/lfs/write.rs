//! Writes what differs: appends it to the log, and makes both superblocks lead there.
//!
//! W1. Nothing live is overwritten: partial segments go behind the log's end, if the log is known to end there and
//!     nothing live is behind, and into segments of which nothing is live: those that are clean, and dirty ones that
//!     this checkpoint makes clean, as one of a mount would ([`Volume::becomes_clean`]). Without these a log that has
//!     gone round has no room for repairs: what it emptied since its checkpoint is marked dirty there.
//! W2. The new serial numbers are far above all earlier ones: a roll-forward from an old superblock stops before what
//!     is written here, so that an interrupted repair leaves the volume as it was.
//! W3. The superblocks are written last, one after the other, after everything else is durable.
//! W4. A partial segment that was dropped where the new ones go loses its summary before: a repair that is cut could
//!     complete it, if it was torn, and the next repair would find another tree.
//! W5. Which blocks of the ifile differ depends on where everything goes, and that on how much there is: the layout is
//!     repeated until no further block of the ifile differs. The set only grows, so it ends.
//! W6. In version 1 the time tells which superblock is older. The new time is later than that of both, not only of the
//!     one from which the check started: else a repair that is cut between the two leaves superblocks of one time that
//!     lead to different ifiles, and a mount takes them for those of two volumes.

use super::layout::{Layout, Wanted};
use super::log::pseg_at;
use super::tree::has_blocks;
use super::volume::Volume;
use crate::{Error, LfsFinding};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::{PsegBuilder, Stamp, SumFlags};
use ordo_ondisk::lfs::{Daddr, IFILE, Item, SegNo, SegUse, Serial, Version, inode_block};
use ordo_ondisk::{Dinode, Ino, Lbn, Root};
use ordo_recover::Order;

impl Volume {
    /// Writes all repairs. `false` if there is no clean space for them.
    pub(crate) async fn write_repairs(&mut self) -> Result<bool, Error> {
        let mut wanted = self.wanted().await?;
        let usage = self.ifile.usage.clone();
        let layout = loop {
            self.ifile.usage.clone_from(&usage);
            let Some(layout) = self.layout(&wanted) else { return Ok(false) };
            self.account(&wanted, &layout).await?;
            let missing =
                self.ifile_changes(&layout).into_iter().filter(|lbn| !wanted.blocks.contains(&(IFILE.0, *lbn)));
            let missing: Vec<i64> = missing.collect();
            if missing.is_empty() {
                break layout;
            }
            for lbn in missing {
                self.want_block(&mut wanted, IFILE.0, lbn).await?;
            }
        };
        self.put_psegs(&mut wanted, &layout).await?;
        self.put_superblocks().await?;
        Ok(true)
    }

    /// What differs from the disk, with the blocks and inodes above it.
    async fn wanted(&mut self) -> Result<Wanted, Error> {
        let mut wanted = Wanted::default();
        let inodes: Vec<(u32, Dinode)> = self.inodes.iter().map(|(ino, dinode)| (*ino, dinode.clone())).collect();
        for (ino, dinode) in inodes {
            let at = self.ifile.entry(ino).daddr;
            if self.inode_on_disk(at, ino).await?.as_ref() != Some(&dinode) {
                wanted.inodes.insert(ino, dinode);
            }
        }
        let blocks: Vec<(u32, i64)> = self.blocks.keys().copied().collect();
        for (ino, lbn) in blocks {
            let Some(dinode) = self.dinode(ino).await? else { continue };
            let reached = has_blocks(&dinode, self) && (lbn < 0 || (lbn as u64) < self.g.file_blocks(dinode.size));
            if (self.in_use(ino) || ino == IFILE.0) && reached && !self.address(ino, &dinode, lbn).await?.is_hole() {
                self.want_block(&mut wanted, ino, lbn).await?;
            }
        }
        // The first block of the ifile has the counts; with it goes the inode.
        self.want_block(&mut wanted, IFILE.0, 0).await?;
        Ok(wanted)
    }

    async fn want_block(&mut self, wanted: &mut Wanted, ino: u32, lbn: i64) -> Result<(), Error> {
        let Some(dinode) = self.dinode(ino).await? else { return Ok(()) };
        let tree = self.g.tree();
        let mut at = Some(lbn);
        while let Some(lbn) = at {
            if lbn < 0 {
                let to = self.address(ino, &dinode, lbn).await?;
                self.take_indirect(ino, lbn, to.pointer()).await?;
            }
            wanted.blocks.insert((ino, lbn));
            at = tree.parent(Lbn(lbn)).map(|(parent, _)| parent.0);
        }
        wanted.inodes.entry(ino).or_insert(dinode);
        Ok(())
    }

    /// The address of any block of a file.
    async fn address(&mut self, ino: u32, dinode: &Dinode, lbn: i64) -> Result<Daddr, Error> {
        let tree = self.g.tree();
        if lbn >= 0 {
            return Ok(self.pointer(ino, dinode, lbn).await?.into());
        }
        let mut above = vec![];
        let mut at = Lbn(lbn);
        while let Some((parent, i)) = tree.parent(at) {
            above.push((parent, i));
            at = parent;
        }
        let Some(root) = tree.root_of(at) else { return Ok(Daddr::HOLE) };
        let mut to = dinode.ib.get(root).copied().unwrap_or_default();
        for (name, i) in above.into_iter().rev() {
            if to.is_hole() {
                return Ok(Daddr::HOLE);
            }
            let block = self.content(ino, name.0, to, self.g.bsize as usize).await?;
            to = self.encoding().pointer(&block, i).unwrap_or_default();
        }
        Ok(to.into())
    }

    /// Counts of segments, entries and superblock as they are after the layout is written.
    async fn account(&mut self, wanted: &Wanted, layout: &Layout) -> Result<(), Error> {
        let (g, own) = (self.g, self.g.version.dinode_size());
        for usage in &mut self.ifile.usage {
            usage.flags = usage.flags.without(SegFlags::ACTIVE);
        }
        self.take_old(wanted).await?;
        for n in (0..g.nseg).map(SegNo).filter(|n| self.becomes_clean(*n)).collect::<Vec<_>>() {
            if let Some(usage) = self.ifile.usage.get_mut(n.0 as usize) {
                usage.flags = usage.flags.without(SegFlags::DIRTY);
            }
        }
        let opened = layout.segments.get(..layout.segments.len().saturating_sub(1)).unwrap_or_default();
        let current = self.current();
        for n in opened.iter().filter(|n| Some(**n) != current) {
            if let Some(usage) = self.ifile.usage.get_mut(n.0 as usize) {
                let flags = usage.flags.with(SegFlags::DIRTY);
                *usage = SegUse { flags, ..SegUse::default() };
            }
        }
        for pseg in &layout.psegs {
            let now = self.now;
            if let Some(usage) = self.ifile.usage.get_mut(pseg.segment().0 as usize) {
                usage.flags = usage.flags.with(SegFlags::DIRTY);
                usage.nsums = usage.nsums.saturating_add(1);
                usage.ninos = usage.ninos.saturating_add(pseg.inode_blocks() as u16);
                usage.lastmod = now;
                usage.nbytes = usage.nbytes.saturating_add(u32::from(pseg.ninos()).saturating_mul(own));
            }
            for item in pseg.items() {
                if let Item::Block { at, .. } = item {
                    self.change_bytes(*at, g.bytes(item.units(&g)) as i64);
                }
            }
        }
        self.ifile.usage.iter_mut().for_each(|usage| {
            if usage.flags.has(SegFlags::DIRTY) {
                *usage = usage.marked();
            }
        });
        self.account_superblock(layout);
        Ok(())
    }

    /// Takes from their segments what is written anew.
    async fn take_old(&mut self, wanted: &Wanted) -> Result<(), Error> {
        let (g, own) = (self.g, self.g.version.dinode_size());
        for &(ino, lbn) in &wanted.blocks {
            let Some(dinode) = wanted.inodes.get(&ino) else { continue };
            let at = self.address(ino, dinode, lbn).await?;
            if !self.is_unwritten(ino, lbn, at.pointer()) && !at.is_hole() {
                self.change_bytes(at, -i64::from(g.block_bytes(dinode.size, Lbn(lbn))));
            }
        }
        for &ino in wanted.inodes.keys() {
            let at = if ino == IFILE.0 { self.sb.fields.idaddr } else { self.ifile.entry(ino).daddr };
            if self.inode_blocks.contains(&at.0) && self.inode_on_disk(at, ino).await?.is_some() {
                self.change_bytes(at, -i64::from(own));
            }
        }
        Ok(())
    }

    fn change_bytes(&mut self, at: Daddr, by: i64) {
        let segment = self.g.segment_of(at).map_or(usize::MAX, |n| n.0 as usize);
        if let Some(usage) = self.ifile.usage.get_mut(segment) {
            usage.nbytes = (i64::from(usage.nbytes) + by).clamp(0, u32::MAX.into()) as u32;
        }
    }

    fn account_superblock(&mut self, layout: &Layout) {
        let totals = self.g.totals(self.ifile.usage.iter().copied(), layout.end);
        let f = &mut self.sb.fields;
        (f.avail, f.nclean, f.bfree) = (totals.avail, totals.clean, totals.nearest_bfree(f.bfree));
        f.dmeta = totals.dmeta.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let info = &mut self.ifile.info;
        (info.clean, info.dirty, info.bfree, info.avail) = (totals.clean, totals.dirty, f.bfree, f.avail);
        (info.free_head, info.flags) = (f.freehd, info.flags & 1);
    }

    /// Data blocks of the ifile whose contents are not those on the disk.
    fn ifile_changes(&self, layout: &Layout) -> Vec<i64> {
        let differs =
            |lbn: &usize| self.ifile.old.get(*lbn).and_then(Option::as_ref) != Some(&self.encode_ifile(*lbn, layout));
        (0..self.ifile.old.len()).filter(differs).map(|lbn| lbn as i64).collect()
    }

    /// A data block of the ifile.
    fn encode_ifile(&self, lbn: usize, layout: &Layout) -> Vec<u8> {
        let (g, version, e) = (&self.g, self.g.version, self.g.endian);
        let mut block = self.ifile.old.get(lbn).cloned().flatten().unwrap_or_else(|| vec![0; g.bsize as usize]);
        let (start, map) = (g.cleansz as usize, g.inode_map_start() as usize);
        // None of this can fail: the entries are in the block.
        if lbn == 0 {
            let _ = self.ifile.info.encode(&mut block, version, e);
        } else if lbn < map {
            let first = ((lbn - start) as u32).saturating_mul(g.sepb);
            for n in (first..first.saturating_add(g.sepb).min(g.nseg)).map(SegNo) {
                let _ = self.ifile.usage_of(n).encode(&mut block, g.seguse_place(n).at, version, e);
            }
        } else {
            let first = ((lbn - map) as u32).saturating_mul(g.ifpb);
            for ino in first..first.saturating_add(g.ifpb) {
                let mut entry = self.ifile.entry(ino);
                if let Some((at, _)) = layout.inodes.get(&ino).filter(|_| ino != IFILE.0) {
                    entry.daddr = *at;
                }
                let _ = entry.encode(&mut block, g.entry_place(Ino(ino)).at, version, e);
            }
        }
        block
    }

    /// Writes the partial segments, and makes them durable.
    async fn put_psegs(&mut self, wanted: &mut Wanted, layout: &Layout) -> Result<(), Error> {
        self.point(wanted, layout);
        let f = &self.sb.fields;
        let jump = self.g.size.max(1);
        let base = f.serial.0.max(self.log.serial.0);
        // A number that no log reaches is damage, and adding to it would overflow.
        let damaged = base > u64::MAX >> 2;
        let scanned = if damaged { Some(self.scan().await?) } else { self.scan.clone() };
        let scanned = scanned.map_or(0, |scan| scan.serial.0);
        let base = if damaged { scanned } else { base.max(scanned.min(u64::MAX >> 2)) };
        let mut serial = Serial(base.saturating_add(jump));
        for at in layout.psegs.iter().map(PsegBuilder::at).filter(|at| self.log.ends_at == Some(*at)) {
            if pseg_at(&mut self.image, &self.g, at).await?.is_some() {
                self.image.write(self.g.byte(at), &vec![0; self.g.sumsize as usize], Order::Contents).await?;
                self.image.flush_order(Order::Contents).await?;
            }
        }
        for pseg in &layout.psegs {
            let mut bytes = vec![0; pseg.bytes()];
            for item in pseg.items() {
                let content = self.item(item, wanted, layout).await?;
                let place = bytes.get_mut(pseg.offset_of(item.at())..).unwrap_or_default();
                place.iter_mut().zip(content).for_each(|(to, from)| *to = from);
            }
            serial = serial.next();
            let after = layout.segments.iter().skip_while(|n| **n != pseg.segment()).nth(1);
            let next = after.map_or(Daddr::HOLE, |n| self.g.segment_start(*n));
            let create = self.now.max(self.sb.fields.tstamp);
            let stamp = Stamp { flags: SumFlags::RFW, serial, create, next, reclino: 0 };
            // Cannot fail: all bytes are there.
            let _ = pseg.seal_with_crc(&stamp, &mut bytes);
            self.image.write(self.g.byte(pseg.at()), &bytes, Order::Contents).await?;
            self.image.flush_order(Order::Contents).await?;
        }
        self.move_log(layout, serial);
        Ok(())
    }

    fn move_log(&mut self, layout: &Layout, serial: Serial) {
        let last = layout.segments.len().saturating_sub(1);
        let start = |i: usize| layout.segments.get(i).map(|n| self.g.segment_start(*n));
        let (next, current) = (start(last), start(last.saturating_sub(1)));
        let ifile = layout.inodes.get(&IFILE.0).map(|place| place.0);
        let f = &mut self.sb.fields;
        let before = f.curseg;
        (f.nextseg, f.curseg) = (next.unwrap_or(f.nextseg), current.unwrap_or(f.curseg));
        if f.curseg != before {
            f.lastseg = before;
        }
        (f.offset, f.lastpseg, f.serial) = (layout.end, layout.end, serial);
        f.idaddr = ifile.unwrap_or(f.idaddr);
        // Kernels do not count the root.
        f.nfiles = self.files.saturating_sub(1);
    }

    /// Puts the new addresses into inodes and indirect blocks.
    fn point(&mut self, wanted: &mut Wanted, layout: &Layout) {
        let (tree, encoding) = (self.g.tree(), self.encoding());
        for (&(ino, lbn), at) in &layout.blocks {
            if let Some((parent, i)) = tree.parent(Lbn(lbn)) {
                if let Some(block) = self.blocks.get_mut(&(ino, parent.0)) {
                    // Cannot fail: the index is in the block, and the address in the volume.
                    let _ = encoding.put_pointer(block, i, at.pointer());
                }
                continue;
            }
            let Some(dinode) = wanted.inodes.get_mut(&ino) else { continue };
            let root = match tree.path(Lbn(lbn)).map(|path| path.root) {
                Some(Root::Direct(i)) => dinode.db.get_mut(i),
                _ => tree.root_of(Lbn(lbn)).and_then(|i| dinode.ib.get_mut(i)),
            };
            root.into_iter().for_each(|pointer| *pointer = at.pointer());
        }
    }

    /// The bytes of a block or an inode block.
    async fn item(&mut self, item: &Item, wanted: &Wanted, layout: &Layout) -> Result<Vec<u8>, Error> {
        match *item {
            Item::Block { ino, lbn, .. } if ino == IFILE && lbn.0 >= 0 => Ok(self.encode_ifile(lbn.0 as usize, layout)),
            Item::Block { ino, lbn, bytes, .. } => {
                self.content(ino.0, lbn.0, Daddr::HOLE.pointer(), bytes as usize).await
            }
            Item::Inodes { at } => {
                let mut block = vec![0; self.g.ibsize as usize];
                for (ino, (_, slot)) in layout.inodes.iter().filter(|(_, place)| place.0 == at) {
                    let Some(dinode) = wanted.inodes.get(ino) else { continue };
                    // Cannot fail: the slot is in the block.
                    let _ = inode_block::put(&mut block, *slot, &self.g, Ino(*ino), dinode);
                }
                Ok(block)
            }
        }
    }

    /// Writes both superblocks, marked clean.
    pub(crate) async fn put_superblocks(&mut self) -> Result<(), Error> {
        self.sb.set_clean(true);
        // W6.
        let later = u64::from(self.g.version == Version::V1);
        self.sb.fields.tstamp = self.now.max(self.latest.saturating_add(later));
        self.sb.fields.uinodes = 0;
        let bytes = self.sb.encode();
        for at in self.g.sboffs.into_iter().take(2).filter(|at| !at.is_hole()) {
            self.image.write(self.g.byte(at), &bytes, Order::Superblock).await?;
            self.image.flush_superblock().await?;
        }
        Ok(())
    }

    /// Whether anything but the superblocks must be written.
    pub(crate) async fn is_changed(&mut self) -> Result<bool, Error> {
        let usage = self.ifile.usage.clone();
        let end = self.log.offset;
        let none = Layout { end, ..Layout::default() };
        let changed = self.rolled || !self.inodes.is_empty() || !self.blocks.is_empty();
        let changed = changed || !self.ifile_changes(&none).is_empty();
        self.ifile.usage = usage;
        Ok(changed)
    }

    /// Reports that there is no space for repairs.
    pub(crate) fn no_space(&mut self) {
        self.report.refused = Some(LfsFinding::NoCleanSegment {}.to_string());
        self.find(LfsFinding::NoCleanSegment {});
    }
}
