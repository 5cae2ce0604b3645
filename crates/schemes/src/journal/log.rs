//! What a journal asks of its log.

use super::{Captured, Txn};
use buf::{Boxed, LogFile};
use disk::DiskOff;
use ondisk::Ino;
use ondisk::redo::Waiting;
use vfs::Result;

/// A transaction, on its way into the log.
pub(crate) struct Capture {
    pub(crate) txn: Txn,
    pub(crate) blocks: Vec<Captured>,
    pub(crate) waiting: Vec<Waiting>,
    /// Of files without a name. Where there are any a replay writes a transaction of its own (Q8).
    pub(crate) nameless: Vec<Ino>,
    /// Contents that went home past the log: older copies of them in it do not count any more.
    pub(crate) void: Vec<(DiskOff, u64)>,
}

/// A log of transactions.
pub(crate) trait Log: Sized + 'static {
    /// A transaction as it lies in the log.
    type Form;

    /// Makes it, empty, and begins it. Returns what tells it from all others.
    fn begin(file: LogFile) -> Boxed<'static, Result<(Self, u64)>>;

    /// A transaction for this log.
    fn form(&self, capture: &Capture) -> Self::Form;

    /// There is room for this one, and behind it for what a replay would write (Q8).
    fn has_room_for(&self, form: &Self::Form) -> bool;

    /// There is no such room, or little more, before [`Log::reclaim`] has made some.
    fn is_full_for(&self, form: &Self::Form) -> bool;

    /// Writes a transaction; it is durable when this returns. One with the number of the last one takes its place.
    ///
    /// # Errors
    /// `Io`, and then nothing more can be written.
    fn write(&self, txn: Txn, form: Self::Form) -> Boxed<'_, Result<()>>;

    /// Bytes of bufs that a transaction may have changed, at most.
    fn most(&self) -> usize;

    /// So little room is left that what the log holds should go home.
    fn is_short(&self) -> bool;

    /// The transactions before this one are not needed. With `now` their room is free when this returns.
    ///
    /// # Errors
    /// `Io`.
    fn reclaim(&self, before: Txn, now: bool) -> Boxed<'_, Result<()>>;

    /// What it has counted, by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
