//! Files by number: what an NFS server's handle holds instead of a path.
//!
//! H1. The number and the generation come from outside, and may be guessed. What the layout has not marked as used is
//!     not read: its block may hold garbage, which would be reported as damage of a sound volume.
//! H2. A file without a name is stale, also while it is open: its next name, or its end, is not the handle's business,
//!     and one that is being freed must not get a new user.

use crate::{Layout, Ufs};
use ordo_ondisk::Ino;
use ordo_vfs::{Entry, NodeId, Refusal, Result};

impl<L: Layout> Ufs<L> {
    /// See [`ordo_vfs::FileSystem::by_number`].
    pub(crate) async fn by_number(&self, ino: u64, generation: u32) -> Result<Entry> {
        let ino = u32::try_from(ino).map(Ino).map_err(|_| Refusal::Stale)?;
        if ino < Ino::ROOT || (self.table.get(ino).is_none() && !self.layout.is_in_use(ino).await?) {
            return Err(Refusal::Stale.into());
        }
        let inode = self.inode(ino).await?;
        let attr = self.attr(&inode)?;
        // Nothing is awaited from here to the lookup: the file cannot be freed in between.
        if attr.generation != generation || attr.nlink == 0 {
            return Err(Refusal::Stale.into());
        }
        self.table.reserve()?;
        self.table.look_up(ino);
        Ok(Entry { node: NodeId(u64::from(ino.0)), attr })
    }
}
