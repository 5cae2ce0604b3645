//! What quotas ask of the layout: how much a write will take, and every inode in use.

use crate::Ffs;
use ordo_ondisk::{BlockPath, Cgx, Dinode, Format, Ino, Root};
use ordo_ufs::{Hold, Inode};
use ordo_vfs::{Caller, Error, Result};

impl Ffs {
    /// Reserves what a write to block `lbn` of a file takes, which will have `size` bytes (ufs-quota-2).
    #[inline]
    pub(crate) async fn hold_quota(
        &self,
        who: &Caller,
        inode: &Inode,
        path: &BlockPath,
        lbn: u64,
        size: u64,
    ) -> Result<Option<Hold<'_>>> {
        if !self.quotas.is_on() || who.uid == 0 {
            return Ok(None);
        }
        let frags = self.frags_of_write(inode, path, lbn, size).await?;
        self.quotas.reserve_for(who, inode, self.sectors(frags), self.now()).map(Some)
    }

    /// The block, the indirect blocks on its way that are missing, and what makes a fragment before it whole.
    async fn frags_of_write(&self, inode: &Inode, path: &BlockPath, lbn: u64, size: u64) -> Result<u32> {
        let last = self.g.lblkno(inode.size());
        let tail = match last {
            0..12 if last < lbn => self.direct_run(inode, last as usize)?.frags,
            _ => 0,
        };
        let whole = if tail > 0 { self.g.frag - tail } else { 0 };
        let own = match path.root {
            Root::Direct(i) => self.g.blkfrags(size, lbn).saturating_sub(self.direct_run(inode, i)?.frags),
            Root::Indirect(_) => {
                let walk = self.walk(inode, path).await?;
                let there = walk.count + usize::from(walk.count == path.depth() && !walk.pointer.is_hole());
                // OK to cast: a way has at most three indirect blocks.
                (path.depth() + 1 - there) as u32 * self.g.frag
            }
        };
        Ok(own + whole)
    }

    /// Shows every inode in use.
    pub(crate) async fn each_dinode(&self, show: &mut dyn FnMut(Ino, &Dinode)) -> Result<()> {
        for c in (0..self.g.ncg).map(Cgx) {
            self.each_dinode_of(c, &mut Err, show).await?;
        }
        Ok(())
    }

    /// The same of one group. Of a block of inodes that cannot be read, `unread` says whether to go on.
    pub(crate) async fn each_dinode_of(
        &self,
        c: Cgx,
        unread: &mut dyn FnMut(Error) -> Result<()>,
        show: &mut dyn FnMut(Ino, &Dinode),
    ) -> Result<()> {
        let ready = match self.g.format {
            Format::Ufs1 => self.g.ipg,
            // A group that cannot be read has no inodes that could be used.
            Format::Ufs2 => match self.group(c).await {
                Ok(group) => group.look(self, |cg| cg.initediblk()).min(self.g.ipg),
                Err(_) => return Ok(()),
            },
        };
        for first in (0..ready).step_by(self.g.inopb.max(1) as usize) {
            let start = Ino(c.0 * self.g.ipg + first);
            let block = match self.inode_block(start).await {
                Ok(block) => block,
                Err(error) => {
                    unread(error)?;
                    continue;
                }
            };
            let bytes = block.bytes();
            for i in first..(first + self.g.inopb).min(ready) {
                let ino = Ino(c.0 * self.g.ipg + i);
                let dinode = Dinode::decode(&bytes[self.g.inode_at(ino).1..], &self.g, ino);
                if let Some(dinode) = dinode.ok().filter(|dinode| dinode.mode != 0 && ino >= Ino::ROOT) {
                    show(ino, &dinode);
                }
            }
        }
        Ok(())
    }
}
