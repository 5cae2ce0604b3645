//! The extended-attribute area of an inode (UFS2): up to two blocks of its own, with the rules of fragments.
//!
//! E1. A change within one sector is written in place, if the area does not grow. Any other change goes to new blocks,
//!     which are durable before the inode points to them. Otherwise a torn write over the old area could leave records
//!     that run into each other, and an area durable before its larger size a record that runs beyond it.
//! E2. Zeroes follow the last record; every system takes them for the end. The area is freed with its last record.
//! E3. An area that does not grow may take its new blocks from the reserve: its old ones are free soon. Otherwise no
//!     attribute could be removed on a full volume.
//! E4. A list of access rights is read together with the mode, which has its mask. Both change in one change of the
//!     inode, and the old list is not overwritten. Otherwise a crash leaves the new mode with the old entries, or the
//!     reverse: a mask that is wider than the list it belongs to was meant for grants rights that neither list has.
//!     That holds for a mode that changed a moment before, and is not on the disk yet, too.

use crate::alloc::Taken;
use crate::cut::Runs;
use crate::{Ffs, corrupt};
use ordo_buf::{BufRef, Fields, Freed, Key, OldAttributes, Op, Role, Run, Slot, Step, Want, With};
use ordo_disk::SECTOR;
use ordo_ondisk::{Dinode, FragNo, Geometry, extattr};
use ordo_ufs::Inode;
use ordo_vfs::{Caller, Refusal, Result};

/// Blocks of an area.
const BLOCKS: usize = 2;

impl Ffs {
    pub(crate) async fn attributes(&self, inode: &Inode) -> Result<Vec<u8>> {
        let mut area = Vec::with_capacity(inode.dinode().extsize as usize);
        for k in 0..BLOCKS {
            if let Some(run) = self.stored_area(inode, k) {
                self.readable(inode.ino(), Geometry::extattr_lbn(k), run.at, run.frags)?;
                let block = self.area_block(inode, k, run).await?;
                area.extend_from_slice(&block.bytes());
            }
        }
        area.truncate(inode.dinode().extsize as usize);
        let end = extattr::used(&area, self.g.endian, inode.ino()).map_err(corrupt)?;
        area.truncate(end);
        Ok(area)
    }

    /// Block `k` of the area, as it is stored, to be written or freed.
    pub(crate) fn area_run(&self, inode: &Inode, k: usize) -> Result<Option<Run>> {
        let Some(run) = self.stored_area(inode, k) else { return Ok(None) };
        self.sane(inode.ino(), Geometry::extattr_lbn(k), run.at, run.frags)?;
        Ok(Some(run))
    }

    /// Where block `k` of the area is; not checked.
    fn stored_area(&self, inode: &Inode, k: usize) -> Option<Run> {
        let dinode = inode.dinode();
        let (at, frags) = (dinode.extb[k], self.area_frags(dinode.extsize, k));
        (!at.is_hole() && frags > 0).then_some(Run { at, frags })
    }

    async fn area_block(&self, inode: &Inode, k: usize, run: Run) -> Result<BufRef> {
        let key = Key::File(inode.ino(), Geometry::extattr_lbn(k));
        let len = (run.frags * self.g.fsize) as usize;
        self.cache.read(Want { key, role: Role::ExtAttr, addr: self.addr(run.at), len }).await
    }

    pub(crate) async fn set_attributes(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        area: &[u8],
        rights: Option<u16>,
    ) -> Result<()> {
        if !self.extattr {
            return Err(Refusal::NotSupported.into());
        }
        if area.len() > BLOCKS * self.g.bsize as usize {
            return Err(Refusal::AttributeTooBig.into());
        }
        self.block_of(inode).await?;
        let mut old = [const { None }; BLOCKS];
        for (k, run) in old.iter_mut().enumerate() {
            *run = self.area_run(inode, k)?;
        }
        if area.is_empty() {
            return self.free_area(op, inode, rights).await;
        }
        let fits = area.len() <= inode.dinode().extsize as usize;
        if fits && rights.is_none() && self.sectors_changed(inode, &old, area).await? <= 1 {
            return self.rewrite_area(op, inode, &old, area).await;
        }
        let before: u32 = old.iter().flatten().map(|run| run.frags).sum();
        let after: u32 = (0..BLOCKS).map(|k| self.area_frags(area.len() as u32, k)).sum();
        let more = self.sectors(after.saturating_sub(before));
        let _hold = self.quotas.reserve_for(who, inode, more, self.now())?;
        self.replace_area(op, who.privileged || fits, inode, &old, area, rights).await
    }

    /// How many sectors of the stored area differ from the new one (E1).
    async fn sectors_changed(&self, inode: &Inode, old: &[Option<Run>; BLOCKS], area: &[u8]) -> Result<usize> {
        let mut changed = 0;
        for (k, run) in old.iter().enumerate() {
            let Some(run) = run else { continue };
            let block = self.area_block(inode, k, *run).await?;
            let mut new = block.bytes().to_vec();
            put_area(&mut new, area, k * self.g.bsize as usize);
            let pairs = new.chunks(SECTOR).zip(block.bytes().chunks(SECTOR)).filter(|(new, old)| new != old).count();
            changed += pairs;
        }
        Ok(changed)
    }

    /// Fragments of block `k` of an area of `size` bytes.
    fn area_frags(&self, size: u32, k: usize) -> u32 {
        self.g.blkfrags(size.into(), k as u64)
    }

    /// Frees the area, which has lost its last record (E2).
    async fn free_area(&self, op: Op, inode: &Inode, rights: Option<u16>) -> Result<()> {
        let (ino, mut gone) = (inode.ino(), Runs::default());
        self.count_attributes(inode, &mut gone)?;
        if gone.frags == 0 && inode.dinode().extsize == 0 {
            return Ok(());
        }
        self.drop_attribute_bufs(inode);
        {
            let mut dinode = inode.dinode_mut();
            dinode.blocks = dinode.blocks.saturating_sub(self.sectors(gone.frags));
            (dinode.extb, dinode.extsize) = ([FragNo::HOLE; BLOCKS], 0);
            set_rights(&mut dinode, rights);
        }
        let at = self.store(inode).await?;
        if gone.frags > 0 {
            let ticket = self.cache.ledger().issue(Freed::Blocks { ino, runs: gone.runs });
            self.report(op, Step::BlocksReleased { ino, at: &at, blocks: &gone.blocks, ticket }).await?;
        }
        self.report(op, Step::InodeChanged { ino, inode: &at, fields: Fields::Size }).await
    }

    async fn rewrite_area(&self, op: Op, inode: &Inode, old: &[Option<Run>; BLOCKS], area: &[u8]) -> Result<()> {
        let ino = inode.ino();
        for (k, run) in old.iter().enumerate() {
            let Some(run) = run else { continue };
            let block = self.area_block(inode, k, *run).await?;
            self.cache.before_change(&block).await;
            self.cache.modify(&block, |bytes| put_area(bytes, area, k * self.g.bsize as usize));
            let lbn = Geometry::extattr_lbn(k);
            self.report(op, Step::DataWritten { ino, lbn, block: &block }).await?;
        }
        Ok(())
    }

    /// E1: new blocks, then one change of the inode to all of them.
    async fn replace_area(
        &self,
        op: Op,
        privileged: bool,
        inode: &Inode,
        old: &[Option<Run>; BLOCKS],
        area: &[u8],
        rights: Option<u16>,
    ) -> Result<()> {
        let mut taken = Vec::with_capacity(BLOCKS);
        let mut outcome = self.take_area(op, privileged, inode, area, &mut taken).await;
        let mut blocks = Vec::with_capacity(BLOCKS);
        if outcome.is_ok() {
            outcome = self.fill_area(op, inode, area, &taken, &mut blocks).await;
        }
        if let Err(error) = outcome {
            for block in &blocks {
                self.cache.discard(block);
            }
            for one in taken {
                self.give_back(one.run.at, one.run.frags).await;
            }
            return Err(error);
        }
        let (ino, none) = (inode.ino(), Run { at: FragNo::HOLE, frags: 0 });
        let attributes = {
            let dinode = inode.dinode();
            let (mode, uid, gid) = (dinode.mode, dinode.uid, dinode.gid);
            OldAttributes { at: dinode.extb, size: dinode.extsize, mode, uid, gid }
        };
        let before: u32 = old.iter().flatten().map(|run| run.frags).sum();
        let after: u32 = taken.iter().map(|taken| taken.run.frags).sum();
        {
            let mut dinode = inode.dinode_mut();
            dinode.blocks = dinode.blocks.saturating_sub(self.sectors(before)) + self.sectors(after);
            dinode.extsize = area.len() as u32;
            for k in 0..BLOCKS {
                dinode.extb[k] = taken.get(k).map_or(FragNo::HOLE, |taken| taken.run.at);
            }
            set_rights(&mut dinode, rights);
        }
        // A block that the new area does not have must not be written later: another file may own its place by then.
        for k in taken.len()..BLOCKS {
            self.cache.discard_key(Key::File(ino, Geometry::extattr_lbn(k)));
        }
        let at = self.store(inode).await?;
        for (k, (taken, block)) in taken.iter().zip(&blocks).enumerate() {
            // The old area is freed as a whole, with the first pointer.
            let runs: Vec<_> = old.iter().filter(|_| k == 0).flatten().map(|run| (run.at, run.frags)).collect();
            let freed = (!runs.is_empty()).then(|| self.cache.ledger().issue(Freed::Blocks { ino, runs }));
            let (lbn, slot) = (Geometry::extattr_lbn(k), Slot::ExtAttr(&at, k as u8));
            let (old, new, cg, role) = (old[k].unwrap_or(none), taken.run, &taken.group, Role::ExtAttr);
            let with = With::Attributes(&attributes);
            let step = Step::BlockAllocated { ino, lbn, role, slot, old, new, block, map: Some(cg), with, freed };
            self.report(op, step).await?;
        }
        self.report(op, Step::InodeChanged { ino, inode: &at, fields: Fields::Size }).await
    }

    async fn take_area(
        &self,
        op: Op,
        privileged: bool,
        inode: &Inode,
        area: &[u8],
        taken: &mut Vec<Taken>,
    ) -> Result<()> {
        let home = self.g.ino_to_cg(inode.ino());
        for k in 0..area.len().div_ceil(self.g.bsize as usize) {
            let pref = match taken.last() {
                Some(before) => before.run.at.plus(self.g.frag),
                None => self.g.cgdata(home),
            };
            let one = self.alloc(privileged, home, pref, self.area_frags(area.len() as u32, k)).await?;
            let (old, new, cg) = (Run { at: FragNo::HOLE, frags: 0 }, one.run, one.group.clone());
            taken.push(one);
            let lbn = Geometry::extattr_lbn(k);
            self.report(op, Step::FragmentsTaken { ino: inode.ino(), lbn, old, new, cg: &cg }).await?;
        }
        Ok(())
    }

    async fn fill_area(
        &self,
        op: Op,
        inode: &Inode,
        area: &[u8],
        taken: &[Taken],
        blocks: &mut Vec<BufRef>,
    ) -> Result<()> {
        let ino = inode.ino();
        for (k, one) in taken.iter().enumerate() {
            let (lbn, len) = (Geometry::extattr_lbn(k), (one.run.frags * self.g.fsize) as usize);
            let block = self.cache.fresh(Key::File(ino, lbn), Role::ExtAttr, Some(self.addr(one.run.at)), len).await?;
            self.cache.modify(&block, |bytes| put_area(bytes, area, k * self.g.bsize as usize));
            blocks.push(block.clone());
            self.report(op, Step::BlockReady { ino, lbn, block: &block, role: Role::ExtAttr }).await?;
        }
        Ok(())
    }

    /// Refuses an area that cannot be freed.
    pub(crate) fn attributes_can_be_freed(&self, inode: &Inode) -> Result<()> {
        (0..BLOCKS).try_for_each(|k| self.area_run(inode, k).map(drop))
    }

    /// Adds the space of the area to `gone`.
    pub(crate) fn count_attributes(&self, inode: &Inode, gone: &mut Runs) -> Result<()> {
        for k in 0..BLOCKS {
            if let Some(run) = self.area_run(inode, k)? {
                self.add_run(gone, Geometry::extattr_lbn(k), run.at, run.frags);
            }
        }
        Ok(())
    }

    pub(crate) fn drop_attribute_bufs(&self, inode: &Inode) {
        for k in 0..BLOCKS {
            if !inode.dinode().extb[k].is_hole() {
                self.cache.discard_key(Key::File(inode.ino(), Geometry::extattr_lbn(k)));
            }
        }
    }
}

/// E4.
fn set_rights(dinode: &mut Dinode, rights: Option<u16>) {
    if let Some(rights) = rights {
        dinode.mode = dinode.mode & !0o777 | rights & 0o777;
    }
}

/// Puts the part of `area` from `from` on into a block, and zeroes behind it (E2).
fn put_area(block: &mut [u8], area: &[u8], from: usize) {
    let part = &area[from.min(area.len())..];
    let part = &part[..part.len().min(block.len())];
    block[..part.len()].copy_from_slice(part);
    block[part.len()..].fill(0);
}
