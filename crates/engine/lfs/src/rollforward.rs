//! Roll-forward: what was written after the checkpoint is found again, partial segment by partial segment.
//!
//! R1. The log is read as far as each partial segment is whole, of this volume, and the next one in order. What follows
//!     is older, or torn.
//! R2. A chain of partial segments without its end is dropped whole: calls on directories have happened as a whole or
//!     not at all (engine-lfs-3).
//! R3. The highest generation of each inode is found first: blocks and inodes of an older one are dead, even where they
//!     come later than the one that freed them.
//! R4. Pointers are set from where the blocks are, as their records say, and not copied from the inodes: other systems
//!     write an inode before its blocks.
//! R5. After that the serial number goes on beyond all that a dropped tail can have. Otherwise a new partial segment of
//!     the same length as an old one would make the old one behind it valid again.
//! R6. Before anything is written where the log ended, the summary of a dropped tail is zeroed. Otherwise a write of
//!     this recovery that is torn itself could complete the torn partial segment: a recovery that is cut and begun
//!     again would end in another tree.
//! R7. Version 1 has no serial numbers but those of our seals: what another system wrote behind its checkpoint is lost,
//!     as it is for that system itself.
//! R8. No inode is further beyond the map of the checkpoint than `Geometry::inodes_ahead`: a damaged number must not
//!     make the map as long as the volume. A mount makes a checkpoint before calls get that far. It counts inodes by
//!     the map, as some that were freed before they were ever written are not in the log.

use crate::disk::Disk;
use crate::ifile::Ifile;
use crate::log::Lfs;
use crate::options::OpenOptions;
use crate::segment;
use ordo_buf::{Key, Role};
use ordo_disk::{Block, DiskOff, Tag};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::seal::{self, Seal};
use ordo_ondisk::lfs::summary::{Item, Pseg, SumFlags};
use ordo_ondisk::lfs::{Daddr, NextFree, SegNo, Serial, Summary, Superblock, inode_block};
use ordo_ondisk::{Dinode, Ino, Lbn};
use ordo_ufs::Inode;
use ordo_vfs::{Error, Kind, Refusal, Result};
use std::collections::{BTreeMap, BTreeSet};

/// A partial segment behind the checkpoint.
pub(crate) struct Seen {
    pseg: Pseg,
    /// OrdoFS wrote it.
    sealed: bool,
    serial: Serial,
    create: u64,
    next: Daddr,
    ends: bool,
    /// The inodes in it, in their order, and where their blocks are.
    pub(crate) inodes: Vec<(Daddr, Ino, Dinode)>,
}

/// The log behind the checkpoint.
#[derive(Default)]
pub(crate) struct LogTail {
    seen: Vec<Seen>,
    /// The last serial number that was seen, of dropped ones too.
    last: Serial,
    /// Where the log ends.
    end: Option<Daddr>,
}

/// Reads the log behind a superblock (R1, R2).
pub(crate) async fn read_log(
    disk: &Disk<'_>,
    sb: &Superblock,
    ifile: &Ifile,
    options: &OpenOptions,
) -> Result<LogTail> {
    let g = sb.geometry();
    let mut found = LogTail { last: sb.fields.serial, ..LogTail::default() };
    let start = |n: SegNo| g.first_pseg(n, ifile.usage(n).flags.has(SegFlags::SUPERBLOCK));
    let head = g.segment_starting(sb.fields.curseg).and_then(|n| g.next_pseg(n, sb.fields.offset));
    let next = || g.segment_starting(sb.fields.nextseg).map(start);
    let Some(mut at) = head.or_else(next) else { return Ok(found) };
    // A head at the start of a segment is behind its pads.
    if let Some(n) = g.segment_starting(at) {
        at = start(n);
    }
    let mut expected = sb.fields.serial.next();
    // No loop is longer than the volume has units.
    for _ in 0..g.size {
        found.end = Some(at);
        let Some(seen) = read_one(disk, &g, at, expected, options).await? else { break };
        expected = expected.next();
        found.last = seen.serial;
        let here = seen.pseg.next_here(&g);
        let next = g.segment_starting(seen.next).filter(|n| *n != seen.pseg.segment);
        let is_used = |n: &SegNo| found.seen.iter().any(|seen| seen.pseg.segment == *n);
        let ahead = here.or_else(|| next.filter(|n| !is_used(n)).map(start));
        found.seen.push(seen);
        match ahead {
            Some(ahead) => at = ahead,
            None => {
                found.end = None;
                break;
            }
        }
    }
    let whole = !options.settings.without.contains(&"chain-ends");
    while whole && found.seen.last().is_some_and(|seen| !seen.ends) {
        found.end = found.seen.pop().map(|seen| seen.pseg.at);
    }
    Ok(found)
}

/// The partial segment at an address, if the log goes on there.
async fn read_one(
    disk: &Disk<'_>,
    g: &ordo_ondisk::lfs::Geometry,
    at: Daddr,
    expected: Serial,
    options: &OpenOptions,
) -> Result<Option<Seen>> {
    if !g.is_data_range(at, g.summary_units()) {
        return Ok(None);
    }
    let bytes = disk.read(g.byte(at).0, g.sumsize as usize, Role::Superblock).await?;
    let Ok(summary) = Summary::decode(&bytes, g) else { return Ok(None) };
    if summary.follows(g.ident, expected).is_err() {
        return Ok(None);
    }
    let Ok(pseg) = summary.walk(g, at) else { return Ok(None) };
    let Ok(len) = usize::try_from(pseg.bytes(g)) else { return Ok(None) };
    let bytes = disk.read(g.byte(at).0, len, Role::Data).await?;
    let seal = seal::verify(&bytes, g, &summary);
    let checked = pseg.check_data(&summary, &bytes, g).is_ok() && seal != Seal::Torn;
    if !checked && !options.settings.without.contains(&"pseg-checksum") {
        return Ok(None);
    }
    let mut inodes = Vec::new();
    for item in &pseg.items {
        let Item::Inodes { at: block } = item else { continue };
        let from = usize::try_from(g.bytes(block.since(at))).unwrap_or(usize::MAX);
        let Some(bytes) = bytes.get(from..).and_then(|bytes| bytes.get(..g.ibsize as usize)) else { return Ok(None) };
        for (slot, ino) in inode_block::slots(bytes, g).filter(|(_, ino)| ino.0 >= Ino::ROOT.0) {
            let Ok(dinode) = inode_block::get(bytes, slot, g) else { return Ok(None) };
            inodes.push((*block, ino, dinode));
        }
    }
    let ends = !summary.flags.has(SumFlags::CONT);
    Ok(Some(Seen {
        pseg,
        sealed: seal != Seal::Absent,
        serial: summary.serial,
        create: summary.create,
        next: summary.next,
        ends,
        inodes,
    }))
}

impl LogTail {
    /// The log leads to the head that this superblock has.
    pub(crate) fn passes(&self, sb: &Superblock) -> bool {
        self.seen.iter().any(|seen| seen.serial == sb.fields.serial)
    }

    /// Where the log ends; `None` where there is no place to go on at.
    pub(crate) fn end(&self) -> Option<Daddr> {
        self.end
    }

    /// What this superblock has already is left out.
    pub(crate) fn starts_at(&mut self, sb: &Superblock) {
        self.seen.retain(|seen| seen.serial > sb.fields.serial);
    }
}

impl Lfs {
    /// Applies what was found. Returns how many partial segments that were.
    pub(crate) async fn roll_forward(&self, found: LogTail) -> Result<Option<u64>> {
        let log = &self.log;
        found.seen.iter().for_each(|seen| self.enter(seen));
        if found.seen.iter().all(|seen| seen.sealed) {
            self.adopt(&found.seen).await?;
        } else {
            self.roll_blocks(&found.seen).await?;
        }
        let n = found.seen.len() as u64;
        if !log.sb.borrow().is_clean() {
            let mut sb = log.sb.borrow_mut();
            let beyond = if log.keeps("serial-jumps") { log.g.size } else { 0 };
            let last = if log.keeps("serial-jumps") { found.last.0 } else { sb.fields.serial.0 };
            sb.fields.serial = Serial(last.saturating_add(beyond));
        }
        log.marked.borrow_mut().clear();
        log.unwritten.set(0);
        if !log.options.read_only {
            segment::settle_head(log)?;
        }
        Ok((n > 0).then_some(n))
    }

    /// Zeroes the summary of what was dropped at the end of the log (R6).
    pub(crate) async fn end_log(&self, end: Daddr) -> Result<()> {
        let (g, queue) = (&self.log.g, self.cache.queue());
        if !g.is_data_range(end, g.summary_units()) {
            return Ok(());
        }
        let (at, len) = (DiskOff(g.byte(end).0), g.sumsize as usize);
        let there = queue.read(at, len, Tag::of(Role::Superblock)).await.map_err(Error::io)?;
        if Summary::decode(&there, g).is_err() {
            return Ok(());
        }
        let written = queue.write(at, Block::zeroed(len).image(), Tag::of(Role::Superblock));
        written.durable().await.map_err(Error::io)
    }

    /// The log of another system: block by block, as its records say (R4).
    async fn roll_blocks(&self, seen: &[Seen]) -> Result<()> {
        let newest = newest(seen);
        let mut touched = BTreeSet::new();
        for seen in seen {
            // The blocks first: an inode block may lie before the blocks of its last inodes, and has their sizes.
            for item in &seen.pseg.items {
                let Item::Block { ino, version, lbn, at, bytes } = *item else { continue };
                let dead = newest.get(&ino).is_some_and(|newest| *newest > version);
                if ino.0 >= Ino::ROOT.0 && lbn.0 >= 0 && !dead {
                    self.roll_block(ino, version, (lbn, at, bytes)).await?;
                    touched.insert(ino);
                }
            }
            for (at, ino, dinode) in &seen.inodes {
                if newest.get(ino).is_none_or(|newest| *newest <= dinode.gen_) {
                    self.roll_inode(*ino, *at, dinode).await?;
                    touched.insert(*ino);
                }
            }
        }
        for ino in touched {
            self.settle(ino).await?;
        }
        Ok(())
    }

    /// The head of the log goes past a partial segment.
    fn enter(&self, seen: &Seen) {
        let log = &self.log;
        let mut ifile = log.ifile.borrow_mut();
        let copy = ifile.usage(seen.pseg.segment).flags.has(SegFlags::SUPERBLOCK);
        let entered = seen.pseg.at == log.g.first_pseg(seen.pseg.segment, copy);
        ifile.change_usage(seen.pseg.segment, |entry| {
            if !entry.flags.has(SegFlags::DIRTY) {
                entry.nbytes = 0;
            }
            // The segment may have become clean after the checkpoint, which has the counts of its earlier life then.
            if entered {
                (entry.nsums, entry.ninos) = (0, 0);
            }
            entry.flags = entry.flags.with(SegFlags::DIRTY).with(SegFlags::ACTIVE);
            let blocks = seen.pseg.items.iter().filter(|item| matches!(item, Item::Inodes { .. })).count();
            entry.nsums = entry.nsums.saturating_add(1);
            entry.ninos = entry.ninos.saturating_add(u16::try_from(blocks).unwrap_or(u16::MAX));
            entry.lastmod = seen.create;
        });
        let fields = &mut log.sb.borrow_mut().fields;
        fields.serial = seen.serial;
        fields.offset = seen.pseg.end;
        fields.curseg = log.g.segment_start(seen.pseg.segment);
        fields.nextseg = seen.next;
        log.changed.set(true);
    }

    /// A block of a file is here now (R4).
    async fn roll_block(&self, ino: Ino, version: u32, (lbn, at, bytes): (Lbn, Daddr, u32)) -> Result<()> {
        let log = &self.log;
        self.exists(ino, version).await?;
        let buf = self.rolled(ino).await?;
        let mut more = self.make_way(&buf, ino, lbn).await?;
        let size = log.on_disk.borrow().get(&ino).map_or(0, |disk| disk.size);
        // As the accounts have it: in whole fragments.
        let bytes = bytes.next_multiple_of(log.g.fsize);
        let old = log.point(&self.cache, ino, lbn, at)?;
        log.ifile.borrow_mut().count(at, bytes, false);
        let mut less = 0;
        if !old.is_hole() {
            less = u64::from(log.length(size, lbn));
            log.ifile.borrow_mut().count(old, log.length(size, lbn), true);
        }
        more += u64::from(bytes);
        let mut dinode = log.dinode(&buf)?;
        dinode.blocks = (dinode.blocks + more / 512).saturating_sub(less / 512);
        let reach = lbn.0.unsigned_abs() * u64::from(log.g.bsize) + u64::from(bytes);
        // Its exact size comes with the inode.
        dinode.size = dinode.size.max(reach);
        if let Some(disk) = log.on_disk.borrow_mut().get_mut(&ino) {
            disk.size = disk.size.max(reach);
        }
        log.put_dinode(&self.cache, &buf, ino, &dinode)?;
        // A clean copy in the cache is of the old place.
        self.cache.discard_key(Key::File(ino, lbn));
        Ok(())
    }

    /// The indirect blocks above a block, made where there are none; returns their bytes.
    async fn make_way(&self, buf: &ordo_buf::BufRef, ino: Ino, lbn: Lbn) -> Result<u64> {
        let (log, mut made) = (&self.log, 0);
        let depth = log.g.tree().path(lbn).ok_or_else(|| Error::from(Refusal::TooBig))?.depth();
        let there = log.indirects_above(buf, lbn).await?;
        let mut names = Vec::new();
        let mut at = lbn;
        while let Some((above, _)) = log.g.tree().parent(at) {
            names.push(above);
            at = above;
        }
        debug_assert_eq!(names.len(), depth, "every level has a block");
        for name in names.iter().rev().skip(there.len()) {
            let key = Key::File(ino, *name);
            let block = self.cache.fresh(key, Role::Indirect, None, log.g.bsize as usize).await?;
            self.cache.mark_dirty(&block);
            made += u64::from(log.g.bsize);
        }
        Ok(made)
    }

    /// The buf of an inode that the roll-forward changes.
    async fn rolled(&self, ino: Ino) -> Result<ordo_buf::BufRef> {
        if self.log.is_known(ino) {
            return self.log.dinode_buf(ino).await;
        }
        let buf = self.log.fresh_dinode(ino).await?;
        self.log.on_disk.borrow_mut().entry(ino).or_default();
        let version = self.log.ifile.borrow().entry(ino).map_err(Error::corrupt)?.version;
        // A file of nothing, until its inode comes.
        let dinode = Dinode { mode: 0o100_000, gen_: version, nlink: 1, ..Dinode::default() };
        self.log.put_dinode(&self.cache, &buf, ino, &dinode)?;
        Ok(buf)
    }

    /// The inode map has this generation of the inode; an older one is gone.
    pub(crate) async fn exists(&self, ino: Ino, version: u32) -> Result<()> {
        let log = &self.log;
        while ino.0 >= log.ifile.borrow().maxino() {
            let near = log.ifile.borrow().is_near(ino);
            if !near || !log.ifile.borrow_mut().grow() {
                return Err(Refusal::NoInodes.into());
            }
        }
        let entry = log.ifile.borrow().entry(ino).map_err(Error::corrupt)?;
        if entry.version != version && log.is_known(ino) {
            let inode = self.load(ino).await?;
            self.end(ino, &inode).await?;
        }
        let mut ifile = log.ifile.borrow_mut();
        ifile.take(ino);
        ifile.change_entry(ino, |entry| entry.version = version);
        Ok(())
    }

    /// All blocks of an inode are free, and its number.
    async fn end(&self, ino: Ino, inode: &Inode) -> Result<()> {
        self.log.on_disk.borrow_mut().entry(ino).or_default().nameless = true;
        self.release(inode).await
    }

    /// The same, of one whose buf may not be in memory.
    pub(crate) async fn end_of(&self, ino: Ino, inode: Inode) -> Result<()> {
        if self.log.is_known(ino) {
            inode.set_block(self.log.dinode_buf(ino).await?);
        } else {
            inode.set_block(self.log.fresh_dinode(ino).await?);
        }
        self.end(ino, &inode).await
    }

    /// An inode is here now: what it says, and the pointers that are known (R4).
    async fn roll_inode(&self, ino: Ino, at: Daddr, from: &Dinode) -> Result<()> {
        let log = &self.log;
        if Kind::from_bits(from.mode >> 12).is_none() || from.size > log.g.maxfilesize {
            return Ok(());
        }
        self.exists(ino, from.gen_).await?;
        let buf = self.rolled(ino).await?;
        let known = log.dinode(&buf)?;
        let mut dinode = from.clone();
        if log.has_blocks(from) {
            (dinode.db, dinode.ib, dinode.blocks) = (known.db, known.ib, known.blocks);
            dinode.size = known.size.max(from.size);
            log.put_dinode(&self.cache, &buf, ino, &dinode)?;
            let before = log.on_disk.borrow().get(&ino).map_or(0, |disk| disk.size);
            // The last block came with this inode, and is as long as it says.
            log.on_disk.borrow_mut().entry(ino).or_default().size = from.size;
            if known.size > from.size {
                let inode = Inode::new(ino, dinode.clone());
                inode.set_block(buf.clone());
                self.cut_from(&inode, before, from.size).await?;
            }
        } else {
            log.put_dinode(&self.cache, &buf, ino, &dinode)?;
        }
        let mut ifile = log.ifile.borrow_mut();
        let (bytes, old) = (log.g.version.dinode_size(), ifile.entry(ino).map_err(Error::corrupt)?.daddr);
        if !old.is_hole() {
            ifile.count(old, bytes, true);
        }
        ifile.count(at, bytes, false);
        ifile.change_entry(ino, |entry| {
            entry.daddr = at;
            entry.atime = from.atime;
            entry.nextfree = if from.nlink == 0 { NextFree::Orphan } else { NextFree::End };
        });
        Ok(())
    }

    /// The end of an inode's roll-forward: the dead one is free, the others are counted as they are.
    async fn settle(&self, ino: Ino) -> Result<()> {
        let log = &self.log;
        if !log.is_known(ino) {
            return Ok(());
        }
        let buf = log.dinode_buf(ino).await?;
        let dinode = log.dinode(&buf)?;
        let at = log.ifile.borrow().entry(ino).map_err(Error::corrupt)?.daddr;
        if at.is_hole() || dinode.nlink == 0 {
            // Its inode never came, or came without links.
            let inode = Inode::new(ino, dinode);
            inode.set_block(buf);
            return self.end(ino, &inode).await;
        }
        if let Some(disk) = log.on_disk.borrow_mut().get_mut(&ino) {
            disk.sectors = dinode.blocks;
        }
        Ok(())
    }
}

/// The highest generation of each inode (R3).
fn newest(seen: &[Seen]) -> BTreeMap<Ino, u32> {
    let mut newest = BTreeMap::new();
    for (_, ino, dinode) in seen.iter().flat_map(|seen| &seen.inodes) {
        let known = newest.entry(*ino).or_insert(dinode.gen_);
        *known = dinode.gen_.max(*known);
    }
    newest
}
