//! The layout of the fast file system: cylinder groups, fragments, clusters, and how a volume is made.
//!
//! This is the `ufs/ffs` of the BSD kernels. It decides where things are placed, and performs the steps for that in the
//! order of rule seam-0 (see [`ordo_buf::Scheme`]); the scheme decides when anything becomes durable.
//!
//! L1. The maps of a group, its counts, the summary array in memory and the totals agree at every await.
//! L2. A call that fails for lack of space has changed no map, no pointer and no size.
//! L3. Nothing read from the disk is trusted unchecked: a group is checked when it enters the cache, a pointer each
//!     time it is used. An error names the damage, and the damaged group is not used from then on.
//!
//! Where to start reading: [`Ffs`] below; `cg` for the accounting, `alloc` for the search, `balloc` for writing a block
//! of a file, `cut` for freeing blocks.

#![forbid(unsafe_code)]

mod alloc;
mod attrs;
mod balloc;
mod blkpref;
mod cg;
mod checked;
mod cluster;
mod copies;
mod cut;
mod dirpref;
mod group;
mod home;
mod inode;
mod layout;
mod leaks;
mod map;
mod mount;
mod newfs;
mod optim;
mod quota;
mod snapshot;
mod summary;
mod tails;
#[cfg(test)]
mod tests;
mod truncate;
mod undo;

pub use copies::Copies;
pub use leaks::{Extent, Piece, UsedInodes};
pub use mount::{MountError, Opening, is_whole, may_write};
pub use newfs::{NewfsError, fits, newfs};

use ordo_buf::{BufRef, Cache};
use ordo_ondisk::{Corrupt, Geometry, Superblock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A mounted volume's layout.
pub struct Ffs {
    cache: Rc<Cache>,
    g: Rc<Geometry>,
    shape: ordo_ufs::Shape,
    /// What users and groups use.
    pub(crate) quotas: ordo_ufs::Quotas,
    /// The superblock as it will be written next; the totals are filled in then.
    superblock: RefCell<Superblock>,
    /// Its buf, from the mount on.
    superblock_buf: BufRef,
    summary: summary::Summary,
    checked: checked::Checked,
    memory: optim::Memory,
    rng: RefCell<ordo_rt::Rng>,
    /// The room for what snapshots need.
    copies: Option<Copies>,
    /// Calls that run now, if there are snapshots.
    running: Cell<u64>,
    /// Held while a block of inodes is written for the first time.
    preparing: ordo_rt::sync::Mutex<()>,
    /// Inodes may have extended attributes.
    extattr: bool,
    /// The clean mark and flags that a clean unmount puts back.
    at_rest: Cell<AtRest>,
    /// What a crash may have leaked.
    suspects: leaks::Suspects,
    /// The scheme that keeps it (ffs-mount-5).
    keeper: ordo_ondisk::superblock::Keeper,
}

/// What a clean unmount restores (ffs-mount-2, ffs-mount-3).
#[derive(Debug, Clone, Copy)]
struct AtRest {
    clean: bool,
    softdep: bool,
}

impl Ffs {
    /// Sizes and addresses, fixed for the life of the mount.
    pub fn geometry(&self) -> &Geometry {
        &self.g
    }

    /// Sectors of 512 bytes in `frags` fragments.
    fn sectors(&self, frags: u32) -> u64 {
        u64::from(frags) * u64::from(self.g.fsize / 512)
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.cache.rt().wall().0
    }
}

/// Damage, as an error for callers.
#[cold]
fn corrupt(damage: Corrupt) -> ordo_vfs::Error {
    ordo_vfs::Error::corrupt(damage)
}
