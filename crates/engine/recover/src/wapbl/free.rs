//! Inodes that were in use and had no name: files that a program had open, or that were not yet made.

use crate::dirty::Order;
use crate::error::Error;
use crate::outcome::NotReplayed;
use crate::suj::{InodeKind, Replay};
use crate::walk::Walk;
use ordo_ondisk::wapbl::Unlinked;
use ordo_ondisk::{Dinode, FragNo, Ino, dinode::mode};

/// Bits of a mode that say what kind of file it is.
const KIND: u32 = 0o170_000;

impl Replay {
    /// Frees them: bitmaps first, durably, and then the inodes (recover-wapbl-3). Returns how many were left because
    /// they are damaged (recover-wapbl-6).
    pub(super) async fn free_unlinked(&mut self, list: &[Unlinked]) -> Result<u64, NotReplayed> {
        // The groups were read as they were before the images.
        self.forget_groups();
        let mut left = 0;
        for one in list {
            match self.free_one(one).await {
                Ok(()) => {}
                Err(NotReplayed::Check(failure @ Error::Disk(_))) => return Err(failure.into()),
                Err(_) => left += 1,
            }
        }
        self.write_groups().await?;
        self.image.flush_order(Order::Groups).await?;
        self.image.flush_order(Order::Inodes).await?;
        Ok(left)
    }

    async fn free_one(&mut self, one: &Unlinked) -> Result<(), NotReplayed> {
        let ino = one.ino;
        if ino <= Ino::ROOT || !self.geo.is_valid_ino(ino) {
            return Err(NotReplayed::Inode { ino: ino.0, what: "the log has it without a name, and there is none" });
        }
        let dinode = self.dinode(ino.0).await?;
        if dinode.nlink != 0 {
            // It got a name after the list was written.
            return Ok(());
        }
        // Everything that may fail comes before the first change.
        let mut runs: Vec<(FragNo, u32)> = vec![];
        let mut walk = Walk::new(&self.geo, &dinode);
        while let Some(pointer) = self.step(ino.0, &mut walk).await? {
            self.group(self.geo.dtog(pointer.frag)).await?;
            runs.push((pointer.frag, pointer.count));
        }
        self.group(self.geo.ino_to_cg(ino)).await?;
        for (at, frags) in runs {
            self.free_run(at, frags).await?;
        }
        let listed = if dinode.mode == 0 { one.mode & KIND } else { u32::from(dinode.kind()) };
        let kind = if listed == u32::from(mode::DIR) { InodeKind::Directory } else { InodeKind::Other };
        self.done.freed_inodes += u64::from(self.mark_inode(ino.0, false, kind).await?);
        if dinode.mode == 0 {
            return Ok(());
        }
        self.put_dinode(ino.0, &Dinode { gen_: dinode.gen_, ..Dinode::default() }).await
    }
}
