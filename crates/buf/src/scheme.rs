//! The seam between layouts and schemes.
//!
//! S0. The engine performs the steps of every call in an order that would be safe if each step became durable before
//!     the next one began, and it awaits the scheme's answer after each step. Each scheme is one answer to one
//!     question, asked at each step: what must happen before the engine may go on?
//! S1. A step is told after its change is in memory, and before the next change is made.
//! S2. What must not be freed yet is not freed by the engine: the step carries a [`Ticket`], and the scheme hands it
//!     back when freeing is safe, in its answer or later through [`crate::Cache::ripen`].
//! S3. The engine never asks which scheme it runs under; a scheme never searches a directory, computes a block's
//!     address, or knows how a bitmap is laid out.

use crate::{Boxed, Buf, BufRef, Cache, Held, ImageNo, Promises, Role, Ticket};
use disk::{Block, DiskOff, Flag, Queue, Written};
use ondisk::{FragNo, Ino, Lbn};
use rt::Time;
use std::rc::Rc;
use vfs::Result;

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
    /// Freeing what a ticket named, or a file that lost its last user.
    Reclaim,
    /// Mount, unmount, and upkeep.
    Upkeep,
}

/// A running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op {
    /// Counts up from 1 in a mount.
    pub id: u64,
    /// What it is.
    pub kind: CallKind,
}

/// A run of fragments: an address and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First fragment; 0 where there is none.
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

/// Which fields of an inode changed, and in which direction where that matters for order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// A name more will point here, or this is a new inode: it must be durable before that name.
    LinksUp,
    /// A name less points here.
    LinksDown,
    /// The size of a file, with whatever else.
    Size,
    /// The size of a directory: names beyond the old size are found only with it.
    DirectorySize,
    /// Mode, owner, flags.
    Mode,
    /// Times only.
    Times,
}

/// One step of a call (S1). Each variant says what has just changed in memory.
#[derive(Debug)]
pub enum Step<'a> {
    /// A cylinder group says now that one more block of its inodes is initialised (UFS2 initialises them as they are
    /// needed). That block was told before, as `BlockReady` with role `InodeBlock`.
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
    /// An inode's links are about to change, or have just changed. Told as well before a name goes, while the link that it
    /// is stays: for whoever must know where the counts began.
    Links {
        /// The inode.
        ino: Ino,
        /// Links before.
        before: u16,
        /// Links now.
        after: u16,
        /// Its mode; of a new inode at least the kind.
        mode: u16,
        /// For a new directory: what its `..` will name.
        dotdot: Option<Ino>,
    },
    /// Fragments were taken in a group's map for a block that no pointer leads to yet.
    FragmentsTaken {
        /// Who takes them.
        ino: Ino,
        /// For which block of the file.
        lbn: Lbn,
        /// What the block had before.
        old: Run,
        /// What it will have. Where it grew in place, it begins with the old run.
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
        /// Whose block it is; for a block of inodes the first of them.
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
        /// Whose block it is.
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
        /// The cylinder group's buf whose map gave the fragments.
        cg: &'a BufRef,
        /// Size of the file before, in bytes, where it grew with this pointer. For a pointer to attributes their size
        /// before: they change as a whole, all pointers at once.
        size_before: Option<u64>,
        /// The old fragments, when they moved. The first pointer to attributes carries all of the old area, a run for
        /// each pointer in their order.
        freed: Option<Ticket>,
    },
    /// A file's size went up over bytes that its blocks had room for, or the pointers to them were told before.
    SizeGrown {
        /// Whose size.
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
        /// That is a directory.
        directory: bool,
        /// For a new directory: its first block, and the buf with its parent's inode, whose link count went up.
        mkdir: Option<(&'a BufRef, &'a BufRef)>,
    },
    /// An entry was redirected: a rename over a name, or `..` of a directory that moved.
    LinkChanged {
        /// The directory.
        dir: Ino,
        /// The directory's block with the entry.
        block: &'a BufRef,
        /// Offset of the entry in that block, in bytes.
        offset: u32,
        /// What it names now.
        ino: Ino,
        /// The buf with the inode that it names now.
        inode: &'a BufRef,
        /// That is a directory.
        directory: bool,
        /// The type in the entry before: that of what it named.
        kind_before: u8,
        /// The entry is `..` of a directory that moved, and gives nobody a name.
        dotdot: bool,
        /// Drops the link of what it named before.
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
        /// The bytes of the directory's chunk around the entry before it was cleared, and where in the block they begin.
        before: (u32, &'a [u8]),
        /// Drops the link.
        ticket: Ticket,
    },
    /// Pointers were cleared.
    BlocksReleased {
        /// Whose they were.
        ino: Ino,
        /// The buf in which the pointers lived.
        at: &'a BufRef,
        /// The blocks, each with the fragments that go.
        blocks: &'a [(Lbn, Run)],
        /// Frees the blocks.
        ticket: Ticket,
    },
    /// A dinode was cleared.
    InodeReleased {
        /// Which.
        ino: Ino,
        /// The buf that holds the dinode.
        inode: &'a BufRef,
        /// Frees the number.
        ticket: Ticket,
    },
    /// Contents of an existing block of a file changed.
    DataWritten {
        /// Whose block.
        ino: Ino,
        /// Which block of the file.
        lbn: Lbn,
        /// Its buf.
        block: &'a BufRef,
    },
}

impl Step<'_> {
    /// The bufs that the step's call has just changed. A buf that a step names only to say what it means, as the inode
    /// behind a name, is not among them.
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
    /// These bufs must be durable, one after the other.
    InOrder(Vec<BufRef>),
    /// This buf must be on its way, in the order with others that [`Scheme::sequence`] gives it. Nobody waits for it.
    Sent(BufRef),
    /// This must end.
    Wait(Boxed<'static, Result<()>>),
}

/// A scheme's answer to a step.
pub struct Answer {
    /// What must happen first.
    pub must: Must,
    /// The step's ticket, ripe as soon as `must` has happened. A scheme that keeps a ticket answers `None`.
    pub ripe: Option<Ticket>,
}

impl From<Must> for Answer {
    fn from(must: Must) -> Answer {
        Answer { must, ripe: None }
    }
}

/// What leaves in a buf's place.
pub enum Leave {
    /// The bytes as they are.
    AsIs,
    /// Another image: what is not safe yet is rolled back in it. That is as old as it was, and due.
    Image(Block),
    /// The buf as it was a while ago, all of it safe. What has changed since then begins to be old.
    Older(Block),
    /// Not yet: these must land first. They can: a scheme never answers with a circle.
    AfterBufs(Vec<BufRef>),
    /// Not yet: this must end first (a log that must be durable up to some record).
    After(Boxed<'static, Result<()>>),
}

/// In which order with others an image goes to the disk.
#[derive(Default)]
pub struct Sequence {
    /// As a barrier.
    pub flag: Option<Flag>,
    /// After these, when they are durable.
    pub after: Vec<Written>,
}

/// Whether a buf may leave now without being rolled back.
pub enum Ready {
    /// It may.
    Yes,
    /// If these landed first, less would have to be rolled back.
    After(Vec<BufRef>),
}

/// Something that is undone in an image that leaves; the buf itself is never undone.
#[derive(Debug)]
pub enum Undo<'a> {
    /// The number was never taken: the dinode is a free one, with the generation that it has.
    Inode(Ino),
    /// Pointers of an inode, and what goes with them.
    Pointers(Pointers<'a>),
    /// A pointer of an indirect block, by index.
    Pointer(u32, FragNo),
    /// What an entry of a directory names, and of which type that is; inode 0 for an entry that is not used.
    Entry {
        /// Offset of the entry in the block, in bytes.
        offset: u32,
        /// What it named before.
        ino: Ino,
        /// The type in the entry.
        kind: u8,
    },
    /// Bytes of a directory's block, as they were.
    Chunk(u32, &'a [u8]),
}

/// Pointers of an inode that are undone together.
#[derive(Debug)]
pub struct Pointers<'a> {
    /// Whose.
    pub ino: Ino,
    /// Slots, as [`Slot::Inode`] counts them, and where they led before.
    pub back: &'a [(u8, FragNo)],
    /// The file ended here at most, in bytes; what lies beyond is not there either.
    pub size: u64,
    /// The pointers to the attributes, and their size in bytes.
    pub attributes: Option<([FragNo; 2], u64)>,
}

/// Whose log a scheme keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// FreeBSD's, of intents: beside the order that soft updates keeps.
    Intents,
    /// A log of what is to be done again. After a crash the volume is worth nothing before that was done.
    Redo,
}

/// Where a scheme keeps a log of its own: in a file of the volume, or on another disk.
#[derive(Clone)]
pub struct LogFile {
    /// Before the disk on which it lies: the volume's own, or another one.
    pub on: Queue,
    /// Where it lies, in its order: address and bytes.
    pub extents: Vec<(DiskOff, u64)>,
    /// Bytes of a block of the volume.
    pub block: u32,
    /// Bytes of a fragment of it.
    pub frag: u32,
    /// What tells this mount from those before: the `fs_mtime` that it sets.
    pub stamp: i64,
    /// The byte order of the volume.
    pub endian: ondisk::Endian,
}

/// Whether a buf may be changed while its image is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileLeaving {
    /// Changes wait until the write is complete: the baseline of 1994.
    Lock,
    /// The image leaves as a copy, and the buf stays usable (`-CB`).
    Copy,
}

/// How far an unlink is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// The name was found. What it names is read next.
    Found,
    /// The inode was read. Its name goes next.
    Read,
}

/// A way to keep metadata in order.
pub trait Scheme {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it promises.
    fn declares(&self) -> Promises;

    /// It keeps a log, and cannot be mounted where there is no place for one.
    fn wants_log(&self) -> Option<LogKind> {
        None
    }

    /// This is the place for the log of this mount. Told once, before the volume is in use; not where the volume cannot
    /// have one. Returns what tells the log from all others, once it is there and empty.
    fn begin_log(&self, _file: LogFile) -> Boxed<'static, Result<u64>> {
        Box::pin(async { Ok(0) })
    }

    /// It wants to be told of every change in memory before it is made ([`Scheme::will_change`]). Asked once.
    fn wants_changes(&self) -> bool {
        false
    }

    /// The bytes, the length or the place of `buf` are about to change. Told only where it is wanted; often, so a scheme
    /// that knows of the change already must know that at once.
    fn will_change(&self, _buf: &BufRef) {}

    /// The log is so full that calls must wait until a sync has made it empty.
    fn wants_sync(&self) -> bool {
        false
    }

    /// A directory has moved to another one, and the disk may still have it where it was. Asked before it is moved again,
    /// replaced or removed, and before another one moves below it: each waits for a sync then.
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

    /// A call was given up before its end, and the volume is read-only from now on. Nothing may be started here: the executor
    /// may be about to go.
    fn give_up(&self, cache: &Rc<Cache>, op: Op) {
        drop(self.end(cache, op));
    }

    /// An unlink is about to take a name of an inode away. Nothing follows from it: a scheme with records of inodes may ask
    /// memory for them, which comes while the call does something else.
    fn look_ahead(&self, _ino: Ino, _ahead: Ahead) {}

    /// A step of a call has happened in memory.
    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer;

    /// The queue is about to take `buf`: what leaves? If an image does, it is this one.
    fn leaving(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) -> Leave {
        Leave::AsIs
    }

    /// An image of `buf` is about to be sent. The order that it gives is kept by the disk's queue.
    fn sequence(&self, _buf: &BufRef) -> Sequence {
        Sequence::default()
    }

    /// The image of `buf` that [`Must::Sent`] asked for is on its way. Told before anything else happens. An image that
    /// is not `fresh` was sent before, by whomever; if its order does not serve, the answer is `false`, and the call waits
    /// until it is durable.
    fn sent(&self, _buf: &BufRef, _written: &Written, _fresh: bool) -> bool {
        true
    }

    /// Asked by the syncer and by whoever makes room, who have a choice: should others leave first?
    fn ready(&self, _cache: &Rc<Cache>, _buf: &BufRef) -> Ready {
        Ready::Yes
    }

    /// `image` of `buf` is durable (B2). Must not wait; work to be done goes to [`crate::Cache::ripen`].
    fn landed(&self, _cache: &Rc<Cache>, _buf: &BufRef, _image: ImageNo) {}

    /// `buf`, whose slot is not 0, was thrown away: what it held was freed, and none of it will leave any more. The step
    /// that tells what became of its blocks comes next.
    fn discarded(&self, _cache: &Rc<Cache>, _buf: &BufRef) {}

    /// Something waits for what was sent to be durable: the syncer flushes once a second then.
    fn wants_flush(&self) -> bool {
        false
    }

    /// A write of `buf` failed; it stays dirty.
    fn failed(&self, _buf: &BufRef) {}

    /// Whether changes wait while an image is on its way.
    fn while_leaving(&self) -> WhileLeaving {
        WhileLeaving::Copy
    }

    /// What fsync of `ino` demands; `inode` is the buf with its dinode. All dirty blocks of the file, then the inode,
    /// unless the scheme knows better.
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

    /// Once a second.
    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {}

    /// What it has counted since the mount, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What is held back in `buf` now, and why, in an order that does not depend on chance. Changes nothing.
    fn explain(&self, _cache: &Rc<Cache>, _buf: &BufRef) -> Vec<Held> {
        Vec::new()
    }
}

/// What the cache needs from a layout.
pub trait Home {
    /// Where `buf` lives, asked when it leaves. A layout that places early answers with [`Buf::addr`].
    fn place(&self, buf: &Buf) -> Option<DiskOff>;

    /// Puts what belongs on the disk only (times, check-hashes) into an image that is about to leave.
    fn seal(&self, buf: &Buf, image: &mut [u8]);

    /// Undoes a change in an image that is about to leave; it is sealed afterwards. Returns the slots of an inode whose
    /// pointers are not in the image, a bit each: those that were named, and those beyond the size.
    fn undo(&self, _image: &mut [u8], _undo: &Undo<'_>) -> u32 {
        0
    }
}
