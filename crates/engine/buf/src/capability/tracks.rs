//! Records that a scheme keeps in memory, of bufs and of inodes.

use crate::BufRef;
use ordo_ondisk::Ino;

/// Keeps records of bufs until these have landed, each found by the buf's slot. `softupdates` (dependencies), `suj`,
/// and the three journals (members of transactions).
pub trait TracksBufs {
    /// Whether a change waits until sent writes are durable: the syncer then flushes once a second.
    fn wants_flush(&self) -> bool;

    /// `buf`, whose slot is not 0, was discarded: its contents were freed, and will not be written any more. The step
    /// that reports the freeing of its blocks comes next.
    fn discarded(&self, buf: &BufRef);
}

/// How far an unlink has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// The name was found. The inode is read next.
    Found,
    /// The inode was read. The name is removed next.
    Read,
}

/// Keeps records of inodes. `softupdates` and `suj` (dependencies), and `chains-*` (the writes that moved a directory).
pub trait TracksInodes {
    /// Whether a directory has moved, and the disk may still have it at its old place. Checked before it is moved
    /// again, replaced or removed, and before another directory moves below it: each of these then waits for a sync.
    fn is_moving(&self, dir: Ino) -> bool;

    /// A hint only: an unlink is about to remove a name of this inode. A scheme may prefetch its records of the inode.
    fn look_ahead(&self, ino: Ino, ahead: Ahead);
}
