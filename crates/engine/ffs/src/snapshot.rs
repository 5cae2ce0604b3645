//! A volume with snapshots: its calls leave room for copies of what they write over, and its snapshots are read by
//! name.
//!
//! H1. A call begins only if the disk below can copy for the snapshots all that is dirty, all that running calls may
//!     make dirty, and all that this one may. What is dirty is bounded by its bytes: a buf of a fragment may need a
//!     copy of a whole block. A write that nobody counted fails, and the snapshot stays as it is.
//! H2. By name a snapshot is read on a read-only mount only: while the volume changes, what it shares with the volume
//!     is on the disk, and newer contents are in the cache.

use crate::Ffs;
use ordo_buf::{BufRef, Key, Role, Want};
use ordo_ondisk::dinode::flags;
use ordo_ondisk::snapshot::Held;
use ordo_ondisk::{FragNo, Lbn};
use ordo_ufs::Inode;
use ordo_vfs::{Refusal, Result};

/// The most bytes that a call writes while there are snapshots.
pub(crate) const MOST_AT_ONCE: usize = 1 << 20;
/// Blocks that a call may write over beside the data: directories, inodes, indirect blocks.
const OTHERS: u64 = 24;

impl Ffs {
    /// See H1.
    pub(crate) fn is_tight(&self) -> bool {
        let Some(copies) = &self.copies else { return false };
        let can = copies.left();
        let call = MOST_AT_ONCE as u64 / u64::from(self.g.bsize) + OTHERS;
        let dirty = self.cache.stats().dirty_bytes as u64 / u64::from(self.g.fsize);
        can < u64::MAX && can < dirty + call * (self.running.get() + 1)
    }

    /// A snapshot of the volume, whose pointers are no plain ones.
    pub(crate) fn is_snapshot(&self, inode: &Inode) -> bool {
        inode.dinode().flags & flags::SF_SNAPSHOT != 0
    }

    /// A pointer of a snapshot that leads to no block of its file.
    pub(crate) fn is_elsewhere(snapshot: bool, to: FragNo) -> bool {
        to.is_hole() || snapshot && matches!(Held::of(to), Held::Nothing)
    }

    /// A block of a snapshot, whose pointer is `at`.
    pub(crate) async fn snapshot_block(&self, inode: &Inode, lbn: u64, at: FragNo) -> Result<Option<BufRef>> {
        if !self.cache.health().is_read_only() {
            return Err(Refusal::NotPermitted.into());
        }
        let (at, len) = match Held::of(at) {
            Held::Nothing => return Ok(None),
            Held::Current if lbn >= self.g.snapshot_blocks() => return Ok(None),
            Held::Current => {
                let at = self.g.frag_of_block(lbn);
                (at, (self.g.byte(FragNo(self.g.size)).0 - self.g.byte(at).0).min(self.g.bsize.into()))
            }
            Held::Own(own) => (self.sane(inode.ino(), Lbn(lbn as i64), own, self.g.frag)?, self.g.bsize.into()),
        };
        let key = Key::File(inode.ino(), Lbn(lbn as i64));
        self.cache.read(Want { key, role: Role::Data, addr: self.addr(at), len: len as usize }).await.map(Some)
    }
}
