//! The seam between layouts and schemes.
//!
//! S0. The engine performs the steps of every call in an order that would be safe if each step became durable before
//!     the next one began, and it awaits the scheme's answer after each step. A scheme answers one question at each
//!     step: what must happen before the engine may go on?
//! S1. A step is reported after its change is in memory, and before the next change is made.
//! S2. The engine does not free what must not be freed yet: the step carries a [`Ticket`], and the scheme returns it
//!     when freeing is safe, in its answer or later through [`crate::Cache::ripen`].
//! S3. The engine never asks which scheme it runs under. A scheme never searches a directory, computes a block's
//!     address, or knows the layout of a bitmap.

use crate::{Boxed, Buf, BufRef, Cache, Held, ImageNo, Promises, Role, Ticket};
use ordo_disk::{Block, DiskOff, Flag, Queue, Written};
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_rt::Time;
use ordo_vfs::Result;
use std::rc::Rc;

/// The kind of a call, for throttling, logical records and traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CallKind {
    Create,
    Mkdir,
    Symlink,
    Tmpfile,
    Link,
    Unlink,
    Rmdir,
    Rename,
    Write,
    Truncate,
    Allocate,
    SetAttr,
    SetXattr,
    /// Frees what a ticket names, or a file that lost its last user.
    Reclaim,
    /// Mount, unmount, and upkeep.
    Upkeep,
}

/// A running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op {
    /// Counts from 1 since the mount.
    pub id: u64,
    /// What it is.
    pub kind: CallKind,
}

/// A run of fragments: an address and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First fragment; 0 if there is none.
    pub at: FragNo,
    /// Fragments.
    pub frags: u32,
}

/// Where a block pointer lives.
#[derive(Clone, Copy)]
pub enum Slot<'a> {
    /// In the inode, whose buf this is: direct pointers 0 to 11, then the three indirect ones.
    Inode(&'a BufRef, u8),
    /// In an indirect block, by index.
    Indirect(&'a BufRef, u32),
    /// In the inode, among the pointers of the extended-attribute area.
    ExtAttr(&'a BufRef, u8),
}

impl<'a> Slot<'a> {
    /// The buf that holds the pointer.
    pub fn buf(&self) -> &'a BufRef {
        match self {
            Slot::Inode(buf, _) | Slot::Indirect(buf, _) | Slot::ExtAttr(buf, _) => buf,
        }
    }
}

impl std::fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Slot::Inode(_, i) => write!(f, "inode[{i}]"),
            Slot::Indirect(buf, i) => write!(f, "{buf:?}[{i}]"),
            Slot::ExtAttr(_, i) => write!(f, "attributes[{i}]"),
        }
    }
}

/// Which fields of an inode changed; for link counts and sizes also what that means for the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// The link count went up, or this is a new inode: it must be durable before the new name.
    LinksUp,
    /// The link count went down.
    LinksDown,
    /// The size of a file, perhaps with other fields.
    Size,
    /// The size of a directory: names beyond the old size are found only with the new one.
    DirectorySize,
    /// Mode, owner, flags.
    Mode,
    /// Times only.
    Times,
}

/// One step of a call (S1). Each variant says what has just changed in memory.
#[derive(Debug)]
pub enum Step<'a> {
    /// A cylinder group now counts one more block of its inodes as initialised (UFS2 initialises them on demand). That
    /// block was reported before, as `BlockReady` with role `InodeBlock`.
    InodesReady {
        /// The cylinder group's buf.
        cg: &'a BufRef,
    },
    /// An inode's bit was taken in `cg`, and the dinode initialised (mode set, no name yet).
    InodeAllocated {
        /// The inode.
        ino: Ino,
        /// The cylinder group's buf.
        cg: &'a BufRef,
        /// The buf that holds the dinode.
        inode: &'a BufRef,
        /// It is a directory.
        directory: bool,
    },
    /// An inode's link count is about to change, or has just changed. Reported also before a name is removed, while the
    /// count is still unchanged, for schemes that must know where the counts began.
    Links {
        /// The inode.
        ino: Ino,
        /// Links before.
        before: u16,
        /// Links afterwards.
        after: u16,
        /// Its mode; for a new inode at least the file type.
        mode: u16,
        /// For a new directory: the inode that its `..` will name.
        dotdot: Option<Ino>,
    },
    /// Fragments were taken in a group's map for a block that has no pointer yet.
    FragmentsTaken {
        /// The file that takes them.
        ino: Ino,
        /// The block of the file.
        lbn: Lbn,
        /// The block's run before.
        old: Run,
        /// The block's new run. If it grew in place, it begins with the old run.
        new: Run,
        /// The cylinder group's buf.
        cg: &'a BufRef,
    },
    /// Fields of an inode changed.
    InodeChanged {
        /// The inode.
        ino: Ino,
        /// The buf that holds the dinode.
        inode: &'a BufRef,
        /// What changed.
        fields: Fields,
    },
    /// A new block's contents are in memory; no pointer to it is set yet.
    BlockReady {
        /// The file; for a block of inodes the first of them.
        ino: Ino,
        /// Which block of the file.
        lbn: Lbn,
        /// Its buf.
        block: &'a BufRef,
        /// What kind of block it is.
        role: Role,
    },
    /// A pointer was set to a block whose fragments were taken before.
    BlockAllocated {
        /// The file.
        ino: Ino,
        /// Which block of the file.
        lbn: Lbn,
        /// What kind of block it is.
        role: Role,
        /// Where the pointer lives.
        slot: Slot<'a>,
        /// What the pointer meant before (a shorter run of fragments, or nothing).
        old: Run,
        /// What it means now.
        new: Run,
        /// The buf with the contents.
        block: &'a BufRef,
        /// The buf of the cylinder group whose map gave the fragments.
        cg: &'a BufRef,
        /// Size of the file before, in bytes, if it grew with this pointer. For a pointer to attributes, the size of
        /// the attributes before: all their pointers change at once.
        size_before: Option<u64>,
        /// Frees the old fragments, if the block moved. For attributes the first pointer carries the whole old area,
        /// one run per pointer in order.
        freed: Option<Ticket>,
    },
    /// A file's size grew over bytes for which its blocks had room, or whose pointers were reported before.
    SizeGrown {
        /// The file.
        ino: Ino,
        /// The buf that holds the dinode.
        inode: &'a BufRef,
        /// It is a directory: names beyond the old size are found only with the new one.
        directory: bool,
        /// The buf with the bytes between the old size and the new one.
        block: &'a BufRef,
        /// The old size, in bytes.
        size_before: u64,
    },
    /// An entry was set in a directory.
    LinkAdded {
        /// The directory.
        dir: Ino,
        /// The name.
        name: &'a [u8],
        /// The directory's block with the entry.
        block: &'a BufRef,
        /// Offset of the entry in that block, in bytes.
        offset: u32,
        /// What the entry names.
        ino: Ino,
        /// The buf with the named inode.
        inode: &'a BufRef,
        /// The named inode is a directory.
        directory: bool,
        /// For a new directory: its first block, and the buf with its parent's inode, whose link count was raised.
        mkdir: Option<(&'a BufRef, &'a BufRef)>,
    },
    /// An entry was redirected: a rename over an existing name, or the `..` of a moved directory.
    LinkChanged {
        /// The directory.
        dir: Ino,
        /// The directory's block with the entry.
        block: &'a BufRef,
        /// Offset of the entry in that block, in bytes.
        offset: u32,
        /// What it names now.
        ino: Ino,
        /// The buf with that inode.
        inode: &'a BufRef,
        /// That inode is a directory.
        directory: bool,
        /// The type in the entry before: that of the inode it named.
        kind_before: u8,
        /// The entry is the `..` of a moved directory; it gives no file a name.
        dotdot: bool,
        /// Drops the link of the inode that it named before.
        ticket: Ticket,
    },
    /// An entry was cleared.
    LinkRemoved {
        /// The directory.
        dir: Ino,
        /// The name.
        name: &'a [u8],
        /// The directory's block that held the entry.
        block: &'a BufRef,
        /// Offset where the entry was, in bytes.
        offset: u32,
        /// The bytes of the directory's chunk around the entry before it was cleared, and their offset in the block.
        before: (u32, &'a [u8]),
        /// Drops the link.
        ticket: Ticket,
    },
    /// Pointers were cleared.
    BlocksReleased {
        /// The file.
        ino: Ino,
        /// The buf in which the pointers lived.
        at: &'a BufRef,
        /// The blocks, each with the fragments to free.
        blocks: &'a [(Lbn, Run)],
        /// Frees the blocks.
        ticket: Ticket,
    },
    /// A dinode was cleared.
    InodeReleased {
        /// The inode.
        ino: Ino,
        /// The buf that holds the dinode.
        inode: &'a BufRef,
        /// Frees the number.
        ticket: Ticket,
    },
    /// Contents of an existing block of a file changed.
    DataWritten {
        /// The file.
        ino: Ino,
        /// Which block of the file.
        lbn: Lbn,
        /// Its buf.
        block: &'a BufRef,
    },
}

impl Step<'_> {
    /// Calls `tell` for each buf that the step's call has just changed. A buf that only gives a step its meaning, such
    /// as the inode behind a name, is not among them.
    pub fn each_changed(&self, mut tell: impl FnMut(&BufRef)) {
        match *self {
            Step::InodesReady { cg } | Step::FragmentsTaken { cg, .. } => tell(cg),
            Step::Links { .. } => {}
            Step::InodeAllocated { cg, inode, .. } => {
                tell(cg);
                tell(inode);
            }
            Step::InodeChanged { inode, .. } | Step::InodeReleased { inode, .. } => tell(inode),
            Step::SizeGrown { inode, .. } => tell(inode),
            Step::BlockAllocated { slot, block, cg, .. } => {
                tell(slot.buf());
                tell(block);
                tell(cg);
            }
            Step::BlockReady { block, .. }
            | Step::LinkAdded { block, .. }
            | Step::LinkChanged { block, .. }
            | Step::LinkRemoved { block, .. }
            | Step::DataWritten { block, .. } => tell(block),
            Step::BlocksReleased { at, .. } => tell(at),
        }
    }

    /// The ticket that the step carries, if any.
    pub fn into_ticket(self) -> Option<Ticket> {
        match self {
            Step::BlockAllocated { freed, .. } => freed,
            Step::LinkChanged { ticket, .. }
            | Step::LinkRemoved { ticket, .. }
            | Step::BlocksReleased { ticket, .. }
            | Step::InodeReleased { ticket, .. } => Some(ticket),
            _ => None,
        }
    }
}

/// What must happen before the engine may go on.
#[must_use = "the engine must wait for what the scheme demands"]
pub enum Must {
    /// Nothing.
    Nothing,
    /// This buf must be durable.
    Durable(BufRef),
    /// These bufs must be durable, in this order.
    InOrder(Vec<BufRef>),
    /// This buf must be in flight, in the order that [`Scheme::sequence`] gives it. The call does not wait for the
    /// write.
    Sent(BufRef),
    /// This future must end.
    Wait(Boxed<'static, Result<()>>),
}

/// A scheme's answer to a step.
pub struct Answer {
    /// What must happen first.
    pub must: Must,
    /// The step's ticket, ripe once `must` has happened. A scheme that keeps the ticket answers `None`.
    pub ripe: Option<Ticket>,
}

impl From<Must> for Answer {
    fn from(must: Must) -> Answer {
        Answer { must, ripe: None }
    }
}

/// What is written in place of a buf.
pub enum Leave {
    /// The bytes as they are.
    AsIs,
    /// Another image, in which unsafe changes are rolled back. The buf keeps its age, and stays due.
    Image(Block),
    /// An older state of the buf, all of it safe. The age of later changes counts from now.
    Older(Block),
    /// Nothing yet: these bufs must land first. They can, since a scheme never answers with a cycle.
    AfterBufs(Vec<BufRef>),
    /// Nothing yet: this future must end first (for example, a log must be durable up to some record).
    After(Boxed<'static, Result<()>>),
}

/// The order of an image with others on its way to the disk.
#[derive(Default)]
pub struct Sequence {
    /// As a barrier.
    pub flag: Option<Flag>,
    /// After these, once they are durable.
    pub after: Vec<Written>,
}

/// Whether a buf can be written now without a rollback.
pub enum Ready {
    /// It can.
    Yes,
    /// If these bufs landed first, less would be rolled back.
    After(Vec<BufRef>),
}

/// A change that is undone in an image about to be written. The buf itself is not changed.
#[derive(Debug)]
pub enum Undo<'a> {
    /// The inode was not allocated: its dinode becomes a free one, and keeps its generation.
    Inode(Ino),
    /// Pointers of an inode, with its size and attributes.
    Pointers(Pointers<'a>),
    /// A pointer of an indirect block, by index.
    Pointer(u32, FragNo),
    /// The inode and the type in a directory entry; inode 0 for an unused entry.
    Entry {
        /// Offset of the entry in the block, in bytes.
        offset: u32,
        /// The inode that it named before.
        ino: Ino,
        /// The type in the entry.
        kind: u8,
    },
    /// Bytes of a directory's block, with their old values.
    Chunk(u32, &'a [u8]),
}

/// Pointers of an inode that are undone together.
#[derive(Debug)]
pub struct Pointers<'a> {
    /// The file.
    pub ino: Ino,
    /// Slots, as [`Slot::Inode`] counts them, and their old pointers.
    pub back: &'a [(u8, FragNo)],
    /// The size of the file at most, in bytes; what lies beyond is not in the image either.
    pub size: u64,
    /// The pointers to the attributes, and their size in bytes.
    pub attributes: Option<([FragNo; 2], u64)>,
}

/// The kind of log that a scheme keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// FreeBSD's log of intents, in addition to the order of soft updates.
    Intents,
    /// A redo log. After a crash the volume is useless until the log has been replayed.
    Redo,
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
}

/// Whether a buf may be changed while its image is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileLeaving {
    /// Changes wait until the write is complete: the baseline of 1994.
    Lock,
    /// The image is written from a copy, and the buf stays usable (`-CB`).
    Copy,
}

/// How far an unlink has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// The name was found. The inode is read next.
    Found,
    /// The inode was read. The name is removed next.
    Read,
}

/// An update-ordering scheme.
pub trait Scheme {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Its promises.
    fn declares(&self) -> Promises;

    /// The log it needs, if any; such a scheme cannot be mounted where there is no place for a log.
    fn wants_log(&self) -> Option<LogKind> {
        None
    }

    /// Gives the scheme the place for the log of this mount. Called once, before the volume is in use, and not if the
    /// volume cannot have a log. Returns a number that distinguishes this log from all others, once the log exists and
    /// is empty.
    fn begin_log(&self, _file: LogFile) -> Boxed<'static, Result<u64>> {
        Box::pin(async { Ok(0) })
    }

    /// Whether it wants notice of every change in memory before it is made ([`Scheme::will_change`]). Checked once.
    fn wants_changes(&self) -> bool {
        false
    }

    /// The bytes, the length or the place of `buf` are about to change. Called only if wanted; it is called often, so a
    /// scheme must recognise quickly a buf that it knows.
    fn will_change(&self, _buf: &BufRef) {}

    /// Whether the log is so full that calls must wait until a sync has emptied it.
    fn wants_sync(&self) -> bool {
        false
    }

    /// Whether a directory has moved, and the disk may still have it at its old place. Checked before it is moved
    /// again, replaced or removed, and before another directory moves below it: each of these then waits for a sync.
    fn is_moving(&self, _dir: Ino) -> bool {
        false
    }

    /// A call begins.
    fn begin(&self, _cache: &Rc<Cache>, _op: Op) -> Must {
        Must::Nothing
    }

    /// A call ends.
    fn end(&self, _cache: &Rc<Cache>, _op: Op) -> Must {
        Must::Nothing
    }

    /// A call was cancelled: its future was dropped before it finished, and the volume is read-only from now on. Must
    /// not start anything: the executor may be about to stop.
    fn give_up(&self, cache: &Rc<Cache>, op: Op) {
        drop(self.end(cache, op));
    }

    /// A hint only: an unlink is about to remove a name of this inode. A scheme may prefetch its records of the inode.
    fn look_ahead(&self, _ino: Ino, _ahead: Ahead) {}

    /// A step of a call has happened in memory.
    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer;

    /// The queue is about to take `buf`: returns what to write. If it is an image, its number is `image`.
    fn leaving(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) -> Leave {
        Leave::AsIs
    }

    /// An image of `buf` is about to be sent. The disk's queue keeps the returned order.
    fn sequence(&self, _buf: &BufRef) -> Sequence {
        Sequence::default()
    }

    /// The image of `buf` that [`Must::Sent`] demanded is in flight. Called before anything else happens. If it is not
    /// `fresh`, another call or the syncer sent it before; if its order does not serve, the answer is `false`, and the
    /// call waits until it is durable.
    fn sent(&self, _buf: &BufRef, _written: &Written, _fresh: bool) -> bool {
        true
    }

    /// Called by the syncer and by the eviction code, which have a choice: should other bufs be written first?
    fn ready(&self, _cache: &Rc<Cache>, _buf: &BufRef) -> Ready {
        Ready::Yes
    }

    /// `image` of `buf` is durable (buf-2). Must not wait; ripe tickets go to [`crate::Cache::ripen`].
    fn landed(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) {}

    /// `buf`, whose slot is not 0, was discarded: its contents were freed, and will not be written any more. The step
    /// that reports the freeing of its blocks comes next.
    fn discarded(&self, _cache: &Rc<Cache>, _buf: &BufRef) {}

    /// Whether a change waits until sent writes are durable: the syncer then flushes once a second.
    fn wants_flush(&self) -> bool {
        false
    }

    /// A write of `buf` failed; it stays dirty.
    fn failed(&self, _buf: &BufRef) {}

    /// Whether changes wait while an image is in flight.
    fn while_leaving(&self) -> WhileLeaving {
        WhileLeaving::Copy
    }

    /// What an fsync of `ino` demands; `inode` is the buf with its dinode. By default all dirty blocks of the file and
    /// the inode; a scheme may need less.
    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, data_only: bool) -> Must {
        let _ = data_only;
        let mut bufs = cache.unsettled_of(ino);
        bufs.push(inode.clone());
        let cache = cache.clone();
        Must::Wait(Box::pin(async move { cache.write_all(bufs).await }))
    }

    /// Everything must be durable: for sync, unmount, and a change to read-only.
    fn sync(&self, cache: &Rc<Cache>) -> Must {
        let cache = cache.clone();
        Must::Wait(Box::pin(async move { cache.write_everything().await }))
    }

    /// Called once a second.
    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {}

    /// Its counters since the mount, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What is held back in `buf` now, and why, in a deterministic order. Changes nothing.
    fn explain(&self, _cache: &Rc<Cache>, _buf: &BufRef) -> Vec<Held> {
        Vec::new()
    }
}

/// What the cache needs from a layout.
pub trait Home {
    /// Where `buf` lives, called when it is written. A layout that places early returns [`Buf::addr`].
    fn place(&self, buf: &Buf) -> Option<DiskOff>;

    /// Fills in what belongs on the disk only (times, check-hashes) in an image about to be written.
    fn seal(&self, buf: &Buf, image: &mut [u8]);

    /// Undoes a change in an image about to be written; the image is sealed afterwards. For an inode, returns the slots
    /// whose pointers are not in the image, a bit each: those that were named, and those beyond the size.
    fn undo(&self, _image: &mut [u8], _undo: &Undo<'_>) -> u32 {
        0
    }
}
