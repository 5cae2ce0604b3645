//! Checkpoints: the ifile goes to the log, and a superblock that leads to it.
//!
//! K1. A superblock is written when all partial segments before it are durable, and the checkpoint has ended when the
//!     superblock is. The originals have no such barriers: they trust that completed means durable.
//! K2. The two superblocks are written in turn, and the second of a sync when the first is durable. A torn one leaves
//!     the other, which is whole.
//! K3. The ifile describes the segments that it is written to itself. Which of its blocks change by that is found by
//!     trying: places are given, and if a block changes that has none, all of it is tried again with that block.
//! K4. A segment that was empty at this checkpoint and at the one before it is clean (engine-lfs-5), unless the cleaner
//!     reads it (cleaner-5) or has found that it cannot be read (cleaner-6).
//! K5. After a sync both superblocks stand for the checkpoint that it made, or for a later one. NetBSD mounts the older
//!     of them and does not roll forward: with one, what was synced would not be there. The checkpoints of the log's
//!     own write one, and cost a flush less.

use crate::home::own_batch;
use crate::log::Log;
use crate::segment::Chain;
use ordo_disk::{DiskOff, Tag};
use ordo_ondisk::Lbn;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::summary::SumFlags;
use ordo_ondisk::lfs::{CleanerInfo, IFILE, SegNo, Superblock, Version, inode_block};
use ordo_vfs::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most attempts of K3; each adds a block, and a checkpoint changes few.
const TRIES: usize = 64;

/// A checkpoint whose partial segments are in flight.
struct Taken {
    superblock: Superblock,
    empty: BTreeSet<SegNo>,
}

impl Log {
    /// Makes everything durable, and the head of the log known to a superblock.
    ///
    /// # Errors
    /// `NoSpace`, `Io`.
    pub(crate) async fn checkpoint(&self) -> Result<()> {
        let _one = self.checkpointing.lock().await;
        self.checkpoint_one().await
    }

    /// The same, known to both superblocks (K5).
    ///
    /// # Errors
    /// `NoSpace`, `Io`.
    pub(crate) async fn checkpoint_both(&self) -> Result<()> {
        let _one = self.checkpointing.lock().await;
        self.checkpoint_one().await?;
        if self.keeps("sync-in-both") && self.keeps("superblocks-in-turn") {
            self.write_other_superblock().await?;
        }
        Ok(())
    }

    /// Writes the last checkpoint into the superblock that stands for an earlier one, if one does.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) async fn write_other_superblock(&self) -> Result<()> {
        let Some(last) = self.in_one.borrow().clone() else { return Ok(()) };
        let slot = self.slot.get();
        self.write_superblock_to(&last, slot).await?;
        self.slot.set(1 - slot);
        *self.in_one.borrow_mut() = None;
        // Neither leads into what is empty at this one checkpoint (engine-lfs-5).
        let empty = self.empty.borrow().clone();
        self.become_clean(empty);
        Ok(())
    }

    async fn checkpoint_one(&self) -> Result<()> {
        let cache = self.cache()?;
        // Most of it while calls run.
        if self.gate.is_quiet() {
            cache.gather(cache.unsettled()).await?;
        }
        let taken = {
            let _held = self.gate.hold().await;
            cache.gather(cache.unsettled()).await?;
            if !self.changed.get() { None } else { Some(self.write_ifile()?) }
        };
        if self.keeps("superblock-after-log") || taken.is_none() {
            self.all_durable().await?;
        }
        if let Some(taken) = taken {
            self.write_superblock(&taken.superblock).await?;
            self.all_durable().await?;
            *self.in_one.borrow_mut() = Some(taken.superblock);
            self.become_clean(taken.empty);
        }
        self.checkpointed.set(cache.rt().now());
        Ok(())
    }

    /// Sends the ifile, and returns the superblock that leads to it. Waits for nothing.
    fn write_ifile(&self) -> Result<Taken> {
        self.begin_anew();
        let mut blocks: BTreeSet<u64> = self.blocks_to_write();
        for _ in 0..TRIES {
            let before = (self.sb.borrow().clone(), self.ifile.borrow().trial());
            self.ifile.borrow_mut().dirty = blocks.clone();
            let placed = self.place_ifile(&blocks);
            // A segment that this filled is no newer than the checkpoint either.
            self.begin_anew();
            let now = self.blocks_to_write();
            if let (Ok(_), true) = (&placed, now.is_subset(&blocks)) {
                return self.send_ifile(placed?);
            }
            // Undone: there is no room, or the next attempt has one more block.
            *self.sb.borrow_mut() = before.0;
            self.ifile.borrow_mut().back_to(before.1);
            self.pending.borrow_mut().clear();
            placed?;
            blocks.extend(now);
        }
        Err(Error::bug("a checkpoint finds no end of the ifile's blocks"))
    }

    /// The segments are no longer newer than the checkpoint.
    fn begin_anew(&self) {
        let (mut ifile, current) = (self.ifile.borrow_mut(), self.current());
        for n in (0..self.g.nseg).map(SegNo) {
            if ifile.usage(n).flags.has(SegFlags::ACTIVE) && Some(n) != current {
                ifile.change_usage(n, |entry| entry.flags = entry.flags.without(SegFlags::ACTIVE));
            }
        }
        self.opened.set(0);
    }

    pub(crate) fn current(&self) -> Option<SegNo> {
        self.g.segment_of(self.sb.borrow().fields.curseg)
    }

    /// The blocks that changed, and the first, whose counts change with every partial segment.
    fn blocks_to_write(&self) -> BTreeSet<u64> {
        let mut blocks = self.ifile.borrow().dirty.clone();
        blocks.insert(0);
        blocks
    }

    /// Gives the blocks, the indirect blocks above them and the inode their places.
    fn place_ifile(&self, blocks: &BTreeSet<u64>) -> Result<Vec<ordo_buf::Batch>> {
        let mut chain = Chain::begin(self, SumFlags::default())?;
        let version = self.ifile.borrow().entry(IFILE).map_err(Error::corrupt)?.version.max(1);
        for lbn in blocks {
            self.place_own(&mut chain, version, Lbn(lbn.cast_signed()))?;
        }
        let tree = self.g.tree();
        for level in 0..3 {
            let names: Vec<Lbn> = self.ifile.borrow().changed_indirect.iter().copied().collect();
            for name in names.into_iter().filter(|name| tree.level(*name) == Some(level)) {
                self.place_own(&mut chain, version, name)?;
            }
        }
        let (slot, _) = chain.inode()?;
        let bytes = self.g.version.dinode_size();
        let old = self.sb.borrow().fields.idaddr;
        {
            let mut ifile = self.ifile.borrow_mut();
            if !old.is_hole() {
                ifile.count(old, bytes, true);
            }
            ifile.count(slot.at, bytes, false);
            ifile.inode_slot = (slot.at, slot.slot);
        }
        self.sb.borrow_mut().fields.idaddr = slot.at;
        chain.end()
    }

    fn place_own(&self, chain: &mut Chain<'_>, version: u32, lbn: Lbn) -> Result<()> {
        let (at, _) = chain.block(IFILE, version, lbn, self.g.bsize)?;
        let mut ifile = self.ifile.borrow_mut();
        let old = ifile.point(lbn, at.pointer()).ok_or_else(|| Error::bug("the ifile has no way to its block"))?;
        if !old.is_hole() {
            ifile.count(old.into(), self.g.bsize, true);
        }
        Ok(())
    }

    fn send_ifile(&self, batches: Vec<ordo_buf::Batch>) -> Result<Taken> {
        let cache = self.cache()?;
        let (totals, empty, now) = (self.totals(), self.empty_segments(), self.now());
        {
            let mut sb = self.sb.borrow_mut();
            let mut ifile = self.ifile.borrow_mut();
            let fields = &mut sb.fields;
            let (head, tail) = ifile.free_ends();
            fields.bfree = totals.nearest_bfree(fields.bfree);
            (fields.avail, fields.nclean, fields.freehd) = (totals.avail, totals.clean, head);
            fields.dmeta = i32::try_from(totals.dmeta).unwrap_or(i32::MAX);
            // Version 1 finds out by it which of the two superblocks is older (lfs-mount-4).
            let later = u64::from(self.g.version == Version::V1);
            let tstamp = now.max(fields.tstamp.saturating_add(later));
            (fields.uinodes, fields.lastpseg, fields.tstamp) = (0, fields.offset, tstamp);
            ifile.encode_tables(&CleanerInfo {
                clean: totals.clean,
                dirty: totals.dirty,
                bfree: fields.bfree,
                avail: fields.avail,
                free_head: head,
                free_tail: tail,
                flags: 0,
            });
        }
        for batch in batches {
            let image = self.own_image(&batch)?;
            cache.send_own(&batch, image);
        }
        self.ifile.borrow_mut().written();
        self.changed.set(false);
        Ok(Taken { superblock: self.sb.borrow().clone(), empty })
    }

    /// The bytes of a partial segment of the ifile.
    fn own_image(&self, batch: &ordo_buf::Batch) -> Result<ordo_disk::Block> {
        own_batch(self, batch, |at, lbn, image| {
            let ifile = self.ifile.borrow();
            match lbn {
                Some(lbn) => {
                    let bytes = ifile.bytes(lbn);
                    image[at..at + bytes.len()].copy_from_slice(bytes);
                }
                None => {
                    let slot = ifile.inode_slot.1;
                    let end = at + self.g.ibsize as usize;
                    let put = inode_block::put(&mut image[at..end], slot, &self.g, IFILE, &ifile.dinode);
                    debug_assert!(put.is_some(), "an inode block has the slot");
                }
            }
        })
    }

    /// Segments in which nothing is alive, apart from the current one and those that cannot be read.
    fn empty_segments(&self) -> BTreeSet<SegNo> {
        let (ifile, current) = (self.ifile.borrow(), self.current());
        let is_empty = |n: &SegNo| {
            let entry = ifile.usage(*n);
            let dirty = entry.flags.has(SegFlags::DIRTY) && !entry.flags.has(SegFlags::ERROR);
            dirty && entry.nbytes == 0 && Some(*n) != current
        };
        (0..self.g.nseg).map(SegNo).filter(is_empty).collect()
    }

    /// Writes the superblock into the slot whose turn it is (K2).
    pub(crate) async fn write_superblock(&self, superblock: &Superblock) -> Result<()> {
        let slot = self.slot.get();
        if self.keeps("superblocks-in-turn") {
            self.slot.set(1 - slot);
        }
        self.write_superblock_to(superblock, slot).await
    }

    pub(crate) async fn write_superblock_to(&self, superblock: &Superblock, slot: usize) -> Result<()> {
        let at = DiskOff(self.g.byte(self.g.sboffs[slot]).0);
        let image = Arc::new(ordo_disk::Block::copy_of(&superblock.encode()));
        let cache = self.cache()?;
        let written = cache.queue().write(at, image, Tag::of(ordo_buf::Role::Superblock));
        let durable = written.durable().await.map_err(Error::io);
        durable.inspect_err(|error| {
            cache.health().degrade(error.clone().told_as(format!("{error}; the volume is read-only now")));
        })
    }

    /// K4.
    fn become_clean(&self, empty: BTreeSet<SegNo>) {
        let before = std::mem::replace(&mut *self.empty.borrow_mut(), empty.clone());
        let mut ifile = self.ifile.borrow_mut();
        let current = self.current();
        for n in empty {
            let entry = ifile.usage(n);
            let still = entry.flags.has(SegFlags::DIRTY) && entry.nbytes == 0 && Some(n) != current;
            // What the cleaner has read of it would be taken for what is written there next.
            if still && before.contains(&n) && !self.reading.borrow().contains(&n) {
                ifile.change_usage(n, |entry| entry.flags = entry.flags.without(SegFlags::DIRTY));
                self.empty.borrow_mut().remove(&n);
                self.count(|counts| counts.segments_cleaned += 1);
                self.changed.set(true);
            }
        }
    }
}
