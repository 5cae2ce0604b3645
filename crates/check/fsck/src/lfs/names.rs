//! Phases 2 to 4: the contents of directories, what the root reaches, and link counts.

use super::dirblock::{Form, Name};
use super::tree::Walk;
use super::volume::{Names, Volume};
use crate::{Error, Finding, Phase};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::lfs::{DIRBLOCK, IFILE, Version};
use ordo_ondisk::{Dinode, FragNo, Ino};
use rustc_hash::FxHashSet;

/// Missing blocks of a directory that are replaced; if more are missing, it is cut at the next.
const HOLES_FILLED_MAX: usize = 8;
/// Most links of an inode: the count is signed.
const LINKS_MAX: u32 = 32_767;
/// Type of a whiteout.
const WHITEOUT: u8 = 14;
const ROOT: u32 = Ino::ROOT.0;

/// What to do with an entry.
enum Verdict {
    Keep,
    Remove(Finding),
    SetType(Finding, u8),
}

impl Volume {
    /// How directories are stored.
    pub(crate) fn form(&self) -> Form {
        Form { endian: self.g.endian, wide: self.g.version.is_wide(), old: self.g.maxsymlinklen == 0 }
    }

    /// Phase 2.
    pub(crate) async fn check_names(&mut self) -> Result<(), Error> {
        self.names = Names::default();
        self.ensure_root().await?;
        let dirs = self.dirs.clone();
        for (done, ino) in (0u64..).zip(&dirs) {
            self.step(Phase::Names, done, dirs.len() as u64);
            self.check_directory(*ino).await?;
        }
        Ok(())
    }

    /// Makes a root directory if there is none.
    async fn ensure_root(&mut self) -> Result<(), Error> {
        let why = match self.dinode(ROOT).await? {
            Some(dinode) if dinode.is_dir() => return Ok(()),
            Some(_) => "is not a directory",
            None => "does not exist",
        };
        if !self.in_use(ROOT) && self.find_inode(ROOT).await? {
            self.find(Finding::RootMissing { why });
            if !self.dirs.contains(&ROOT) {
                self.dirs.insert(0, ROOT);
            }
            return Ok(());
        }
        self.find(Finding::RootMissing { why });
        if self.in_use(ROOT) {
            self.release(ROOT);
        }
        self.make_directory(ROOT, ROOT);
        self.dirs.insert(0, ROOT);
        Ok(())
    }

    /// A new directory, in memory.
    pub(crate) fn make_directory(&mut self, ino: u32, parent: u32) {
        let form = self.form();
        let bytes = form.encode(&form.dots(ino, parent));
        let now = ordo_ondisk::Timestamp { sec: self.now as i64, nsec: 0 };
        let mut dinode = Dinode { mode: mode::DIR | 0o755, nlink: 2, size: DIRBLOCK.into(), ..Dinode::default() };
        dinode.gen_ = self.ifile.entry(ino).version.max(1);
        dinode.freelink = ino;
        (dinode.atime, dinode.mtime, dinode.ctime) = (now, now, now);
        dinode.blocks = self.g.bytes(self.block_units(dinode.size, 0)) / 512;
        let unwritten = self.unwritten();
        dinode.db.first_mut().into_iter().for_each(|first| *first = unwritten);
        self.blocks.insert((ino, 0), bytes);
        self.put_dinode(ino, dinode);
    }

    async fn check_directory(&mut self, ino: u32) -> Result<(), Error> {
        let Some(mut dinode) = self.dinode(ino).await? else { return Ok(()) };
        self.check_size(ino, &mut dinode).await?;
        let mut seen = FxHashSet::default();
        for lbn in 0..self.g.file_blocks(dinode.size) {
            let mut block = self.directory_block(ino, &dinode, lbn).await?;
            let mut changed = false;
            for (i, chunk) in block.chunks_exact_mut(DIRBLOCK as usize).enumerate() {
                let at = lbn * u64::from(self.g.bsize) + i as u64 * u64::from(DIRBLOCK);
                if at < dinode.size
                    && let Some(right) = self.check_block(ino, at, chunk, &mut seen).await?
                {
                    chunk.copy_from_slice(&right);
                    changed = true;
                }
            }
            if changed {
                self.blocks.insert((ino, lbn as i64), block);
            }
        }
        Ok(())
    }

    /// The bytes of a directory's block.
    pub(crate) async fn directory_block(&mut self, ino: u32, dinode: &Dinode, lbn: u64) -> Result<Vec<u8>, Error> {
        let len = self.g.block_bytes(dinode.size, ordo_ondisk::Lbn(lbn as i64)) as usize;
        let to = self.pointer(ino, dinode, lbn as i64).await?;
        self.content(ino, lbn as i64, to, len).await
    }

    /// Makes the size a multiple of a directory block, and fills holes.
    async fn check_size(&mut self, ino: u32, dinode: &mut Dinode) -> Result<(), Error> {
        let (size, block) = (dinode.size, u64::from(DIRBLOCK));
        let right = size.next_multiple_of(block).max(block);
        if size == 0 {
            self.find(Finding::DirectoryTooShort { ino, size });
        } else if size != right {
            self.find(Finding::DirectorySize { ino, size, right });
        }
        let before = dinode.clone();
        dinode.size = right;
        let holes = self.holes(ino, dinode).await?;
        for (filled, lbn) in holes.into_iter().enumerate() {
            self.find(Finding::DirectoryHole { ino, lbn });
            if filled == HOLES_FILLED_MAX && lbn > 0 {
                self.cut_directory(ino, dinode, lbn).await?;
                break;
            }
            let len = self.g.block_bytes(dinode.size, ordo_ondisk::Lbn(lbn as i64)) as usize;
            let fresh = self.form().encode(&[]).repeat(len / DIRBLOCK as usize);
            self.blocks.insert((ino, lbn as i64), fresh);
            let unwritten = self.unwritten();
            self.set_pointer(ino, dinode, lbn as i64, unwritten).await?;
        }
        if *dinode != before {
            self.recount(ino, dinode).await?;
            self.put_dinode(ino, dinode.clone());
        }
        Ok(())
    }

    /// The first blocks that a directory lacks.
    async fn holes(&mut self, ino: u32, dinode: &Dinode) -> Result<Vec<u64>, Error> {
        let (mut holes, mut next) = (vec![], 0);
        let blocks = self.g.file_blocks(dinode.size);
        let mut walk = Walk::new(self, ino, dinode);
        while let Some(pointer) = walk.next(self).await? {
            if pointer.level == 0 && pointer.first < blocks {
                holes.extend((next..pointer.first).take(HOLES_FILLED_MAX + 1));
                next = pointer.first + 1;
            }
            if holes.len() > HOLES_FILLED_MAX {
                break;
            }
        }
        holes.extend((next..blocks).take(HOLES_FILLED_MAX + 1));
        Ok(holes)
    }

    /// Ends a directory before a block.
    async fn cut_directory(&mut self, ino: u32, dinode: &mut Dinode, lbn: u64) -> Result<(), Error> {
        let mut walk = Walk::new(self, ino, dinode);
        let mut places = vec![];
        while let Some(pointer) = walk.next(self).await? {
            if pointer.first >= lbn {
                walk.skip();
                places.push(pointer.place);
            }
        }
        for place in places {
            self.set_place(ino, dinode, place, FragNo::HOLE).await?;
        }
        dinode.size = lbn * u64::from(self.g.bsize);
        Ok(())
    }

    /// Checks a directory block at byte `at`; returns what it should be if it is not.
    async fn check_block(
        &mut self,
        ino: u32,
        at: u64,
        block: &[u8],
        seen: &mut FxHashSet<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let form = self.form();
        let (names, damage) = form.decode(block);
        let mut changed = damage.is_some();
        if let Some((within, why)) = damage {
            self.find(Finding::DirectoryDamaged { ino, at: at + within as u64, why });
        }
        let mut kept = vec![];
        if at == 0 {
            kept = self.check_dots(ino, &names, &mut changed);
        }
        let skip = if at == 0 { names.iter().take(2).take_while(|name| name.is_dots()).count() } else { 0 };
        for mut name in names.into_iter().skip(skip) {
            match self.judge(ino, at, &name, seen).await? {
                Verdict::Keep => {}
                Verdict::Remove(finding) => {
                    self.find(finding);
                    changed = true;
                    continue;
                }
                Verdict::SetType(finding, kind) => {
                    self.find(finding);
                    (name.kind, changed) = (kind, true);
                }
            }
            seen.insert(name.name.clone());
            if name.ino != IFILE.0 {
                self.names.set_count(name.ino, self.names.count(name.ino) + 1);
            }
            kept.push(name);
        }
        Ok(changed.then(|| form.encode(&kept)))
    }

    /// Checks `.` and `..`.
    fn check_dots(&mut self, ino: u32, names: &[Name], changed: &mut bool) -> Vec<Name> {
        let dot = names.first().filter(|name| name.name == b".");
        let dotdot = names.get(1).filter(|name| name.name == b"..");
        let kind = if self.form().old { 0 } else { 4 };
        let wrong = |name: Option<&Name>, right: Option<u32>| match name {
            None => Some("is missing"),
            Some(name) if right.is_some_and(|right| right != name.ino) => Some("names another inode"),
            Some(name) if name.kind != kind => Some("is not of type directory"),
            Some(_) => None,
        };
        if let Some(why) = wrong(dot, Some(ino)) {
            self.find(Finding::Dot { ino, why });
            *changed = true;
        }
        if let Some(why) = wrong(dotdot, None) {
            self.find(Finding::DotDot { ino, why });
            *changed = true;
        }
        // The right parent is known in phase 3.
        let parent = dotdot.map_or(ROOT, |name| name.ino);
        self.names.dotdot.insert(ino, parent);
        self.form().dots(ino, parent)
    }

    async fn judge(&mut self, dir: u32, at: u64, entry: &Name, seen: &FxHashSet<Vec<u8>>) -> Result<Verdict, Error> {
        let (ino, name) = (entry.ino, || entry.shown());
        if entry.is_dots() || seen.contains(&entry.name) {
            return Ok(Verdict::Remove(Finding::ExtraDot { ino: dir, at }));
        }
        let whiteout = entry.kind == WHITEOUT;
        if ino == IFILE.0 && self.g.version == Version::V1 && !whiteout {
            return Ok(Verdict::Keep);
        }
        if whiteout != (ino == IFILE.0) {
            if ino == IFILE.0 {
                return Ok(Verdict::Remove(Finding::Whiteout { dir, name: name(), ino, kind: entry.kind }));
            }
        } else if whiteout {
            return Ok(Verdict::Keep);
        }
        if ino as usize >= self.ifile.entries.len() {
            return Ok(Verdict::Remove(Finding::EntryOutOfRange { dir, name: name(), ino }));
        }
        if !self.in_use(ino) {
            self.find_lost_inode(dir, &name(), ino).await?;
        }
        let Some(inode) = self.brief(ino).await?.filter(|_| self.in_use(ino)) else {
            return Ok(Verdict::Remove(Finding::EntryUnallocated { dir, name: name(), ino }));
        };
        if inode.is_dir() && (ino == ROOT || self.names.parent.contains_key(&ino)) {
            return Ok(Verdict::Remove(Finding::ExtraName { dir, name: name(), ino }));
        }
        if self.names.count(ino) >= LINKS_MAX {
            return Ok(Verdict::Remove(Finding::TooManyNames { dir, name: name(), ino }));
        }
        if inode.is_dir() {
            self.names.parent.insert(ino, dir);
        }
        let (found, right) = (entry.kind, (inode.mode >> 12) as u8);
        if !self.form().old && found != right {
            return Ok(Verdict::SetType(Finding::EntryType { dir, name: name(), ino, found, right }, right));
        }
        Ok(Verdict::Keep)
    }

    /// A name of a free inode: if the log has an inode of this generation, it was never freed, and the map is wrong.
    async fn find_lost_inode(&mut self, dir: u32, name: &str, ino: u32) -> Result<(), Error> {
        if !self.find_inode(ino).await? {
            return Ok(());
        }
        self.find(Finding::EntryUnallocated { dir, name: name.to_owned(), ino });
        if self.dinode(ino).await?.is_some_and(|dinode| dinode.is_dir()) {
            // Its contents are checked in the next round.
            self.names.dotdot.insert(ino, dir);
        }
        Ok(())
    }

    /// Phase 4.
    pub(crate) async fn check_links(&mut self) -> Result<(), Error> {
        for ino in ROOT..self.ifile.entries.len() as u32 {
            if self.names.count(ino) > 0 || !self.in_use(ino) {
                continue;
            }
            let Some(dinode) = self.dinode(ino).await? else { continue };
            if !dinode.is_dir() {
                self.nameless(ino, &dinode).await?;
            }
        }
        let children = self.children();
        for ino in ROOT..self.ifile.entries.len() as u32 {
            if !self.in_use(ino) {
                continue;
            }
            let Some(inode) = self.brief(ino).await? else { continue };
            let names = self.names.count(ino);
            let own = if inode.is_dir() { 1 + children.get(&ino).copied().unwrap_or(0) } else { 0 };
            let right = (names + own + u32::from(ino == ROOT)).min(LINKS_MAX);
            if u32::from(inode.nlink) != right {
                self.find(Finding::LinkCount { ino, found: inode.nlink.into(), right });
                let Some(mut dinode) = self.dinode(ino).await? else { continue };
                dinode.nlink = right as u16;
                self.put_dinode(ino, dinode);
            }
        }
        Ok(())
    }

    fn children(&self) -> rustc_hash::FxHashMap<u32, u32> {
        let mut children = rustc_hash::FxHashMap::default();
        for parent in self.names.parent.values() {
            *children.entry(*parent).or_default() += 1;
        }
        children
    }

    /// A file without a name: named in `lost+found`, or freed if it was being removed.
    async fn nameless(&mut self, ino: u32, dinode: &Dinode) -> Result<(), Error> {
        self.find(Finding::Unreferenced { ino, size: dinode.size });
        let empty = dinode.size == 0 && dinode.blocks == 0;
        if dinode.nlink == 0 || empty || !self.name_in_lost(ino).await? {
            self.free(ino);
            return Ok(());
        }
        self.names.set_count(ino, 1);
        Ok(())
    }
}
