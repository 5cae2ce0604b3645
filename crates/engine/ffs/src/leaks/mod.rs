//! What a crash has leaked: the maps behind the reclaim, which is a crate of its own (`ordo_reclaim`).
//!
//! A fragment has leaked if it was marked in use at the mount and nothing has pointed to it since. The list of suspects
//! begins with all bits set at that moment. What an inode points to is removed from it, and so is what a ticket names,
//! when the ticket is issued.
//!
//! K1. A live change makes nothing look leaked. What is allocated after the mount was not on the list, or was removed
//!     from it when it was freed. What is freed is removed when its ticket is issued, in the same turn in which the
//!     pointer is cleared.
//! K2. Any snapshot of the inode taken since the mount will do: a block that it points to both at the mount and at the
//!     end was never freed in between. So an image older than the buf does no harm.
//! K3. The list takes a bit per fragment, for groups that have anything on it, and is dropped when the reclaim ends.
//! K4. A group's block of such a volume may be torn: some of its sectors old, some new. Each bit of its two maps is
//!     then old or new, and soft updates makes both safe: a bit says "free" only after everything that pointed there
//!     was durably gone. So counts, run lengths and cluster map are rebuilt from the maps, and the block is accepted
//!     with any hash if everything that is constant in a volume's life is right. An inode beyond `cg_initediblk` of a
//!     torn block was never written, and is free.

mod groups;
mod recover;
mod suspects;

pub(crate) use suspects::Suspects;
pub use suspects::UsedInodes;

use crate::Ffs;
use ordo_ondisk::cg::{self, map};
use ordo_ondisk::{Dinode, Ino};

/// A bounded piece of a group's inodes.
#[derive(Debug, Default)]
pub struct Piece {
    /// Inodes that were in use at the mount, with their present contents.
    pub inodes: Vec<(Ino, Dinode)>,
    /// Index within the group at which the next piece begins; `None` for the last one.
    pub next: Option<u32>,
}

/// What an inode points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Its sectors of 512 bytes, including indirect blocks and attributes.
    pub sectors: u64,
    /// The block after its last stored one.
    pub end: u64,
}

impl Ffs {
    /// Repairs a torn group's block (K4). The caller has checked everything that is constant.
    fn mend_torn(&self, group: &mut cg::CgMut<'_>) {
        let (ready, ipg) = (group.view().initediblk(), self.g.ipg);
        if self.g.format == ordo_ondisk::Format::Ufs2 {
            map::fill(group.iused_mut(), ready, ipg.saturating_sub(ready), false);
        }
        let ndir = group.view().ndir();
        group.rebuild_counts(ndir);
    }
}
