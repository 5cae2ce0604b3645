//! The layout of the fast file system: cylinder groups, fragments, clusters, and how a volume is made.
//!
//! This is the `ufs/ffs` of the BSD kernels. It knows where things go, and performs what that takes in the order of rule
//! S0 (see [`buf::Scheme`]); when anything becomes durable is the scheme's business.
//!
//! L1. The maps of a group, its counts, the summary array in memory and the totals agree at every await.
//! L2. A call that fails for want of space has changed no map, no pointer and no size.
//! L3. Nothing read from the disk is believed unseen: a group is checked when it comes into the cache, a pointer each
//!     time that it is used. What is wrong is named in an error, and its group is left alone from then on.
//!
//! Where to start reading: [`Ffs`] below; `cg` for the accounting, `alloc` for the search, `balloc` for how a block of a
//! file comes to be, `cut` for how it goes.

#![forbid(unsafe_code)]

mod alloc;
mod attrs;
mod balloc;
mod blkpref;
mod cg;
mod cluster;
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
mod summary;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod truncate;
mod undo;

pub use dirpref::Spread;
pub use mount::{MountError, Opening, may_write};
pub use newfs::{NewfsError, newfs};

use buf::{BufRef, Cache};
use ondisk::{Corrupt, Geometry, Superblock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A mounted volume's layout.
pub struct Ffs {
    cache: Rc<Cache>,
    g: Rc<Geometry>,
    /// The superblock as it will be written next; the totals are put in then.
    superblock: RefCell<Superblock>,
    /// Its buf, from the mount on.
    superblock_buf: BufRef,
    summary: summary::Summary,
    checked: group::Checked,
    memory: alloc::Memory,
    rng: RefCell<rt::Rng>,
    spread: Spread,
    /// Held while a block of inodes is written for the first time.
    preparing: rt::sync::Mutex<()>,
    /// Inodes may have extended attributes.
    extattr: bool,
    /// The clean mark and flags with which an orderly unmount leaves the volume.
    at_rest: Cell<mount::AtRest>,
    /// What a crash may have left in use.
    suspects: leaks::Suspects,
    /// Who keeps it (V5).
    keeper: ondisk::superblock::Keeper,
}

impl Ffs {
    /// Sectors of 512 bytes in so many fragments.
    fn sectors(&self, frags: u32) -> u64 {
        u64::from(frags) * u64::from(self.g.fsize / 512)
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.cache.rt().wall().0
    }
}

/// Damage as the callers know it.
#[cold]
fn corrupt(damage: Corrupt) -> vfs::Error {
    vfs::Error::corrupt(damage)
}
