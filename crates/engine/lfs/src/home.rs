//! The log as the cache sees it: bufs leave in partial segments that are shaped here.

use crate::log::{Log, OnDisk, Pending};
use crate::segment::Chain;
use ordo_buf::{Batch, Boxed, Buf, BufRef, Cache, Home, Key};
use ordo_disk::DiskOff;
use ordo_ondisk::lfs::summary::{Item, SumFlags};
use ordo_ondisk::lfs::{Daddr, NextFree};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Error, Refusal, Result};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The home of all bufs of a log.
pub(crate) struct Writer(pub(crate) Rc<Log>);

impl Home for Writer {
    /// Nothing keeps its place.
    fn place(&self, _: &Buf) -> Option<DiskOff> {
        None
    }

    /// Inodes and summaries are whole when they are shaped.
    fn seal(&self, _: &Buf, _: &mut [u8]) {}

    /// Reads what leads to these bufs. From here to the end of `shape` no call runs (engine-lfs-3).
    fn prepare(&self, wanted: &[BufRef]) -> Boxed<'static, Result<()>> {
        let (log, wanted) = (self.0.clone(), owners(wanted));
        Box::pin(async move {
            let held = log.gate.hold().await;
            let files = log.leaving_with(&wanted);
            for ino in files {
                log.read_what_leads_to(ino).await?;
            }
            log.held.borrow_mut().push(held);
            Ok(())
        })
    }

    fn shape(&self, wanted: &[BufRef], _: &dyn Fn(&BufRef) -> bool) -> Result<Vec<Batch>> {
        let shaped = self.0.shape(&owners(wanted));
        self.0.pinned.borrow_mut().clear();
        self.0.held.borrow_mut().clear();
        shaped
    }

    fn seal_batch(&self, batch: &Batch, image: &mut [u8]) {
        let pending = self.0.pending.borrow_mut().remove(&batch.at.0);
        debug_assert!(pending.is_some(), "{:?} was shaped", batch.at);
        if let Some(Pending { builder, stamp }) = pending {
            let sealed = builder.seal_with_crc(&stamp, image);
            debug_assert!(sealed.is_some(), "a batch has all bytes of its partial segment");
        }
    }
}

/// The number of a buf's block in its file.
fn lbn_of(buf: &Buf) -> Lbn {
    match buf.key() {
        Key::File(_, lbn) => lbn,
        _ => Lbn(0),
    }
}

/// The files that these bufs belong to.
fn owners(bufs: &[BufRef]) -> BTreeSet<Ino> {
    let owner = |buf: &BufRef| match buf.key() {
        Key::File(ino, _) | Key::Inode(ino) => Some(ino),
        Key::Device(_) => None,
    };
    bufs.iter().filter_map(owner).collect()
}

impl Log {
    /// The files that leave when `wanted` do: a marked one takes all marked ones with it (engine-lfs-3).
    fn leaving_with(&self, wanted: &BTreeSet<Ino>) -> BTreeSet<Ino> {
        let marked = self.marked.borrow();
        let together = self.keeps("dirop-together");
        let joins = together && wanted.iter().any(|ino| marked.contains(ino));
        if joins { wanted.union(&marked).copied().collect() } else { wanted.clone() }
    }

    async fn read_what_leads_to(&self, ino: Ino) -> Result<()> {
        let cache = self.cache()?;
        let dinode = match cache.find(Key::Inode(ino)) {
            Some(dinode) => dinode,
            None if self.is_known(ino) => self.dinode_buf(ino).await?,
            None => return Ok(()),
        };
        self.pinned.borrow_mut().push(dinode.clone());
        for buf in cache.dirty_run(ino, Lbn(i64::MIN), Lbn(i64::MAX)) {
            let lbn = lbn_of(&buf);
            if self.g.tree().parent(lbn).is_none() {
                continue;
            }
            let above = self.indirects_above(&dinode, lbn).await?;
            self.pinned.borrow_mut().extend(above);
        }
        Ok(())
    }

    fn shape(&self, wanted: &BTreeSet<Ino>) -> Result<Vec<Batch>> {
        let (cache, files) = (self.cache()?, self.leaving_with(wanted));
        if files.is_empty() {
            return Ok(Vec::new());
        }
        // Before anything is changed: what does not fit stays as it is.
        if !self.can_write(&cache, &files) {
            return Err(Refusal::NoSpace.into());
        }
        let together = files.iter().any(|ino| self.marked.borrow().contains(ino));
        let mut flags = SumFlags::default();
        flags = flags.when(SumFlags::DIROP, together);
        let shaped = self.shape_files(&cache, &files, flags);
        // Pointers lead to places that nothing will be written to.
        shaped.inspect_err(|error| cache.health().degrade(error.clone()))
    }

    fn shape_files(&self, cache: &Rc<Cache>, files: &BTreeSet<Ino>, flags: SumFlags) -> Result<Vec<Batch>> {
        let mut chain = Chain::begin(self, flags)?;
        for ino in files {
            self.write_file(cache, &mut chain, *ino)?;
        }
        chain.end()
    }

    /// All of a file that is dirty (engine-lfs-2), and its inode.
    fn write_file(&self, cache: &Rc<Cache>, chain: &mut Chain<'_>, ino: Ino) -> Result<()> {
        let Some(dinode) = cache.find(Key::Inode(ino)) else { return Ok(()) };
        let version = self.ifile.borrow().entry(ino).map_err(Error::corrupt)?.version;
        let size = self.dinode(&dinode)?.size;
        let before = self.on_disk.borrow().get(&ino).map_or(0, |disk| disk.size);
        chain.of_age(self.ages.borrow_mut().remove(&ino).unwrap_or_else(|| self.now()));
        // In the order of the format: blocks ascending, then indirect blocks from single to triple.
        let dirty = cache.dirty_run(ino, Lbn(i64::MIN), Lbn(i64::MAX));
        let short = dirty.iter().all(|buf| self.pointer_in_inode(lbn_of(buf)).is_some() && lbn_of(buf).0 >= 0);
        for buf in dirty.iter().filter(|buf| lbn_of(buf).0 >= 0) {
            let lbn = lbn_of(buf);
            let length = self.length(size, lbn);
            cache.resize(buf, length as usize);
            self.move_block(cache, chain, version, buf, (length, self.length(before, lbn)))?;
        }
        // Those to which only the inode points have made no indirect block dirty.
        for level in (0..3).filter(|_| !short) {
            for buf in cache.dirty_run(ino, Lbn(i64::MIN), Lbn(0)) {
                if self.g.tree().level(lbn_of(&buf)) == Some(level) {
                    self.move_block(cache, chain, version, &buf, (self.g.bsize, self.g.bsize))?;
                }
            }
        }
        if dinode.is_dirty() {
            self.write_inode(cache, chain, &dinode, ino)?;
        }
        self.marked.borrow_mut().remove(&ino);
        Ok(())
    }

    /// Gives a block its place; `lengths` are those of now and of the disk.
    fn move_block(
        &self,
        cache: &Rc<Cache>,
        chain: &mut Chain<'_>,
        version: u32,
        buf: &BufRef,
        lengths: (u32, u32),
    ) -> Result<()> {
        let Key::File(ino, lbn) = buf.key() else { return Ok(()) };
        let (at, index) = chain.block(ino, version, lbn, lengths.0)?;
        let old = self.point(cache, ino, lbn, at)?;
        if !old.is_hole() {
            self.ifile.borrow_mut().count(old, lengths.1, true);
        }
        cache.place(buf, DiskOff(self.g.byte(at).0));
        chain.takes(buf, index);
        Ok(())
    }

    fn write_inode(&self, cache: &Rc<Cache>, chain: &mut Chain<'_>, buf: &BufRef, ino: Ino) -> Result<()> {
        let dinode = self.dinode(buf)?;
        let (slot, index) = chain.inode()?;
        if slot.fresh {
            // What was read there before the segment was cleaned.
            cache.discard_key(Key::Device(slot.at.pointer()));
        }
        let bytes = self.g.version.dinode_size();
        let mut ifile = self.ifile.borrow_mut();
        let old = ifile.entry(ino).map_err(Error::corrupt)?.daddr;
        if !old.is_hole() {
            ifile.count(old, bytes, true);
        }
        let mut known = self.on_disk.borrow_mut();
        let disk = known.entry(ino).or_default();
        for (at, bytes) in disk.dead.drain(..) {
            ifile.count(at, bytes, true);
        }
        self.unwritten.set(self.unwritten.get() - dinode.blocks.cast_signed() + disk.sectors.cast_signed());
        *disk = OnDisk {
            size: dinode.size,
            sectors: dinode.blocks,
            nameless: dinode.nlink == 0,
            dead: std::mem::take(&mut disk.dead),
        };
        if self.dying.borrow_mut().remove(&ino) {
            // Its end is written; that is not alive.
            known.remove(&ino);
            ifile.free(ino);
        } else {
            ifile.count(slot.at, bytes, false);
            ifile.change_entry(ino, |entry| {
                entry.daddr = slot.at;
                entry.nextfree = if dinode.nlink == 0 { NextFree::Orphan } else { NextFree::End };
                entry.atime = dinode.atime;
            });
        }
        cache.place(buf, DiskOff(self.g.byte(slot.at).0 + u64::from(slot.slot * bytes)));
        chain.takes(buf, index);
        Ok(())
    }

    /// Bytes on the disk of a block of a file of this size.
    pub(crate) fn length(&self, size: u64, lbn: Lbn) -> u32 {
        if lbn.0 < 0 { self.g.bsize } else { self.g.block_bytes(size, lbn) }
    }

    /// Lets the pointer to a block lead to `to`; returns where it led. What it is in was read by `prepare`.
    pub(crate) fn point(&self, cache: &Rc<Cache>, ino: Ino, lbn: Lbn, to: Daddr) -> Result<Daddr> {
        let missing = || Error::bug(format!("what leads to block {} of inode {} is not in memory", lbn.0, ino.0));
        if let Some((above, index)) = self.g.tree().parent(lbn) {
            let buf = cache.find(Key::File(ino, above)).ok_or_else(missing)?;
            let old = self.encoding.pointer(&buf.bytes(), index).ok_or_else(missing)?;
            let put = cache.modify(&buf, |bytes| self.encoding.put_pointer(bytes, index, to.pointer()));
            put.ok_or_else(missing)?;
            return Ok(old.into());
        }
        let buf = cache.find(Key::Inode(ino)).ok_or_else(missing)?;
        let index = self.pointer_in_inode(lbn).ok_or_else(missing)?;
        let from = self.pointers_at();
        let old = self.encoding.pointer(&buf.bytes()[from..], index).ok_or_else(missing)?;
        let put = cache.modify(&buf, |bytes| self.encoding.put_pointer(&mut bytes[from..], index, to.pointer()));
        put.ok_or_else(missing)?;
        Ok(old.into())
    }
}

/// The bytes of a partial segment of the ifile: `fill` puts in the block with this number, or the inode block, at this
/// index.
pub(crate) fn own_batch(
    log: &Log,
    batch: &Batch,
    fill: impl Fn(usize, Option<Lbn>, &mut [u8]),
) -> Result<ordo_disk::Block> {
    let missing = || Error::bug("a partial segment of the ifile was not shaped");
    let Pending { builder, stamp } = log.pending.borrow_mut().remove(&batch.at.0).ok_or_else(missing)?;
    let mut image = ordo_disk::Block::zeroed(batch.len);
    for item in builder.items() {
        let at = builder.offset_of(item.at());
        match item {
            Item::Block { lbn, .. } => fill(at, Some(*lbn), &mut image),
            Item::Inodes { .. } => fill(at, None, &mut image),
        }
    }
    builder.seal_with_crc(&stamp, &mut image).ok_or_else(missing)?;
    Ok(image)
}
