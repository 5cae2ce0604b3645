//! The layout of a log-structured file system: BSD's LFS, versions 1 and 2 and the form with 64-bit addresses, after
//! Rosenblum and Ousterhout 1992 and Seltzer and others 1993.
//!
//! Nothing has a place. What is written goes to the head of the log, in partial segments: a summary, then the blocks
//! that it describes, then the inodes that lead to them. The inode map and the segment usage table are a file, the
//! *ifile*; a checkpoint writes it, and a superblock that leads to it. What was written after the last checkpoint is
//! found again by reading on where it ends: roll-forward.
//!
//! L1. A pointer changes when its block is written, in [`Home::shape`](ordo_buf::Home::shape), and when a call frees
//!     the block; never in between. So an inode that is written leads to blocks that are on their way to the disk
//!     before it, and never to an old one that was freed.
//! L2. A file leaves whole: all its dirty blocks, the indirect blocks above them, its inode. So the length of its last
//!     block on the disk follows from the size in its inode there.
//! L3. Inodes that calls on directories changed leave together, in one chain of partial segments, and at a moment when
//!     no call runs (`gate`). After a crash a call has happened as a whole or not at all.
//! L4. The usage table counts what the inodes on the disk lead to, not what those in memory do. So it is right at
//!     every checkpoint, and a segment is empty when nothing on the disk leads into it.
//! L5. A segment is written again only when it was empty at two checkpoints, one for each superblock: neither of them
//!     leads into it, and a crash goes back to one of them.
//! L6. Nothing read from the disk is trusted: superblock, summaries, inodes and pointers are checked when they are
//!     used.
//!
//! Where to start reading: [`Lfs`], `log` for the state, `segment` for the writer, `checkpoint`, `rollforward`.

#![forbid(unsafe_code)]

mod adopt;
mod block;
mod checkpoint;
mod cleaner;
mod cut;
mod gate;
mod head;
mod home;
mod ifile;
mod inode;
mod layout;
mod log;
mod mount;
mod order;
mod rollforward;
mod segment;
mod space;

pub use cleaner::{Coalesced, Policy};
pub use mount::{Around, OpenOptions, Opened, Settings, open};
pub use order::promises;

use ordo_buf::Cache;
use std::rc::Rc;

/// A mounted volume's layout.
pub struct Lfs {
    cache: Rc<Cache>,
    shape: ordo_ufs::Shape,
    log: Rc<log::Log>,
}

/// The rules behind the order of the log: name, and what it says. The explorer drops one at a time, and must find out.
pub const RULES: &[(&str, &str)] = &[
    ("superblock-after-log", "a superblock is written when all partial segments that it refers to are durable"),
    ("superblocks-in-turn", "the two superblocks are written in turn, so that a torn one leaves the other"),
    ("sync-in-both", "after a sync both superblocks stand for its checkpoint or a later one"),
    ("dirop-together", "inodes that calls on directories have changed leave in one chain"),
    ("chain-ends", "a chain of partial segments without its end is dropped whole"),
    ("pseg-checksum", "the roll-forward believes a partial segment only if its checksums are right"),
    ("fsync-waits-for-all", "fsync waits until all partial segments before its own are durable"),
    ("mark-first", "both superblocks lose the mark of a clean unmount before anything else is written"),
    ("serial-jumps", "after a roll-forward the serial number goes on beyond those of a dropped tail"),
];

/// What the log has done since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Segments that became usable again, those in which nothing was alive included.
    pub segments_cleaned: u64,
    /// Segments that the cleaner read.
    pub segments_read: u64,
    /// Segments that the log has entered.
    pub segments_written: u64,
    /// Bytes written and bytes read by the cleaner, over bytes of new file data; `None` before there is any
    /// (Rosenblum and Ousterhout 1992, section 3.4).
    pub write_cost: Option<f64>,
    /// The parts of the write cost, in bytes: written by all, read by the cleaner, and new data of files.
    pub bytes_written: u64,
    /// See above.
    pub bytes_read: u64,
    /// See above.
    pub bytes_new: u64,
    /// Bytes that were alive in the segments that the cleaner read.
    pub bytes_alive: u64,
}

impl Lfs {
    /// What the log has done since the mount.
    pub fn counters(&self) -> Counters {
        let counts = self.log.counts.get();
        let moved = (counts.bytes_written + counts.bytes_read) as f64;
        let new = counts.bytes_of_files.saturating_sub(counts.bytes_moved);
        let write_cost = (new > 0).then(|| moved / new as f64);
        let log::Counts { segments_cleaned, segments_read, segments_written, bytes_written, bytes_read, .. } = counts;
        Counters {
            segments_cleaned,
            segments_read,
            segments_written,
            write_cost,
            bytes_written,
            bytes_read,
            bytes_new: new,
            bytes_alive: counts.bytes_alive,
        }
    }

    /// Segments that can be written now.
    pub fn clean_segments(&self) -> u32 {
        u32::try_from(self.log.ifile.borrow().sums().clean).unwrap_or(u32::MAX)
    }

    /// The usage table, segment by segment, and the segment in which the log goes on.
    pub fn segments(&self) -> (Vec<ordo_ondisk::lfs::SegUse>, Option<ordo_ondisk::lfs::SegNo>) {
        (self.log.ifile.borrow().all_usage().to_vec(), self.log.current())
    }

    /// Bytes that are alive on the disk, and bytes of all segments.
    pub fn used(&self) -> (u64, u64) {
        let live = self.log.ifile.borrow().sums().live;
        (live, u64::from(self.log.g.nseg) * u64::from(self.log.g.ssize))
    }

    /// Writes files whose blocks are far apart in the log again, each in one piece.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn coalesce(&self) -> ordo_vfs::Result<Coalesced> {
        self.log.coalesce().await
    }

    /// Cleans as long as that makes segments clean.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `Corrupt`.
    pub async fn clean(&self) -> ordo_vfs::Result<()> {
        self.log.clean_all().await
    }

    /// The volume's geometry.
    pub fn geometry(&self) -> &ordo_ondisk::lfs::Geometry {
        &self.log.g
    }
}
