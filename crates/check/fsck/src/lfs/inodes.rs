//! Phase 1: every inode, and where its blocks are.
//!
//! First all inode blocks are claimed, then the blocks of the ifile, then those of all other files in the order of
//! their numbers: a damaged pointer must not take the place of an inode.

use super::tree::{Pointer, Walk, has_blocks};
use super::volume::{Brief, Volume};
use crate::{Error, Finding, LfsFinding, Phase};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::lfs::{Daddr, IFILE, NextFree, SB_PAD};
use ordo_ondisk::{Dinode, FragNo, Ino};

/// Bytes of blocks with two owners that are copied for the second; of more, the second loses them.
const COPIED_MAX: usize = 16 << 20;
/// Between two calls of the progress callback.
const STEP: u32 = 256;

impl Volume {
    /// Phase 1.
    pub(crate) async fn check_inodes(&mut self) -> Result<(), Error> {
        self.check_tables();
        self.claim_pads();
        self.claim_inodes().await?;
        let ifile = self.ifile.dinode.clone();
        let ifile = self.check_blocks(IFILE.0, ifile).await?;
        self.ifile.dinode = ifile;
        let count = self.ifile.entries.len() as u32;
        for ino in Ino::ROOT.0..count {
            if ino % STEP == 0 {
                self.step(Phase::Inodes, ino.into(), count.into());
            }
            if self.in_use(ino) {
                self.check_inode(ino).await?;
            }
        }
        Ok(())
    }

    fn claim_pads(&mut self) {
        let units = self.g.units(SB_PAD.into());
        for at in self.g.sboffs.into_iter().filter(|at| !at.is_hole()) {
            self.used.set(at.0, units);
        }
    }

    /// Finds every inode where the inode map says it is.
    async fn claim_inodes(&mut self) -> Result<(), Error> {
        let at = self.sb.fields.idaddr;
        if self.inode_on_disk(at, IFILE.0).await?.is_some() {
            self.claim_inode_block(at);
        }
        for ino in Ino::ROOT.0..self.ifile.entries.len() as u32 {
            let entry = self.ifile.entry(ino);
            if entry.daddr.is_hole() {
                continue;
            }
            let mut found = self.is_on_disk(entry.daddr, ino).await?;
            if !found {
                self.find(LfsFinding::InodeNotThere { ino, at: entry.daddr.0 });
                found = self.find_inode(ino).await?;
            }
            if found {
                self.claim_inode_block(self.ifile.entry(ino).daddr);
            } else if !self.inodes.contains_key(&ino) {
                self.free(ino);
            } else if let Some(entry) = self.ifile.entry_mut(ino) {
                // Known from the tail of the log, or repaired: it is written anew.
                entry.daddr = Daddr::HOLE;
            }
        }
        Ok(())
    }

    fn claim_inode_block(&mut self, at: Daddr) {
        if self.inode_blocks.insert(at.0) {
            self.used.set(at.0, self.g.inode_block_units());
        }
        self.add_live(at, self.g.version.dinode_size().into());
    }

    /// Looks for an inode in the log; `true` if it was found there and was never freed.
    pub(crate) async fn find_inode(&mut self, ino: u32) -> Result<bool, Error> {
        let scan = self.scan().await?;
        let Some(newest) = scan.inodes.get(&ino).copied() else { return Ok(false) };
        let live = newest.version == self.ifile.entry(ino).version && !newest.nameless;
        if !live || self.inode_on_disk(newest.at, ino).await?.is_none() {
            return Ok(false);
        }
        if let Some(entry) = self.ifile.entry_mut(ino) {
            (entry.daddr, entry.nextfree) = (newest.at, NextFree::End);
        }
        Ok(true)
    }

    async fn check_inode(&mut self, ino: u32) -> Result<(), Error> {
        let Some(dinode) = self.dinode(ino).await? else { return Ok(()) };
        let before = dinode.clone();
        let Some(dinode) = self.shape(ino, dinode).await? else {
            self.release(ino);
            return Ok(());
        };
        let dinode = if has_blocks(&dinode, self) {
            self.check_blocks(ino, dinode).await?
        } else {
            self.without_blocks(ino, dinode)
        };
        self.files += 1;
        if dinode.is_dir() {
            self.dirs.push(ino);
        }
        if dinode == before {
            self.set_brief(ino, Some(Brief::of(&dinode)));
        } else {
            self.put_dinode(ino, dinode);
        }
        Ok(())
    }

    /// Frees an inode whose own bytes were claimed.
    pub(crate) fn release(&mut self, ino: u32) {
        let at = self.ifile.entry(ino).daddr;
        let own = u64::from(self.g.version.dinode_size());
        if let Some(live) = self.g.segment_of(at).and_then(|n| self.live.get_mut(n.0 as usize)) {
            *live = live.saturating_sub(own);
        }
        self.free(ino);
    }

    /// Type, generation and mark; `None` for an inode that is none.
    async fn shape(&mut self, ino: u32, mut dinode: Dinode) -> Result<Option<Dinode>, Error> {
        let entry = self.ifile.entry(ino);
        let known = is_type(dinode.kind());
        if (!known || ino == Ino::ROOT.0 && !dinode.is_dir()) && self.is_directory_block(ino, &dinode).await? {
            self.find(Finding::DirectoryModeLost { ino, mode: dinode.mode });
            let permissions = if known { dinode.mode & 0o7777 } else { 0o755 };
            dinode.mode = mode::DIR | permissions;
        } else if !known {
            self.find(match dinode.mode {
                0 => Finding::FreeInodeNotEmpty { ino },
                mode => Finding::UnknownFileType { ino, mode },
            });
            return Ok(None);
        }
        if entry.version != dinode.gen_ {
            self.find(LfsFinding::Generation { ino, inode: dinode.gen_, map: entry.version });
            let scan = self.scan().await?;
            let right = scan.versions.get(&ino).map(|newest| newest.1).unwrap_or(dinode.gen_);
            let right = [right, dinode.gen_, 1].into_iter().find(|version| *version != 0).unwrap_or(1);
            dinode.gen_ = right;
            if let Some(entry) = self.ifile.entry_mut(ino) {
                entry.version = right;
            }
        }
        if entry.nextfree == NextFree::Orphan {
            if dinode.nlink == 0 {
                self.find(LfsFinding::Orphan { ino });
                return Ok(None);
            }
            self.find(LfsFinding::OrphanMark { ino });
            if let Some(entry) = self.ifile.entry_mut(ino) {
                entry.nextfree = NextFree::End;
            }
        }
        Ok(Some(dinode))
    }

    /// Whether the first block begins with a `.` that names this inode.
    async fn is_directory_block(&mut self, ino: u32, dinode: &Dinode) -> Result<bool, Error> {
        let first = dinode.db.first().copied().unwrap_or_default();
        if !self.g.is_data_range(first.into(), 1) {
            return Ok(false);
        }
        let block = self.content(ino, 0, first, self.g.fsize as usize).await?;
        let (names, _) = self.form().decode(block.get(..512).unwrap_or_default());
        Ok(names.first().is_some_and(|name| name.ino == ino && name.name == b"."))
    }

    /// A device, pipe, socket or short link.
    fn without_blocks(&mut self, ino: u32, mut dinode: Dinode) -> Dinode {
        let pointers = dinode.db.iter().skip(usize::from(dinode.is_device())).chain(&dinode.ib);
        let link = dinode.kind() == mode::LNK;
        if !link && pointers.clone().any(|pointer| !pointer.is_hole()) {
            self.find(Finding::SpecialFilePointer { ino });
            let number = dinode.db.first().copied().filter(|_| dinode.is_device()).unwrap_or_default();
            (dinode.db, dinode.ib) = Default::default();
            dinode.db.first_mut().into_iter().for_each(|first| *first = number);
        }
        if dinode.blocks != 0 {
            self.find(Finding::BlockCount { ino, found: dinode.blocks, right: 0 });
            dinode.blocks = 0;
        }
        dinode
    }

    /// Claims the blocks of a file, and repairs pointers, size and block count.
    async fn check_blocks(&mut self, ino: u32, mut dinode: Dinode) -> Result<Dinode, Error> {
        if dinode.size > self.g.maxfilesize {
            let (size, limit) = (dinode.size, self.g.maxfilesize);
            self.find(Finding::FileTooLarge { ino, size, limit });
            dinode.size = 0;
            dinode.size = match self.size_by_blocks(ino, &dinode).await? {
                Some(size) => size,
                None => self.last_block(ino, &dinode).await? * u64::from(self.g.bsize),
            };
        }
        let blocks = self.g.file_blocks(dinode.size);
        if let Some(right) = self.size_by_blocks(ino, &dinode).await?
            && self.g.file_blocks(right) > blocks
        {
            self.find(Finding::SizeTooSmall { ino, size: dinode.size, right });
            dinode.size = right;
        }
        let (size, mut units) = (dinode.size, 0);
        let blocks = self.g.file_blocks(size);
        let mut walk = Walk::new(self, ino, &dinode);
        while let Some(pointer) = walk.next(self).await? {
            if pointer.first >= blocks {
                walk.skip();
                self.find(Finding::PointerBeyondSize { ino, lbn: pointer.first, size });
                self.set_place(ino, &mut dinode, pointer.place, FragNo::HOLE).await?;
                continue;
            }
            let count = self.block_units(size, pointer.lbn);
            if self.claim(ino, &mut dinode, pointer, count).await? {
                units += count;
            } else {
                walk.skip();
            }
        }
        let right = self.g.bytes(units) / 512;
        if dinode.blocks != right {
            self.find(Finding::BlockCount { ino, found: dinode.blocks, right });
            dinode.blocks = right;
        }
        Ok(dinode)
    }

    /// The size that the blocks make, if the block count agrees with them and they have no holes.
    async fn size_by_blocks(&mut self, ino: u32, dinode: &Dinode) -> Result<Option<u64>, Error> {
        let Some(beyond) = self.first_beyond(ino, dinode).await? else { return Ok(None) };
        let (mut units, mut next) = (0, 0);
        let whole = u64::from(self.g.block_units);
        let mut walk = Walk::new(self, ino, dinode);
        while let Some(pointer) = walk.next(self).await? {
            if !self.g.is_data_range(pointer.to.into(), 1) || pointer.level == 0 && pointer.first != next {
                return Ok(None);
            }
            next += u64::from(pointer.level == 0);
            units += whole;
        }
        let counted = self.g.units(dinode.blocks.saturating_mul(512));
        let last = (counted + whole).checked_sub(units).filter(|last| (1..=whole).contains(last));
        let last = last.filter(|last| *last == whole || next <= 12);
        Ok(last.filter(|_| next > beyond).map(|last| (next - 1) * u64::from(self.g.bsize) + self.g.bytes(last)))
    }

    /// The number of blocks up to the last that has a pointer.
    async fn last_block(&mut self, ino: u32, dinode: &Dinode) -> Result<u64, Error> {
        let mut last = 0;
        let mut walk = Walk::new(self, ino, dinode);
        while let Some(pointer) = walk.next(self).await? {
            if !self.g.is_data_range(pointer.to.into(), 1) {
                walk.skip();
            } else if pointer.level == 0 {
                last = pointer.first + 1;
            }
        }
        Ok(last)
    }

    /// The first block beyond the size to which a pointer leads. Only the inode's own pointers are looked at, and the
    /// last indirect blocks: the others cannot lead there.
    async fn first_beyond(&mut self, ino: u32, dinode: &Dinode) -> Result<Option<u64>, Error> {
        let blocks = self.g.file_blocks(dinode.size);
        let mut walk = Walk::new(self, ino, dinode);
        while let Some(pointer) = walk.next(self).await? {
            if pointer.first >= blocks {
                return Ok(Some(pointer.first));
            }
            let span = self.g.tree().span(pointer.level);
            if pointer.level > 0 && pointer.first.saturating_add(span) <= blocks {
                walk.skip();
            }
        }
        Ok(None)
    }

    /// Claims a block; `false` if its pointer was bad and is now a hole.
    async fn claim(&mut self, ino: u32, dinode: &mut Dinode, pointer: Pointer, count: u64) -> Result<bool, Error> {
        let Pointer { lbn, to, place, .. } = pointer;
        if self.is_unwritten(ino, lbn, to) {
            return Ok(true);
        }
        let at = Daddr::from(to);
        if !self.g.is_data_range(at, count) {
            self.find(Finding::BadPointer { ino, lbn: pointer.first, frag: to.0, count: count as u32 });
            self.set_place(ino, dinode, place, FragNo::HOLE).await?;
            return Ok(false);
        }
        if !self.used.any(at.0, count) {
            self.used.set(at.0, count);
            self.add_live(at, self.g.bytes(count));
            return Ok(true);
        }
        self.find(Finding::DuplicatePointer { ino, lbn: pointer.first, frag: to.0 });
        let bytes = self.g.bytes(count) as usize;
        let ifile = ino == IFILE.0;
        if !ifile && (pointer.level > 0 || self.copied + bytes > COPIED_MAX) {
            self.set_place(ino, dinode, place, FragNo::HOLE).await?;
            return Ok(false);
        }
        if ifile && pointer.level == 0 {
            // Its tables are in memory.
            self.ifile.old.get_mut(pointer.first as usize).into_iter().for_each(|old| *old = None);
        } else {
            self.copied += bytes;
            let copy = self.content(ino, lbn, to, bytes).await?;
            self.blocks.insert((ino, lbn), copy);
        }
        let unwritten = self.unwritten();
        self.set_place(ino, dinode, place, unwritten).await?;
        Ok(true)
    }
}

fn is_type(kind: u16) -> bool {
    matches!(kind, mode::FIFO | mode::CHR | mode::DIR | mode::BLK | mode::REG | mode::LNK | mode::SOCK)
}
