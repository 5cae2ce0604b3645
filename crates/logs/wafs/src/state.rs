//! What a mounted log has in memory. Appending (`log`), making durable (`commit`) and reading all work on it.

use crate::Lsn;
use crate::error::Damage;
use crate::marks::Marks;
use crate::superblock::Superblock;
use ordo_disk::{Block, DiskError, Written};
use ordo_ring::Circle;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use ordo_rt::sync::{Mutex, Notify};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// When a record is durable, for [`Log::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it returns; each record is a write of its own.
    Sync,
    /// Some time later, in order. [`Log::force`] and [`Log::unmount`] make it durable.
    Async,
    /// When it returns; one write serves all waiting callers. The next write begins when the one before it is durable,
    /// and `linger` later, so that more records join it.
    Group {
        /// Zero where the disk's latency gathers enough records.
        linger: Duration,
    },
}

impl Mode {
    /// Group commit without an extra wait.
    pub const GROUP: Mode = Mode::Group { linger: Duration::ZERO };
}

/// Space of a log, in bytes including headers and padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Total.
    pub size: u64,
    /// What an append could use now.
    pub free: u64,
    /// What [`Log::checkpoint`] would add.
    pub reclaimable: u64,
}

/// A mounted log. Clones are handles of the same log.
#[derive(Clone)]
pub struct Log(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) circle: Circle,
    pub(crate) mode: Mode,
    pub(crate) read_only: bool,
    pub(crate) id: u64,
    pub(crate) epoch: u32,
    pub(crate) chunk: usize,
    pub(crate) recovery: Recovery,
    pub(crate) state: RefCell<State>,
    /// The superblock on the disk; the lock serializes its writers (ring-1).
    pub(crate) superblock: Mutex<Superblock>,
    /// Wakes the syncer when durability is requested.
    pub(crate) bell: Rc<Notify>,
    /// Notified when more is durable, more is free, or the log has failed.
    pub(crate) progress: Notify,
    /// Serializes commits in mode sync.
    pub(crate) turn: Mutex<()>,
    /// A superblock that will free room is in flight.
    pub(crate) checkpointing: Cell<bool>,
}

pub(crate) struct State {
    /// Where the next record begins.
    pub(crate) end: u64,
    /// The last record.
    pub(crate) last: Lsn,
    /// The chunk that is being filled, from this byte of the line on.
    pub(crate) open_at: u64,
    pub(crate) open: Block,
    pub(crate) used: usize,
    /// Records before this one were sent to the queue.
    pub(crate) shipped: u64,
    /// Writes that are not known to be durable, oldest first.
    pub(crate) flights: VecDeque<Flight>,
    /// Records before this one are durable (wafs-1).
    pub(crate) durable: u64,
    /// The last of them.
    pub(crate) sure: Lsn,
    /// Durability of records before this one is requested.
    pub(crate) wanted: u64,
    pub(crate) marks: Marks,
    pub(crate) gaps: Vec<(u64, u64)>,
    /// Up to where the caller has reclaimed, and where reading would start then.
    pub(crate) low: Lsn,
    pub(crate) start: u64,
    /// The earliest mount whose records may be there.
    pub(crate) start_epoch: u32,
    /// Where reading starts according to the durable superblock: everything before may be overwritten (ring-2).
    pub(crate) free_to: u64,
    pub(crate) failed: Option<DiskError>,
}

/// A chunk in flight to the disk.
pub(crate) struct Flight {
    /// When it and all chunks before it are durable, all records before this number are.
    pub(crate) covers: u64,
    /// The last of them.
    pub(crate) last: Lsn,
    /// Its writes: two where the log wraps around.
    pub(crate) written: Vec<Written>,
}

impl Flight {
    pub(crate) fn is_durable(&self) -> bool {
        #[cfg(feature = "planted")]
        if has(Broken::Flush) {
            return self.written.iter().all(Written::is_completed);
        }
        self.written.iter().all(Written::is_durable)
    }
}

/// What recovery found when a log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Records from the last checkpoint to the end.
    pub records: u64,
    /// Bytes of the log that were read for it, not counting the search for a hole.
    pub bytes: u64,
    /// The last record, [`Lsn::NONE`] if there is none.
    pub last: Lsn,
    /// A hole at the end: more records were durable. Such a log can be read up to the hole, and is not opened for
    /// writing.
    pub damage: Option<Damage>,
}
