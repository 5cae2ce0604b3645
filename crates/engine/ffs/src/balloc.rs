//! Writing a block of a file: fragments, indirect blocks, and the order in which they are made.
//!
//! W1. Everything that the block needs is allocated first. If something cannot be allocated, the rest is returned, and
//!     nothing has changed.
//! W2. Then contents, then pointers from the block up to the inode (seam-0). A pointer in the
//!     inode changes together with size and count of sectors: a pointer beyond the size would make fsck clear the file.
//!     A pointer in an existing indirect block is set after the size has grown: fsck repairs a size beyond the last
//!     block by itself, but not a block beyond the size.
//! W3. Only the last block of a file is a fragment, and only a direct one. Before a file grows past such a block, the
//!     block becomes whole, with the size at its end.

use crate::Ffs;
use crate::alloc::Taken;
use crate::blkpref::ToPlace;
use crate::map::{Walk, role};
use ordo_buf::{BufRef, Fields, Freed, Key, Op, Role, Run, Slot, Step, With};
use ordo_disk::DiskOff;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{BlockPath, FragNo, Lbn, Root};
use ordo_ufs::{Fill, Inode};
use ordo_vfs::{Caller, Refusal, Result};

/// A call of [`ordo_ufs::Layout::write_block`].
struct Write<'a> {
    op: Op,
    privileged: bool,
    inode: &'a Inode,
    lbn: u64,
    from: usize,
    to: usize,
    /// The file's size afterwards.
    size: u64,
}

const NOTHING: Run = Run { at: FragNo::HOLE, frags: 0 };

/// What was allocated and has no pointer yet, with the bufs that were made for it (W1).
#[derive(Default)]
struct Reserved {
    taken: Vec<(FragNo, u32, Option<Key>)>,
    /// A buf that was given the address and length of its new place: its old address and length.
    moved: Option<(BufRef, DiskOff, usize)>,
}

impl Reserved {
    /// The new fragments of `taken`, which replaces `old`.
    fn add(&mut self, old: Run, taken: &Taken, key: Option<Key>) {
        let Run { at, frags } = taken.run;
        let grown = old.frags > 0 && old.at == at;
        let (at, frags) = if grown { (at.plus(old.frags), frags - old.frags) } else { (at, frags) };
        self.taken.push((at, frags, key));
    }

    /// Pointers name all of it now.
    fn settle(&mut self) {
        self.taken.clear();
        self.moved = None;
    }
}

/// The last block of a file, a fragment that must become whole (W3).
struct Tail {
    index: usize,
    block: BufRef,
    old: Run,
    taken: Taken,
}

impl Ffs {
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
        let number = u64::try_from(lbn.0).map_err(|_| Refusal::Invalid)?;
        let end = number.checked_mul(self.g.bsize.into()).and_then(|start| start.checked_add(to as u64));
        let end = end.filter(|&end| end <= self.g.maxfilesize).ok_or(Refusal::TooBig)?;
        let path = self.g.path(lbn).ok_or(Refusal::TooBig)?;
        let stores = matches!(inode.dinode().kind(), mode::REG | mode::DIR | mode::LNK);
        if from >= to || to > self.g.bsize as usize || !stores {
            return Err(Refusal::Invalid.into());
        }
        // From here on the inode's block is in memory, and storing the inode cannot fail half-way.
        self.block_of(inode).await?;
        let size = inode.size().max(end);
        let write = Write { op, privileged: who.privileged, inode, lbn: number, from, to, size };
        let _hold = self.hold_quota(who, inode, &path, number, size).await?;
        let mut reserved = Reserved::default();
        let outcome = match path.root {
            Root::Direct(i) => self.write_direct(&write, i, fill, &mut reserved).await,
            Root::Indirect(_) => self.write_indirect(&write, &path, fill, &mut reserved).await,
        };
        if outcome.is_err() {
            self.undo(reserved).await;
        }
        outcome
    }

    async fn undo(&self, reserved: Reserved) {
        if let Some((buf, addr, len)) = reserved.moved {
            self.cache.before_change(&buf).await;
            self.cache.resize(&buf, len);
            self.cache.moved(&buf, addr);
        }
        for (at, frags, key) in reserved.taken {
            if let Some(key) = key {
                self.cache.discard_key(key);
            }
            self.give_back(at, frags).await;
        }
    }

    async fn write_direct(&self, w: &Write<'_>, i: usize, fill: Fill<'_>, reserved: &mut Reserved) -> Result<BufRef> {
        let old = self.direct_run(w.inode, i)?;
        let frags = self.g.blkfrags(w.size, w.lbn);
        if old.frags >= frags {
            return self.overwrite(w, old, fill).await;
        }
        let kept = if old.frags > 0 { Some(self.data_block(w.inode, w.lbn, old).await?) } else { None };
        let tail = self.reserve_tail(w, reserved).await?;
        let pref = {
            let dinode = w.inode.dinode();
            let pointers = |k: u32| match &tail {
                Some(tail) if tail.index == k as usize => tail.taken.run.at,
                _ => dinode.db[k as usize],
            };
            self.data_pref(w, i as u32, &pointers, dinode.ib[0])
        };
        let taken = if old.frags > 0 {
            self.realloc_frag(w.privileged, pref, old, frags).await?
        } else {
            self.alloc(w.privileged, self.g.ino_to_cg(w.inode.ino()), pref, frags).await?
        };
        let key = Key::File(w.inode.ino(), Lbn(i as i64));
        reserved.add(old, &taken, kept.is_none().then_some(key));
        self.tell_taken(w, w.lbn as i64, old, &taken).await?;
        if let Some(tail) = tail {
            self.make_whole(w, tail, reserved).await?;
        }
        let block = match kept {
            Some(block) => {
                self.move_to(&block, taken.run, reserved).await;
                block
            }
            None => self.fresh(key, role(w.inode), taken.run).await?,
        };
        self.put_contents(w, &block, fill);
        self.set_direct(w, i, &block, old, taken, w.size, reserved).await?;
        Ok(block)
    }

    async fn tell_taken(&self, w: &Write<'_>, lbn: i64, old: Run, taken: &Taken) -> Result<()> {
        let (ino, new, cg) = (w.inode.ino(), taken.run, &taken.group);
        self.report(w.op, Step::FragmentsTaken { ino, lbn: Lbn(lbn), old, new, cg }).await
    }

    /// Gives a buf the address and length of its new run.
    async fn move_to(&self, block: &BufRef, run: Run, reserved: &mut Reserved) {
        self.cache.before_change(block).await;
        let addr = self.addr(run.at);
        reserved.moved = Some((block.clone(), block.addr().unwrap_or(addr), block.len()));
        self.cache.resize(block, (run.frags * self.g.fsize) as usize);
        self.cache.moved(block, addr);
    }

    async fn fresh(&self, key: Key, role: Role, run: Run) -> Result<BufRef> {
        self.cache.fresh(key, role, Some(self.addr(run.at)), (run.frags * self.g.fsize) as usize).await
    }

    fn put_contents(&self, w: &Write<'_>, block: &BufRef, fill: Fill<'_>) {
        let before = w.inode.size().saturating_sub(w.lbn * u64::from(self.g.bsize));
        self.cache.modify(block, |bytes| {
            // The bytes between the old end of the file and the new bytes must read as zeroes, whatever another system
            // left there.
            if before < w.from as u64 && w.size > w.inode.size() {
                bytes[before as usize..w.from].fill(0);
            }
            fill(bytes);
        });
    }

    fn data_pref(&self, w: &Write<'_>, index: u32, pointers: &dyn Fn(u32) -> FragNo, first_indirect: FragNo) -> FragNo {
        let (ino, directory) = (w.inode.ino(), w.inode.is_dir());
        self.blkpref(&ToPlace { ino, directory, lbn: w.lbn, index, pointers, first_indirect })
    }

    /// Writes into a stored block that is long enough.
    async fn overwrite(&self, w: &Write<'_>, old: Run, fill: Fill<'_>) -> Result<BufRef> {
        let start = w.lbn * u64::from(self.g.bsize);
        let (key, held) = (Key::File(w.inode.ino(), Lbn(w.lbn as i64)), u64::from(old.frags * self.g.fsize));
        let valid = held.min(w.inode.size().saturating_sub(start));
        let block = match self.cache.find(key) {
            None if w.from == 0 && w.to as u64 >= valid => {
                let block = self.fresh(key, role(w.inode), old).await?;
                block.set_stored();
                block
            }
            _ => self.data_block(w.inode, w.lbn, old).await?,
        };
        self.cache.before_change(&block).await;
        self.put_contents(w, &block, fill);
        let lbn = Lbn(w.lbn as i64);
        self.report(w.op, Step::DataWritten { ino: w.inode.ino(), lbn, block: &block }).await?;
        self.grow_size(w, &block, w.size).await?;
        Ok(block)
    }

    /// Sets the size, if it grows over bytes of `block`, and reports it to the scheme.
    async fn grow_size(&self, w: &Write<'_>, block: &BufRef, size: u64) -> Result<()> {
        let size_before = w.inode.size();
        if size <= size_before {
            return Ok(());
        }
        w.inode.dinode_mut().size = size;
        let at = self.store(w.inode).await?;
        let (ino, directory) = (w.inode.ino(), w.inode.is_dir());
        self.report(w.op, Step::SizeGrown { ino, inode: &at, directory, block, size_before }).await
    }

    /// Allocates what makes the file's last block whole, if it is a fragment and the file grows past it (W3).
    async fn reserve_tail(&self, w: &Write<'_>, reserved: &mut Reserved) -> Result<Option<Tail>> {
        let last = self.g.lblkno(w.inode.size());
        if last >= w.lbn {
            return Ok(None);
        }
        let index = last as usize;
        let old = if last < 12 { self.direct_run(w.inode, index)? } else { NOTHING };
        if old.frags == 0 || old.frags == self.g.frag {
            self.zero_behind(w.op, w.inode, w.inode.size()).await?;
            return Ok(None);
        }
        let block = self.data_block(w.inode, last, old).await?;
        let pref = {
            let dinode = w.inode.dinode();
            let pointers = |k: u32| dinode.db[k as usize];
            self.data_pref(&Write { lbn: last, ..*w }, index as u32, &pointers, dinode.ib[0])
        };
        let taken = self.realloc_frag(w.privileged, pref, old, self.g.frag).await?;
        reserved.add(old, &taken, None);
        self.tell_taken(w, last as i64, old, &taken).await?;
        Ok(Some(Tail { index, block, old, taken }))
    }

    async fn make_whole(&self, w: &Write<'_>, tail: Tail, reserved: &mut Reserved) -> Result<()> {
        let Tail { index, block, old, taken } = tail;
        let mut own = Reserved::default();
        // This block's fragments were allocated first; the others still have no pointer.
        own.taken.push(reserved.taken.remove(0));
        self.move_to(&block, taken.run, &mut own).await;
        let end = self.g.blkoff(w.inode.size()) as usize;
        self.cache.modify(&block, |bytes| bytes[end..].fill(0));
        let size = (index as u64 + 1) * u64::from(self.g.bsize);
        let outcome = self.set_direct(w, index, &block, old, taken, size, &mut own).await;
        if outcome.is_err() {
            self.undo(own).await;
        }
        outcome
    }

    /// The contents are in memory: reports that, sets the direct pointer with size and sectors (W2), and reports that.
    async fn set_direct(
        &self,
        w: &Write<'_>,
        i: usize,
        block: &BufRef,
        old: Run,
        taken: Taken,
        size: u64,
        reserved: &mut Reserved,
    ) -> Result<()> {
        let (ino, lbn, role) = (w.inode.ino(), Lbn(i as i64), role(w.inode));
        self.report(w.op, Step::BlockReady { ino, lbn, block, role }).await?;
        let size_before = w.inode.size();
        {
            let mut dinode = w.inode.dinode_mut();
            dinode.db[i] = taken.run.at;
            dinode.blocks += self.sectors(taken.run.frags - old.frags);
            dinode.size = dinode.size.max(size);
        }
        let at = self.store(w.inode).await?;
        reserved.settle();
        let moved = old.frags > 0 && old.at != taken.run.at;
        let freed = moved.then(|| self.cache.ledger().issue(Freed::Blocks { ino, runs: vec![(old.at, old.frags)] }));
        #[cfg(feature = "planted")]
        let freed = match freed {
            Some(ticket) if ordo_ufs::planted::has(ordo_ufs::planted::Bug::FragmentFreeAtOnce) => {
                self.free(ticket.redeem()).await.map(|()| None)?
            }
            freed => freed,
        };
        let slot = Slot::Inode(&at, i as u8);
        let (new, cg) = (taken.run, &taken.group);
        let grows = size > size_before;
        let with = if grows { With::Size(size_before) } else { With::Nothing };
        let step = Step::BlockAllocated { ino, lbn, role, slot, old, new, block, map: Some(cg), with, freed };
        self.report(w.op, step).await?;
        if grows {
            let fields = size_field(w.inode);
            self.report(w.op, Step::InodeChanged { ino, inode: &at, fields }).await?;
        }
        Ok(())
    }

    async fn write_indirect(
        &self,
        w: &Write<'_>,
        path: &BlockPath,
        fill: Fill<'_>,
        reserved: &mut Reserved,
    ) -> Result<BufRef> {
        let walk = self.walk(w.inode, path).await?;
        if walk.count == path.depth() && !walk.pointer.is_hole() {
            let at = self.sane(w.inode.ino(), Lbn(w.lbn as i64), walk.pointer, self.g.frag)?;
            return self.overwrite(w, Run { at, frags: self.g.frag }, fill).await;
        }
        let tail = self.reserve_tail(w, reserved).await?;
        let mut links = self.reserve_way(w, path, &walk, tail.as_ref(), reserved).await?;
        if let Some(tail) = tail {
            self.make_whole(w, tail, reserved).await?;
        }
        // Contents, deepest first.
        for link in links.iter_mut().rev() {
            let block = self.fresh(link.key(w.inode), link.role, link.taken.run).await?;
            match link.role {
                Role::Indirect => self.cache.mark_dirty(&block),
                _ => self.put_contents(w, &block, &mut *fill),
            }
            link.block = Some(block.clone());
            let (ino, lbn, role) = (w.inode.ino(), link.lbn, link.role);
            self.report(w.op, Step::BlockReady { ino, lbn, block: &block, role }).await?;
        }
        // Pointers within the new blocks, from the bottom up. None of these blocks can be reached yet.
        for pair in links.windows(2).rev() {
            let [above, below] = pair else { continue };
            if let Some(parent) = &above.block {
                self.set_indirect(w, parent, below).await?;
            }
        }
        self.hang_in(w, path, &walk, &links, reserved).await?;
        // OK to expect: the loop over the contents has made a buf for each, and there is one for the data at least.
        Ok(links.pop().and_then(|data| data.block).expect("every new block has a buf"))
    }

    /// Allocates the missing indirect blocks on the path, from the top, and the block itself.
    async fn reserve_way(
        &self,
        w: &Write<'_>,
        path: &BlockPath,
        walk: &Walk,
        tail: Option<&Tail>,
        reserved: &mut Reserved,
    ) -> Result<Vec<Link>> {
        let (ino, g) = (w.inode.ino(), &self.g);
        let home = g.ino_to_cg(ino);
        let mut links: Vec<Link> = Vec::with_capacity(4);
        let (last_direct, mut first_indirect) = {
            let dinode = w.inode.dinode();
            (tail.filter(|tail| tail.index == 11).map_or(dinode.db[11], |tail| tail.taken.run.at), dinode.ib[0])
        };
        let mut index = path.indirects().nth(walk.count.wrapping_sub(1)).map_or(0, |(_, step)| step);
        for (lbn, step) in path.indirects().skip(walk.count) {
            let pref = match links.last() {
                Some(above) => above.taken.run.at.plus(g.frag),
                None => self.indirect_pref(ino, w.lbn, last_direct),
            };
            let taken = self.alloc(w.privileged, home, pref, g.frag).await?;
            if path.root == Root::Indirect(0) {
                first_indirect = taken.run.at;
            }
            let link = Link { lbn, role: Role::Indirect, index, taken, block: None };
            reserved.add(NOTHING, &link.taken, Some(link.key(w.inode)));
            self.tell_taken(w, lbn.0, NOTHING, &link.taken).await?;
            links.push(link);
            index = step;
        }
        let pref = match links.last() {
            Some(above) if w.lbn == 12 || g.metaspace == 0 => above.taken.run.at.plus(g.frag),
            Some(_) => self.data_pref(w, index, &|_| FragNo::HOLE, first_indirect),
            None => match walk.last() {
                Some(block) => self.data_pref(w, index, &|i| self.pointer(block, i), first_indirect),
                None => FragNo::HOLE,
            },
        };
        let taken = self.alloc(w.privileged, home, pref, g.frag).await?;
        let link = Link { lbn: Lbn(w.lbn as i64), role: role(w.inode), index, taken, block: None };
        reserved.add(NOTHING, &link.taken, Some(link.key(w.inode)));
        self.tell_taken(w, w.lbn as i64, NOTHING, &link.taken).await?;
        links.push(link);
        Ok(links)
    }

    async fn set_indirect(&self, w: &Write<'_>, parent: &BufRef, link: &Link) -> Result<()> {
        let Some(block) = &link.block else { return Ok(()) };
        self.cache.before_change(parent).await;
        // OK to ignore: the index comes from a path, and the block is as long as all indirect blocks.
        let _ = self.cache.modify(parent, |bytes| self.g.put_pointer(bytes, link.index, link.taken.run.at));
        let (ino, lbn, role, slot) = (w.inode.ino(), link.lbn, link.role, Slot::Indirect(parent, link.index));
        let (old, new, cg) = (NOTHING, link.taken.run, &link.taken.group);
        let step = Step::BlockAllocated {
            ino,
            lbn,
            role,
            slot,
            old,
            new,
            block,
            map: Some(cg),
            with: With::Nothing,
            freed: None,
        };
        self.report(w.op, step).await
    }

    /// Sets the pointer to the topmost new block (W2).
    async fn hang_in(
        &self,
        w: &Write<'_>,
        path: &BlockPath,
        walk: &Walk,
        links: &[Link],
        reserved: &mut Reserved,
    ) -> Result<()> {
        let Some(top) = links.first() else { return Ok(()) };
        let (ino, size_before) = (w.inode.ino(), w.inode.size());
        let grows = w.size > size_before;
        {
            let mut dinode = w.inode.dinode_mut();
            dinode.blocks += self.sectors(self.g.frag * links.len() as u32);
            dinode.size = dinode.size.max(w.size);
            if let (0, Root::Indirect(i)) = (walk.count, path.root) {
                dinode.ib[i] = top.taken.run.at;
            }
        }
        let at = self.store(w.inode).await?;
        reserved.settle();
        let fields = if grows { size_field(w.inode) } else { Fields::Times };
        if let Some(parent) = walk.last() {
            self.report(w.op, Step::InodeChanged { ino, inode: &at, fields }).await?;
            return self.set_indirect(w, parent, top).await;
        }
        let (Root::Indirect(i), Some(block)) = (path.root, &top.block) else { return Ok(()) };
        let (lbn, role, slot) = (top.lbn, top.role, Slot::Inode(&at, 12 + i as u8));
        let (old, new, cg) = (NOTHING, top.taken.run, &top.taken.group);
        let with = if grows { With::Size(size_before) } else { With::Nothing };
        let step = Step::BlockAllocated { ino, lbn, role, slot, old, new, block, map: Some(cg), with, freed: None };
        self.report(w.op, step).await?;
        if grows {
            self.report(w.op, Step::InodeChanged { ino, inode: &at, fields }).await?;
        }
        Ok(())
    }
}

/// A new block on the path to the data, or the data itself.
struct Link {
    lbn: Lbn,
    role: Role,
    /// Index of its pointer in the block above.
    index: u32,
    taken: Taken,
    block: Option<BufRef>,
}

impl Link {
    fn key(&self, inode: &Inode) -> Key {
        Key::File(inode.ino(), self.lbn)
    }
}

/// The field that has changed when a size has.
pub(crate) fn size_field(inode: &Inode) -> Fields {
    if inode.is_dir() { Fields::DirectorySize } else { Fields::Size }
}
