//! Blocks of files: where they are, and how they are written into the cache.
//!
//! B1. Everything that a call waits for comes first; then block, size and inode change without a wait between them. So
//!     whoever writes the file at any moment writes one state of it.
//! B2. Before a file grows past its last block, that block becomes whole: only the last block of a file can be shorter.

use crate::Lfs;
use crate::log::Log;
use ordo_buf::{BufRef, Fields, Key, Op, Role, Run, Slot, Step, Want, With};
use ordo_disk::DiskOff;
use ordo_ondisk::lfs::Daddr;
use ordo_ondisk::{Corrupt, FragNo, Ino, Lbn, Root, Rule, Structure};
use ordo_ufs::{Fill, Inode, Mapped};
use ordo_vfs::{Caller, Error, Kind, Refusal, Result};

/// The most direct blocks: only there a block can be shorter.
pub(crate) const DIRECT: u64 = 12;

impl Log {
    /// The indirect blocks on the way to a block, from the inode on, as far as they exist: cached, or read.
    pub(crate) async fn indirects_above(&self, dinode: &BufRef, lbn: Lbn) -> Result<Vec<BufRef>> {
        let Key::Inode(ino) = dinode.key() else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        let mut at = lbn;
        while let Some((above, _)) = self.g.tree().parent(at) {
            names.insert(0, above);
            at = above;
        }
        let mut found: Vec<BufRef> = Vec::new();
        for name in names {
            let Some(buf) = self.indirect(dinode, found.last(), ino, name).await? else { break };
            found.push(buf);
        }
        Ok(found)
    }

    /// An indirect block, by the block above it or by the inode. `None` where there is none.
    pub(crate) async fn indirect(
        &self,
        dinode: &BufRef,
        above: Option<&BufRef>,
        ino: Ino,
        name: Lbn,
    ) -> Result<Option<BufRef>> {
        let (cache, key) = (self.cache()?, Key::File(ino, name));
        if let Some(buf) = cache.find(key) {
            return Ok(Some(buf));
        }
        let at = match above {
            Some(above) => self.pointer_in(above, name),
            None => self.direct_pointer(dinode, name),
        };
        if at.is_hole() {
            return Ok(None);
        }
        self.check_place(ino, at, self.g.bsize)?;
        let want = Want { key, role: Role::Indirect, addr: DiskOff(self.g.byte(at).0), len: self.g.bsize as usize };
        cache.read(want).await.map(Some)
    }

    /// The pointer to `lbn` in the indirect block above it.
    fn pointer_in(&self, above: &BufRef, lbn: Lbn) -> Daddr {
        let index = self.g.tree().parent(lbn).map_or(0, |(_, index)| index);
        self.encoding.pointer(&above.bytes(), index).unwrap_or(FragNo::HOLE).into()
    }

    /// The pointer to `lbn` in the inode.
    pub(crate) fn direct_pointer(&self, dinode: &BufRef, lbn: Lbn) -> Daddr {
        let index = self.pointer_in_inode(lbn).unwrap_or(0);
        self.encoding.pointer(&dinode.bytes()[self.pointers_at()..], index).unwrap_or(FragNo::HOLE).into()
    }

    /// Where block `lbn` is on the disk; a hole where it was never written.
    ///
    /// # Errors
    /// `Corrupt`; `Io` for an indirect block.
    pub(crate) async fn pointer(&self, dinode: &BufRef, lbn: Lbn) -> Result<Daddr> {
        if self.g.tree().path(lbn).is_some_and(|path| matches!(path.root, Root::Direct(_))) {
            return Ok(self.direct_pointer(dinode, lbn));
        }
        let above = self.indirects_above(dinode, lbn).await?;
        Ok(self.pointer_now(dinode, &above, lbn))
    }

    /// The same, with the indirect blocks above it in memory; `lbn` may be that of an indirect block.
    pub(crate) fn pointer_now(&self, dinode: &BufRef, above: &[BufRef], lbn: Lbn) -> Daddr {
        let Some((name, _)) = self.g.tree().parent(lbn) else { return self.direct_pointer(dinode, lbn) };
        let is_parent = |buf: &&BufRef| matches!(buf.key(), Key::File(_, lbn) if lbn == name);
        above.last().filter(is_parent).map_or(Daddr::HOLE, |above| self.pointer_in(above, lbn))
    }

    /// What block `lbn` is, and how many from it on are the same, as far as the pointers beside the one that tells. A
    /// hole may be as long as the format allows, and whoever looks for its end holds up all other calls: so an indirect
    /// block that is not there stands for all that it would lead to, and its neighbours are looked at with it.
    pub(crate) async fn alike(&self, dinode: &BufRef, lbn: Lbn) -> Result<(Alike, u64)> {
        let (cache, tree) = (self.cache()?, self.g.tree());
        let (Key::Inode(ino), Some(path)) = (dinode.key(), tree.path(lbn)) else { return Ok((Alike::Holes, 1)) };
        let above = self.indirects_above(dinode, lbn).await?;
        let is_unplaced = |name: Lbn| {
            let buf = cache.find(Key::File(ino, name));
            // An indirect block has no contents without a dirty block below it, which the search for that finds.
            buf.is_some_and(|buf| name.0 < 0 || buf.is_dirty())
        };
        let of = |at: Daddr, name: Lbn| match (at.is_hole(), is_unplaced(name)) {
            (false, _) => Alike::Stored,
            (true, true) => Alike::Unplaced,
            (true, false) => Alike::Holes,
        };
        // Blocks that each pointer leads to, of the block that has the last pointer there is.
        let below = path.depth() - above.len();
        let first = (0..path.depth()).map(|level| tree.span(level)).skip(1).sum::<u64>() + DIRECT;
        let within = if path.depth() == 0 { 0 } else { (lbn.0.unsigned_abs() - first) % tree.span(below) };
        let Some((last, (name, index))) = above.last().zip(path.indirects().nth(above.len().saturating_sub(1))) else {
            let alike = if path.depth() == 0 { of(self.direct_pointer(dinode, lbn), lbn) } else { Alike::Holes };
            return Ok((alike, tree.span(below) - within));
        };
        let bytes = last.bytes();
        let at = |index: u32| {
            let pointer = self.encoding.pointer(&bytes, index).unwrap_or(FragNo::HOLE).into();
            of(pointer, tree.indirect_child(name, below, index))
        };
        let this = at(index);
        let alike = (index..self.g.nindir).take_while(|index| at(*index) == this).count() as u64;
        Ok((this, alike * tree.span(below) - within))
    }

    /// More indirect blocks than a file can have: those that the volume has room for, and those in memory alone.
    /// Damaged pointers that lead back to a block above them would be followed a thousand million times.
    pub(crate) fn most_indirect(&self) -> usize {
        let on_disk = self.g.size / u64::from(self.g.block_units).max(1);
        let in_memory = self.cache().map_or(0, |cache| cache.stats().bytes / self.g.bsize as usize);
        usize::try_from(on_disk).unwrap_or(usize::MAX).saturating_add(in_memory)
    }

    /// A pointer leads into a segment.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn check_place(&self, ino: Ino, at: Daddr, bytes: u32) -> Result<()> {
        if self.g.is_data_range(at, self.g.units(bytes.into())) {
            return Ok(());
        }
        let rule = Rule::Words("which is not in a segment");
        Err(Error::corrupt(Corrupt::new(Structure::Inode(ino), "block pointer", at.0, rule)))
    }
}

/// The pointers of a file lead to more indirect blocks than there can be.
pub(crate) fn cycle(ino: Ino, found: u64) -> Corrupt {
    Corrupt::new(
        Structure::Inode(ino),
        "indirect blocks",
        found,
        Rule::Words("which is more than the volume has room for"),
    )
}

/// What a run of blocks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alike {
    /// Nothing leads to them.
    Holes,
    /// They are in the cache alone.
    Unplaced,
    /// They have places.
    Stored,
}

/// What is needed to write a block, all of it in memory (B1).
struct Ready {
    dinode: BufRef,
    /// Indirect blocks that the file did not have.
    new_indirect: Vec<BufRef>,
    /// Those that it had.
    indirect: Vec<BufRef>,
    block: BufRef,
    /// The file did not have it.
    new: bool,
    /// The block has not the bytes of the disk, which will be overwritten.
    blank: bool,
}

impl Ready {
    /// Bytes that become dirty, with a block of `length` bytes that is changed.
    fn dirties(&self, length: u64, bsize: u64) -> u64 {
        let of = |buf: &BufRef, len: u64| if buf.is_dirty() { len.saturating_sub(buf.len() as u64) } else { len };
        let indirect: u64 = self.new_indirect.iter().chain(&self.indirect).map(|buf| of(buf, bsize)).sum();
        let dinode = of(&self.dinode, self.dinode.len() as u64);
        of(&self.block, length.max(self.block.len() as u64)) + indirect + dinode
    }
}

impl Lfs {
    pub(crate) fn role(inode: &Inode) -> Role {
        match inode.kind() {
            Some(Kind::Directory) => Role::Directory,
            Some(Kind::Symlink) => Role::Symlink,
            _ => Role::Data,
        }
    }

    pub(crate) async fn block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>> {
        let key = Key::File(inode.ino(), lbn);
        if let Some(buf) = self.cache.find(key) {
            return Ok(Some(buf));
        }
        let dinode = self.block_of(inode).await?;
        let at = self.log.pointer(&dinode, lbn).await?;
        if at.is_hole() {
            return Ok(None);
        }
        // The disk has as much of it as its own size says (engine-lfs-2).
        let len = self.length_on_disk(inode, lbn);
        self.log.check_place(inode.ino(), at, len)?;
        let addr = DiskOff(self.log.g.byte(at).0);
        self.cache.read(Want { key, role: Lfs::role(inode), addr, len: len as usize }).await.map(Some)
    }

    fn length_on_disk(&self, inode: &Inode, lbn: Lbn) -> u32 {
        let known = self.log.on_disk.borrow().get(&inode.ino()).map(|disk| disk.size);
        self.log.length(known.unwrap_or(inode.size()), lbn)
    }

    pub(crate) async fn map(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Mapped> {
        let blocks = self.log.g.file_blocks(inode.size());
        if lbn.0.unsigned_abs() >= blocks {
            return Ok(Mapped::Hole { blocks: count.max(1) });
        }
        let dinode = self.block_of(inode).await?;
        let (run, alike) = self.log.alike(&dinode, lbn).await?;
        let alike = alike.clamp(1, (blocks - lbn.0.unsigned_abs()).min(count.max(1)));
        Ok(match run {
            Alike::Holes => Mapped::Hole { blocks: alike },
            Alike::Unplaced => Mapped::Unplaced { blocks: alike },
            Alike::Stored => Mapped::Stored { blocks: alike },
        })
    }

    pub(crate) async fn read_ahead(&self, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        let dinode = self.block_of(inode).await?;
        for lbn in (from.0..to.0).map(Lbn) {
            let key = Key::File(inode.ino(), lbn);
            if self.cache.find(key).is_some() {
                continue;
            }
            let at = self.log.pointer(&dinode, lbn).await?;
            let len = self.length_on_disk(inode, lbn);
            if !at.is_hole() && self.log.check_place(inode.ino(), at, len).is_ok() {
                let addr = DiskOff(self.log.g.byte(at).0);
                self.cache.read_ahead(Want { key, role: Lfs::role(inode), addr, len: len as usize });
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the seam's own")]
    pub(crate) async fn write_block(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        lbn: Lbn,
        from: usize,
        to: usize,
        fill: Fill<'_>,
    ) -> Result<BufRef> {
        let (ino, size, sectors) = (inode.ino(), inode.size(), inode.dinode().blocks);
        let end = lbn.0.unsigned_abs() * u64::from(self.log.g.bsize) + to as u64;
        if end > self.log.g.maxfilesize {
            return Err(Refusal::TooBig.into());
        }
        let short = self.short_last_block(inode, lbn).await?;
        let whole = from == 0 && end >= size.min((lbn.0.unsigned_abs() + 1) * u64::from(self.log.g.bsize));
        let ready = self.ready(inode, lbn, size.max(end), whole).await?;
        if let Err(refused) = self.may_take(op, who, inode, &ready, size.max(end), short.as_ref()) {
            // A reader would take its zeroes for the contents of the file, and the next file with this number would
            // find it.
            let unused = |buf: &&BufRef| !buf.is_dirty();
            let blank = Some(&ready.block).filter(|_| ready.blank || ready.new);
            for buf in blank.into_iter().chain(&ready.new_indirect).filter(unused) {
                self.cache.discard(buf);
            }
            return Err(refused);
        }
        // From here on nothing waits (B1).
        let length = self.log.length(size.max(end), lbn) as usize;
        if let Some(last) = &short {
            self.grow_block(inode, last, self.log.g.bsize as usize);
        }
        if ready.new {
            inode.dinode_mut().blocks += (length / 512) as u64;
            self.cache.resize(&ready.block, length);
        } else if ready.block.len() < length {
            self.grow_block(inode, &ready.block, length);
        }
        for buf in &ready.new_indirect {
            self.cache.mark_dirty(buf);
            inode.dinode_mut().blocks += u64::from(self.log.g.bsize / 512);
        }
        // Their pointers change when the block is written (space-3).
        ready.indirect.iter().for_each(|buf| self.cache.mark_dirty(buf));
        self.cache.modify(&ready.block, |bytes| fill(bytes));
        if inode.is_dir() {
            self.log.marked.borrow_mut().insert(ino);
        }
        let grows = end > size;
        if grows {
            inode.dinode_mut().size = end;
        }
        // An overwrite changes the pointers that lead to the block when it is written, and not before (engine-lfs-1).
        if grows || ready.new || inode.dinode().blocks != sectors {
            self.put(inode, &ready.dinode)?;
        }
        self.report(op, inode, lbn, &ready, grows).await?;
        Ok(ready.block)
    }

    /// The steps, for whoever watches.
    async fn report(&self, op: Op, inode: &Inode, lbn: Lbn, ready: &Ready, grows: bool) -> Result<()> {
        let (ino, block, role) = (inode.ino(), &ready.block, ready.block.kind());
        if ready.new {
            self.cache.step(op, Step::BlockReady { ino, lbn, block, role }).await?;
            let none = Run { at: FragNo::HOLE, frags: 0 };
            let new = Run { at: FragNo::HOLE, frags: u32::try_from(block.len()).unwrap_or(0) / self.log.g.fsize };
            let (slot, map, with, freed) = (Slot::Inode(&ready.dinode, 0), None, With::Nothing, None);
            let old = none;
            let step = Step::BlockAllocated { ino, lbn, role, slot, old, new, block, map, with, freed };
            self.cache.step(op, step).await?;
        } else {
            self.cache.step(op, Step::DataWritten { ino, lbn, block }).await?;
        }
        if grows {
            let fields = if inode.is_dir() { Fields::DirectorySize } else { Fields::Size };
            self.cache.step(op, Step::InodeChanged { ino, inode: &ready.dinode, fields }).await?;
        }
        Ok(())
    }

    /// The last block of the file, if it is short and the file is about to grow past it (B2).
    async fn short_last_block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>> {
        let blocks = self.log.g.file_blocks(inode.size());
        let last = Lbn(blocks.saturating_sub(1).cast_signed());
        let short = blocks > 0 && lbn.0 > last.0 && self.log.length(inode.size(), last) < self.log.g.bsize;
        if short { self.block(inode, last).await } else { Ok(None) }
    }

    /// Everything that a write of block `lbn` changes, in memory. `whole`: the old contents are not needed.
    async fn ready(&self, inode: &Inode, lbn: Lbn, size: u64, whole: bool) -> Result<Ready> {
        let (ino, dinode) = (inode.ino(), self.block_of(inode).await?);
        let mut new_indirect = Vec::new();
        let mut names = Vec::new();
        let mut at = lbn;
        while let Some((above, _)) = self.log.g.tree().parent(at) {
            names.push(above);
            at = above;
        }
        let there = self.log.indirects_above(&dinode, lbn).await?;
        for name in names.iter().rev().skip(there.len()) {
            let key = Key::File(ino, *name);
            new_indirect.push(self.cache.fresh(key, Role::Indirect, None, self.log.g.bsize as usize).await?);
        }
        // One that an earlier call made and did not use is as new.
        let mut indirect = Vec::new();
        for buf in there {
            let Key::File(_, name) = buf.key() else { continue };
            let unused = !buf.is_dirty() && self.log.pointer_to(&dinode, name)?.is_hole();
            (if unused { &mut new_indirect } else { &mut indirect }).push(buf);
        }
        let key = Key::File(ino, lbn);
        let cached = self.cache.find(key);
        let on_disk = !self.log.pointer(&dinode, lbn).await?.is_hole();
        let new = !on_disk && !cached.as_ref().is_some_and(|buf| buf.is_dirty());
        let length = self.log.length(size, lbn) as usize;
        let blank = cached.is_none() && on_disk && whole;
        let block = match cached {
            Some(buf) => buf,
            None if on_disk && !whole => {
                self.block(inode, lbn).await?.ok_or_else(|| Error::bug("a block that was there is gone"))?
            }
            None => {
                let len = if on_disk { self.length_on_disk(inode, lbn) as usize } else { length };
                self.cache.fresh(key, Lfs::role(inode), None, len).await?
            }
        };
        self.cache.before_change(&block).await;
        Ok(Ready { dinode, new_indirect, indirect, block, new, blank })
    }

    /// A block in the cache gets longer, and the file counts it.
    pub(crate) fn grow_block(&self, inode: &Inode, buf: &BufRef, length: usize) {
        let more = length.saturating_sub(buf.len());
        self.cache.resize(buf, length);
        self.cache.mark_dirty(buf);
        inode.dinode_mut().blocks += (more / 512) as u64;
    }

    fn may_take(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        ready: &Ready,
        size: u64,
        short: Option<&BufRef>,
    ) -> Result<()> {
        let Key::File(_, lbn) = ready.block.key() else { return Ok(()) };
        let bsize = u64::from(self.log.g.bsize);
        let length = u64::from(self.log.length(size, lbn));
        let grown = if ready.new { length } else { length.saturating_sub(ready.block.len() as u64) };
        let last = short.map_or(0, |buf| bsize.saturating_sub(buf.len() as u64));
        let more = grown + last + bsize * ready.new_indirect.len() as u64;
        let directory = inode.is_dir();
        self.log.may_take(more, who.privileged || directory)?;
        let last = short.map_or(0, |buf| if buf.is_dirty() { last } else { bsize });
        self.log.may_dirty(op.kind, ready.dirties(length, bsize) + last)
    }
}

impl Log {
    /// The pointer to an indirect block whose way is in the cache.
    fn pointer_to(&self, dinode: &BufRef, name: Lbn) -> Result<Daddr> {
        let Key::Inode(ino) = dinode.key() else { return Ok(Daddr::HOLE) };
        match self.g.tree().parent(name) {
            None => Ok(self.direct_pointer(dinode, name)),
            Some((above, _)) => {
                let above = self.cache()?.find(Key::File(ino, above));
                Ok(above.map_or(Daddr::HOLE, |above| self.pointer_in(&above, name)))
            }
        }
    }
}
