//! Step 10: everything that was decided is written.
//!
//! In this order, with a flush of the disk after each: the groups, except for pointer blocks that no file owns; these,
//! nearest to data first (recover-suj-4); inodes that gain a link; directories and indirect blocks; all inodes; the
//! superblock without the list of nameless inodes (recover-suj-5); the links of that list; the mark that the volume is
//! clean; the time that invalidates the journal (recover-suj-6).

use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use ordo_ondisk::superblock::fields::flag;

/// The time that a recovery or a check writes. No journal that is over may have it, or get it later: it never goes
/// back, even where mounts have got ahead of the clock.
pub fn later(before: i64, now: i64) -> i64 {
    now.max(before.saturating_add(1))
}

impl Replay {
    pub(super) async fn finish(&mut self) -> Result<(), NotReplayed> {
        self.write_groups().await?;
        self.image.flush_order(Order::Groups).await?;
        for level in 1..=3 {
            if self.free_late(level).await? {
                self.write_groups().await?;
                self.image.flush_order(Order::Groups).await?;
            }
        }
        let f = &mut self.sb.fields;
        (f.sujfree, f.pendingblocks, f.pendinginodes) = (0, 0, 0);
        self.write_superblock().await?;
        let raised = std::mem::take(&mut self.raised);
        self.image.flush(&raised).await?;
        self.clear_unlinked().await?;
        self.image.flush_order(Order::Inodes).await?;
        let f = &mut self.sb.fields;
        f.clean = 1;
        f.flags &= !(flag::UNCLEAN | flag::NEEDSFSCK);
        self.write_superblock().await?;
        self.image.flush_superblock().await?;
        // Separately from the mark: in a torn write the time alone could reach the disk, and the journal would be lost
        // (recover-suj-6).
        let f = &mut self.sb.fields;
        f.mtime = later(f.mtime, self.now);
        self.write_superblock().await?;
        Ok(self.image.flush_superblock().await?)
    }

    async fn write_superblock(&mut self) -> Result<(), NotReplayed> {
        let (at, bytes) = (self.sb.at, self.sb.encode(self.now));
        Ok(self.image.write(at, &bytes, Order::Superblock).await?)
    }

    /// Frees the pointer blocks of a level; returns whether there were any.
    async fn free_late(&mut self, level: usize) -> Result<bool, NotReplayed> {
        let blocks: Vec<u64> = self.late.iter().filter(|(_, of)| **of == level).map(|(frag, _)| *frag).collect();
        let whole = ordo_ondisk::cg::map::whole(self.geo.frag);
        for frag in &blocks {
            self.done.freed_frags += u64::from(self.mark(ordo_ondisk::FragNo(*frag), whole, 0).await?);
        }
        Ok(!blocks.is_empty())
    }
}
