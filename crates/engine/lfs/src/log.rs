//! The state of the log, which layout, writer, checkpoint and cleaner share.

use crate::gate::Gate;
use crate::ifile::Ifile;
use crate::options::OpenOptions;
use ordo_buf::{BufRef, Cache};
use ordo_ondisk::lfs::summary::{PsegBuilder, Stamp};
use ordo_ondisk::lfs::{Daddr, Geometry, SegNo, Superblock};
use ordo_ondisk::{Encoding, Ino};
use ordo_vfs::{Error, Result};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

/// At least so many inodes are remembered before those that left the cache are forgotten.
pub(crate) const MANY: usize = 1 << 16;

/// What the disk has of an inode that is in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct OnDisk {
    /// Its size there: how long its last block is (engine-lfs-2).
    pub(crate) size: u64,
    /// Sectors that it counts there.
    pub(crate) sectors: u64,
    /// It is there without a name: a crash frees it.
    pub(crate) nameless: bool,
    /// Freed by calls, and still led to by the inode there (engine-lfs-4): places and bytes.
    pub(crate) dead: Vec<(Daddr, u32)>,
}

/// A partial segment that has its addresses, and not yet its bytes.
pub(crate) struct Pending {
    pub(crate) builder: PsegBuilder,
    pub(crate) stamp: Stamp,
}

/// What a call was refused for lack of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Bytes that the log could not write.
    pub(crate) writable: u64,
    /// Units that there is no room for, and whether the reserve may be taken.
    pub(crate) units: Option<(u64, bool)>,
}

impl Wanted {
    /// With as much again: a call that goes on may be refused again further on, and each time is a round of cleaning.
    pub(crate) fn generous(self) -> Wanted {
        Wanted { writable: self.writable.saturating_mul(2), ..self }
    }
}

/// Counts since the mount.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) segments_cleaned: u64,
    pub(crate) segments_read: u64,
    pub(crate) segments_written: u64,
    pub(crate) bytes_read: u64,
    /// Alive in the segments that the cleaner read.
    pub(crate) bytes_alive: u64,
    pub(crate) bytes_written: u64,
    /// Of blocks of files, those that the cleaner moved included.
    pub(crate) bytes_of_files: u64,
    pub(crate) bytes_moved: u64,
}

/// A mounted volume's layout.
pub struct Lfs {
    pub(crate) cache: Rc<Cache>,
    pub(crate) shape: ordo_ufs::Shape,
    pub(crate) log: Rc<Log>,
}

/// The state of the log.
pub(crate) struct Log {
    pub(crate) g: Geometry,
    pub(crate) encoding: Encoding,
    pub(crate) options: OpenOptions,
    cache: OnceCell<Weak<Cache>>,
    /// The superblock with the present head of the log; the counts are filled in by a checkpoint.
    pub(crate) sb: RefCell<Superblock>,
    pub(crate) ifile: RefCell<Ifile>,
    pub(crate) gate: Rc<Gate>,
    /// Inodes that calls on directories have changed since they were written (engine-lfs-3).
    pub(crate) marked: RefCell<BTreeSet<Ino>>,
    pub(crate) on_disk: RefCell<FxHashMap<Ino, OnDisk>>,
    /// So many of them are kept before those that left the cache are forgotten.
    pub(crate) remembered: Cell<usize>,
    /// Inodes without names and users whose end must be written before they are free.
    pub(crate) dying: RefCell<BTreeSet<Ino>>,
    /// Sectors that inodes in memory count and those on the disk do not.
    pub(crate) unwritten: Cell<i64>,
    /// Pinned between [`ordo_buf::Home::prepare`] and `shape`.
    pub(crate) pinned: RefCell<Vec<BufRef>>,
    pub(crate) held: RefCell<Vec<crate::gate::Held>>,
    pub(crate) pending: RefCell<BTreeMap<u64, Pending>>,
    pub(crate) checkpointing: ordo_rt::sync::Mutex<()>,
    pub(crate) cleaning: ordo_rt::sync::Mutex<()>,
    /// Files that the cleaner has brought in, and when the segments that they were in were written last (cleaner-7).
    pub(crate) ages: RefCell<BTreeMap<Ino, u64>>,
    /// Calls that had begun at the last tick that saw new ones, and when that was (cleaner-8).
    pub(crate) busy: Cell<(u64, ordo_rt::Time)>,
    /// Segments that the cleaner reads (cleaner-5).
    pub(crate) reading: RefCell<BTreeSet<SegNo>>,
    /// What calls were refused for lack of, and none has asked for yet (space-1).
    pub(crate) refused: RefCell<Vec<Wanted>>,
    /// Dead bytes when cleaning last gained nothing: before there are more, it gains nothing again.
    pub(crate) in_vain: Cell<Option<u64>>,
    /// Segments that were empty at the last checkpoint (engine-lfs-5).
    pub(crate) empty: RefCell<BTreeSet<SegNo>>,
    /// Segments opened since the last checkpoint.
    pub(crate) opened: Cell<u32>,
    /// The last checkpoint, while only one superblock stands for it.
    pub(crate) in_one: RefCell<Option<Superblock>>,
    /// The next superblock goes to this slot.
    pub(crate) slot: Cell<usize>,
    /// Something was written since the last checkpoint.
    pub(crate) changed: Cell<bool>,
    /// When the last checkpoint ended.
    pub(crate) checkpointed: Cell<ordo_rt::Time>,
    pub(crate) counts: Cell<Counts>,
}

impl Log {
    pub(crate) fn new(sb: Superblock, ifile: Ifile, options: OpenOptions) -> Log {
        let g = sb.geometry();
        Log {
            g,
            encoding: Encoding::from(&g),
            options,
            cache: OnceCell::new(),
            sb: RefCell::new(sb),
            ifile: RefCell::new(ifile),
            gate: Rc::default(),
            marked: RefCell::default(),
            on_disk: RefCell::default(),
            remembered: Cell::new(MANY),
            dying: RefCell::default(),
            unwritten: Cell::new(0),
            pinned: RefCell::default(),
            held: RefCell::default(),
            pending: RefCell::default(),
            checkpointing: ordo_rt::sync::Mutex::new(()),
            cleaning: ordo_rt::sync::Mutex::new(()),
            ages: RefCell::default(),
            busy: Cell::default(),
            reading: RefCell::default(),
            refused: RefCell::default(),
            in_vain: Cell::default(),
            empty: RefCell::default(),
            opened: Cell::new(0),
            in_one: RefCell::default(),
            slot: Cell::new(0),
            changed: Cell::new(false),
            checkpointed: Cell::default(),
            counts: Cell::default(),
        }
    }

    pub(crate) fn attach(&self, cache: &Rc<Cache>) {
        let first = self.cache.set(Rc::downgrade(cache)).is_ok();
        debug_assert!(first, "a log has one cache");
    }

    /// The cache.
    ///
    /// # Errors
    /// `Bug`: the volume is being closed.
    pub(crate) fn cache(&self) -> Result<Rc<Cache>> {
        self.cache.get().and_then(Weak::upgrade).ok_or_else(|| Error::bug("the cache of this log is gone"))
    }

    /// Seconds since 1970, as stamps have them.
    pub(crate) fn now(&self) -> u64 {
        let now = self.cache().map_or(0, |cache| cache.rt().wall().0.max(0).unsigned_abs());
        now.max(self.sb.borrow().fields.tstamp)
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// The rule is kept: a test of the explorer may drop it.
    pub(crate) fn keeps(&self, rule: &str) -> bool {
        !self.options.settings.without.contains(&rule)
    }
}
