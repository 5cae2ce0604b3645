//! Rolling the log forward, in memory: what was written after the checkpoint becomes part of the volume.
//!
//! R1. Only partial segments that follow each other without a gap count: of this volume, numbered in order, and with
//!     right checksums. A sequence of directory operations counts as a whole or not at all.
//! R2. The highest generation of an inode wins; blocks of an older file with the same number are dead.
//! R3. The known pointers stay, and the blocks that were written are put into them: an inode may be older on the disk
//!     than its blocks, and its indirect blocks need not be there.
//! R4. A sealed partial segment is one that OrdoFS wrote: there a file leaves whole, with the indirect blocks above
//!     what changed, so the last inode leads to all of it. Known pointers would bring back blocks where holes are.

use super::log::{pseg_at, verify};
use super::tree::{Place, Walk, has_blocks};
use super::volume::Volume;
use crate::{Error, LfsFinding};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::SumFlags;
use ordo_ondisk::lfs::{Daddr, IFILE, Item, NextFree, Pseg, SegNo, Serial, Summary, inode_block};
use ordo_ondisk::{Dinode, FragNo};
use rustc_hash::{FxHashMap, FxHashSet};

/// The partial segments that count, and where the log ends.
#[derive(Default)]
pub(crate) struct Tail {
    psegs: Vec<(Summary, Pseg, bool)>,
    /// Why the log ends.
    why: String,
    /// The number of the partial segment behind the log's end, if it is one of a later checkpoint: a roll-forward
    /// leaves numbers out, and the power may fail between its two superblocks.
    skipped_to: Option<Serial>,
    /// The last number that was seen, counted or not.
    seen: Serial,
}

impl Volume {
    /// Rolls the log forward. Returns how many partial segments count.
    pub(crate) async fn roll_forward(&mut self, newer: Option<u64>) -> Result<u64, Error> {
        let tail = self.find_tail().await?;
        let skipped = |newer: u64| tail.skipped_to.is_some_and(|serial| serial.0 <= newer);
        if let Some(newer) = newer.filter(|newer| *newer > self.log.serial.0 && !skipped(*newer)) {
            let at = self.log.offset.0;
            self.find(LfsFinding::LogBreaks { at, why: format!("number {newer}: {}", tail.why) });
        }
        self.apply(&tail).await?;
        self.free_orphans().await?;
        self.log.serial = self.log.serial.max(tail.seen);
        let count = tail.psegs.len() as u64;
        self.rolled |= count > 0;
        Ok(count)
    }

    /// Finds the end of the log.
    async fn find_tail(&mut self) -> Result<Tail, Error> {
        let g = self.g;
        let f = self.sb.fields.clone();
        let (mut tail, mut counted) = (Tail { seen: f.serial, ..Tail::default() }, 0);
        let mut at = match g.segment_starting(f.curseg).and_then(|n| g.next_pseg(n, f.offset)) {
            Some(at) => Some(self.past_pads(at)),
            None => self.start_of(f.nextseg),
        };
        let mut expect = f.serial.next();
        self.log.ends_at = at;
        while let Some(place) = at {
            let Some((summary, pseg, sealed)) = self.next_pseg(place, expect, &mut tail).await? else { break };
            at = match pseg.next_here(&g) {
                Some(next) => Some(next),
                None if g.segment_starting(summary.next) == Some(pseg.segment) => None,
                None => self.start_of(summary.next),
            };
            (tail.seen, expect) = (expect, expect.next());
            let (ends, serial) = (!summary.flags.has(SumFlags::CONT), summary.serial);
            tail.psegs.push((summary, pseg, sealed));
            if ends {
                counted = tail.psegs.len();
                (self.log.serial, self.log.reached) = (serial, true);
                self.log.offset = at.unwrap_or(place);
                self.log.ends_at = at;
            }
        }
        tail.psegs.truncate(counted);
        self.count_tail(&tail);
        Ok(tail)
    }

    /// The partial segment at `at`, if the log goes on with it.
    async fn next_pseg(
        &mut self,
        at: Daddr,
        expect: Serial,
        tail: &mut Tail,
    ) -> Result<Option<(Summary, Pseg, bool)>, Error> {
        let Some((summary, pseg)) = pseg_at(&mut self.image, &self.g, at).await? else {
            tail.why = format!("no summary at address {}", at.0);
            return Ok(None);
        };
        if let Err(why) = summary.follows(self.g.ident, expect) {
            tail.why = why.to_string();
            tail.skipped_to = Some(summary.serial).filter(|serial| *serial > expect && summary.ident == self.g.ident);
            return Ok(None);
        }
        match verify(&mut self.image, &self.g, (&summary, &pseg)).await? {
            Ok(sealed) => Ok(Some((summary, pseg, sealed))),
            Err(why) => {
                tail.why = why;
                Ok(None)
            }
        }
    }

    /// The same address, or the one behind the pads if it is the start of a segment.
    fn past_pads(&self, at: Daddr) -> Daddr {
        self.start_of(at).unwrap_or(at)
    }

    /// Where the first partial segment of the segment that starts at `at` is.
    fn start_of(&self, at: Daddr) -> Option<Daddr> {
        let n = self.g.segment_starting(at)?;
        Some(self.g.first_pseg(n, self.ifile.usage_of(n).flags.has(SegFlags::SUPERBLOCK)))
    }

    /// Counts summaries and inode blocks of the tail in their segments.
    fn count_tail(&mut self, tail: &Tail) {
        let mut opened = FxHashSet::default();
        for (summary, pseg, _) in &tail.psegs {
            let fresh = opened.insert(pseg.segment) && self.g.segment_start(pseg.segment) != self.sb.fields.curseg;
            let now = self.now;
            let Some(usage) = self.ifile.usage.get_mut(pseg.segment.0 as usize) else { continue };
            self.tail_segments.insert(pseg.segment.0);
            if fresh {
                (usage.nsums, usage.ninos) = (0, 0);
            }
            usage.flags = usage.flags.with(SegFlags::DIRTY);
            usage.nsums = usage.nsums.saturating_add(1);
            usage.ninos = usage.ninos.saturating_add(summary.inode_blocks.len() as u16);
            usage.lastmod = now.max(usage.lastmod);
        }
        // The log may go on at the start of a segment that has nothing of it yet, and the counts of its earlier life.
        let ahead = self.current().filter(|n| !tail.psegs.is_empty() && !opened.contains(n));
        if let Some(n) = ahead.filter(|n| self.g.segment_start(*n) != self.sb.fields.curseg)
            && let Some(usage) = self.ifile.usage.get_mut(n.0 as usize).filter(|usage| usage.nbytes == 0)
        {
            (usage.nsums, usage.ninos) = (0, 0);
        }
    }

    async fn apply(&mut self, tail: &Tail) -> Result<(), Error> {
        let mut inodes = vec![];
        for (_, pseg, _) in &tail.psegs {
            inodes.push(self.inodes_of(pseg).await?);
        }
        let highest = self.highest(&inodes);
        let mut touched = FxHashSet::default();
        for (ino, dinode) in inodes.iter().flatten().map(|(_, ino, dinode)| (*ino, dinode)) {
            if highest.get(&ino) == Some(&dinode.gen_) && touched.insert(ino) {
                self.begin(ino, dinode).await?;
            }
        }
        for ((_, pseg, sealed), inodes) in tail.psegs.iter().zip(&inodes) {
            for (at, ino, dinode) in inodes.iter().filter(|(_, ino, dinode)| highest.get(ino) == Some(&dinode.gen_)) {
                self.update(*ino, *at, dinode, *sealed).await?;
            }
            for item in &pseg.items {
                if let Item::Block { ino, version, lbn, at, bytes } = *item
                    && !*sealed
                    && ino != IFILE
                    && lbn.0 >= 0
                {
                    self.take_block(ino.0, version, lbn.0, (at, bytes)).await?;
                    touched.insert(ino.0);
                }
            }
        }
        for ino in touched {
            if let Some(mut dinode) = self.inodes.get(&ino).cloned() {
                if dinode.nlink == 0 {
                    self.free(ino);
                    continue;
                }
                self.recount(ino, &mut dinode).await?;
                self.put_dinode(ino, dinode);
            }
        }
        Ok(())
    }

    /// All inodes of a partial segment but the ifile's, in their order.
    async fn inodes_of(&mut self, pseg: &Pseg) -> Result<Vec<(Daddr, u32, Dinode)>, Error> {
        let mut found = vec![];
        for item in &pseg.items {
            let Item::Inodes { at } = *item else { continue };
            let block = self.read(at, self.g.ibsize as usize).await?;
            for (slot, ino) in inode_block::slots(&block, &self.g) {
                if let (true, Ok(dinode)) = (ino > IFILE, inode_block::get(&block, slot, &self.g)) {
                    found.push((at, ino.0, dinode));
                }
            }
        }
        Ok(found)
    }

    /// The highest generation of each inode of the tail that is not older than the volume's (R2). Numbers that the
    /// inode map could not have grown to are left out: they would only make it large.
    fn highest(&self, inodes: &[Vec<(Daddr, u32, Dinode)>]) -> FxHashMap<u32, u32> {
        let most = self.ifile.entries.len() as u64 + u64::from(self.g.inodes_ahead());
        let mut highest: FxHashMap<u32, u32> = FxHashMap::default();
        for (_, ino, dinode) in inodes.iter().flatten() {
            let known = self.ifile.entry(*ino).version;
            if u64::from(*ino) < most && dinode.gen_ >= known {
                let version = highest.entry(*ino).or_default();
                *version = (*version).max(dinode.gen_);
            }
        }
        highest
    }

    /// Makes a file known that the checkpoint does not have, without contents.
    async fn begin(&mut self, ino: u32, newest: &Dinode) -> Result<(), Error> {
        while ino as usize >= self.ifile.entries.len() {
            self.grow_ifile().await?;
        }
        let known = self.dinode(ino).await?.filter(|_| self.ifile.entry(ino).version == newest.gen_);
        let dinode = match known {
            Some(dinode) => dinode,
            None => {
                let mut fresh = Dinode { size: 0, blocks: 0, ..newest.clone() };
                if has_blocks(newest, self) {
                    (fresh.db, fresh.ib) = Default::default();
                }
                fresh
            }
        };
        self.put_dinode(ino, dinode);
        if let Some(entry) = self.ifile.entry_mut(ino) {
            (entry.version, entry.nextfree) = (newest.gen_, NextFree::End);
        }
        Ok(())
    }

    /// Gives an inode the attributes of a newer copy (R3).
    async fn update(&mut self, ino: u32, at: Daddr, newer: &Dinode, sealed: bool) -> Result<(), Error> {
        let Some(mut dinode) = self.inodes.get(&ino).cloned() else { return Ok(()) };
        let (db, ib) = (dinode.db, dinode.ib);
        let before = dinode.size;
        dinode = newer.clone();
        // R4: what OrdoFS wrote leads to all of the file.
        if has_blocks(newer, self) && !sealed {
            (dinode.db, dinode.ib) = (db, ib);
            if newer.size < before {
                self.cut(ino, &mut dinode).await?;
            }
        }
        self.put_dinode(ino, dinode);
        if let Some(entry) = self.ifile.entry_mut(ino) {
            entry.daddr = at;
        }
        Ok(())
    }

    /// Drops the blocks beyond the size.
    async fn cut(&mut self, ino: u32, dinode: &mut Dinode) -> Result<(), Error> {
        let blocks = self.g.file_blocks(dinode.size);
        let mut walk = Walk::new(self, ino, dinode);
        let mut beyond: Vec<Place> = vec![];
        while let Some(pointer) = walk.next(self).await? {
            if pointer.first >= blocks {
                walk.skip();
                beyond.push(pointer.place);
            }
        }
        for place in beyond {
            self.set_place(ino, dinode, place, FragNo::HOLE).await?;
        }
        Ok(())
    }

    /// Puts a block that was written into its file.
    async fn take_block(&mut self, ino: u32, version: u32, lbn: i64, to: (Daddr, u32)) -> Result<(), Error> {
        if self.ifile.entry(ino).version != version || !self.in_use(ino) {
            return Ok(());
        }
        let Some(mut dinode) = self.dinode(ino).await? else { return Ok(()) };
        if !has_blocks(&dinode, self) {
            return Ok(());
        }
        let end = (lbn as u64).saturating_mul(self.g.bsize.into()).saturating_add(to.1.into());
        let begin = (lbn as u64).saturating_mul(self.g.bsize.into());
        if dinode.size <= begin {
            dinode.size = end.min(self.g.maxfilesize);
        }
        self.set_pointer(ino, &mut dinode, lbn, to.0.pointer()).await?;
        self.put_dinode(ino, dinode);
        Ok(())
    }

    /// Frees inodes that had lost their last name, and clears the mark on those that still have one.
    async fn free_orphans(&mut self) -> Result<(), Error> {
        let marked: Vec<u32> = (0u32..)
            .zip(&self.ifile.entries)
            .filter(|(_, entry)| entry.nextfree == NextFree::Orphan && !entry.daddr.is_hole())
            .map(|(ino, _)| ino)
            .collect();
        for ino in marked {
            let Some(dinode) = self.dinode(ino).await? else { continue };
            self.rolled = true;
            if dinode.nlink == 0 || dinode.nlink > i16::MAX as u16 {
                self.free(ino);
            } else if let Some(entry) = self.ifile.entry_mut(ino) {
                entry.nextfree = NextFree::End;
            }
        }
        Ok(())
    }

    /// Segment in which the log goes on.
    pub(crate) fn current(&self) -> Option<SegNo> {
        self.g.segment_of(self.log.offset)
    }
}
