//! Calls that remove names: unlink and rmdir.

use crate::{Layout, Ufs, attr};
use ordo_buf::{Ahead, CallKind, Freed};
use ordo_vfs::{Name, NodeId, Refusal, Result};

impl<L: Layout> Ufs<L> {
    /// Removes a name that is not a directory's.
    pub(crate) async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        let dir = self.directory(dir).await?;
        if name.is_dot_or_dotdot() {
            return Err(Refusal::IsDirectory.into());
        }
        self.call(CallKind::Unlink, async |op| {
            let _alone = dir.lock.write().await;
            let now = self.now();
            let found = self.must_find(&dir, name.bytes()).await?;
            self.cache().capabilities().look_ahead(found.ino, Ahead::Found);
            let inode = self.inode(found.ino).await?;
            self.cache().capabilities().look_ahead(found.ino, Ahead::Read);
            attr::may_unlink(&dir, &inode)?;
            if inode.is_dir() {
                return Err(Refusal::IsDirectory.into());
            }
            if inode.links_seen() <= 1 {
                self.layout.can_be_released(&inode)?;
            }
            self.links_leave(op, &inode, 1).await?;
            let ticket = self.cache().ledger().issue(Freed::DropLink { ino: found.ino, links: 1, parent: None });
            let ripe = self.clear(op, &dir, name.bytes(), found, ticket, now).await?;
            self.redeem(op, ripe, now).await
        })
        .await
    }

    /// Removes an empty directory.
    pub(crate) async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        let dir = self.directory(dir).await?;
        match name.bytes() {
            b"." => return Err(Refusal::Invalid.into()),
            b".." => return Err(Refusal::NotEmpty.into()),
            _ => {}
        }
        self.call_at_rest(CallKind::Rmdir, async |op| {
            let _alone = dir.lock.write().await;
            let now = self.now();
            let found = self.must_find(&dir, name.bytes()).await?;
            let inode = self.inode(found.ino).await?;
            attr::may_unlink(&dir, &inode)?;
            if !inode.is_dir() {
                return Err(Refusal::NotDirectory.into());
            }
            if found.ino == dir.ino() {
                return Err(Refusal::Invalid.into());
            }
            if self.is_moving(&inode) {
                return Ok(false);
            }
            let ripe = {
                // The child's lock, too: no call enters a name between the check and the removal.
                let _child = inode.lock.write().await;
                if !self.is_empty(&inode).await? {
                    return Err(Refusal::NotEmpty.into());
                }
                self.layout.can_be_released(&inode)?;
                let links = inode.links_seen();
                let before = dir.dinode().nlink;
                self.tell_links(op, &dir, before).await?;
                self.links_leave(op, &inode, links).await?;
                dir.links_leave(1);
                let freed = Freed::DropLink { ino: found.ino, links, parent: Some(dir.ino()) };
                let ticket = self.cache().ledger().issue(freed);
                self.clear(op, &dir, name.bytes(), found, ticket, now).await?
            };
            self.redeem(op, ripe, now).await?;
            Ok(true)
        })
        .await
    }
}
