//! The ifile: read from the disk, or, where it cannot be, put together from the log.
//!
//! F1. Tables are sized by the blocks that are there, never by the size of the inode alone.
//! F2. A block of which several entries cannot be, or to which no pointer leads, is looked for in the log; if it is not
//!     there either, its entries are made from the inodes and summaries that are.

use super::newest::Scan;
use super::tables::FREE;
use super::tree::Walk;
use super::volume::Volume;
use crate::{Error, LfsFinding};
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{CleanerInfo, Daddr, IFILE, IfileEntry, SegNo, SegUse};
use ordo_ondisk::{Dinode, Ino};
use std::rc::Rc;

impl Volume {
    /// Reads the ifile.
    pub(crate) async fn load_ifile(&mut self) -> Result<(), Error> {
        let at = self.sb.fields.idaddr;
        match self.inode_on_disk(at, IFILE.0).await? {
            Some(dinode) => self.ifile.dinode = dinode,
            None => {
                self.find(LfsFinding::IfileLost { at: at.0, why: "no inode of it" });
                self.ifile.dinode = self.fresh_inode();
                return self.ifile_from_log(true).await;
            }
        }
        let sound = self.check_ifile_inode().await?;
        if sound {
            self.read_blocks().await?;
            if !self.is_doubtful() {
                self.decode_ifile(None);
                return Ok(());
            }
        }
        self.ifile_from_log(!sound).await
    }

    fn fresh_inode(&self) -> Dinode {
        Dinode { mode: mode::REG | 0o600, nlink: 1, flags: flags::SF_IMMUTABLE, gen_: 1, ..Dinode::default() }
    }

    /// Checks size and type; `false` if pointers or size cannot be those of an ifile.
    async fn check_ifile_inode(&mut self) -> Result<bool, Error> {
        let (bsize, dinode) = (u64::from(self.g.bsize), self.ifile.dinode.clone());
        if dinode.kind() != mode::REG {
            let (found, right) = (dinode.mode.into(), (mode::REG | 0o600).into());
            self.find(LfsFinding::IfileInode { field: "di_mode", found, right });
            self.ifile.dinode.mode = mode::REG | 0o600;
        }
        if dinode.nlink != 1 {
            self.find(LfsFinding::IfileInode { field: "di_nlink", found: dinode.nlink.into(), right: 1 });
            self.ifile.dinode.nlink = 1;
        }
        let least = self.g.inode_map_start() + 1;
        let mut next = 0;
        let mut walk = Walk::new(self, IFILE.0, &dinode);
        while let Some(pointer) = walk.next(self).await? {
            if !self.g.is_data_range(pointer.to.into(), self.g.block_units.into()) {
                self.find(LfsFinding::IfileBlock { lbn: pointer.first, why: "is where no data can be" });
                return Ok(false);
            }
            if pointer.level == 0 && pointer.first != next {
                self.find(LfsFinding::IfileBlock { lbn: next, why: "is missing" });
                return Ok(false);
            }
            next += u64::from(pointer.level == 0);
        }
        if dinode.size != next * bsize || next < least {
            self.find(LfsFinding::IfileInode { field: "di_size", found: dinode.size, right: next.max(least) * bsize });
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads all blocks, whose pointers are right.
    async fn read_blocks(&mut self) -> Result<(), Error> {
        let dinode = self.ifile.dinode.clone();
        self.ifile.old.clear();
        let mut walk = Walk::new(self, IFILE.0, &dinode);
        while let Some(pointer) = walk.next(self).await? {
            if pointer.level == 0 {
                let bytes = self.read(pointer.to.into(), self.g.bsize as usize).await?;
                self.ifile.old.push(Some(bytes));
            }
        }
        Ok(())
    }

    /// Whether entries cannot be what a kernel wrote there.
    fn is_doubtful(&self) -> bool {
        let (g, version, e) = (&self.g, self.g.version, self.g.endian);
        let block = |lbn: i64| self.ifile.old.get(lbn as usize).and_then(Option::as_deref).unwrap_or_default();
        let segments = (0..g.nseg).map(SegNo).any(|n| {
            let place = g.seguse_place(n);
            SegUse::decode(block(place.lbn.0), place.at, n, version, e)
                .map_or(true, |usage| usage.nbytes > g.ssize || usage.flags.0 > 0x7f)
        });
        let ifile = g.entry_place(IFILE);
        let map = IfileEntry::decode(block(ifile.lbn.0), ifile.at, IFILE, version, e);
        let inodes = (1..g.maxino(self.ifile.dinode.size)).map(Ino).any(|ino| {
            let place = g.entry_place(ino);
            let entry = IfileEntry::decode(block(place.lbn.0), place.at, ino, version, e);
            let there = |at: Daddr| at.is_hole() || g.is_data_range(at, g.inode_block_units());
            entry.map_or(true, |entry| entry.version == 0 || ino != IFILE && !there(entry.daddr))
        });
        segments || inodes || map.is_err()
    }

    /// Takes blocks of the ifile from the log: all if the inode cannot be believed (`all`), else those that are not the
    /// newest.
    async fn ifile_from_log(&mut self, all: bool) -> Result<(), Error> {
        let scan = self.scan().await?;
        let bsize = self.g.bsize as usize;
        let known = scan.ifile.keys().next_back().map_or(0, |last| last + 1).max(self.g.inode_map_start() + 1);
        // Bounded by what the summaries of the volume have room for.
        let blocks = known.min(self.g.size / u64::from(self.g.block_units.max(1))) as usize;
        let blocks = if all { blocks } else { blocks.max(self.ifile.old.len()) };
        let mut dinode = self.ifile.dinode.clone();
        if all {
            (dinode.db, dinode.ib) = Default::default();
            self.ifile.old.clear();
        }
        self.ifile.old.resize(blocks, None);
        for lbn in 0..blocks {
            let newest = scan.ifile.get(&(lbn as u64)).map_or(Daddr::HOLE, |newest| newest.at);
            let there = self.pointer(IFILE.0, &dinode, lbn as i64).await?;
            if newest.is_hole() && !there.is_hole() || newest == Daddr::from(there) && !newest.is_hole() {
                continue;
            }
            if !all {
                self.find(LfsFinding::IfileBlock { lbn: lbn as u64, why: "is not the newest in the log" });
            }
            let (bytes, to) = match newest.is_hole() {
                true => (None, self.unwritten()),
                false => (Some(self.read(newest, bsize).await?), newest.pointer()),
            };
            if let Some(old) = self.ifile.old.get_mut(lbn) {
                *old = bytes;
            }
            self.set_pointer(IFILE.0, &mut dinode, lbn as i64, to).await?;
        }
        dinode.size = blocks as u64 * bsize as u64;
        self.recount(IFILE.0, &mut dinode).await?;
        self.ifile.dinode = dinode;
        self.decode_ifile(Some(&scan));
        Ok(())
    }

    /// What the log holds; searched once.
    pub(crate) async fn scan(&mut self) -> Result<Rc<Scan>, Error> {
        if let Some(scan) = &self.scan {
            return Ok(scan.clone());
        }
        let scan = Rc::new(self.scan_log().await?);
        self.scan = Some(scan.clone());
        Ok(scan)
    }

    /// Decodes the tables; what a lost block had is taken from the log.
    fn decode_ifile(&mut self, scan: Option<&Scan>) {
        let (g, version, e) = (self.g, self.g.version, self.g.endian);
        let old = std::mem::take(&mut self.ifile.old);
        let block = |lbn: i64| old.get(lbn as usize).and_then(Option::as_deref);
        let info = block(0).and_then(|bytes| CleanerInfo::decode(bytes, version, e).ok());
        self.ifile.info = info.unwrap_or_default();
        let (mut usage, mut empty_before) = (Vec::with_capacity(g.nseg as usize), Vec::with_capacity(g.nseg as usize));
        for n in (0..g.nseg).map(SegNo) {
            let place = g.seguse_place(n);
            let read = block(place.lbn.0).and_then(|bytes| SegUse::decode(bytes, place.at, n, version, e).ok());
            empty_before.push(read.is_some_and(|usage| usage.nbytes == 0));
            usage.push(read.unwrap_or_else(|| self.usage_from(n, scan)));
        }
        let mut entries = vec![];
        for ino in (0..g.maxino(old.len() as u64 * u64::from(g.bsize))).map(Ino) {
            let place = g.entry_place(ino);
            let read = block(place.lbn.0).map(|bytes| IfileEntry::decode(bytes, place.at, ino, version, e));
            entries.push(match read {
                Some(Ok(entry)) => entry,
                Some(Err(_)) => {
                    self.find(LfsFinding::MapEntry { ino: ino.0, why: "an address or number that cannot be" });
                    entry_from(ino, scan, false)
                }
                None => entry_from(ino, scan, true),
            });
        }
        (self.ifile.old, self.ifile.usage, self.ifile.entries) = (old, usage, entries);
        self.ifile.empty_before = empty_before;
    }

    fn usage_from(&self, n: SegNo, scan: Option<&Scan>) -> SegUse {
        let counts = scan.and_then(|scan| scan.counts.get(&n.0)).copied();
        let (nsums, ninos) = counts.unwrap_or_default();
        let copy = self.has_superblock(n) || self.g.newfs_flags(n);
        let flags = SegFlags::default().when(SegFlags::SUPERBLOCK, copy).when(SegFlags::DIRTY, counts.is_some());
        SegUse { nbytes: 0, nsums, ninos, flags, lastmod: self.now }
    }

    /// Whether a copy of the superblock is at the start of a segment.
    pub(crate) fn has_superblock(&self, n: SegNo) -> bool {
        self.g.sboffs.iter().any(|at| !at.is_hole() && self.g.segment_of(*at) == Some(n))
    }

    /// Gives entries a generation that have none, and takes flags from segments that no kernel knows.
    pub(crate) fn check_tables(&mut self) {
        let none: Vec<u32> = (1u32..)
            .zip(self.ifile.entries.iter().skip(1))
            .filter(|(_, e)| e.version == 0)
            .map(|(ino, _)| ino)
            .collect();
        for ino in none {
            self.find(LfsFinding::MapEntry { ino, why: "generation 0" });
            self.ifile.entry_mut(ino).into_iter().for_each(|entry| entry.version = 1);
        }
        for segment in 0..self.ifile.usage.len() as u32 {
            let flags = self.ifile.usage_of(SegNo(segment)).flags;
            if flags.0 > 0x7f {
                self.find(LfsFinding::SegmentFlag { segment, flag: "unknown", right: false });
                let known = SegFlags(flags.0 & 0x7f);
                self.ifile.usage.get_mut(segment as usize).into_iter().for_each(|usage| usage.flags = known);
            }
        }
    }

    /// Makes the inode map one block longer.
    pub(crate) async fn grow_ifile(&mut self) -> Result<(), Error> {
        let lbn = self.ifile.old.len();
        self.ifile.old.push(None);
        let mut dinode = self.ifile.dinode.clone();
        let to = self.unwritten();
        self.set_pointer(IFILE.0, &mut dinode, lbn as i64, to).await?;
        dinode.size += u64::from(self.g.bsize);
        self.recount(IFILE.0, &mut dinode).await?;
        self.ifile.dinode = dinode;
        let entries = self.g.maxino(self.ifile.dinode.size) as usize;
        self.ifile.entries.resize(entries, FREE);
        Ok(())
    }
}

/// An entry made from the newest inode in the log. `unknown`: whether it was in use is not known either.
fn entry_from(ino: Ino, scan: Option<&Scan>, unknown: bool) -> IfileEntry {
    let newest = scan.and_then(|scan| scan.inodes.get(&ino.0)).filter(|newest| newest.version != 0);
    match newest {
        _ if ino == Ino::NONE => IfileEntry::NONE,
        Some(newest) if ino == IFILE => IfileEntry { version: newest.version, ..FREE },
        Some(newest) if unknown && newest.nameless => {
            IfileEntry { version: newest.version.checked_add(1).unwrap_or(1), ..FREE }
        }
        Some(newest) => IfileEntry { version: newest.version, daddr: newest.at, ..FREE },
        None => FREE,
    }
}
