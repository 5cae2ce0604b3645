//! Steps: what the engine has just changed in memory, one value for each change.

use crate::{BufRef, OldAttributes, Role, Ticket};
use ordo_ondisk::{FragNo, Ino, Lbn};

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

impl CallKind {
    /// It changes directories.
    pub(crate) fn is_on_names(self) -> bool {
        use CallKind::{Create, Link, Mkdir, Rename, Rmdir, Symlink, Unlink};
        matches!(self, Create | Mkdir | Symlink | Link | Unlink | Rmdir | Rename)
    }
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

/// Fragments of a block of a file that become free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// Which block of the file.
    pub lbn: Lbn,
    /// Fragments of the block that stay the file's: `run` is only its tail.
    pub kept: u32,
    /// The fragments.
    pub run: Run,
}

impl Gone {
    /// All fragments that the block had, from the one on that its pointer names.
    pub fn block(&self) -> Run {
        let (at, frags) = (FragNo(self.run.at.0.saturating_sub(self.kept.into())), self.run.frags + self.kept);
        Run { at, frags }
    }
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

/// What changes in an inode together with a pointer, as it was before: an image without the new pointer has it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum With<'a> {
    /// Nothing that an image without the pointer must not have.
    Nothing,
    /// The size of the file, which grew from so many bytes.
    Size(u64),
    /// The attributes: all their pointers change at once, and with them what they are read together with.
    Attributes(&'a OldAttributes),
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

/// One step of a call (seam-1). Each variant says what has just changed in memory.
#[derive(Debug)]
pub enum Step<'a> {
    /// A cylinder group now counts one more block of its inodes as initialised (UFS2 initialises them on demand). That
    /// block was reported before, as `BlockReady` with role `Inodes`.
    InodesReady {
        /// The cylinder group's buf.
        cg: &'a BufRef,
    },
    /// An inode's number was taken, and the dinode initialised (mode set, no name yet).
    InodeAllocated {
        /// The inode.
        ino: Ino,
        /// The buf of the map that gave the number, on a layout with maps: a cylinder group.
        map: Option<&'a BufRef>,
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
        /// What it means now; address 0 on a layout that gives the block a place when it leaves.
        new: Run,
        /// The buf with the contents.
        block: &'a BufRef,
        /// The buf of the map that gave the fragments, on a layout with maps: a cylinder group.
        map: Option<&'a BufRef>,
        /// What changed in the inode together with this pointer.
        with: With<'a>,
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
    /// Pointers were cleared, or the last block of a file lost its tail.
    BlocksReleased {
        /// The file.
        ino: Ino,
        /// The buf in which the pointers lived.
        at: &'a BufRef,
        /// The blocks, each with the fragments to free.
        blocks: &'a [Gone],
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
            Step::InodeAllocated { map, inode, .. } => {
                map.map(&mut tell);
                tell(inode);
            }
            Step::InodeChanged { inode, .. } | Step::InodeReleased { inode, .. } => tell(inode),
            Step::SizeGrown { inode, .. } => tell(inode),
            Step::BlockAllocated { slot, block, map, .. } => {
                tell(slot.buf());
                tell(block);
                map.map(tell);
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
