//! Files by number: what an NFS server's handle holds instead of a path.
//!
//! H1. The number and the generation come from outside, and may be guessed. What the layout has never written is not
//!     read: its block may hold garbage, which would be reported as damage of a sound volume.
//! H2. What was read is kept only if it is the file that was asked for. The block of a number that is being given to a
//!     new file may still hold the old one: kept, that would take the place of the new file's inode.
//! H3. A file without a name is stale, also while it is open: its next name, or its end, is not the handle's business,
//!     and one that is being freed must not get a new user.

use crate::{Inode, Layout, Ufs};
use ordo_ondisk::Ino;
use ordo_vfs::{Entry, NodeId, Refusal, Result};

impl<L: Layout> Ufs<L> {
    /// See [`ordo_vfs::FileSystem::by_number`].
    pub(crate) async fn by_number(&self, ino: u64, generation: u32) -> Result<Entry> {
        let ino = u32::try_from(ino).map(Ino).map_err(|_| Refusal::Stale)?;
        let is_it = |inode: &Inode| inode.dinode().gen_ == generation && inode.links_seen() > 0;
        let inode = match self.table.get(ino) {
            Some(inode) => inode,
            None if ino < Ino::ROOT || !self.layout.may_load(ino).await? => return Err(Refusal::Stale.into()),
            None => {
                let loaded = self.layout.load(ino).await?;
                if !is_it(&loaded) {
                    return Err(Refusal::Stale.into());
                }
                self.table.insert(loaded)
            }
        };
        // Nothing is awaited from here to the lookup: the file cannot be freed in between.
        if !is_it(&inode) {
            return Err(Refusal::Stale.into());
        }
        let attr = self.attr(&inode)?;
        self.table.reserve()?;
        self.table.look_up(ino);
        Ok(Entry { node: NodeId(u64::from(ino.0)), attr })
    }
}
