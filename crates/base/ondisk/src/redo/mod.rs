//! The contents of a log of transactions: bytes of blocks to be written again, and what still waits to be freed.
//!
//! A transaction has all changes of some calls: a replay applies all of it or nothing. The bytes are absolute, so a
//! transaction may be replayed over any mixture of older states of its blocks, and more than once.
//!
//! X1. Transactions are replayed in order, starting from one at which the volume had all changes of those before it.
//! X2. Each transaction has the complete list of what waits to be freed, so only the last one's is carried out: the
//!     maps do not reflect it yet.
//! X3. What is on that list has no contents any more. Bytes for it, from its own transaction or an earlier one, are not
//!     written: once free, the place may have been given to a file, whose contents no log has.
//! X4. No input is trusted: lengths are bounded by the bytes that exist, offsets by their block.

mod codec;
mod diff;
mod parts;

pub use codec::Undecodable;
pub use diff::{differences, pieces_of};
pub use parts::{Joined, parts};

use crate::{FragNo, Ino};

/// The file of a log, in the root directory.
pub const FILE: &str = ".ordofs-log";
/// The file of an active journal.
pub const ACTIVE: &str = ".ordofs-active";
/// The flags by which the log is recognised: other programs do not change or dump it.
pub const FLAGS: u32 = crate::suj::FLAGS;
/// Its mode.
pub const MODE: u16 = crate::suj::MODE;

/// A part of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the block, in bytes.
    pub at: u32,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

/// The changes of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its place on the volume, in bytes.
    pub at: u64,
    /// Its length in bytes.
    pub len: u32,
    /// All bytes outside the pieces are zero; otherwise they are unchanged.
    pub fresh: bool,
    /// The changes, in order of offset.
    pub pieces: Vec<Piece>,
}

/// A resource that waits to be freed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// Runs of fragments: address and number.
    Blocks(Vec<(FragNo, u32)>),
    /// An inode's number; `true` for a directory, which also decrements the group's count of directories.
    Inode(Ino, bool),
}

/// A transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Blocks that it changed.
    pub blocks: Vec<Changed>,
    /// Everything that waits to be freed (X2).
    pub waiting: Vec<Waiting>,
    /// All inodes without a name: open files, which a crash frees.
    pub nameless: Vec<Ino>,
    /// Places and lengths, in bytes, that were written without the log: its earlier bytes for them are void.
    pub void: Vec<(u64, u64)>,
}
