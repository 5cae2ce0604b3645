//! What a disk learns that keeps copies of blocks for a journal above it.

use crate::{ByteRange, DiskError, DiskOff};
use std::future::Future;
use std::pin::Pin;

/// A block of a committed transaction, as the journal has stored it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Its home location.
    pub home: DiskOff,
    /// Where the journal has it. `None` if the bytes there are not those of the block.
    pub at: Option<DiskOff>,
    /// CRC-32C of the block.
    pub sum: u32,
}

/// What [`KeepsCopies::go_home`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Homeward {
    /// All, durably: the volume is to be marked clean.
    All,
    /// What the journal will overwrite next, durably: it has dropped transactions, and more will come.
    Next,
    /// A part: there is nothing else to do.
    Few,
    /// Nothing, as the journal has something to do. A disk that makes copies for readers may, if nobody reads.
    Nothing,
}

/// A disk below a journal that keeps the journal's blocks as copies of the blocks at home. The journal tells it what
/// only the journal knows.
pub trait KeepsCopies {
    /// A transaction is durable. What it says of `revoked` places came before its blocks.
    fn committed(&self, seq: u64, stored: &[Stored], revoked: &[ByteRange]);

    /// Makes durable what the disk knows of the transactions so far: called before the journal drops the first of them.
    fn settle(&self) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>>;

    /// A new journal with this name begins, while no home lacks anything. With `contents`, those of files go into it,
    /// and few are written past it.
    fn begins(&self, id: u64, contents: bool) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>>;

    /// Bytes of the journal that stay free between its end and its tail. A disk that moves pieces of the journal as it
    /// enters them would leave behind what still counts of a piece in which both are.
    fn apart(&self) -> u64 {
        0
    }

    /// Writes to their homes what only the copies have.
    fn go_home(&self, what: Homeward) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>>;
}
