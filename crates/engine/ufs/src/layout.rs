//! The interface of a layout, which decides where things are placed.

use crate::{Inode, Quotas, Shape};
use ordo_buf::{BufRef, Cache, Freed, Op, Promises, Scheme};
use ordo_ondisk::{Dinode, Ino, Lbn};
use ordo_vfs::{Caller, Kind, Result, StatFs};
use std::rc::Rc;

/// A newly allocated inode, before its dinode is written.
pub struct NewInode {
    /// Its number.
    pub ino: Ino,
    /// Generation: never the one that this number had before.
    pub generation: u32,
    /// The buf of the map that gave it, on a layout with maps: a cylinder group.
    pub map: Option<BufRef>,
}

/// What a file has at a run of its blocks. `blocks` counts them, the first included; it is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapped {
    /// Nothing: they read as zeroes.
    Hole {
        /// How many.
        blocks: u64,
    },
    /// Contents, with a place on the disk.
    Stored {
        /// How many.
        blocks: u64,
    },
    /// Contents in the cache alone: the layout gives them a place when they leave. They are not a hole, or
    /// `SEEK_DATA` and fallocate would lose them.
    Unplaced {
        /// How many.
        blocks: u64,
    },
}

/// Puts bytes into a block; gets the whole block.
pub type Fill<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Where things are placed. Every method that changes the volume performs its steps in the order of rule seam-0 and
/// awaits the scheme after each. A method that fails for lack of space has changed nothing (vfs-1).
///
/// The caller holds the inode's lock: exclusively if something changes.
#[allow(async_fn_in_trait)]
pub trait Layout: 'static {
    /// The buffer cache.
    fn cache(&self) -> &Rc<Cache>;

    /// Sizes, limits and encodings, fixed for the life of the mount.
    fn shape(&self) -> &Shape;

    /// A call that changes the volume begins: what it does up to [`Layout::end`] must survive a crash as a whole or
    /// not at all, where the layout promises that (the directory operations of a log-structured layout). A layout that
    /// leaves the order to the scheme has nothing to do. May wait, for example while a segment is being gathered.
    ///
    /// # Errors
    /// `NoSpace`, where a layout reserves for the call.
    async fn begin(&self, op: Op) -> Result<()> {
        let _ = op;
        Ok(())
    }

    /// The call has ended, also by an error or by being cancelled.
    fn end(&self, op: Op) {
        let _ = op;
    }

    /// A call that changes something may not find what it needs beside free blocks: everything dirty is written first,
    /// and if that does not help, the call is refused with `NoSpace`. Calls that free are never refused.
    fn is_tight(&self) -> bool {
        false
    }

    /// The most bytes that one call writes.
    fn most_at_once(&self) -> usize {
        usize::MAX
    }

    /// What holds of this layout under `scheme`: a scheme declares for a layout that leaves all order to it, and a
    /// layout that recovers by itself (roll-forward) knows better.
    fn promises(scheme: &dyn Scheme) -> Promises {
        scheme.declares()
    }

    /// Reads the dinode of an allocated inode from the disk. Checked: number in range, kind known, size within the
    /// format, check-hash where the volume has them.
    ///
    /// # Errors
    /// `Stale` for a free inode; `Corrupt`; `Io`.
    async fn load(&self, ino: Ino) -> Result<Inode>;

    /// Whether [`Layout::load`] may be asked for an inode whose number comes from outside. It may be any number, and
    /// that of an inode whose block was never written.
    ///
    /// # Errors
    /// `Corrupt`; `Io`.
    async fn may_load(&self, ino: Ino) -> Result<bool>;

    /// Puts the dinode into its block's buf, with its check-hash, and makes the buf dirty. No step: the caller reports
    /// it.
    ///
    /// # Errors
    /// `Io` when the block must be read again and cannot.
    async fn store(&self, inode: &Inode) -> Result<BufRef>;

    /// The buf that holds the dinode, as it was stored last.
    ///
    /// # Errors
    /// `Io` when the block must be read again and cannot.
    async fn block_of(&self, inode: &Inode) -> Result<BufRef>;

    /// Allocates an inode near `parent` (a directory goes to a group of its own choice). Changes the maps only; the
    /// caller initialises, stores and reports the dinode (`InodeAllocated`).
    ///
    /// # Errors
    /// `NoInodes`.
    async fn alloc_inode(&self, op: Op, parent: &Inode, kind: Kind) -> Result<NewInode>;

    /// Undoes [`Layout::alloc_inode`] for an inode that was never stored: cleanup after an error.
    async fn unalloc_inode(&self, new: NewInode, kind: Kind);

    /// Starts to read those of a file's blocks `from..to` that are stored and not cached, as runs that the disk's queue
    /// can merge. Waits for no contents, but may read indirect blocks; those of a directory are not read for this.
    ///
    /// # Errors
    /// `Corrupt`; `Io` for an indirect block.
    async fn read_ahead(&self, inode: &Inode, from: Lbn, to: Lbn) -> Result<()>;

    /// How `count` blocks of a file from `lbn` on are stored: the first run of them.
    async fn map(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Mapped>;

    /// Block `lbn` of a file, `None` for a hole.
    async fn block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>>;

    /// Writes bytes `from..to` (offsets in block `lbn`) with `fill`, which gets the whole block: old contents where it
    /// was stored, zeroes where it was not. Allocates, extends or moves fragments as needed, and grows the file's size
    /// to the end of what is written. If the file grows past its last block and that is a fragment, the block becomes
    /// whole. Steps: `BlockReady` for each new block, indirect ones included, before its pointer is set;
    /// `BlockAllocated` after; `DataWritten` for an existing block; `InodeChanged` for the size.
    ///
    /// # Errors
    /// `NoSpace`, `TooBig`, `Io`, `Corrupt`.
    async fn write_block(
        &self,
        op: Op,
        who: &Caller,
        inode: &Inode,
        lbn: Lbn,
        from: usize,
        to: usize,
        fill: Fill<'_>,
    ) -> Result<BufRef>;

    /// Sets the size of a file or directory. Truncating frees the blocks beyond, from the end in bounded steps, and
    /// zeroes the rest of the last block; growing leaves a hole, but stores the last byte's block (the format requires
    /// it).
    async fn truncate(&self, op: Op, who: &Caller, inode: &Inode, size: u64) -> Result<()>;

    /// Frees whole blocks `from..to` of a file, which then read as zeroes. The size stays.
    async fn punch(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()>;

    /// Dirty blocks `from..to` of a file are about to be written as one cluster: moves them to contiguous places, if
    /// that is better and there are any. Failing to is not an error.
    async fn gather_cluster(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn);

    /// The extended-attribute area, without the zeroes behind its last record. Empty where the format has none.
    async fn attributes(&self, inode: &Inode) -> Result<Vec<u8>>;

    /// Replaces the extended-attribute area; frees it when `area` is empty. `rights`: a list of access rights is
    /// among what changes, and these are the permission bits that go with it. They change together: after a crash the
    /// old list is there with the old bits, or the new one with the new bits.
    ///
    /// # Errors
    /// `NotSupported` where the format has none; `AttributeTooBig`; `NoSpace`.
    async fn set_attributes(&self, op: Op, who: &Caller, inode: &Inode, area: &[u8], rights: Option<u16>)
    -> Result<()>;

    /// Refuses a file whose inode says that [`Layout::release`] could not free it: called before its last name goes,
    /// since a file that has none and keeps its space can only be found by fsck. Reads nothing.
    ///
    /// # Errors
    /// `Corrupt`.
    fn can_be_released(&self, _inode: &Inode) -> Result<()> {
        Ok(())
    }

    /// Frees an inode without names and users: clears pointers and mode, with the steps `BlocksReleased` (several for a
    /// big file, from the end) and `InodeReleased`; redeems ripe tickets.
    async fn release(&self, op: Op, inode: &Inode) -> Result<()>;

    /// Frees in the maps what a ticket named: blocks, or an inode. (A layout does not handle `DropLink`.)
    async fn free(&self, freed: Freed) -> Result<()>;

    /// A call was refused for lack of room: waits until there is more, where there can be, as a log cleans. Whether
    /// another attempt makes sense; `again`: it is not the first one.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    async fn find_room(&self, _again: bool) -> Result<bool> {
        Ok(false)
    }

    /// The quotas, where the layout can keep them.
    fn quotas(&self) -> Option<&Quotas> {
        None
    }

    /// The inodes of NetBSD's tables of quotas: of users, and of groups.
    fn quota_tables(&self) -> [Option<Ino>; 2] {
        [None; 2]
    }

    /// Shows every inode in use, as it is now. What cannot be decoded is left out.
    ///
    /// # Errors
    /// `Io`.
    async fn each_dinode(&self, _show: &mut dyn FnMut(Ino, &Dinode)) -> Result<()> {
        Ok(())
    }

    /// The space of the volume, outstanding tickets included.
    fn statfs(&self) -> StatFs;

    /// Puts what the volume keeps only in memory (summary, totals) into bufs, so that a sync writes it.
    async fn gather(&self) -> Result<()>;

    /// The last call, when everything is durable. Marks the volume clean, unless it failed.
    async fn unmount(&self) -> Result<()>;
}
