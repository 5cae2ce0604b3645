//! Files without a name that somebody had open: the crash has closed them.

use super::source::Source;
use crate::suj::{Kind, NotReplayed, Replay};
use crate::walk::Walk;
use disk::DiskOff;
use ondisk::redo::Transaction;
use ondisk::{ByteOff, Dinode, Ino};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

impl Replay {
    /// Frees them, and adds to the log how (P3).
    pub(super) async fn free_the_nameless(
        &mut self,
        transactions: &[Transaction],
        log: Source,
    ) -> Result<(), NotReplayed> {
        let Some(last) = transactions.last().filter(|last| !last.nameless.is_empty()) else { return Ok(()) };
        // The maps as they are without: what the log and its lists say.
        self.write_groups().await?;
        let mut before = BTreeMap::new();
        for ino in &last.nameless {
            self.free_nameless(*ino, &mut before).await?;
        }
        self.write_groups().await?;
        let mut blocks = Vec::new();
        for (at, old) in before {
            let now = self.image.bytes(ByteOff(at), old.len()).await?.to_vec();
            blocks.push((DiskOff(at), old, now));
        }
        log.add(blocks, last.waiting.clone()).await
    }

    async fn free_nameless(&mut self, ino: Ino, before: &mut BTreeMap<u64, Vec<u8>>) -> Result<(), NotReplayed> {
        if !self.geo.is_valid_ino(ino) {
            return Err(NotReplayed::Inode { ino: ino.0, what: "it is said to have no name, and there is none" });
        }
        let dinode = self.dinode(ino.0).await?;
        if dinode.mode == 0 || dinode.nlink != 0 {
            return Ok(());
        }
        let mut walk = Walk::of(&self.geo, &dinode);
        while let Some(pointer) = self.step(ino.0, &mut walk).await? {
            self.remember_group(self.geo.dtog(pointer.frag), before).await?;
            self.free_run(pointer.frag, pointer.count).await?;
        }
        self.remember_group(self.geo.ino_to_cg(ino), before).await?;
        let kind = if dinode.is_dir() { Kind::Directory } else { Kind::Other };
        self.done.freed_inodes += u64::from(self.mark_inode(ino.0, false, kind).await?);
        // The block of inodes as a whole: two of them may lie in one.
        let line = u64::from(self.geo.bsize);
        let at = Dinode::place(&self.geo, ino).0 / line * line;
        if let Entry::Vacant(place) = before.entry(at) {
            place.insert(self.image.bytes(ByteOff(at), line as usize).await?.to_vec());
        }
        self.put_dinode(ino.0, &Dinode { gen_: dinode.gen_, ..Dinode::default() }).await
    }

    async fn remember_group(&mut self, c: ondisk::Cgx, before: &mut BTreeMap<u64, Vec<u8>>) -> Result<(), NotReplayed> {
        let at = self.geo.byte(self.geo.cgtod(c));
        if let Entry::Vacant(place) = before.entry(at.0) {
            place.insert(self.image.bytes(at, self.geo.cgsize as usize).await?.to_vec());
        }
        Ok(())
    }
}
