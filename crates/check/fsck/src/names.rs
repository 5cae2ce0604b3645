//! Phase 2: the contents of every directory, and the names of every inode.
//!
//! Links by names are counted here; those by `.` and `..` follow from the final parents, in phase 4.

use crate::dirblock::{self, Entry};
use crate::volume::{Extent, InodeState, Volume};
use crate::{Error, Finding, Phase, Severity};
use ordo_ondisk::{ByteOff, Dinode, FragNo, Ino};
use ordo_recover::{Order, Slot, Walk};

/// The maximum link count, and so of names; FreeBSD's limit.
const LINKS_MAX: u32 = 65_500;
/// Missing blocks of a directory that are replaced; if more are missing, the directory is cut at the first.
const HOLES_FILLED_MAX: usize = 8;
/// Directories whose first blocks are read ahead together.
const AHEAD: usize = 256;

const DT_DIR: u8 = 4;

/// What to do with an entry.
enum Verdict {
    Keep,
    Remove(Finding),
    SetType(Finding, u8),
}

impl Volume {
    /// Phase 2.
    pub(crate) async fn check_names(&mut self) -> Result<(), Error> {
        self.ensure_root().await?;
        let order: Vec<(u32, FragNo)> =
            self.dirs.iter().filter(|dir| !dir.gone).map(|dir| (dir.ino, dir.first)).collect();
        for (group, done) in order.chunks(AHEAD).zip((0u64..).step_by(AHEAD)) {
            self.step(Phase::Names, done, order.len() as u64);
            let places: Vec<(ByteOff, u64)> = group.iter().map(|&(_, first)| (self.byte(first), 512)).collect();
            self.image.ahead(places.into_iter()).await?;
            for &(ino, _) in group {
                self.check_directory(ino).await?;
            }
        }
        Ok(())
    }

    async fn check_directory(&mut self, ino: u32) -> Result<(), Error> {
        let extents = self.whole_directory(ino).await?;
        let block_bytes = u64::from(self.geo.dirblksiz);
        for extent in extents {
            for within in (0..extent.len / block_bytes).map(|n| n * block_bytes) {
                let at = ByteOff(extent.at.0 + within);
                self.check_block(ino, at, extent.offset + within).await?;
            }
        }
        Ok(())
    }

    /// Repairs size and blocks of a directory, and returns where its blocks are.
    async fn whole_directory(&mut self, ino: u32) -> Result<Vec<Extent>, Error> {
        let mut dinode = self.dinode(ino).await?;
        let (size, block) = (dinode.size, u64::from(self.geo.dirblksiz));
        let right = size.next_multiple_of(block);
        if size < 24 {
            self.find(Finding::DirectoryTooShort { ino, size });
        } else if size != right {
            let severity = if self.sb.features().softdep { Severity::Manual } else { Severity::Preen };
            self.find_as(Finding::DirectorySize { ino, size, right }, severity);
        }
        if size != right {
            dinode.size = right;
            self.put_dinode(ino, &dinode).await?;
        }
        for _ in 0..=HOLES_FILLED_MAX {
            let (extents, hole) = self.extents(&dinode).await?;
            let Some(lbn) = hole else { return Ok(extents) };
            self.find(Finding::DirectoryHole { ino, lbn });
            if !self.fill_hole(ino, &mut dinode, lbn).await? {
                break;
            }
        }
        let (extents, hole) = self.extents(&dinode).await?;
        if let Some(lbn) = hole {
            self.end_directory_at(ino, &mut dinode, lbn).await?;
        }
        Ok(extents)
    }

    /// Where the contents of a directory are, up to the first hole, and the block number of that hole.
    pub(crate) async fn extents(&mut self, dinode: &Dinode) -> Result<(Vec<Extent>, Option<u64>), Error> {
        let bsize = u64::from(self.geo.bsize);
        let blocks = dinode.size.div_ceil(bsize);
        let mut extents: Vec<Extent> = vec![];
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            let data = pointer.level == 0 && !matches!(pointer.slot, Slot::Ext(_));
            let next = extents.len() as u64;
            if !data || next == blocks {
                continue;
            }
            if pointer.lbn != next {
                return Ok((extents, Some(next)));
            }
            let (at, offset) = (self.byte(pointer.frag), next * bsize);
            let fits = u64::from(pointer.count) * u64::from(self.geo.fsize);
            extents.push(Extent { at, len: fits.min(dinode.size - offset), offset });
        }
        let next = extents.len() as u64;
        Ok((extents, (next < blocks).then_some(next)))
    }

    /// Puts an empty block into a hole of a directory.
    async fn fill_hole(&mut self, ino: u32, dinode: &mut Dinode, lbn: u64) -> Result<bool, Error> {
        let count = self.geo.blkfrags(dinode.size, lbn);
        let Some(slot) = self.slot_of(dinode, lbn).await? else { return Ok(false) };
        let Some(frag) = self.take_frags(count) else { return Ok(false) };
        self.put_fresh_blocks(frag, count).await?;
        self.set_pointer(dinode, slot, frag).await?;
        dinode.blocks += u64::from(count) * u64::from(self.geo.fsize / 512);
        self.put_dinode(ino, dinode).await?;
        Ok(true)
    }

    /// Fills fragments with empty directory blocks.
    pub(crate) async fn put_fresh_blocks(&mut self, frag: FragNo, count: u32) -> Result<(), Error> {
        let fresh = ordo_ondisk::dirent::fresh_block(self.geo.dir_format());
        let bytes = fresh.repeat((count * self.geo.fsize).div_ceil(self.geo.dirblksiz) as usize);
        self.image.write(self.byte(frag), &bytes, Order::Fresh).await
    }

    /// Where the pointer to a block is stored; `None` if an indirect block on the way is missing.
    async fn slot_of(&mut self, dinode: &Dinode, lbn: u64) -> Result<Option<Slot>, Error> {
        let Some(path) = self.geo.path(ordo_ondisk::Lbn(lbn as i64)) else { return Ok(None) };
        let mut slot = match path.root {
            ordo_ondisk::Root::Direct(index) => return Ok(Some(Slot::Direct(index))),
            ordo_ondisk::Root::Indirect(index) => Slot::Indirect(index),
        };
        let mut frag = match slot {
            Slot::Indirect(index) => dinode.ib.get(index).copied().unwrap_or_default(),
            _ => FragNo::HOLE,
        };
        for (_, index) in path.indirects() {
            if !self.geo.is_data_range(frag, self.geo.frag) {
                return Ok(None);
            }
            let at = ByteOff(self.byte(frag).0 + u64::from(index) * self.geo.pointer_size() as u64);
            slot = Slot::Block(at);
            let mut bytes = [0; 8];
            self.image.read(at, bytes.get_mut(..self.geo.pointer_size()).unwrap_or_default()).await?;
            frag = self.geo.pointer(&bytes, 0).unwrap_or_default();
        }
        Ok(Some(slot))
    }

    /// Truncates a directory at a hole that cannot be filled. Names after it are lost; their files are found again as
    /// nameless.
    async fn end_directory_at(&mut self, ino: u32, dinode: &mut Dinode, lbn: u64) -> Result<(), Error> {
        let bsize = u64::from(self.geo.bsize);
        let mut freed = 0;
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            if pointer.lbn >= lbn && !matches!(pointer.slot, Slot::Ext(_)) {
                self.free_frags(pointer.frag, pointer.count);
                self.set_pointer(dinode, pointer.slot, FragNo::HOLE).await?;
                freed += u64::from(pointer.count);
            }
        }
        dinode.size = lbn * bsize;
        dinode.blocks = dinode.blocks.saturating_sub(freed * u64::from(self.geo.fsize / 512));
        self.put_dinode(ino, dinode).await
    }

    /// Checks the directory block at byte `at` of the volume, which is byte `offset` of the directory.
    async fn check_block(&mut self, dir: u32, at: ByteOff, offset: u64) -> Result<(), Error> {
        let format = self.geo.dir_format();
        let mut block = vec![0; format.block];
        self.image.read(at, &mut block).await?;
        let before = block.clone();
        let (mut entries, damage) = dirblock::entries(&block, format);
        if let Some((bad, why)) = damage {
            self.find(Finding::DirectoryDamaged { ino: dir, at: offset + bad as u64, why });
            dirblock::cut(&mut block, bad, format);
        }
        if offset == 0 {
            self.check_dots(dir, &mut block, &entries);
            entries = dirblock::entries(&block, format).0;
        }
        for entry in entries.iter().skip(if offset == 0 { 2 } else { 0 }) {
            let place = ByteOff(at.0 + entry.at as u64);
            match self.check_entry(dir, entry, place, offset).await? {
                Verdict::Keep => {}
                Verdict::SetType(finding, kind) => {
                    self.find(finding);
                    let ino = if kind == ordo_ondisk::dirent::WHITEOUT { Ino::WHITEOUT } else { Ino(entry.ino) };
                    ordo_ondisk::dirent::set_inode(&mut block, entry.at, format, ino, kind);
                }
                Verdict::Remove(finding) => {
                    match finding {
                        Finding::EntryUnallocated { .. } if self.sb.features().softdep => self.to_free.push(finding),
                        finding => self.find(finding),
                    }
                    ordo_ondisk::dirent::set_inode(&mut block, entry.at, format, Ino::NONE, 0);
                }
            }
        }
        if block != before {
            self.image.write(at, &block, Order::Contents).await?;
        }
        Ok(())
    }

    /// Rules 25 and 26: `.` and `..` are the first two entries.
    fn check_dots(&mut self, dir: u32, block: &mut Vec<u8>, entries: &[Entry]) {
        let format = self.geo.dir_format();
        let (dot, dotdot) = (entries.first(), entries.get(1));
        let in_place = dot.is_some_and(|e| e.is_dot() && e.at == 0 && e.reclen == 12);
        let both = in_place && dotdot.is_some_and(|e| e.is_dotdot() && e.at == 12);
        let parent = entries.iter().find(|entry| entry.is_dotdot()).map(|entry| entry.ino);
        if !both {
            let finding = if in_place {
                Finding::DotDot { ino: dir, why: "is missing or not the second entry" }
            } else {
                Finding::Dot { ino: dir, why: "is missing or not the first entry" }
            };
            self.find(finding);
            *block = dirblock::with_dots(format, dir, parent.unwrap_or(Ino::ROOT.0), entries);
        } else if let (Some(dot), Some(dotdot)) = (dot, dotdot) {
            let type_ = if format.old { 0 } else { DT_DIR };
            if dot.ino != dir || dot.kind != type_ {
                self.find(Finding::Dot { ino: dir, why: "has a wrong inode or type" });
                ordo_ondisk::dirent::set_inode(block, 0, format, Ino(dir), type_);
            }
            if dotdot.kind != type_ {
                self.find(Finding::DotDot { ino: dir, why: "has a wrong type" });
                ordo_ondisk::dirent::set_inode(block, 12, format, Ino(dotdot.ino), type_);
            }
        }
        if let Some(known) = self.dir_mut(dir) {
            known.dotdot = parent.unwrap_or(Ino::ROOT.0);
        }
    }

    async fn check_entry(&mut self, dir: u32, entry: &Entry, at: ByteOff, block: u64) -> Result<Verdict, Error> {
        let (name, ino, old) = (entry.shown(), entry.ino, self.geo.old_dirent);
        if entry.is_dot() || entry.is_dotdot() {
            return Ok(Verdict::Remove(Finding::ExtraDot { ino: dir, at: block + entry.at as u64 }));
        }
        let target = self.known(ino);
        let whiteout = entry.kind == ordo_ondisk::dirent::WHITEOUT;
        if !old && (ino == Ino::WHITEOUT.0 || whiteout && target.state == InodeState::Free) {
            let finding = Finding::Whiteout { dir, name, ino, kind: entry.kind };
            let right = ino == Ino::WHITEOUT.0 && whiteout;
            return Ok(if right { Verdict::Keep } else { Verdict::SetType(finding, ordo_ondisk::dirent::WHITEOUT) });
        }
        if !self.geo.is_valid_ino(Ino(ino)) {
            return Ok(Verdict::Remove(Finding::EntryOutOfRange { dir, name, ino }));
        }
        match target.state {
            InodeState::Free => return Ok(Verdict::Remove(Finding::EntryUnallocated { dir, name, ino })),
            InodeState::EmptyDir => return Ok(Verdict::Remove(Finding::EntryToEmpty { dir, name, ino })),
            InodeState::File | InodeState::Hidden if target.links >= LINKS_MAX => {
                return Ok(Verdict::Remove(Finding::TooManyNames { dir, name, ino }));
            }
            InodeState::Dir if !self.adopt_name(dir, ino, at).await? => {
                return Ok(Verdict::Remove(Finding::ExtraName { dir, name, ino }));
            }
            InodeState::File | InodeState::Hidden | InodeState::Dir => {}
        }
        self.count_link(ino, 1);
        let right = if old { 0 } else { target.type_ };
        if entry.kind == right {
            return Ok(Verdict::Keep);
        }
        let found = entry.kind;
        Ok(Verdict::SetType(
            if whiteout {
                Finding::Whiteout { dir, name, ino, kind: found }
            } else {
                Finding::EntryType { dir, name, ino, found, right }
            },
            right,
        ))
    }

    /// Rule 33: a directory has one name; of two, the one that its `..` agrees with stays. Returns whether this one
    /// stays.
    async fn adopt_name(&mut self, dir: u32, ino: u32, at: ByteOff) -> Result<bool, Error> {
        let Some(known) = self.dir(ino).cloned() else { return Ok(false) };
        if ino == Ino::ROOT.0 || ino == dir {
            return Ok(false);
        }
        if known.parent != 0 {
            let dotdot = self.stored_dotdot(&known.first).await?;
            if known.parent == dir || dotdot != dir || known.parent == dotdot {
                return Ok(false);
            }
            self.remove_name(ino).await?;
        }
        if let Some(known) = self.dir_mut(ino) {
            (known.parent, known.named_at) = (dir, at.0);
        }
        Ok(true)
    }

    /// Removes the name of a directory.
    pub(crate) async fn remove_name(&mut self, ino: u32) -> Result<(), Error> {
        let Some((parent, at)) = self.dir(ino).map(|dir| (dir.parent, ByteOff(dir.named_at))) else { return Ok(()) };
        let mut head = [0; 8];
        self.image.read(at, &mut head).await?;
        let [.., high, low] = head;
        let mut name = vec![0; usize::from(if self.geo.old_dirent { high.max(low) } else { low })];
        self.image.read(ByteOff(at.0 + 8), &mut name).await?;
        ordo_ondisk::dirent::set_inode(&mut head, 0, self.geo.dir_format(), Ino::NONE, 0);
        self.image.write(at, &head, Order::Contents).await?;
        self.find(Finding::ExtraName { dir: parent, name: name.escape_ascii().to_string(), ino });
        self.count_link(ino, -1);
        if let Some(known) = self.dir_mut(ino) {
            known.parent = 0;
        }
        Ok(())
    }

    /// The number in the `..` of a directory that may not have been checked yet; 0 if there is none.
    async fn stored_dotdot(&mut self, first: &FragNo) -> Result<u32, Error> {
        let mut block = vec![0; self.geo.dirblksiz as usize];
        self.image.read(self.byte(*first), &mut block).await?;
        let (entries, _) = dirblock::entries(&block, self.geo.dir_format());
        Ok(entries.iter().find(|entry| entry.is_dotdot()).map_or(0, |entry| entry.ino))
    }
}
