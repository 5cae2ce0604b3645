//! Cutting pieces off a file's block tree.
//!
//! T1. One piece is at most what one single indirect block leads to, so that a ticket and a transaction stay small
//!     however large the file is. Pieces are cut from the end of the file.
//! T2. An indirect block that becomes empty is freed with the piece that emptied it: then only the pointer to it is
//!     cleared, and its contents stay as they are.
//! T3. Everything that will be freed was read and checked before the first pointer is cleared. The bufs of what was cut
//!     off are discarded before the step is reported: one written later could overwrite the next owner's data.
//! T4. What a call frees it frees once ([`Once`]), whatever the pointers say.

use crate::Ffs;
use crate::balloc::size_field;
use crate::map::twice;
use ordo_buf::{BufRef, Fields, Freed, Gone, Key, Op, Run, Step};
use ordo_ondisk::{FragNo, Lbn};
use ordo_ufs::{Inode, Once};
use ordo_vfs::Result;

/// Runs of fragments to be freed.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<(FragNo, u32)>,
    pub(crate) frags: u32,
    /// The same, block by block of the file.
    pub(crate) blocks: Vec<Gone>,
}

/// An indirect block on the path to a piece.
struct Node {
    block: BufRef,
    name: Lbn,
    at: FragNo,
    /// Lowest block of the file that it leads to.
    base: u64,
    /// Indirect blocks between it and data.
    level: usize,
    /// Index of the pointer to it in the block above.
    index: u32,
    /// Pointers from this index on were examined.
    seen: u32,
}

/// What to clear to remove a piece.
enum Cut {
    /// These pointers of a single indirect block.
    Pointers(BufRef, u32, u32),
    /// One pointer of an indirect block.
    Pointer(BufRef, u32),
    /// A root pointer of the inode.
    Root(usize),
}

/// Why a piece is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The file ends at this byte, or will: its size shrinks with each piece.
    Shrink(u64),
    /// A hole is made.
    Punch,
}

impl Ffs {
    /// Adds a run, joined with the one before if it goes on there.
    pub(crate) fn add_run(&self, all: &mut Runs, lbn: Lbn, at: FragNo, frags: u32) {
        self.add_tail(all, lbn, 0, Run { at, frags });
    }

    /// The same for the last fragments of a block, of which the file keeps the `kept` before them.
    pub(crate) fn add_tail(&self, all: &mut Runs, lbn: Lbn, kept: u32, run: Run) {
        let Run { at, frags } = run;
        all.frags += frags;
        all.blocks.push(Gone { lbn, kept, run });
        match all.runs.last_mut() {
            Some((first, n)) if first.plus(*n) == at && self.g.dtog(*first) == self.g.dtog(at) => *n += frags,
            _ => all.runs.push((at, frags)),
        }
    }

    /// Cuts off the last piece within blocks `from..to` of a file, which indirect blocks lead to (`from` is at least
    /// 12). Returns the lowest block that the piece could have had: all from there on are done. `None` when there was
    /// nothing. `met`: what the call has freed of the file before (T4).
    pub(crate) async fn cut_piece(
        &self,
        op: Op,
        inode: &Inode,
        from: u64,
        to: u64,
        why: Why,
        met: &mut Once,
    ) -> Result<Option<u64>> {
        let Some((root, mut way)) = self.last_way(inode, from, to).await? else { return Ok(None) };
        let Some(end) = way.last() else { return Ok(None) };
        let lowest = end.base.max(from);
        let (mut gone, mut keys) = (Runs::default(), Vec::new());
        let cut = self.plan(inode, root, &mut way, from, to, &mut gone, &mut keys)?;
        if let Some(Gone { run, .. }) = gone.blocks.iter().find(|gone| !met.add(gone.run.at.0, gone.run.frags.into())) {
            return Err(twice(inode.ino(), run.at));
        }
        let sectors = self.sectors(gone.frags);
        let rest = self.rest_of(inode, lowest).saturating_mul(self.g.bsize.into());
        let shrunk = |size: u64| match why {
            Why::Shrink(end) => size.min(end.max(rest)),
            Why::Punch => size,
        };
        let at = match &cut {
            Cut::Pointers(block, first, last) => {
                self.clear_pointers(block, *first, *last).await;
                block.clone()
            }
            Cut::Pointer(block, i) => {
                self.clear_pointers(block, *i, *i + 1).await;
                block.clone()
            }
            Cut::Root(i) => {
                inode.dinode_mut().ib[*i] = FragNo::HOLE;
                self.shrink_dinode(inode, sectors, shrunk).await?
            }
        };
        for key in keys {
            self.cache.discard_key(key);
        }
        let ino = inode.ino();
        let ticket = self.cache.ledger().issue(Freed::Blocks { ino, runs: gone.runs });
        self.report(op, Step::BlocksReleased { ino, at: &at, blocks: &gone.blocks, ticket }).await?;
        // A pointer in an indirect block is cleared before the size shrinks: after a crash fsck repairs a size beyond
        // the last block by itself, but not a block beyond the size.
        let inode_buf = match cut {
            Cut::Root(_) => at,
            _ => self.shrink_dinode(inode, sectors, shrunk).await?,
        };
        let fields = if why == Why::Punch { Fields::Times } else { size_field(inode) };
        self.report(op, Step::InodeChanged { ino, inode: &inode_buf, fields }).await?;
        Ok(Some(lowest))
    }

    /// Refuses a file whose inode has a pointer that cannot be freed (T3). What lies in its indirect blocks is not
    /// looked at: a removal of a name would wait for all of them.
    pub(crate) fn can_be_released(&self, inode: &Inode) -> Result<()> {
        self.can_be_cut(inode, 0)?;
        self.attributes_can_be_freed(inode)?;
        let dinode = inode.dinode();
        if !dinode.has_blocks(&self.g) {
            return Ok(());
        }
        for (i, &at) in dinode.ib.iter().enumerate() {
            if !at.is_hole() {
                self.sane(inode.ino(), self.g.indirect_root(i), at, self.g.frag)?;
            }
        }
        Ok(())
    }

    /// The number of blocks of a file after everything from block `lowest` on was cut off. If only direct blocks are
    /// left, the file ends with its last stored block: fsck repairs a hole at the end by itself only in larger files.
    fn rest_of(&self, inode: &Inode, lowest: u64) -> u64 {
        if lowest > 12 {
            return lowest;
        }
        inode.dinode().db.iter().rposition(|p| !p.is_hole()).map_or(0, |last| last as u64 + 1)
    }

    async fn shrink_dinode(&self, inode: &Inode, sectors: u64, shrunk: impl Fn(u64) -> u64) -> Result<BufRef> {
        {
            let mut dinode = inode.dinode_mut();
            // A count that was wrong on the disk must not become a huge one.
            dinode.blocks = dinode.blocks.saturating_sub(sectors);
            dinode.size = shrunk(dinode.size);
        }
        self.store(inode).await
    }

    async fn clear_pointers(&self, block: &BufRef, from: u32, to: u32) {
        self.cache.before_change(block).await;
        self.cache.modify(block, |bytes| {
            for i in from..to {
                // OK to ignore: an index is below the number of pointers.
                let _ = self.g.put_pointer(bytes, i, FragNo::HOLE);
            }
        });
    }

    /// What to clear, what to free with it, and which bufs to discard (T2).
    fn plan(
        &self,
        inode: &Inode,
        root: usize,
        way: &mut Vec<Node>,
        from: u64,
        to: u64,
        gone: &mut Runs,
        keys: &mut Vec<Key>,
    ) -> Result<Cut> {
        let (ino, n) = (inode.ino(), self.g.nindir);
        let mut emptied = (0, n);
        if let Some(end) = way.last().filter(|end| end.level == 0) {
            let (first, last) = self.indexes(end, from, to);
            for i in first..last {
                let at = self.pointer(&end.block, i);
                if way.iter().any(|above| above.at == at) {
                    return Err(twice(ino, at));
                }
                if !at.is_hole() {
                    let lbn = Lbn((end.base + u64::from(i)) as i64);
                    self.add_run(gone, lbn, self.sane(ino, lbn, at, self.g.frag)?, self.g.frag);
                    keys.push(Key::File(ino, lbn));
                }
            }
            emptied = (first, last);
        }
        while let Some(node) = way.pop() {
            let holds = |i| !self.pointer(&node.block, i).is_hole();
            if (0..emptied.0).chain(emptied.1..n).any(holds) {
                return Ok(match node.level {
                    0 => Cut::Pointers(node.block, emptied.0, emptied.1),
                    _ => Cut::Pointer(node.block, emptied.0),
                });
            }
            self.add_run(gone, node.name, node.at, self.g.frag);
            keys.push(Key::File(ino, node.name));
            emptied = (node.index, node.index + 1);
        }
        Ok(Cut::Root(root))
    }

    /// The pointers of a node that lead to blocks within `from..to`.
    fn indexes(&self, node: &Node, from: u64, to: u64) -> (u32, u32) {
        let span = self.g.span(node.level);
        let index = |blocks: u64| blocks.min(u64::from(self.g.nindir)) as u32;
        (index(from.saturating_sub(node.base) / span), index(to.saturating_sub(node.base).div_ceil(span)))
    }

    /// The path to the last piece that has something in `from..to`: it ends at a single indirect block with a pointer
    /// there, or at an indirect block that is completely empty, which should not exist.
    async fn last_way(&self, inode: &Inode, from: u64, to: u64) -> Result<Option<(usize, Vec<Node>)>> {
        for root in (0..3).rev() {
            let base = (1..=root).fold(12u64, |base, level| base.saturating_add(self.g.span(level)));
            let at = self.root_pointer(inode, ordo_ondisk::Root::Indirect(root));
            if at.is_hole() || base >= to || base.saturating_add(self.g.span(root + 1)) <= from {
                continue;
            }
            let mut way = vec![self.node(inode, self.g.indirect_root(root), at, base, root, 0).await?];
            while let Some(node) = way.last_mut() {
                let (first, last) = self.indexes(node, from, to);
                let holds = |i: &u32| !self.pointer(&node.block, *i).is_hole();
                let found = (first..last.min(node.seen)).rev().find(holds);
                let Some(i) = found else {
                    if !(0..self.g.nindir).any(|i| holds(&i)) {
                        return Ok(Some((root, way)));
                    }
                    let index = node.index;
                    way.pop();
                    if let Some(above) = way.last_mut() {
                        above.seen = index;
                    }
                    continue;
                };
                if node.level == 0 {
                    return Ok(Some((root, way)));
                }
                let (level, at) = (node.level - 1, self.pointer(&node.block, i));
                let name = self.g.indirect_child(node.name, node.level, i);
                let base = node.base + u64::from(i) * self.g.span(node.level);
                if way.iter().any(|above| above.at == at) {
                    return Err(twice(inode.ino(), at));
                }
                let child = self.node(inode, name, at, base, level, i).await?;
                way.push(child);
            }
        }
        Ok(None)
    }

    async fn node(&self, inode: &Inode, name: Lbn, at: FragNo, base: u64, level: usize, index: u32) -> Result<Node> {
        let block = self.indirect(inode.ino(), name, at).await?;
        Ok(Node { block, name, at, base, level, index, seen: self.g.nindir })
    }
}
