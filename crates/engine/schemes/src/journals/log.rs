//! What a journal needs from its log.

use super::txn::{Captured, Txn};
use crate::DataMode;
use ordo_buf::{Boxed, LogFile};
use ordo_disk::{DiskOff, Homeward};
use ordo_ondisk::Ino;
use ordo_ondisk::redo::Waiting;
use ordo_vfs::Result;

/// A transaction to be written to the log.
pub(crate) struct Capture {
    pub(crate) txn: Txn,
    pub(crate) blocks: Vec<Captured>,
    pub(crate) waiting: Vec<Waiting>,
    /// Inodes of files without a name. If there are any, a replay writes a transaction of its own (journals-8).
    pub(crate) nameless: Vec<Ino>,
    /// Contents written in place without the log: older copies of them in the log are void.
    pub(crate) void: Vec<(DiskOff, u64)>,
}

/// A log of transactions.
pub(crate) trait Log: Sized + 'static {
    /// A transaction as it is stored in the log.
    type Form;

    /// It may lie in a stream.
    const IN_STREAM: bool = false;

    /// Creates an empty log and begins it. Returns a number that distinguishes it from all others.
    fn begin(file: LogFile, data: DataMode) -> Boxed<'static, Result<(Self, u64)>>;

    /// Encodes a transaction for this log.
    fn form(&self, capture: &Capture) -> Self::Form;

    /// There is room for it, and after it for what a replay would write (journals-8).
    fn has_room_for(&self, form: &Self::Form) -> bool;

    /// There is not that much room, or hardly more, before [`Log::reclaim`] makes some.
    fn is_full_for(&self, form: &Self::Form) -> bool;

    /// Writes a transaction; it is durable when this returns. One with the same number as the last one replaces it.
    ///
    /// # Errors
    /// `Io`, and then nothing more can be written.
    fn write(&self, txn: Txn, form: Self::Form) -> Boxed<'_, Result<()>>;

    /// The most bytes of bufs that a transaction may have changed.
    fn most(&self) -> usize;

    /// The most that it may have changed when a call begins.
    fn most_before_a_call(&self) -> usize {
        self.most()
    }

    /// So little room is left that the log should be checkpointed.
    fn is_short(&self) -> bool;

    /// The transactions before this one are not needed any more. With `now` their room is free when this returns.
    ///
    /// # Errors
    /// `Io`.
    fn reclaim(&self, before: Txn, now: bool) -> Boxed<'_, Result<()>>;

    /// Makes durable what the disk below knows of the transactions, if it is one that keeps copies.
    ///
    /// # Errors
    /// `Io`.
    fn settle(&self) -> Boxed<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Nothing in it is needed any more, and the volume is about to be marked clean.
    ///
    /// # Errors
    /// `Io`.
    fn end_here(&self) -> Boxed<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Writes to their homes what only the copies of such a disk have.
    ///
    /// # Errors
    /// `Io`.
    fn go_home(&self, what: Homeward) -> Boxed<'_, Result<()>> {
        let _ = what;
        Box::pin(async { Ok(()) })
    }

    /// Its counters, by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
