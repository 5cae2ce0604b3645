//! The list of free inodes.

use super::volume::Volume;
use crate::{Error, LfsFinding};
use ordo_ondisk::Ino;
use ordo_ondisk::lfs::{NextFree, Version};
use rustc_hash::FxHashSet;

/// Inodes below are never free: none, the ifile and the root.
const FIRST: u32 = 3;

impl Volume {
    /// Checks the list against the inode map; it is made anew, in ascending order, if anything is wrong or if the log
    /// was rolled forward.
    pub(crate) async fn check_free_list(&mut self) -> Result<(), Error> {
        let before = self.found;
        let mut taken = self.rolled;
        if !self.rolled {
            let listed = self.walk_free_list();
            self.compare_free(&listed);
            // A repair has just taken one of them.
            taken = listed.iter().any(|ino| self.in_use(*ino));
        }
        if self.found > before || taken {
            self.rebuild_free_list().await?;
        }
        Ok(())
    }

    /// Whether an inode is free. Those in use without an address are those that a repair has just made.
    fn is_free(&self, ino: u32) -> bool {
        ino >= FIRST && !self.in_use(ino)
    }

    fn walk_free_list(&mut self) -> FxHashSet<u32> {
        let mut listed = FxHashSet::default();
        let (mut last, mut at) = (0, self.sb.fields.freehd.0);
        while at != 0 {
            if at as usize >= self.ifile.entries.len() || at < FIRST {
                self.find(LfsFinding::FreeListRange { ino: at });
                break;
            }
            if !self.ifile.entry(at).daddr.is_hole() {
                self.find(LfsFinding::FreeListInUse { ino: at });
                break;
            }
            if !listed.insert(at) {
                self.find(LfsFinding::FreeListTwice { ino: at });
                break;
            }
            last = at;
            at = match self.ifile.entry(at).nextfree {
                NextFree::Ino(next) => next.0,
                NextFree::End => 0,
                NextFree::Orphan => u32::MAX,
            };
        }
        let (head, tail) = (self.ifile.info.free_head.0, self.ifile.info.free_tail.0);
        let superblock = self.sb.fields.freehd.0;
        if self.g.version != Version::V1 && head != superblock {
            self.find(LfsFinding::FreeListHead { superblock, ifile: head });
        }
        if self.g.version != Version::V1 && tail != last && !listed.is_empty() {
            self.find(LfsFinding::FreeListTail { found: tail, right: last });
        }
        listed
    }

    fn compare_free(&mut self, listed: &FxHashSet<u32>) {
        if listed.is_empty() {
            self.find(LfsFinding::FreeListEmpty {});
        }
        let missing =
            || (FIRST..self.ifile.entries.len() as u32).filter(|ino| self.is_free(*ino) && !listed.contains(ino));
        let count = missing().count() as u64;
        if let Some(first) = missing().next() {
            self.find(LfsFinding::FreeListMisses { first, count });
        }
    }

    async fn rebuild_free_list(&mut self) -> Result<(), Error> {
        if !(FIRST..self.ifile.entries.len() as u32).any(|ino| self.is_free(ino)) {
            self.grow_ifile().await?;
        }
        let free: Vec<u32> = (FIRST..self.ifile.entries.len() as u32).filter(|ino| self.is_free(*ino)).collect();
        let next = free.iter().skip(1).map(|next| NextFree::Ino(Ino(*next))).chain([NextFree::End]);
        for (ino, next) in free.iter().zip(next) {
            if let Some(entry) = self.ifile.entry_mut(*ino) {
                entry.nextfree = next;
            }
        }
        let ends = (free.first().copied().unwrap_or(0), free.last().copied().unwrap_or(0));
        (self.ifile.info.free_head, self.ifile.info.free_tail) = (Ino(ends.0), Ino(ends.1));
        self.sb.fields.freehd = Ino(ends.0);
        Ok(())
    }
}
