//! One directory: finding, entering, redirecting and clearing names.
//!
//! The caller holds the directory's lock: shared to find, exclusive to change. The index (see [`crate::dirhash`]) is
//! built on first use. It may be dropped at any await, so each step makes sure that there is one.

use crate::dirhash::{DirHash, hash};
use crate::observer::EntryAt;
use crate::{Inode, Layout, Ufs};
use ordo_buf::{BufRef, Fields, Freed, Key, Op, Step, Ticket};
use ordo_ondisk::dirent::{self, DirFormat};
use ordo_ondisk::{ByteOff, Corrupt, Ino, Lbn, Rule, Structure};
use ordo_vfs::{Caller, DirEntry, Error, Kind, Refusal, Result, Stamp};
use std::rc::Rc;

/// An entry that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where it begins in the directory, in bytes.
    pub(crate) offset: u64,
    /// What it names.
    pub(crate) ino: Ino,
}

/// What a name is to point to.
pub(crate) struct Target<'a> {
    pub(crate) ino: Ino,
    pub(crate) kind: Kind,
    /// The buf with its inode.
    pub(crate) inode: &'a BufRef,
    /// For a new directory: its first block, and the buf with its parent's inode.
    pub(crate) mkdir: Option<(&'a BufRef, &'a BufRef)>,
}

impl<L: Layout> Ufs<L> {
    fn format(&self) -> DirFormat {
        self.layout.shape().dir_format
    }

    /// Bytes of a directory block, called a chunk here: the contents of one sector, whose boundary no entry crosses.
    fn chunk_size(&self) -> usize {
        self.format().block
    }

    /// The block of a directory that holds the byte at `offset`, and the byte's offset in it.
    pub(crate) async fn dir_block(&self, dir: &Inode, offset: u64) -> Result<(BufRef, usize)> {
        let shape = self.layout.shape();
        let lbn = Lbn(shape.lblkno(offset) as i64);
        let within = shape.blkoff(offset) as usize;
        let block = match self.cache().find(Key::File(dir.ino(), lbn)) {
            Some(block) => block,
            None => self
                .layout
                .block(dir, lbn)
                .await?
                .ok_or_else(|| damaged(dir, offset, ("pointer", 0), "the directory has a hole"))?,
        };
        let chunk = self.chunk_size();
        if block.len() < within - within % chunk + chunk {
            return Err(damaged(
                dir,
                offset,
                ("di_size", dir.size()),
                "the directory's last fragment is shorter than its size",
            ));
        }
        Ok((block, within))
    }

    /// Builds the index if there is none.
    async fn index(&self, dir: &Rc<Inode>) -> Result<()> {
        if dir.names.borrow().is_some() {
            return Ok(());
        }
        let mut index = DirHash::new();
        let size = dir.size();
        let chunk = self.chunk_size();
        let mut offset = 0;
        while offset + chunk as u64 <= size {
            self.read_ahead_dir(dir, offset, size).await?;
            let (block, mut within) = self.dir_block(dir, offset).await?;
            let bytes = block.bytes();
            while within + chunk <= bytes.len() && offset + chunk as u64 <= size {
                self.index_chunk(dir, &mut index, offset, &bytes[within..within + chunk])?;
                within += chunk;
                offset += chunk as u64;
            }
        }
        let bytes = index.bytes();
        *dir.names.borrow_mut() = Some(index);
        self.table.indexed(dir, bytes);
        Ok(())
    }

    fn index_chunk(&self, dir: &Inode, index: &mut DirHash, offset: u64, chunk: &[u8]) -> Result<()> {
        let at = (offset / chunk.len() as u64) as usize;
        for entry in dirent::entries(chunk, self.format(), dir.ino(), offset) {
            match entry {
                Ok(entry) if entry.is_name() => {
                    index.reserve()?;
                    index.insert(hash(entry.name), offset + entry.offset as u64);
                }
                Ok(_) => {}
                Err(error) => {
                    // The contents behind the damage are unknown: nothing is entered there, and a missing name may
                    // exist.
                    index.set_damage(Error::corrupt(error));
                    index.set_room(at, 0);
                    return Ok(());
                }
            }
        }
        index.set_room(at, largest_gap(chunk, self.format()));
        Ok(())
    }

    /// The entry with this name.
    pub(crate) async fn find(&self, dir: &Rc<Inode>, name: &[u8]) -> Result<Option<Found>> {
        let wanted = hash(name);
        let mut tried = 0;
        loop {
            self.index(dir).await?;
            let offset = {
                let names = dir.names.borrow();
                let Some(index) = names.as_ref() else { continue };
                match index.candidates(wanted).nth(tried) {
                    Some(offset) => offset,
                    None => return index.damage().map_or(Ok(None), Err),
                }
            };
            tried += 1;
            let (block, within) = self.dir_block(dir, offset).await?;
            // The entry was checked when the index was built, and all changes since were ours.
            if let Some(ino) = named(&block.bytes(), within, self.format(), name) {
                return Ok(Some(Found { offset, ino }));
            }
        }
    }

    /// The entry with this name, which must be there.
    pub(crate) async fn must_find(&self, dir: &Rc<Inode>, name: &[u8]) -> Result<Found> {
        if dir.links_seen() == 0 {
            return Err(Refusal::NotFound.into());
        }
        self.find(dir, name).await?.ok_or(Refusal::NotFound.into())
    }

    /// Enters a new name.
    ///
    /// # Errors
    /// `NoSpace` when the directory must grow and cannot, `NoMemory` when its index must; nothing has changed then.
    pub(crate) async fn enter(
        &self,
        op: Op,
        who: &Caller,
        dir: &Rc<Inode>,
        name: &[u8],
        target: Target<'_>,
        now: Stamp,
    ) -> Result<()> {
        let needed = self.format().min_reclen(name.len());
        let room = loop {
            self.index(dir).await?;
            if let Some(index) = dir.names.borrow_mut().as_mut() {
                index.reserve()?;
                break index.find_room(needed);
            }
        };
        let (block, offset) = match room {
            Some(chunk) => self.enter_in_gap(dir, chunk, name, &target).await?,
            None => self.enter_at_end(op, who, dir, name, &target).await?,
        };
        let within = self.layout.shape().blkoff(offset);
        if let Some(index) = dir.names.borrow_mut().as_mut() {
            index.insert(hash(name), offset);
            index.set_room((offset / self.chunk_size() as u64) as usize, self.gap_at(&block, within as usize));
        }
        let Target { ino, kind, inode, mkdir } = target;
        let entry = EntryAt { dir: dir.ino(), offset, ino };
        let directory = kind == Kind::Directory;
        self.observed.tell(|observer| observer.entered(entry, directory, mkdir.is_some()));
        let (ino_of_dir, block) = (dir.ino(), &block);
        let step = Step::LinkAdded { dir: ino_of_dir, name, block, offset: within, ino, inode, directory, mkdir };
        let none = self.cache().step(op, step).await?;
        debug_assert!(none.is_none());
        self.touch_dir(op, dir, now).await
    }

    async fn enter_in_gap(
        &self,
        dir: &Rc<Inode>,
        chunk: usize,
        name: &[u8],
        target: &Target<'_>,
    ) -> Result<(BufRef, u64)> {
        let format = self.format();
        let size = format.block;
        let start = chunk as u64 * size as u64;
        let (block, within) = self.dir_block(dir, start).await?;
        self.cache().before_change(&block).await;
        let needed = format.min_reclen(name.len());
        let gap = {
            let bytes = block.bytes();
            let mut entries =
                dirent::entries(&bytes[within..within + size], format, dir.ino(), start).map_while(|e| e.ok());
            entries
                .find(|entry| entry.free() >= needed)
                .map(|entry| (entry.offset, usize::from(entry.reclen) - entry.free(), entry.reclen))
        };
        let Some((offset, keep, reclen)) = gap else {
            return Err(damaged(dir, start, ("room", 0), "the index promises room that is not there"));
        };
        self.cache().modify(&block, |bytes| {
            let chunk = &mut bytes[within..within + size];
            put(chunk, offset, keep, reclen, format, target, name)
        });
        Ok((block, start + (offset + keep) as u64))
    }

    async fn enter_at_end(
        &self,
        op: Op,
        who: &Caller,
        dir: &Rc<Inode>,
        name: &[u8],
        target: &Target<'_>,
    ) -> Result<(BufRef, u64)> {
        let shape = self.layout.shape();
        let format = self.format();
        let size = format.block;
        let offset = dir.size();
        if offset + size as u64 > i32::MAX as u64 {
            return Err(Refusal::TooBig.into());
        }
        let (lbn, within) = (Lbn(shape.lblkno(offset) as i64), shape.blkoff(offset) as usize);
        let mut fill = |block: &mut [u8]| {
            put(&mut block[within..within + size], 0, 0, size as u16, format, target, name);
        };
        let block = self.layout.write_block(op, who, dir, lbn, within, within + size, &mut fill).await?;
        Ok((block, offset))
    }

    /// Redirects the entry at `found` to `target`; `ticket` drops the link that it was.
    pub(crate) async fn redirect(
        &self,
        op: Op,
        dir: &Rc<Inode>,
        found: Found,
        target: Target<'_>,
        dotdot: bool,
        ticket: Ticket,
        now: Stamp,
    ) -> Result<Option<Ticket>> {
        let (block, within) = match self.dir_block(dir, found.offset).await {
            Ok(found) => found,
            Err(error) => {
                self.keep_link(ticket);
                return Err(error);
            }
        };
        self.cache().before_change(&block).await;
        let kind_before = dirent::kind_at(&block.bytes(), within, self.format());
        self.cache().modify(&block, |bytes| {
            dirent::set_inode(bytes, within, self.format(), target.ino, target.kind as u8);
        });
        let (Target { ino, kind, inode, .. }, offset) = (target, within as u32);
        let entry = EntryAt { dir: dir.ino(), offset: found.offset, ino };
        let directory = kind == Kind::Directory;
        self.observed.tell(|observer| observer.redirected(found.ino, entry, directory, ticket.freed()));
        let (dir_ino, block) = (dir.ino(), &block);
        let step =
            Step::LinkChanged { dir: dir_ino, block, offset, ino, inode, directory, kind_before, dotdot, ticket };
        let ripe = self.cache().step(op, step).await?;
        self.touch_dir_before(op, dir, ripe, now).await
    }

    /// Clears the entry at `found`; `ticket` drops its link.
    pub(crate) async fn clear(
        &self,
        op: Op,
        dir: &Rc<Inode>,
        name: &[u8],
        found: Found,
        ticket: Ticket,
        now: Stamp,
    ) -> Result<Option<Ticket>> {
        let size = self.chunk_size();
        let start = found.offset - found.offset % size as u64;
        let (block, within) = match self.dir_block(dir, start).await {
            Ok(found) => found,
            Err(error) => {
                self.keep_link(ticket);
                return Err(error);
            }
        };
        self.cache().before_change(&block).await;
        let format = self.format();
        let offset = (found.offset - start) as usize;
        let before = block.bytes()[within..within + size].to_vec();
        self.cache().modify(&block, |bytes| {
            let chunk = &mut bytes[within..within + size];
            let entries = dirent::entries(chunk, format, dir.ino(), start).map_while(|entry| entry.ok());
            let before = entries.take_while(|entry| entry.offset < offset).last().map(|entry| entry.offset);
            dirent::clear(chunk, offset, before, format)
        });
        if let Some(index) = dir.names.borrow_mut().as_mut() {
            index.remove(hash(name), found.offset);
            index.set_room((start / size as u64) as usize, self.gap_at(&block, within));
        }
        let entry = EntryAt { dir: dir.ino(), offset: found.offset, ino: found.ino };
        self.observed.tell(|observer| observer.cleared(entry, ticket.freed()));
        let (offset, before) = ((within + offset) as u32, (within as u32, &before[..]));
        let step = Step::LinkRemoved { dir: dir.ino(), name, block: &block, offset, before, ticket };
        let ripe = self.cache().step(op, step).await?;
        self.touch_dir_before(op, dir, ripe, now).await
    }

    /// The largest gap of the chunk around byte `within` of a block.
    fn gap_at(&self, block: &BufRef, within: usize) -> usize {
        let size = self.chunk_size();
        let start = within - within % size;
        largest_gap(&block.bytes()[start..start + size], self.format())
    }

    /// Updates the directory's times after a name was entered or cleared.
    async fn touch_dir(&self, op: Op, dir: &Inode, now: Stamp) -> Result<()> {
        crate::attr::set_times(&mut dir.dinode_mut(), None, Some(now), Some(now));
        self.changed(op, dir, Fields::Times).await?;
        Ok(())
    }

    /// The same, while a ticket waits to be redeemed: the ticket must not be lost if the inode cannot be stored.
    async fn touch_dir_before(&self, op: Op, dir: &Inode, ripe: Option<Ticket>, now: Stamp) -> Result<Option<Ticket>> {
        match self.touch_dir(op, dir, now).await {
            Ok(()) => Ok(ripe),
            Err(error) => {
                ripe.into_iter().for_each(|ticket| self.cache().keep_stuck(ticket));
                Err(error)
            }
        }
    }

    /// The name stays, and with it its link.
    fn keep_link(&self, ticket: Ticket) {
        let Freed::DropLink { ino, links, parent } = ticket.redeem() else { return };
        if let Some(inode) = self.table.get(ino) {
            inode.links_left(links);
        }
        if let Some(parent) = parent.and_then(|parent| self.table.get(parent)) {
            parent.links_left(1);
        }
    }

    /// The directory holds only `.` and `..`.
    pub(crate) async fn is_empty(&self, dir: &Rc<Inode>) -> Result<bool> {
        let dots =
            usize::from(self.find(dir, b".").await?.is_some()) + usize::from(self.find(dir, b"..").await?.is_some());
        let names = dir.names.borrow();
        let Some(index) = names.as_ref() else { return Err(Refusal::Busy.into()) };
        index.damage().map_or(Ok(index.live() == dots), Err)
    }

    /// What `..` names in this directory. Needs no lock: it reads one block, once, and not the index, which another
    /// call may be building or changing.
    pub(crate) async fn parent_of(&self, dir: &Rc<Inode>) -> Result<Ino> {
        let (block, _) = self.dir_block(dir, 0).await?;
        let bytes = block.bytes();
        let mut entries =
            dirent::entries(&bytes[..self.chunk_size()], self.format(), dir.ino(), 0).map_while(|e| e.ok());
        match entries.find(|entry| entry.is_name() && entry.name == b"..") {
            Some(entry) => Ok(entry.ino),
            None => Err(damaged(dir, 0, ("..", 0), "the directory has no `..`")),
        }
    }

    /// Lists entries, from `cookie` on.
    pub(crate) async fn readdir(
        &self,
        dir: &Rc<Inode>,
        cookie: u64,
        take: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
        let chunk = self.chunk_size();
        // A removed directory that is still in use has no names.
        let size = if dir.links_seen() == 0 { 0 } else { dir.size() };
        let mut offset = cookie - cookie % chunk as u64;
        while offset + chunk as u64 <= size {
            self.read_ahead_dir(dir, offset, size).await?;
            let (block, within) = self.dir_block(dir, offset).await?;
            let bytes = block.bytes();
            for entry in dirent::entries(&bytes[within..within + chunk], self.format(), dir.ino(), offset) {
                let entry = entry.map_err(Error::corrupt)?;
                let at = offset + entry.offset as u64;
                if at < cookie || !entry.is_name() {
                    continue;
                }
                let next = at + u64::from(entry.reclen);
                if !take(DirEntry { ino: u64::from(entry.ino.0), kind: entry.kind, next, name: entry.name }) {
                    return Ok(());
                }
            }
            offset += chunk as u64;
        }
        Ok(())
    }
}

/// What the entry at `at` names, if it has this name.
fn named(bytes: &[u8], at: usize, format: DirFormat, name: &[u8]) -> Option<Ino> {
    let entry = bytes.get(at..)?;
    let (start, namlen) = (format.header(), format.namelen(entry)?);
    if namlen != name.len() || entry.get(start..start + namlen)? != name {
        return None;
    }
    format.ino(entry)
}

fn largest_gap(chunk: &[u8], format: DirFormat) -> usize {
    dirent::entries(chunk, format, Ino::NONE, 0)
        .map_while(|entry| entry.ok())
        .map(|entry| entry.free())
        .max()
        .unwrap_or(0)
}

/// Puts an entry behind the `keep` bytes that the entry at `offset`, `reclen` bytes long, needs for itself.
fn put(chunk: &mut [u8], offset: usize, keep: usize, reclen: u16, format: DirFormat, target: &Target<'_>, name: &[u8]) {
    let rest = reclen - keep as u16;
    let written = dirent::write(chunk, offset + keep, format, rest, target.ino, target.kind as u8, name);
    // OK to assert: the caller has found this gap, and measured it.
    assert!(written.is_some(), "a name is put where there is room");
    if keep > 0 {
        dirent::set_reclen(chunk, offset, format, keep as u16);
    }
}

/// Damage at `offset` of a directory: a field, or what is counted there, with its value.
fn damaged(dir: &Inode, offset: u64, (field, found): (&'static str, u64), what: &'static str) -> Error {
    let damage = Corrupt::new(Structure::Directory(dir.ino()), field, found, Rule::Words(what)).at(ByteOff(offset));
    let text = format!("directory inode {} at offset {offset}: {what}; `ordo fsck` repairs it", dir.ino().0);
    Error::corrupt(damage).told_as(text)
}
