//! Moves contiguous blocks of a file to contiguous places on the disk before they are written for the first time
//! (`ffs_reallocblks`): one long transfer instead of many short ones (McVoy and Kleiman, "Extent-like Performance from
//! a UNIX File System", 1991; Seltzer and others, "File System Logging Versus Clustering", 1995).

use crate::Ffs;
use crate::alloc::Rehash;
use crate::blkpref::ToPlace;
use crate::cg::{find_cluster, mark};
use crate::map::role;
use ordo_buf::{BufRef, Freed, Key, Op, Run, Slot, Step, With};
use ordo_ondisk::{CgFrag, FragNo, Lbn, Root};
use ordo_ufs::Inode;
use ordo_vfs::{Refusal, Result};

/// Groups that are searched for a run.
const GROUPS: usize = 10;

/// Percent of the volume that must be free: on a full one the search fails, or uses up the last runs.
const FREE_PERCENT: i64 = 4;

/// Consecutive blocks of a file whose pointers are adjacent.
struct Row {
    /// The indirect block with the pointers; `None` for those of the inode.
    parent: Option<BufRef>,
    /// Index of the first pointer.
    index: u32,
    first: u64,
    blocks: Vec<BufRef>,
    at: Vec<FragNo>,
}

impl Ffs {
    pub(crate) async fn gather_cluster(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        let number = |lbn: Lbn| u64::try_from(lbn.0).unwrap_or(0);
        let (mut first, end) = (number(from), number(to).min(inode.size() / u64::from(self.g.bsize)));
        let total = self.summary.total();
        let free = total.nbfree * i64::from(self.g.frag) + total.nffree;
        if self.g.contigsumsize == 0 || free < self.g.dsize as i64 * FREE_PERCENT / 100 {
            return Ok(());
        }
        while first < end {
            let (looked_at, row) = self.row(inode, first, end).await?;
            if let Some(row) = row {
                self.bring_together(op, inode, &row).await?;
            }
            first += looked_at;
        }
        Ok(())
    }

    async fn bring_together(&self, op: Op, inode: &Inode, row: &Row) -> Result<()> {
        let len = row.blocks.len() as u32;
        let pref = self.row_pref(inode, row);
        let Some((first, group)) = self.clusteralloc(pref, len).await? else { return Ok(()) };
        let place = |i: usize| first.plus(i as u32 * self.g.frag);
        let ino = inode.ino();
        for (i, lbn) in (0..row.blocks.len()).zip(row.first..) {
            let (old, new) = (Run { at: FragNo::HOLE, frags: 0 }, Run { at: place(i), frags: self.g.frag });
            self.report(op, Step::FragmentsTaken { ino, lbn: Lbn(lbn as i64), old, new, cg: &group }).await?;
        }
        self.block_of(inode).await?;
        let ready = self.move_row(op, inode, row, &place).await;
        if let Err(error) = ready {
            for (block, at) in row.blocks.iter().zip(&row.at) {
                self.cache.moved(block, self.addr(*at));
            }
            self.give_back(first, len * self.g.frag).await;
            return Err(error);
        }
        self.point_to_row(op, inode, row, &place, &group).await
    }

    /// The blocks from `first` on, if they are worth moving: dirty, whole, in one group, with adjacent pointers, and
    /// not contiguous already. Also returns how many were examined.
    async fn row(&self, inode: &Inode, first: u64, end: u64) -> Result<(u64, Option<Row>)> {
        let Some(path) = self.g.path(Lbn(first as i64)) else { return Ok((end - first, None)) };
        let walk = self.walk(inode, &path).await?;
        let (index, most) = match path.indirects().next_back() {
            Some((_, step)) => (step, self.g.nindir - step),
            None => (first as u32, 12 - first as u32),
        };
        let len = (end - first).min(self.g.maxcontig.min(self.g.contigsumsize).min(most).into()) as u32;
        if walk.count < path.depth() {
            return Ok((len.into(), None));
        }
        let parent = walk.last().cloned();
        let (mut blocks, mut at) = (Vec::new(), Vec::new());
        for k in 0..len {
            let lbn = Lbn((first + u64::from(k)) as i64);
            let pointer = match (&parent, path.root) {
                (Some(parent), _) => self.pointer(parent, index + k),
                (None, Root::Direct(i)) => inode.dinode().db[i + k as usize],
                (None, Root::Indirect(_)) => FragNo::HOLE,
            };
            match self.cache.find(Key::File(inode.ino(), lbn)) {
                Some(block) if block.is_dirty() && !pointer.is_hole() => blocks.push(block),
                _ => break,
            }
            at.push(self.sane(inode.ino(), lbn, pointer, self.g.frag)?);
        }
        let one_group = at.iter().all(|p| self.g.dtog(*p) == self.g.dtog(at[0]));
        let in_a_row = at.windows(2).all(|pair| pair[0].plus(self.g.frag) == pair[1]);
        let worth = at.len() >= 2 && one_group && !in_a_row;
        Ok((len.into(), worth.then_some(Row { parent, index, first, blocks, at })))
    }

    fn row_pref(&self, inode: &Inode, row: &Row) -> FragNo {
        let dinode = inode.dinode();
        let pointers = |i: u32| match &row.parent {
            Some(parent) => self.pointer(parent, i),
            None => dinode.db[i as usize],
        };
        self.blkpref(&ToPlace {
            ino: inode.ino(),
            directory: dinode.is_dir(),
            lbn: row.first,
            index: row.index,
            pointers: &pointers,
            first_indirect: dinode.ib[0],
        })
    }

    /// Allocates `len` contiguous blocks.
    async fn clusteralloc(&self, pref: FragNo, len: u32) -> Result<Option<(FragNo, BufRef)>> {
        let home = self.g.dtog(pref);
        for (turn, c) in Rehash::from(home, self.g.ncg).take(GROUPS).enumerate() {
            if self.summary.is_bad(c) || i64::from(self.summary.cs(c).nbfree) < len.into() {
                continue;
            }
            if self.summary.lacks_cluster(c, len) {
                continue;
            }
            let group = self.group(c).await?;
            let from = if turn == 0 && !pref.is_hole() { pref } else { self.g.cgdata(c) };
            let from = (from.0 - self.g.cgbase(c).0) as u32 / self.g.frag;
            let Some(block) = group.look(self, |cg| find_cluster(cg, len, from)) else {
                self.summary.no_cluster(c, len);
                continue;
            };
            let first = block * self.g.frag;
            let at = self.g.cgfrag(c, CgFrag(first));
            let free = group.look(self, |cg| ordo_ondisk::cg::map::all(cg.free(), first, len * self.g.frag, true));
            let ours = self.g.is_data_run(at, len * self.g.frag);
            if !free || !ours {
                self.summary.condemn(c);
                continue;
            }
            for k in 0..len {
                let change = group.change(self, |cg| mark(cg, first + k * self.g.frag, self.g.frag, false));
                // OK to expect: all of them were just seen free.
                self.summary.add(c, change.expect("what was found free can be taken"));
            }
            return Ok(Some((at, group.buf)));
        }
        Ok(None)
    }

    async fn move_row(&self, op: Op, inode: &Inode, row: &Row, place: &dyn Fn(usize) -> FragNo) -> Result<()> {
        let (ino, role) = (inode.ino(), role(inode));
        for (i, block) in row.blocks.iter().enumerate() {
            self.cache.before_change(block).await;
            self.cache.moved(block, self.addr(place(i)));
            // A block written meanwhile is on the disk only at its old place.
            self.cache.mark_dirty(block);
            let lbn = Lbn((row.first + i as u64) as i64);
            self.report(op, Step::BlockReady { ino, lbn, block, role }).await?;
        }
        Ok(())
    }

    async fn point_to_row(
        &self,
        op: Op,
        inode: &Inode,
        row: &Row,
        place: &dyn Fn(usize) -> FragNo,
        cg: &BufRef,
    ) -> Result<()> {
        let (ino, role, frags) = (inode.ino(), role(inode), self.g.frag);
        let at = match &row.parent {
            Some(parent) => {
                self.cache.before_change(parent).await;
                let set = self.cache.modify(parent, |bytes| {
                    (0..row.at.len()).try_for_each(|i| self.g.put_pointer(bytes, row.index + i as u32, place(i)))
                });
                set.ok_or(Refusal::Invalid)?;
                parent.clone()
            }
            None => {
                for i in 0..row.at.len() {
                    inode.dinode_mut().db[row.index as usize + i] = place(i);
                }
                self.store(inode).await?
            }
        };
        for (i, (block, old)) in row.blocks.iter().zip(&row.at).enumerate() {
            let index = row.index + i as u32;
            let slot = match &row.parent {
                Some(_) => Slot::Indirect(&at, index),
                None => Slot::Inode(&at, index as u8),
            };
            let lbn = Lbn((row.first + i as u64) as i64);
            let freed = Some(self.cache.ledger().issue(Freed::Blocks { ino, runs: vec![(*old, frags)] }));
            let (old, new) = (Run { at: *old, frags }, Run { at: place(i), frags });
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
                freed,
            };
            self.report(op, step).await?;
        }
        Ok(())
    }
}
