//! The ifile in memory: the inode map, the segment usage table, the list of free inodes.
//!
//! F1. All of it is in memory: 20 bytes an inode, 24 a segment. A checkpoint writes the blocks that changed.
//! F2. The free inodes are listed in ascending order, and there is always one: the format demands both. Whatever takes
//!     one asks [`Ifile::keep_one`] first, and a mount for writing does for a list that it finds empty.
//! F3. The segments' entries are kept decoded, and are put into their blocks when a checkpoint writes them.

use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{CleanerInfo, Daddr, Geometry, IFILE, IfileEntry, NextFree, SegNo, SegUse};
use ordo_ondisk::{Corrupt, Dinode, Encoding, FragNo, Ino, Lbn, Rule, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// The ifile in memory.
pub(crate) struct Ifile {
    g: Geometry,
    /// Its inode as it was written last, with the pointers of the disk.
    pub(crate) dinode: Dinode,
    /// Its blocks.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// Its indirect blocks.
    pub(crate) indirect: BTreeMap<Lbn, Vec<u8>>,
    /// Blocks that changed since the last checkpoint.
    pub(crate) dirty: BTreeSet<u64>,
    /// Indirect blocks that changed since.
    pub(crate) changed_indirect: BTreeSet<Lbn>,
    /// Where its inode is, and in which slot.
    pub(crate) inode_slot: (Daddr, u32),
    usage: Vec<SegUse>,
    sums: Sums,
    free: BTreeSet<u32>,
    /// One more than the highest inode number that the last checkpoint has.
    known: u32,
}

/// Sums over the usage table, kept so that no call has to walk it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    /// Clean segments.
    pub(crate) clean: u64,
    /// Dirty ones in which nothing is alive: they become clean with the checkpoints to come.
    pub(crate) empty: u64,
    /// Bytes that are alive.
    pub(crate) live: u64,
    /// Summaries in dirty segments.
    pub(crate) summaries: u64,
    /// Inode blocks in dirty segments.
    pub(crate) inode_blocks: u64,
}

impl Sums {
    fn add(&mut self, entry: &SegUse) {
        if entry.flags.has(SegFlags::DIRTY) {
            self.empty += u64::from(entry.nbytes == 0);
            self.live += u64::from(entry.nbytes);
            self.summaries += u64::from(entry.nsums);
            self.inode_blocks += u64::from(entry.ninos);
        } else {
            self.clean += 1;
        }
    }

    fn take(&mut self, entry: &SegUse) {
        if entry.flags.has(SegFlags::DIRTY) {
            self.empty -= u64::from(entry.nbytes == 0);
            self.live -= u64::from(entry.nbytes);
            self.summaries -= u64::from(entry.nsums);
            self.inode_blocks -= u64::from(entry.ninos);
        } else {
            self.clean -= 1;
        }
    }
}

/// What an attempt to place the ifile changes, to be undone.
pub(crate) struct Trial {
    dinode: Dinode,
    indirect: BTreeMap<Lbn, Vec<u8>>,
    changed_indirect: BTreeSet<Lbn>,
    usage: Vec<SegUse>,
    sums: Sums,
}

impl Ifile {
    /// Decodes the blocks of the ifile. The list of free inodes is made anew from the map: a crash may have left an
    /// older one.
    ///
    /// # Errors
    /// An ifile that is too short for its tables, or an entry that cannot be.
    pub(crate) fn of(
        g: Geometry,
        dinode: Dinode,
        blocks: Vec<Vec<u8>>,
        indirect: BTreeMap<Lbn, Vec<u8>>,
    ) -> Result<Ifile, Corrupt> {
        if (blocks.len() as u64) <= g.inode_map_start() {
            let rule = Rule::AtLeast(g.inode_map_start().saturating_add(1).into());
            return Err(Corrupt::new(Structure::Inode(IFILE), "blocks of the ifile", blocks.len() as u64, rule));
        }
        let mut ifile = Ifile {
            g,
            dinode,
            blocks,
            indirect,
            dirty: BTreeSet::new(),
            changed_indirect: BTreeSet::new(),
            inode_slot: (Daddr::HOLE, 0),
            usage: Vec::new(),
            sums: Sums::default(),
            free: BTreeSet::new(),
            known: 0,
        };
        ifile.known = ifile.maxino();
        for n in (0..g.nseg).map(SegNo) {
            let place = g.seguse_place(n);
            let mut entry = SegUse::decode(ifile.block(place.lbn), place.at, n, g.version, g.endian)?;
            // What was written since the last checkpoint is found by the roll-forward; the two flags end there.
            entry.flags = entry.flags.without(SegFlags::ACTIVE).without(SegFlags::INVAL);
            ifile.sums.add(&entry);
            ifile.usage.push(entry.marked());
        }
        for ino in (Ino::ROOT.0..ifile.maxino()).map(Ino) {
            if ifile.entry(ino)?.daddr.is_hole() {
                ifile.free.insert(ino.0);
            }
        }
        Ok(ifile)
    }

    fn block(&self, lbn: Lbn) -> &[u8] {
        usize::try_from(lbn.0).ok().and_then(|lbn| self.blocks.get(lbn)).map_or(&[], |block| block)
    }

    fn block_mut(&mut self, lbn: Lbn) -> &mut [u8] {
        let at = usize::try_from(lbn.0).unwrap_or(usize::MAX);
        self.dirty.insert(at as u64);
        self.blocks.get_mut(at).map_or(&mut [], |block| block)
    }

    /// One more than the highest inode number.
    pub(crate) fn maxino(&self) -> u32 {
        self.g.maxino(self.blocks.len() as u64 * u64::from(self.g.bsize))
    }

    /// The map's entry of an inode.
    ///
    /// # Errors
    /// A number beyond the map; an entry that cannot be.
    pub(crate) fn entry(&self, ino: Ino) -> Result<IfileEntry, Corrupt> {
        let place = self.g.entry_place(ino);
        IfileEntry::decode(self.block(place.lbn), place.at, ino, self.g.version, self.g.endian)
    }

    /// Replaces the map's entry of an inode.
    pub(crate) fn set_entry(&mut self, ino: Ino, entry: &IfileEntry) {
        let (place, g) = (self.g.entry_place(ino), self.g);
        let stored = entry.encode(self.block_mut(place.lbn), place.at, g.version, g.endian);
        debug_assert!(stored.is_some(), "{ino:?} is in the map");
    }

    /// Changes the map's entry of an inode, which is in the map.
    pub(crate) fn change_entry(&mut self, ino: Ino, change: impl FnOnce(&mut IfileEntry)) {
        let Ok(mut entry) = self.entry(ino) else { return };
        change(&mut entry);
        self.set_entry(ino, &entry);
    }

    /// The usage of a segment.
    pub(crate) fn usage(&self, n: SegNo) -> SegUse {
        self.usage[n.0 as usize]
    }

    /// Bytes of the ifile itself: its blocks, the indirect ones, its inode.
    pub(crate) fn own_bytes(&self) -> u64 {
        let blocks = (self.blocks.len() + self.indirect.len()) as u64;
        blocks * u64::from(self.g.bsize) + u64::from(self.g.version.dinode_size())
    }

    /// Sums over all segments.
    pub(crate) fn sums(&self) -> Sums {
        self.sums
    }

    /// All segments.
    pub(crate) fn all_usage(&self) -> &[SegUse] {
        &self.usage
    }

    /// Changes the usage of a segment.
    pub(crate) fn change_usage(&mut self, n: SegNo, change: impl FnOnce(&mut SegUse)) {
        let Some(entry) = self.usage.get_mut(n.0 as usize) else { return };
        self.sums.take(entry);
        change(entry);
        *entry = entry.marked();
        self.sums.add(entry);
        self.dirty.insert(self.g.seguse_place(n).lbn.0.unsigned_abs());
    }

    /// Live bytes come to an address, or (`lost`) go.
    pub(crate) fn count(&mut self, at: Daddr, bytes: u32, lost: bool) {
        let Some(n) = self.g.segment_of(at) else { return };
        self.change_usage(n, |entry| {
            entry.nbytes = if lost { entry.nbytes.saturating_sub(bytes) } else { entry.nbytes.saturating_add(bytes) };
        });
    }

    /// The blocks of the usage table as they are to be written, and the cleaner information.
    pub(crate) fn encode_tables(&mut self, info: &CleanerInfo) {
        let g = self.g;
        let tables: Vec<u64> = self.dirty.range(u64::from(g.cleansz)..g.inode_map_start()).copied().collect();
        for lbn in tables {
            let first = (lbn - u64::from(g.cleansz)) * u64::from(g.sepb);
            for n in (first..u64::from(g.nseg).min(first + u64::from(g.sepb))).map(|n| SegNo(n as u32)) {
                let (place, entry) = (g.seguse_place(n), self.usage[n.0 as usize]);
                let stored = entry.encode(self.block_mut(place.lbn), place.at, g.version, g.endian);
                debug_assert!(stored.is_some(), "{n:?} is in the table");
            }
        }
        let stored = info.encode(self.block_mut(Lbn(0)), g.version, g.endian);
        debug_assert!(stored.is_some(), "the cleaner information is in the first block");
    }

    // Its own blocks.

    /// The bytes of a block, which may be an indirect one.
    pub(crate) fn bytes(&self, lbn: Lbn) -> &[u8] {
        if lbn.0 < 0 { self.indirect.get(&lbn).map_or(&[], |block| block) } else { self.block(lbn) }
    }

    /// A block that lies at `at` is written again by the next checkpoint.
    pub(crate) fn keep(&mut self, lbn: Lbn, at: Daddr) {
        let (tree, encoding) = (self.g.tree(), Encoding::from(&self.g));
        let pointer = match tree.parent(lbn) {
            Some((above, index)) => self.indirect.get(&above).and_then(|block| encoding.pointer(block, index)),
            None => match usize::try_from(lbn.0) {
                Ok(direct) => self.dinode.db.get(direct).copied(),
                Err(_) => tree.root_of(lbn).and_then(|root| self.dinode.ib.get(root).copied()),
            },
        };
        if pointer != Some(at.pointer()) {
            return;
        }
        match u64::try_from(lbn.0) {
            Ok(lbn) => drop(self.dirty.insert(lbn)),
            Err(_) => drop(self.changed_indirect.insert(lbn)),
        }
    }

    /// Lets the pointer to a block lead to `to`; returns where it led. Makes the indirect block above it.
    pub(crate) fn point(&mut self, lbn: Lbn, to: FragNo) -> Option<FragNo> {
        let (tree, encoding) = (self.g.tree(), Encoding::from(&self.g));
        self.dinode.size = self.dinode.size.max(self.blocks.len() as u64 * u64::from(self.g.bsize));
        let Some((above, index)) = tree.parent(lbn) else {
            let pointer = match usize::try_from(lbn.0) {
                Ok(direct) => self.dinode.db.get_mut(direct),
                Err(_) => self.dinode.ib.get_mut(tree.root_of(lbn)?),
            };
            let old = std::mem::replace(pointer?, to);
            self.counted(old);
            return Some(old);
        };
        if !self.indirect.contains_key(&above) {
            self.indirect.insert(above, vec![0; self.g.bsize as usize]);
        }
        self.changed_indirect.insert(above);
        // What leads to it changes, too.
        let mut at = above;
        while let Some((higher, _)) = tree.parent(at) {
            self.indirect.entry(higher).or_insert_with(|| vec![0; self.g.bsize as usize]);
            self.changed_indirect.insert(higher);
            at = higher;
        }
        let block = self.indirect.get_mut(&above)?;
        let old = encoding.pointer(block, index)?;
        encoding.put_pointer(block, index, to)?;
        self.counted(old);
        Some(old)
    }

    /// A block that the ifile did not have is counted.
    fn counted(&mut self, old: FragNo) {
        if old.is_hole() {
            self.dinode.blocks += u64::from(self.g.bsize / 512);
        }
    }

    /// What an attempt to place the ifile changes.
    pub(crate) fn trial(&self) -> Trial {
        Trial {
            dinode: self.dinode.clone(),
            indirect: self.indirect.clone(),
            changed_indirect: self.changed_indirect.clone(),
            usage: self.usage.clone(),
            sums: self.sums,
        }
    }

    /// Undoes an attempt.
    pub(crate) fn back_to(&mut self, trial: Trial) {
        let Trial { dinode, indirect, changed_indirect, usage, sums } = trial;
        (self.dinode, self.indirect, self.changed_indirect) = (dinode, indirect, changed_indirect);
        (self.usage, self.sums) = (usage, sums);
    }

    /// A checkpoint has all of it.
    pub(crate) fn written(&mut self) {
        self.dirty.clear();
        self.changed_indirect.clear();
        self.known = self.maxino();
    }

    /// How many inodes the map has that the last checkpoint's does not have.
    pub(crate) fn ahead(&self) -> u32 {
        self.maxino() - self.known
    }

    /// An inode that the log has behind the last checkpoint can have this number.
    pub(crate) fn is_near(&self, ino: Ino) -> bool {
        ino.0.saturating_sub(self.known) < self.g.inodes_ahead()
    }

    // Free inodes.

    /// The lowest free inode, and the highest.
    pub(crate) fn free_ends(&self) -> (Ino, Ino) {
        let end = |ino: Option<&u32>| Ino(ino.copied().unwrap_or(0));
        (end(self.free.first()), end(self.free.last()))
    }

    /// Free inodes.
    pub(crate) fn nfree(&self) -> u64 {
        self.free.len() as u64
    }

    /// It is in no use, or waits for its next one.
    pub(crate) fn is_free(&self, ino: Ino) -> bool {
        self.free.contains(&ino.0)
    }

    /// Takes the lowest free inode; returns it with its generation.
    ///
    /// # Errors
    /// A map that cannot be read.
    pub(crate) fn alloc(&mut self) -> Result<Option<(Ino, u32)>, Corrupt> {
        if !self.keep_one() {
            return Ok(None);
        }
        let Some(ino) = self.free.pop_first().map(Ino) else { return Ok(None) };
        let entry = self.entry(ino)?;
        self.set_entry(ino, &IfileEntry { nextfree: NextFree::End, ..entry });
        Ok(Some((ino, entry.version)))
    }

    /// Puts an inode back that was never written.
    pub(crate) fn unalloc(&mut self, ino: Ino) {
        self.link_free(ino);
    }

    /// Frees an inode: its generation is over.
    pub(crate) fn free(&mut self, ino: Ino) {
        self.change_entry(ino, |entry| {
            // 0 is no generation.
            entry.version = entry.version.wrapping_add(1).max(1);
            entry.daddr = Daddr::HOLE;
        });
        self.link_free(ino);
    }

    /// Before an inode is taken: another stays free (F2). `false` where the ifile can get no longer.
    fn keep_one(&mut self) -> bool {
        self.free.len() > 1 || self.grow()
    }

    /// An inode turns out to be in use.
    pub(crate) fn take(&mut self, ino: Ino) {
        if !self.free.contains(&ino.0) {
            return;
        }
        // Where the map can get no longer there are no more numbers, and the file is worth more than the list.
        self.keep_one();
        self.free.remove(&ino.0);
        let next = self.free.range(ino.0..).next().copied();
        if let Some(before) = self.free.range(..ino.0).next_back().copied() {
            self.set_next(Ino(before), next);
        }
        self.change_entry(ino, |entry| entry.nextfree = NextFree::End);
    }

    fn link_free(&mut self, ino: Ino) {
        let next = self.free.range(ino.0..).next().copied();
        self.set_next(ino, next);
        if let Some(before) = self.free.range(..ino.0).next_back().copied() {
            self.set_next(Ino(before), Some(ino.0));
        }
        self.free.insert(ino.0);
    }

    fn set_next(&mut self, ino: Ino, next: Option<u32>) {
        self.change_entry(ino, |entry| entry.nextfree = next.map_or(NextFree::End, |next| NextFree::Ino(Ino(next))));
    }

    /// Writes the whole list into the entries, where it differs: a mount has made it anew.
    pub(crate) fn relink(&mut self) {
        if self.free.is_empty() {
            self.grow();
        }
        let free: Vec<u32> = self.free.iter().copied().collect();
        for (at, ino) in free.iter().enumerate() {
            let next = free.get(at + 1).map_or(NextFree::End, |next| NextFree::Ino(Ino(*next)));
            if self.entry(Ino(*ino)).is_ok_and(|entry| entry.nextfree != next) {
                self.change_entry(Ino(*ino), |entry| entry.nextfree = next);
            }
        }
    }

    /// Adds a block of free inodes (F2). `false` where the ifile can get no longer.
    pub(crate) fn grow(&mut self) -> bool {
        let (first, size) = (self.maxino(), (self.blocks.len() as u64 + 1) * u64::from(self.g.bsize));
        if size > self.g.maxfilesize || first > u32::MAX - self.g.ifpb {
            return false;
        }
        self.blocks.push(vec![0; self.g.bsize as usize]);
        self.dirty.insert(self.blocks.len() as u64 - 1);
        let tail = self.free.last().copied();
        for ino in first..first + self.g.ifpb {
            let next = if ino + 1 < first + self.g.ifpb { NextFree::Ino(Ino(ino + 1)) } else { NextFree::End };
            self.set_entry(Ino(ino), &IfileEntry::unused(next));
            self.free.insert(ino);
        }
        if let Some(tail) = tail {
            self.set_next(Ino(tail), Some(first));
        }
        true
    }
}
