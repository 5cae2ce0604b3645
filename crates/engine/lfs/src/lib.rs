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
mod counters;
mod cut;
mod disk;
mod gate;
mod head;
mod home;
mod ifile;
mod inode;
mod layout;
mod log;
mod mount;
mod options;
mod order;
mod rollforward;
mod segment;
mod space;

pub use cleaner::Coalesced;
pub use counters::Counters;
pub use log::Lfs;
pub use mount::{Opened, open};
pub use options::{Around, OpenOptions, Policy, Settings};
pub use order::{RULES, promises};
