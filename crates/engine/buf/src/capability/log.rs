//! Keeping a log.

use crate::Boxed;
use ordo_disk::{DiskOff, KeepsCopies, LogStream, Queue};
use ordo_vfs::Result;
use std::rc::Rc;

/// The kind of log that a scheme keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// FreeBSD's log of intents, in addition to the order of soft updates.
    Intents,
    /// A redo log. After a crash the volume is useless until the log has been replayed.
    Redo,
    /// A redo log in the group journals of an active disk.
    Active,
}

/// Where a scheme keeps a log of its own: in a file of the volume, or on another disk.
#[derive(Clone)]
pub struct LogFile {
    /// The queue of the disk that holds the log: the volume's own, or another one.
    pub on: Queue,
    /// Where it lies, in order: address and bytes.
    pub extents: Vec<(DiskOff, u64)>,
    /// Bytes of a block of the volume.
    pub block: u32,
    /// Bytes of a fragment of it.
    pub frag: u32,
    /// Distinguishes this mount from earlier ones: the `fs_mtime` that it sets.
    pub stamp: i64,
    /// The byte order of the volume.
    pub endian: ordo_ondisk::Endian,
    /// The disk below, if it keeps what is logged as copies.
    pub copies: Option<Rc<dyn KeepsCopies>>,
    /// The stream in which the log lies instead: then there are no extents.
    pub stream: Option<InStream>,
}

/// A log in a stream, and what the volume knows of it.
#[derive(Clone)]
pub struct InStream {
    /// The stream.
    pub stream: LogStream,
    /// Tells the volume from others.
    pub volume: u64,
    /// The log that its superblock has named last.
    pub before: Option<u64>,
    /// Nothing has written to the volume since that log ended.
    pub untouched: bool,
    /// Nothing is written to the volume that no log sees.
    pub all_logged: bool,
}

/// Keeps a log of its own. `suj` (intents), and `journal-file`, `wafs`, `block-journal` and `active` (redo): a mount
/// after a crash replays it.
pub trait KeepsLog {
    /// The log it needs; the scheme cannot be mounted where there is no place for one.
    fn kind(&self) -> LogKind;

    /// Whether its log may lie in a stream.
    fn takes_stream(&self) -> bool;

    /// Gives the scheme the place for the log of this mount. Called once, before the volume is in use, and not if the
    /// volume cannot have a log. Returns a number that distinguishes this log from all others, once the log exists and
    /// is empty.
    fn begin_log(&self, file: LogFile) -> Boxed<'static, Result<u64>>;

    /// Everything is at home, and the volume is about to be marked clean: what the disk below the log knows becomes
    /// durable.
    ///
    /// # Errors
    /// `Io`.
    fn at_rest(&self) -> Boxed<'static, Result<()>>;

    /// Whether the log is so full that calls must wait until a sync has emptied it.
    fn wants_sync(&self) -> bool;

    /// Changes that it has recorded so far.
    fn changes(&self) -> u64;
}
