//! The first pass: all inodes that were in use at the mount, group by group.

use crate::Phase;
use crate::reclaimer::{Next, Pass, damage};
use ordo_buf::{CallKind, Fields};
use ordo_ffs::Extent;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Cgx, Dinode, Ino};
use ordo_ufs::{Inode, Layout};
use ordo_vfs::{Caller, Error, Refusal, Result};
use std::rc::Rc;

impl Pass<'_> {
    pub(crate) async fn survey_step(self, c: Cgx, from: u32) -> Result<()> {
        let used = self.reclaimer.scan(|scan| scan.names.used(c)).unwrap_or_default();
        let piece = self.layout().inodes(c, &used, from).await?;
        self.reclaimer.count(|progress| progress.inodes += piece.inodes.len() as u64);
        for (ino, dinode) in piece.inodes {
            if self.see(ino, dinode).await? {
                self.mend(ino).await?;
            }
        }
        let groups = self.layout().geometry().ncg;
        let next = match piece.next {
            Some(from) => Next::Survey(c, from),
            None if c.0 + 1 < groups => Next::Survey(Cgx(c.0 + 1), 0),
            None => {
                self.reclaimer.phase(Phase::Names, Next::Walk);
                return Ok(());
            }
        };
        self.reclaimer.next.set(Some(next));
        Ok(())
    }

    /// Examines one inode: removes what it points to from the list, and records its links. `true` if its size or its
    /// count of blocks is wrong.
    ///
    /// A call that is changing an inode has it in memory, and locked. An inode that is not in memory is as in its
    /// block, or was so since the mount, which is enough.
    async fn see(self, ino: Ino, dinode: Dinode) -> Result<bool> {
        if dinode.mode == 0 {
            // Only its bit is in use, unless it was freed since.
            self.reclaimer.scan(|scan| scan.names.touch(ino));
            return Ok(false);
        }
        let live = match self.fs.in_memory(ino) {
            Some(inode) => Some(inode),
            None if has_tree(&dinode) => match self.fs.inode(ino).await {
                Ok(inode) => Some(inode),
                Err(Error::Refused(Refusal::Stale)) => return Ok(false),
                Err(error) => return Err(error),
            },
            None => None,
        };
        let Some(inode) = live else {
            let inode = Inode::new(ino, dinode);
            let extent = self.layout().refer(&inode).await?;
            return self.note(&inode, extent);
        };
        let _shared = inode.lock.read().await;
        if inode.kind().is_none() {
            return Ok(false);
        }
        let extent = self.layout().refer(&inode).await?;
        self.note(&inode, extent)
    }

    fn note(self, inode: &Inode, extent: Extent) -> Result<bool> {
        let nlink = inode.dinode().nlink;
        self.reclaimer.scan(|scan| scan.names.saw(inode.ino(), nlink, inode.is_dir()));
        let bsize = u64::from(self.layout().geometry().bsize);
        if self.ends_in_hole(inode, extent) && inode.size() <= 12 * bsize {
            return Err(damage(format_args!("inode {} ends in a hole", inode.ino().0)));
        }
        let stores = inode.dinode().has_blocks(self.layout().geometry());
        // Only this check shows blocks beyond the size: the count of sectors may include them, and be right.
        let beyond = stores && extent.end > inode.size().div_ceil(bsize);
        Ok(beyond || self.ends_in_hole(inode, extent) || inode.dinode().blocks != extent.sectors)
    }

    fn ends_in_hole(self, inode: &Inode, extent: Extent) -> bool {
        let bsize = u64::from(self.layout().geometry().bsize);
        let stores = inode.dinode().has_blocks(self.layout().geometry());
        stores && extent.end < inode.size().div_ceil(bsize)
    }

    /// Repairs a size beyond the last block, or a wrong count of blocks: what soft updates leaves of an inode whose
    /// indirect blocks were not written in time.
    async fn mend(self, ino: Ino) -> Result<()> {
        let inode = match self.fs.inode(ino).await {
            Ok(inode) => inode,
            Err(Error::Refused(Refusal::Stale)) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.fs
            .call(CallKind::Reclaim, async |op| {
                let _alone = inode.lock.write().await;
                if inode.kind().is_none() {
                    return Ok(());
                }
                // The blocks beyond the size first: they would hide that the file ends in a hole.
                self.layout().cut_beyond(op, &inode).await?;
                let extent = self.layout().refer(&inode).await?;
                if self.ends_in_hole(&inode, extent) {
                    let who = Caller { privileged: true, ..Caller::default() };
                    let end = extent.end * u64::from(self.layout().geometry().bsize);
                    self.layout().truncate(op, &who, &inode, end).await?;
                }
                let sectors = self.layout().refer(&inode).await?.sectors;
                inode.dinode_mut().blocks = sectors;
                self.fs.changed(op, &inode, Fields::Times).await?;
                self.reclaimer.count(|progress| progress.inodes_mended += 1);
                Ok(())
            })
            .await
    }

    /// The inode of a suspect; `None` if it is free now.
    pub(crate) async fn suspect(self, ino: Ino) -> Result<Option<Rc<Inode>>> {
        match self.fs.inode(ino).await {
            Ok(inode) => Ok(Some(inode)),
            Err(Error::Refused(Refusal::Stale)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether its pointers can only be read a block at a time.
fn has_tree(dinode: &Dinode) -> bool {
    let stores = matches!(dinode.kind(), mode::REG | mode::DIR | mode::LNK);
    stores && dinode.ib.iter().any(|at| !at.is_hole())
}
