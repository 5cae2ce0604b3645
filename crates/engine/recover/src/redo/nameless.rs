//! Nameless files that were open at the crash, which has closed them.

use super::source::Source;
use crate::outcome::NotReplayed;
use crate::suj::{InodeKind, Replay};
use crate::walk::Walk;
use ordo_ondisk::redo::Transaction;
use ordo_ondisk::{Dinode, Ino};

impl Replay {
    /// Frees them, after the log holds only the lists (recover-redo-3).
    pub(super) async fn free_the_nameless(
        &mut self,
        transactions: &[Transaction],
        log: Source,
    ) -> Result<(), NotReplayed> {
        let Some(last) = transactions.last().filter(|last| !last.nameless.is_empty()) else { return Ok(()) };
        let kept = log.keep_lists(last).await?;
        self.write_groups().await?;
        self.flush_home().await?;
        kept.forget_the_rest().await?;
        for ino in &last.nameless {
            self.free_nameless(*ino).await?;
        }
        Ok(())
    }

    async fn free_nameless(&mut self, ino: Ino) -> Result<(), NotReplayed> {
        if !self.geo.is_valid_ino(ino) {
            return Err(NotReplayed::Inode { ino: ino.0, what: "it is said to have no name, and there is none" });
        }
        let dinode = self.dinode(ino.0).await?;
        if dinode.mode == 0 || dinode.nlink != 0 {
            return Ok(());
        }
        let mut walk = Walk::new(&self.geo, &dinode);
        while let Some(pointer) = self.step(ino.0, &mut walk).await? {
            self.free_run(pointer.frag, pointer.count).await?;
        }
        let kind = if dinode.is_dir() { InodeKind::Directory } else { InodeKind::Other };
        self.done.freed_inodes += u64::from(self.mark_inode(ino.0, false, kind).await?);
        self.put_dinode(ino.0, &Dinode { gen_: dinode.gen_, ..Dinode::default() }).await
    }
}
