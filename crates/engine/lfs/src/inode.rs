//! Inodes: each is a buf by itself, found by its number in the inode map.
//!
//! N1. The buf of an inode has the pointers of the disk: where a block is that was written, or 0 where it was not.
//!     `ufs` does not see them, so what it stores keeps those of the buf.
//! N2. An inode is free for another file only when its end is written: a dinode without links, or nothing where it was
//!     never written. Otherwise the roll-forward would find the next file's blocks under the old one's number.

use crate::log::{Lfs, Log, MANY};
use ordo_buf::{Buf, BufRef, Cache, Key, Role, Want};
use ordo_disk::DiskOff;
use ordo_ondisk::lfs::{Daddr, IFILE, Version, inode_block};
use ordo_ondisk::{Corrupt, Dinode, Ino, Lbn, Rule, Structure};
use ordo_ufs::Inode;
use ordo_vfs::{Error, Kind, Refusal, Result};
use std::rc::Rc;

impl Log {
    /// Where the pointers are in the buf of an inode.
    pub(crate) fn pointers_at(&self) -> usize {
        self.g.version.pointers_at()
    }

    /// The index of a pointer among those of the inode, for a block to which the inode itself points.
    pub(crate) fn pointer_in_inode(&self, lbn: Lbn) -> Option<u32> {
        match u32::try_from(lbn.0) {
            Ok(direct) => (direct < 12).then_some(direct),
            Err(_) => self.g.tree().root_of(lbn).and_then(|root| u32::try_from(12 + root).ok()),
        }
    }

    /// The dinode in a buf.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn dinode(&self, buf: &Buf) -> Result<Dinode> {
        inode_block::get(&buf.bytes(), 0, &self.g).map_err(Error::corrupt)
    }

    /// Puts a dinode into its buf.
    ///
    /// # Errors
    /// `Bug`: it does not fit.
    pub(crate) fn put_dinode(&self, cache: &Cache, buf: &BufRef, ino: Ino, dinode: &Dinode) -> Result<()> {
        let put = cache.modify(buf, |bytes| inode_block::put(bytes, 0, &self.g, ino, dinode));
        put.ok_or_else(|| Error::bug("a buf of an inode is too short for it"))
    }

    /// Whether the inode is in use: in memory, or in the inode map.
    pub(crate) fn is_known(&self, ino: Ino) -> bool {
        let cached = self.cache().is_ok_and(|cache| cache.find(Key::Inode(ino)).is_some());
        cached || self.ifile.borrow().entry(ino).is_ok_and(|entry| !entry.daddr.is_hole())
    }

    /// The same for any number.
    pub(crate) fn may_load(&self, ino: Ino) -> bool {
        let ifile = self.ifile.borrow();
        // The buf of a freed inode may still be cached.
        let free = ino.0 < Ino::ROOT.0 || ino.0 >= ifile.maxino() || ifile.is_free(ino);
        !free && self.is_known(ino)
    }

    /// The buf of an inode, read from where the inode map has it.
    ///
    /// # Errors
    /// `Stale` for a free inode; `Corrupt`; `Io`.
    pub(crate) async fn dinode_buf(&self, ino: Ino) -> Result<BufRef> {
        let (cache, key) = (self.cache()?, Key::Inode(ino));
        loop {
            if let Some(buf) = cache.find(key) {
                return Ok(buf);
            }
            let place = || self.ifile.borrow().entry(ino).map(|entry| entry.daddr).ok();
            let before = place();
            let read = self.read_dinode(&cache, ino).await;
            // It may have moved meanwhile, and something else may be where it was.
            if place() != before {
                continue;
            }
            let (at, dinode) = read?;
            if self.ifile.borrow().entry(ino).is_ok_and(|entry| entry.daddr == at)
                && let Some(buf) = self.keep_dinode(&cache, ino, at, &dinode)
            {
                return Ok(buf);
            }
        }
    }

    /// The buf of an inode that was read from the inode block at `at`. Waits for nothing.
    fn keep_dinode(&self, cache: &Rc<Cache>, ino: Ino, at: Daddr, dinode: &Dinode) -> Option<BufRef> {
        let mut bytes = vec![0; self.g.version.dinode_size() as usize];
        inode_block::put(&mut bytes, 0, &self.g, ino, dinode)?;
        let fresh = cache.find(Key::Inode(ino)).is_none();
        let addr = DiskOff(self.g.byte(at).0);
        let buf = cache.offer(Want { key: Key::Inode(ino), role: Role::Inodes, addr, len: bytes.len() }, &bytes)?;
        if fresh {
            let mut known = self.on_disk.borrow_mut();
            if known.len() >= self.remembered.get() {
                // What is not in memory is as it is on the disk.
                known.retain(|ino, disk| !disk.dead.is_empty() || cache.find(Key::Inode(*ino)).is_some());
                self.remembered.set(MANY.max(2 * known.len()));
            }
            let disk = known.entry(ino).or_default();
            (disk.size, disk.sectors, disk.nameless) = (dinode.size, dinode.blocks, dinode.nlink == 0);
        }
        Some(buf)
    }

    /// Reads an inode; returns where its block is, too.
    async fn read_dinode(&self, cache: &Rc<Cache>, ino: Ino) -> Result<(Daddr, Dinode)> {
        if ino.0 < Ino::ROOT.0 || ino.0 >= self.ifile.borrow().maxino() {
            return Err(Refusal::Stale.into());
        }
        let entry = self.ifile.borrow().entry(ino).map_err(Error::corrupt)?;
        if entry.daddr.is_hole() {
            return Err(Refusal::Stale.into());
        }
        let damage =
            |field, found: u64, rule| Error::corrupt(Corrupt::new(Structure::InodeMap(ino), field, found, rule));
        if !self.g.is_data_range(entry.daddr, self.g.inode_block_units()) {
            return Err(damage("if_daddr", entry.daddr.0, Rule::Words("which is not in a segment")));
        }
        let (key, addr) = (Key::Device(entry.daddr.pointer()), DiskOff(self.g.byte(entry.daddr).0));
        let want = Want { key, role: Role::Inodes, addr, len: self.g.ibsize as usize };
        let block = cache.read(want).await?;
        let mut dinode = inode_block::get_ino(&block.bytes(), &self.g, ino).map_err(Error::corrupt)?;
        if dinode.gen_ != entry.version {
            return Err(damage("if_version", entry.version.into(), Rule::Is(dinode.gen_.into())));
        }
        if Kind::from_bits(dinode.mode >> 12).is_none() || dinode.size > self.g.maxfilesize {
            let rule = Rule::Words("with this size, which no file has");
            return Err(Error::corrupt(Corrupt::new(Structure::Inode(ino), "di_mode", dinode.mode, rule)));
        }
        // Version 1 has the time in the inode itself.
        if self.g.version != Version::V1 {
            dinode.atime = entry.atime;
        }
        Ok((entry.daddr, dinode))
    }

    /// A new buf for an inode.
    pub(crate) async fn fresh_dinode(&self, ino: Ino) -> Result<BufRef> {
        let len = self.g.version.dinode_size() as usize;
        self.cache()?.fresh(Key::Inode(ino), Role::Inodes, None, len).await
    }

    /// The pointers of this inode are pointers: it is no device, and no symbolic link that lies in it.
    pub(crate) fn has_blocks(&self, dinode: &Dinode) -> bool {
        // One of no bytes, which is gone, has none of its own in it either.
        !dinode.is_device() && (dinode.size == 0 || !dinode.is_short_link(self.encoding))
    }
}

impl Lfs {
    pub(crate) async fn block_of(&self, inode: &Inode) -> Result<BufRef> {
        if let Some(buf) = inode.block() {
            return Ok(buf);
        }
        let buf = match self.cache.find(Key::Inode(inode.ino())) {
            Some(buf) => buf,
            None => self.log.fresh_dinode(inode.ino()).await?,
        };
        inode.set_block(buf.clone());
        Ok(buf)
    }

    pub(crate) async fn load(&self, ino: Ino) -> Result<Inode> {
        if ino == IFILE {
            return Err(Refusal::Stale.into());
        }
        let buf = self.log.dinode_buf(ino).await?;
        let inode = Inode::new(ino, self.log.dinode(&buf)?);
        inode.set_block(buf);
        Ok(inode)
    }

    /// Puts the dinode into its buf, which keeps its pointers (N1). What calls on directories change is marked
    /// (engine-lfs-3).
    pub(crate) async fn store(&self, inode: &Inode) -> Result<BufRef> {
        let buf = self.block_of(inode).await?;
        self.put(inode, &buf)?;
        Ok(buf)
    }

    pub(crate) fn put(&self, inode: &Inode, buf: &BufRef) -> Result<()> {
        let (log, mut dinode) = (&self.log, inode.dinode().clone());
        let old = log.dinode(buf)?;
        if log.has_blocks(&dinode) {
            (dinode.db, dinode.ib) = (old.db, old.ib);
        }
        let grown = dinode.blocks.cast_signed() - old.blocks.cast_signed();
        log.unwritten.set(log.unwritten.get() + grown);
        // Links and directories change in calls on directories only. A new inode has had none.
        if inode.is_dir() || dinode.nlink != old.nlink {
            log.marked.borrow_mut().insert(inode.ino());
        }
        log.put_dinode(&self.cache, buf, inode.ino(), &dinode)
    }

    /// Frees an inode without names and users (N2).
    pub(crate) async fn release(&self, inode: &Inode) -> Result<()> {
        let ino = inode.ino();
        self.cut(inode, 0).await?;
        let buf = self.block_of(inode).await?;
        {
            let mut dinode = inode.dinode_mut();
            (dinode.size, dinode.nlink) = (0, 0);
            if dinode.is_device() || dinode.is_short_link(self.log.encoding) {
                (dinode.db, dinode.ib) = Default::default();
            }
        }
        self.put(inode, &buf)?;
        let on_disk = !self.log.ifile.borrow().entry(ino).map_err(Error::corrupt)?.daddr.is_hole();
        let nameless = self.log.on_disk.borrow().get(&ino).is_some_and(|disk| disk.nameless);
        if on_disk && !nameless {
            self.log.dying.borrow_mut().insert(ino);
            self.log.marked.borrow_mut().insert(ino);
            return Ok(());
        }
        self.forget(ino, &buf);
        Ok(())
    }

    /// The inode is free at once: nothing on the disk says otherwise after a crash.
    fn forget(&self, ino: Ino, buf: &BufRef) {
        let log = &self.log;
        let mut ifile = log.ifile.borrow_mut();
        let disk = log.on_disk.borrow_mut().remove(&ino).unwrap_or_default();
        log.unwritten.set(log.unwritten.get() + disk.sectors.cast_signed());
        for (at, bytes) in &disk.dead {
            ifile.count(*at, *bytes, true);
        }
        if let Some(old) = ifile.entry(ino).ok().map(|entry| entry.daddr).filter(|at| !at.is_hole()) {
            ifile.count(old, log.g.version.dinode_size(), true);
        }
        ifile.free(ino);
        log.marked.borrow_mut().remove(&ino);
        log.changed.set(true);
        self.cache.discard(buf);
    }
}
