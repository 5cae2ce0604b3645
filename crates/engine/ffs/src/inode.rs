//! Inodes: loading, storing, allocating and freeing.
//!
//! N1. An inode block beyond `cg_initediblk` holds garbage and is never read. It is initialised before the group counts
//!     it, or a crash in between would turn garbage into inodes. The group counts it before one of its inodes is used,
//!     or fsck, which does not read beyond, would find a name that leads nowhere. Both are steps.
//! N2. A reused number gets another generation, so that an old handle does not open a new file.

use crate::alloc::{Rehash, left_alone};
use crate::cg::{damage, find_inode, mark_inode};
use crate::group::Group;
use crate::{Ffs, corrupt};
use ordo_buf::{BufRef, Key, Op, Role, Step, Want};
use ordo_ondisk::{Cgx, Corrupt, Dinode, Format, Ino, Lbn, Rule, Structure};
use ordo_ufs::{Charged, Inode, NewInode};
use ordo_vfs::{Error, Kind, Refusal, Result};

impl Ffs {
    /// The block that holds an inode.
    pub(crate) async fn inode_block(&self, ino: Ino) -> Result<BufRef> {
        let at = self.g.ino_to_fsba(ino);
        let (key, addr) = (Key::Device(at), self.addr(at));
        match self.cache.find(key) {
            Some(buf) => Ok(buf),
            None => self.cache.read(Want { key, role: Role::Inodes, addr, len: self.g.bsize as usize }).await,
        }
    }

    /// The same, kept with the inode: storing the inode cannot fail from then on.
    #[inline]
    pub(crate) async fn block_of(&self, inode: &Inode) -> Result<BufRef> {
        if let Some(buf) = inode.block() {
            return Ok(buf);
        }
        let buf = self.inode_block(inode.ino()).await?;
        inode.set_block(buf.clone());
        Ok(buf)
    }

    /// Puts the dinode into its block.
    #[inline]
    pub(crate) async fn store(&self, inode: &Inode) -> Result<BufRef> {
        let buf = self.block_of(inode).await?;
        self.cache.before_change(&buf).await;
        let at = self.g.inode_at(inode.ino()).1;
        // OK to ignore: a block of inodes has room for each of them.
        let _ = self.cache.modify(&buf, |bytes| inode.dinode().encode(&mut bytes[at..], &self.g));
        inode.stored(&buf);
        if self.quotas.is_on() {
            self.quotas.settle(inode);
        }
        Ok(buf)
    }

    pub(crate) async fn load(&self, ino: Ino) -> Result<Inode> {
        if !self.g.is_valid_ino(ino) {
            let most = self.g.inodes() - 1;
            let damage = Corrupt::new(Structure::Inode(ino), "number", ino.0, Rule::AtMost(most.into()));
            return Err(corrupt(damage).told_as(format!("inode {} does not exist: the last one is {most}", ino.0)));
        }
        let buf = self.inode_block(ino).await?;
        let at = self.g.inode_at(ino).1;
        let dinode = Dinode::decode(&buf.bytes()[at..], &self.g, ino).map_err(corrupt)?;
        if dinode.mode == 0 {
            return Err(Refusal::Stale.into());
        }
        dinode.check(&self.g, ino).map_err(corrupt)?;
        let charged = Charged::of(&dinode);
        let inode = Inode::new(ino, dinode);
        inode.charge(charged);
        inode.set_block(buf);
        Ok(inode)
    }

    /// Its block was initialised (N1). What its group's map says is not asked: after a crash of some schemes the maps
    /// are behind the inodes, and such a volume is still read. A free inode is known by its mode.
    pub(crate) async fn may_load(&self, ino: Ino) -> Result<bool> {
        if !self.g.is_valid_ino(ino) {
            return Ok(false);
        }
        let group = self.group(self.g.ino_to_cg(ino)).await?;
        let (i, all) = (self.g.ino_in_cg(ino), self.g.format == Format::Ufs1);
        Ok(all || group.look(self, |cg| i < cg.initediblk()))
    }

    pub(crate) async fn alloc_inode(&self, op: Op, parent: &Inode, kind: Kind) -> Result<NewInode> {
        let directory = kind == Kind::Directory;
        let (home, wanted) = if directory {
            let c = self.dirpref(parent);
            // The first numbers of a directory's own group; those of group 0 are in use anyway.
            (c, (c.0 > 0).then_some(0))
        } else {
            (self.g.ino_to_cg(parent.ino()), Some(self.g.ino_in_cg(parent.ino())))
        };
        let mut outcome = Refusal::NoInodes.into();
        for (turn, c) in Rehash::from(home, self.g.ncg).enumerate() {
            if self.summary.cs(c).nifree <= 0 {
                continue;
            }
            if self.summary.is_bad(c) {
                outcome = left_alone(c);
                continue;
            }
            let wanted = if turn == 0 { wanted } else { None };
            match self.take_inode_in(op, c, wanted, parent, kind).await {
                Ok(Some(new)) => return Ok(new),
                Ok(None) => {}
                Err(error) => outcome = error,
            }
        }
        Err(outcome)
    }

    async fn take_inode_in(
        &self,
        op: Op,
        c: Cgx,
        wanted: Option<u32>,
        parent: &Inode,
        kind: Kind,
    ) -> Result<Option<NewInode>> {
        let directory = kind == Kind::Directory;
        let group = self.group(c).await?;
        let i = loop {
            let (found, ready) = group.look(self, |cg| (find_inode(cg, wanted), cg.initediblk()));
            let Some(i) = found else {
                if group.look(self, |cg| cg.nifree()) == 0 {
                    return Ok(None);
                }
                self.summary.condemn(c);
                return Err(corrupt(damage(c, "cg_cs.cs_nifree", self.summary.cs(c).nifree, "but no inode is free")));
            };
            let settled = self.g.format == Format::Ufs1 || i + self.g.inopb <= ready || ready >= self.g.ipg;
            if settled {
                break i;
            }
            self.prepare_inodes(op, &group, ready).await?;
            self.cache.before_change(&group.buf).await;
        };
        let change = group.change(self, |cg| mark_inode(cg, i, true, directory));
        // OK to expect: it was found free, and nothing was awaited since.
        self.summary.add(c, change.expect("an inode that was found free can be taken"));
        self.summary.placed(c, directory);
        let ino = Ino(c.0 * self.g.ipg + i);
        let dotdot = directory.then(|| parent.ino());
        if directory {
            let (links, mode) = (parent.dinode().nlink, parent.dinode().mode);
            let step = Step::Links { ino: parent.ino(), before: links, after: links, mode, dotdot: None };
            self.report(op, step).await?;
        }
        let mode = (kind as u16) << 12;
        self.report(op, Step::Links { ino, before: 0, after: 0, mode, dotdot }).await?;
        match self.next_generation(ino).await {
            Ok(generation) => Ok(Some(NewInode { ino, generation, map: Some(group.buf) })),
            Err(error) => {
                // Allocated for good if the dinode is in use: its owner must not lose it.
                if matches!(error, Error::Io(_)) {
                    let _ = self.free_inode(ino, directory).await;
                }
                Err(error)
            }
        }
    }

    /// The generation for the next use of a number (N2).
    async fn next_generation(&self, ino: Ino) -> Result<u32> {
        let (gen_at, mode_at) = match self.g.format {
            Format::Ufs1 => (108, 0),
            Format::Ufs2 => (80, 0),
        };
        let buf = self.inode_block(ino).await?;
        let at = self.g.inode_at(ino).1;
        let (mode, last) = {
            let bytes = buf.bytes();
            let read = |from| self.g.endian.get_u32(&bytes, from).unwrap_or(0);
            (self.g.endian.get_u16(&bytes, at + mode_at).unwrap_or(0), read(at + gen_at))
        };
        if mode != 0 {
            let c = self.g.ino_to_cg(ino);
            self.summary.condemn(c);
            return Err(corrupt(damage(c, "cg_inosused", ino.0, "which is in use, but was marked free")));
        }
        Ok(match last {
            0 => self.random_generation(),
            u32::MAX => 1,
            last => last + 1,
        })
    }

    fn random_generation(&self) -> u32 {
        (self.rng.borrow_mut().next_u64() as u32).max(1)
    }

    /// Writes the next block of inodes of a group; `ready` inodes were written before (N1).
    async fn prepare_inodes(&self, op: Op, group: &Group, ready: u32) -> Result<()> {
        let _alone = self.preparing.lock().await;
        if group.look(self, |cg| cg.initediblk()) != ready {
            return Ok(());
        }
        let c = group.c;
        if !ready.is_multiple_of(self.g.inopb) {
            self.summary.condemn(c);
            return Err(corrupt(damage(c, "cg_initediblk", ready, "which is not a number of whole blocks")));
        }
        let at = self.g.cgimin(c).plus(ready / self.g.inopb * self.g.frag);
        let len = self.g.bsize as usize;
        let block = self.cache.fresh(Key::Device(at), Role::Inodes, Some(self.addr(at)), len).await?;
        self.cache.modify(&block, |bytes| {
            for inode in bytes.chunks_mut(self.g.dinode_size as usize) {
                // OK to ignore: each piece is as long as an inode.
                let _ = Dinode::free(self.random_generation()).encode(inode, &self.g);
            }
        });
        let first = Ino(c.0 * self.g.ipg + ready);
        let step = Step::BlockReady { ino: first, lbn: Lbn(0), block: &block, role: Role::Inodes };
        let none = self.cache.step(op, step).await?;
        debug_assert!(none.is_none());
        self.cache.before_change(&group.buf).await;
        group.change(self, |cg| cg.set_initediblk(ready + self.g.inopb));
        let none = self.cache.step(op, Step::InodesReady { cg: &group.buf }).await?;
        debug_assert!(none.is_none());
        Ok(())
    }

    /// Clears an inode's bit.
    pub(crate) async fn free_inode(&self, ino: Ino, directory: bool) -> Result<()> {
        let c = self.g.ino_to_cg(ino);
        let group = self.group(c).await?;
        let i = self.g.ino_in_cg(ino);
        let used = group.look(self, |cg| ordo_ondisk::cg::map::get(cg.iused(), i));
        let change = if used { group.change(self, |cg| mark_inode(cg, i, false, directory)) } else { None };
        let Some(change) = change else {
            self.summary.condemn(c);
            return Err(corrupt(damage(c, "cg_inosused", ino.0, "which is free already and was to be freed")));
        };
        self.summary.add(c, change);
        Ok(())
    }

    /// Reports a step, and frees what its ticket names if it is ripe.
    pub(crate) fn report<'a>(&'a self, op: Op, step: Step<'_>) -> impl Future<Output = Result<()>> + use<'a> {
        let told = self.cache.step(op, step);
        async move {
            match told.await? {
                Some(ticket) => self.free(ticket.redeem()).await,
                None => Ok(()),
            }
        }
    }
}
