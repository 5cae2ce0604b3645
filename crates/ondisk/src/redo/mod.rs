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

mod codec;
mod diff;
mod parts;

pub use codec::Undecodable;
pub use diff::{differences, pieces_of};
pub use parts::{Joined, parts};

use crate::{FragNo, Ino};

/// The file of a log, in the root directory.
pub const FILE: &str = ".ordofs-log";
/// The flags by which it is known: it is not changed, nor dumped, by whoever has no business with it.
pub const FLAGS: u32 = crate::suj::FLAGS;
/// Its mode.
pub const MODE: u16 = crate::suj::MODE;

/// Some bytes of a block, and where in it they begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Bytes from the begin of the block.
    pub at: u32,
    /// What they are now.
    pub bytes: Vec<u8>,
}

/// What became of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Where on the volume it lies, in bytes.
    pub at: u64,
    /// Its length in bytes.
    pub len: u32,
    /// All bytes that no piece has are zero; else they are as they were.
    pub fresh: bool,
    /// What changed, in the order of the places.
    pub pieces: Vec<Piece>,
}

/// Something that waits to be freed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// Runs of fragments: address and how many.
    Blocks(Vec<(FragNo, u32)>),
    /// An inode's number; of a directory the group counts one less.
    Inode(Ino, bool),
}

/// A transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Blocks that it changed.
    pub blocks: Vec<Changed>,
    /// All that waits to be freed (X2).
    pub waiting: Vec<Waiting>,
    /// All inodes that have no name: open files, which a crash frees.
    pub nameless: Vec<Ino>,
    /// Places, in bytes, with their lengths, that were written past the log: what it has of them does not count any more.
    pub void: Vec<(u64, u64)>,
}
