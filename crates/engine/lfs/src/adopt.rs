//! Roll-forward of a log that OrdoFS wrote: the last inode of each file leads to all of it.
//!
//! A1. A file leaves whole (engine-lfs-2), with the indirect blocks above what changed. So its last inode in the
//!     log has all its pointers, those to holes that were blocks included, which no record of blocks could say. The
//!     seal of a partial segment tells that it is ours.
//! A2. The accounts change by the difference between the tree of the checkpoint's inode and that of the last one. Where
//!     two pointers are equal, so is everything below them: only what changed is read.

use crate::Lfs;
use crate::log::OnDisk;
use crate::rollforward::Seen;
use ordo_buf::Key;
use ordo_disk::{DiskOff, Tag};
use ordo_ondisk::lfs::{Daddr, NextFree};
use ordo_ondisk::{Dinode, FragNo, Ino, Lbn, NIADDR};
use ordo_ufs::Inode;
use ordo_vfs::{Error, Kind, Result};
use std::collections::BTreeMap;

/// A pointer in the older tree and in the newer one.
struct Pair {
    lbn: Lbn,
    /// Levels of indirect blocks from here down; 0 for data.
    levels: usize,
    old: Daddr,
    new: Daddr,
}

impl Lfs {
    /// Takes the last inode of each file from the log.
    pub(crate) async fn adopt(&self, seen: &[Seen]) -> Result<()> {
        let mut last: BTreeMap<Ino, (Daddr, &Dinode)> = BTreeMap::new();
        for (at, ino, dinode) in seen.iter().flat_map(|seen| &seen.inodes) {
            let older = last.get(ino).is_some_and(|(_, known)| known.gen_ > dinode.gen_);
            if !older {
                last.insert(*ino, (*at, dinode));
            }
        }
        for (ino, (at, dinode)) in last {
            self.adopt_inode(ino, at, dinode).await?;
        }
        Ok(())
    }

    async fn adopt_inode(&self, ino: Ino, at: Daddr, dinode: &Dinode) -> Result<()> {
        let log = &self.log;
        if Kind::from_bits(dinode.mode >> 12).is_none() || dinode.size > log.g.maxfilesize {
            return Ok(());
        }
        self.exists(ino, dinode.gen_).await?;
        let known = match log.is_known(ino) {
            true => {
                let buf = log.dinode_buf(ino).await?;
                Some(log.dinode(&buf)?)
            }
            false => None,
        };
        if dinode.nlink == 0 {
            // Its last name is gone: a crash ends what still used it.
            let inode = Inode::new(ino, known.unwrap_or_else(|| Dinode { gen_: dinode.gen_, ..dinode.clone() }));
            return self.end_of(ino, inode).await;
        }
        self.count_difference(ino, known.as_ref(), dinode).await?;
        let bytes = log.g.version.dinode_size();
        {
            let mut ifile = log.ifile.borrow_mut();
            let old = ifile.entry(ino).map_err(Error::corrupt)?.daddr;
            if !old.is_hole() {
                ifile.count(old, bytes, true);
            }
            ifile.count(at, bytes, false);
            ifile.change_entry(ino, |entry| {
                (entry.daddr, entry.atime, entry.nextfree) = (at, dinode.atime, NextFree::End);
            });
        }
        // What is cached is of the older one.
        self.cache.discard_key(Key::Inode(ino));
        let disk = OnDisk { size: dinode.size, sectors: dinode.blocks, ..OnDisk::default() };
        log.on_disk.borrow_mut().insert(ino, disk);
        Ok(())
    }

    /// The blocks of the newer tree are alive, and those of the older one that it does not have are not (A2).
    async fn count_difference(&self, ino: Ino, old: Option<&Dinode>, new: &Dinode) -> Result<()> {
        let log = &self.log;
        let old = old.filter(|old| log.has_blocks(old));
        let new = Some(new).filter(|new| log.has_blocks(new));
        let size = |of: Option<&Dinode>| of.map_or(0, |dinode| dinode.size);
        let (old_size, new_size) = (size(old), size(new));
        let (mut pairs, mut read) = (self.roots(old, new), 0);
        while let Some(pair) = pairs.pop() {
            if pair.old == pair.new {
                continue;
            }
            let length = |size| if pair.levels > 0 { log.g.bsize } else { log.length(size, pair.lbn) };
            for (at, size, lost) in [(pair.old, old_size, true), (pair.new, new_size, false)] {
                if !at.is_hole() {
                    log.ifile.borrow_mut().count(at, length(size), lost);
                }
            }
            if pair.levels > 0 {
                read += 1;
                // The older tree and the newer one.
                if read > 2 * log.most_indirect() {
                    return Err(Error::corrupt(crate::block::cycle(ino, read as u64)));
                }
                self.below(&pair, &mut pairs).await?;
            }
        }
        Ok(())
    }

    fn roots(&self, old: Option<&Dinode>, new: Option<&Dinode>) -> Vec<Pair> {
        let direct = |of: Option<&Dinode>, i: usize| of.map_or(FragNo::HOLE, |dinode| dinode.db[i]).into();
        let indirect = |of: Option<&Dinode>, i: usize| of.map_or(FragNo::HOLE, |dinode| dinode.ib[i]).into();
        let mut pairs: Vec<Pair> =
            (0..12).map(|i| Pair { lbn: Lbn(i as i64), levels: 0, old: direct(old, i), new: direct(new, i) }).collect();
        pairs.extend((0..NIADDR).map(|i| Pair {
            lbn: self.log.g.tree().indirect_root(i),
            levels: i + 1,
            old: indirect(old, i),
            new: indirect(new, i),
        }));
        pairs
    }

    async fn below(&self, pair: &Pair, pairs: &mut Vec<Pair>) -> Result<()> {
        let (old, new) = (self.pointers(pair.old).await?, self.pointers(pair.new).await?);
        for index in 0..self.log.g.nindir {
            let of = |block: &[u8]| Daddr::from(self.log.encoding.pointer(block, index).unwrap_or(FragNo::HOLE));
            let (old, new) = (of(&old), of(&new));
            if old != new {
                let lbn = self.log.g.tree().indirect_child(pair.lbn, pair.levels - 1, index);
                pairs.push(Pair { lbn, levels: pair.levels - 1, old, new });
            }
        }
        Ok(())
    }

    /// The bytes of an indirect block; none of a hole, and none of a place that is none.
    async fn pointers(&self, at: Daddr) -> Result<Vec<u8>> {
        if !self.log.g.is_data_range(at, self.log.g.block_units.into()) {
            return Ok(Vec::new());
        }
        let (byte, len) = (DiskOff(self.log.g.byte(at).0), self.log.g.bsize as usize);
        let block = self.cache.queue().read(byte, len, Tag::of(ordo_buf::Role::Indirect)).await.map_err(Error::io)?;
        Ok(block.to_vec())
    }
}
