//! What the reclaim asks of the layout: inodes as they are, what they point to, and freeing what is left.

use super::{Extent, Piece, UsedInodes};
use crate::cut::Why;
use crate::{Ffs, corrupt};
use ordo_buf::{Key, Op, Role};
use ordo_disk::{DiskOff, Tag};
use ordo_ondisk::cg::map;
use ordo_ondisk::{CgFrag, Cgx, Corrupt, Csum, Dinode, FragNo, Ino, Lbn, Rule, Structure};
use ordo_ufs::{Inode, Once};
use ordo_vfs::{Error, Result};
use std::ops::Range;

/// Blocks of inodes read at a time.
const BLOCKS: u32 = 16;
/// Runs freed in one step.
const RUNS: usize = 128;

/// For the reclaim of what a crash of soft updates has leaked (`ordo_reclaim`).
impl Ffs {
    /// The inodes in use at the mount, by group; `None` unless a soft-updates volume crashed and must be scanned.
    /// Returned once.
    pub fn take_used_inodes(&self) -> Option<Vec<Option<UsedInodes>>> {
        self.suspects.take_inodes()
    }

    /// The next piece of a group's inodes, of those in `used`, from index `from` on. Inodes that are not in memory are
    /// read past the cache.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a dinode that no crash leaves.
    pub async fn inodes(&self, c: Cgx, used: &[u8], from: u32) -> Result<Piece> {
        let (inopb, end) = (self.g.inopb, used.len() as u32 * 8);
        let Some(first) = map::first_set(used, from, end) else { return Ok(Piece::default()) };
        let blocks = first / inopb..(first / inopb + BLOCKS).min(end.div_ceil(inopb));
        let read = self.read_inode_blocks(c, blocks.clone()).await?;
        let mut piece = Piece { inodes: Vec::new(), next: Some(blocks.end * inopb).filter(|&next| next < end) };
        for (block, bytes) in blocks.zip(read.chunks(self.g.bsize as usize)) {
            let at = self.g.cgimin(c).plus(block * self.g.frag);
            // What is in the cache is newer than what was read.
            match self.cache.find(Key::Device(at)) {
                Some(buf) => self.decode_used(c, used, block, &buf.bytes(), &mut piece)?,
                None => self.decode_used(c, used, block, bytes, &mut piece)?,
            }
        }
        Ok(piece)
    }

    /// Removes what the inode points to from the list of suspects.
    ///
    /// # Errors
    /// `Io`; `Corrupt` for a pointer that no crash leaves.
    pub async fn refer(&self, inode: &Inode) -> Result<Extent> {
        let mut extent = Extent::default();
        for k in 0..2 {
            if let Some(run) = self.area_run(inode, k)? {
                self.refer_run(&mut extent, run.at, run.frags);
            }
        }
        let (db, ib, size) = {
            let dinode = inode.dinode();
            if !dinode.has_blocks(&self.g) {
                return Ok(extent);
            }
            (dinode.db, dinode.ib, dinode.size)
        };
        let snapshot = self.is_snapshot(inode);
        for (i, at) in db.into_iter().enumerate().filter(|(_, at)| !Ffs::is_elsewhere(snapshot, *at)) {
            let frags = self.g.blkfrags(size, i as u64).max(1);
            self.refer_run(&mut extent, self.sane(inode.ino(), Lbn(i as i64), at, frags)?, frags);
            extent.end = extent.end.max(i as u64 + 1);
        }
        for (root, at) in ib.into_iter().enumerate().filter(|(_, at)| !at.is_hole()) {
            self.refer_tree(inode, root, at, &mut extent).await?;
        }
        Ok(extent)
    }

    /// Removes what was released from the list of suspects: its ticket will free it.
    pub fn released(&self, runs: &[(FragNo, u32)]) {
        for &(at, frags) in runs {
            self.suspects.strike(&self.g, at, frags);
        }
    }

    /// Frees a bounded number of the fragments of a group that are still on the list. Returns how many, and whether the
    /// group may have more.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn free_leaked(&self, c: Cgx) -> Result<(u64, bool)> {
        let runs = self.suspects.take(c, self.g.frag, RUNS);
        let mut freed = 0;
        for &(first, frags) in &runs {
            self.free_run(self.g.cgfrag(c, CgFrag(first)), frags).await?;
            freed += u64::from(frags);
        }
        Ok((freed, !runs.is_empty()))
    }

    /// Frees an inode of which only the bit in the map is in use.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn free_bare(&self, ino: Ino) -> Result<()> {
        self.free_inode(ino, false).await
    }

    /// Frees the blocks of a file beyond its size.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn cut_beyond(&self, op: Op, inode: &Inode) -> Result<()> {
        let size = inode.size();
        let (keep, mut to) = (size.div_ceil(self.g.bsize.into()).max(12), u64::MAX);
        let mut met = Once::default();
        while let Some(lowest) = self.cut_piece(op, inode, keep, to, Why::Shrink(size), &mut met).await? {
            to = lowest;
        }
        Ok(())
    }

    /// The group's count of directories is `more` too high: corrects it.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn mend_directories(&self, c: Cgx, more: i32) -> Result<()> {
        let group = self.group(c).await?;
        let change = Csum { ndir: -more, ..Csum::default() };
        group.change(self, |cg| {
            let cs = crate::cg::plus(cg.view().cs(), change);
            cg.set_cs(cs);
        });
        self.summary.add(c, change);
        Ok(())
    }

    /// Everything that had leaked is free: a clean unmount marks the volume clean.
    pub fn recovered(&self) {
        self.suspects.end();
        self.deserves_clean();
    }

    /// Something was found that a crash of soft updates never leaves: the volume needs fsck.
    pub fn damaged(&self) {
        self.suspects.end();
        self.summary.set_damaged();
    }
}

impl Ffs {
    /// Reads contiguous blocks of inodes.
    async fn read_inode_blocks(&self, c: Cgx, blocks: Range<u32>) -> Result<ordo_disk::Block> {
        let at = DiskOff(self.g.byte(self.g.cgimin(c).plus(blocks.start * self.g.frag)).0);
        let len = (blocks.end - blocks.start) as usize * self.g.bsize as usize;
        self.cache.queue().read(at, len, Tag::of(Role::Inodes)).await.map_err(Error::io)
    }

    fn decode_used(&self, c: Cgx, used: &[u8], block: u32, bytes: &[u8], piece: &mut Piece) -> Result<()> {
        let first = block * self.g.inopb;
        for (i, bytes) in (first..).zip(bytes.chunks_exact(self.g.dinode_size as usize)) {
            if map::get(used, i) {
                let ino = Ino(c.0 * self.g.ipg + i);
                let dinode = Dinode::decode(bytes, &self.g, ino).map_err(corrupt)?;
                if dinode.mode != 0 {
                    dinode.check(&self.g, ino).map_err(corrupt)?;
                }
                piece.inodes.push((ino, dinode));
            }
        }
        Ok(())
    }

    fn refer_run(&self, extent: &mut Extent, at: FragNo, frags: u32) {
        self.suspects.strike(&self.g, at, frags);
        extent.sectors += self.sectors(frags);
    }

    /// Everything below indirect pointer `root` of an inode.
    async fn refer_tree(&self, inode: &Inode, root: usize, at: FragNo, extent: &mut Extent) -> Result<()> {
        let (ino, snapshot) = (inode.ino(), self.is_snapshot(inode));
        let base = (1..=root).fold(12u64, |base, level| base.saturating_add(self.g.span(level)));
        let mut todo = vec![(self.g.indirect_root(root), at, root, base)];
        while let Some((name, at, level, base)) = todo.pop() {
            let block = self.indirect(ino, name, at).await?;
            self.refer_run(extent, at, self.g.frag);
            self.bounded(ino, extent)?;
            for i in 0..self.g.nindir {
                let to = self.pointer(&block, i);
                if Ffs::is_elsewhere(snapshot, to) {
                    continue;
                }
                let first = base.saturating_add(u64::from(i).saturating_mul(self.g.span(level)));
                if level > 0 {
                    todo.push((self.g.indirect_child(name, level, i), to, level - 1, first));
                    continue;
                }
                let lbn = Lbn(first as i64);
                self.refer_run(extent, self.sane(ino, lbn, to, self.g.frag)?, self.g.frag);
                extent.end = extent.end.max(first + 1);
            }
        }
        Ok(())
    }

    /// No file has more blocks than the volume. A cycle of pointer blocks would occupy the scan, and calls that wait
    /// for the inode, for as long as three levels of pointers last.
    fn bounded(&self, ino: Ino, extent: &Extent) -> Result<()> {
        let all = self.g.size.saturating_mul(u64::from(self.g.fsize / 512));
        match extent.sectors <= all {
            true => Ok(()),
            false => {
                let damage = Corrupt::new(Structure::Inode(ino), "di_blocks", extent.sectors, Rule::AtMost(all.into()));
                Err(corrupt(damage).told_as(format!("inode {} has more blocks than the volume", ino.0)))
            }
        }
    }
}
