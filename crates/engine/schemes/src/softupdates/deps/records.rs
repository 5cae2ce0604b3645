//! The records of changes, under the papers' names where they have one.

use super::super::state::State;
use crate::records::{ByIno, Id, Linked, place_size};
use ordo_buf::{ImageNo, Landing, OldAttributes, Run, Ticket, With};
use ordo_ondisk::Ino;
use std::num::NonZeroU32;

/// The index of the page to which a record is attached; a buf keeps it, plus one, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::softupdates) struct PageNo(pub(in crate::softupdates) u32);

/// An inode with pending changes (`inodedep`).
pub(in crate::softupdates) struct InodeDep {
    pub(in crate::softupdates) ino: Ino,
    pub(in crate::softupdates) page: PageNo,
    /// The state of the dinode; one that existed before is durable.
    pub(in crate::softupdates) state: State,
    /// For a new one: the group's map with its bit.
    pub(in crate::softupdates) bit: Option<Landing>,
    /// The last image in which it was written as a free dinode.
    pub(in crate::softupdates) held_in: ImageNo,
    /// It has no name yet that can be reached after a crash.
    pub(in crate::softupdates) unnamed: bool,
    /// It is useless without its blocks: a directory or a symlink. While it is new, its names wait for them.
    pub(in crate::softupdates) has_body: bool,
    /// Pending pointers in the dinode, newest first.
    pub(in crate::softupdates) pointers: Option<Id<AllocDep>>,
    /// Pending names of it, newest first.
    pub(in crate::softupdates) names: Option<Id<DirAdd>>,
}

/// A new pointer (`allocdirect`, `allocindirect`).
pub(in crate::softupdates) struct AllocDep {
    pub(in crate::softupdates) ino: Ino,
    pub(in crate::softupdates) slot: PointerSlot,
    /// What it meant before, as far as the disk may have it: nothing, or another run.
    pub(in crate::softupdates) old: Run,
    pub(in crate::softupdates) new: Run,
    /// The block's contents, if they must be durable first.
    pub(in crate::softupdates) contents: Option<Landing>,
    /// The group's map with the fragments.
    pub(in crate::softupdates) bit: Option<Landing>,
    pub(in crate::softupdates) state: State,
    /// The file's size before it grew with this pointer; for attributes, the old area.
    pub(in crate::softupdates) before: Before,
    /// Frees the old run, when the pointer is durable (`freefrag`).
    pub(in crate::softupdates) freed: Option<Box<Ticket>>,
    /// The next older one of the same inode.
    pub(in crate::softupdates) next: Option<Id<AllocDep>>,
}

impl Linked for AllocDep {
    #[inline]
    fn next(&self) -> Option<Id<AllocDep>> {
        self.next
    }

    fn set_next(&mut self, next: Option<Id<AllocDep>>) {
        self.next = next;
    }
}

/// Where the pointer lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::softupdates) enum PointerSlot {
    /// In the inode: 0 to 11 direct, 12 to 14 indirect.
    Inode(u8),
    /// In the inode, among the pointers to the attributes.
    ExtAttr(u8),
    /// In the indirect block of this page.
    Indirect(PageNo, u32),
    /// No pointer: a directory's size grew over names in a block that it already had.
    Size,
}

/// What is rolled back together with a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::softupdates) enum Before {
    /// Nothing.
    Same,
    /// The size, in bytes.
    Size(u64),
    /// The attributes, and what goes with them.
    Attributes(Box<OldAttributes>),
}

impl Before {
    pub(in crate::softupdates) fn of(with: With<'_>) -> Before {
        match with {
            With::Nothing => Before::Same,
            With::Size(size) => Before::Size(size),
            With::Attributes(old) => Before::Attributes(Box::new(*old)),
        }
    }

    /// The value to which two pointers roll back. If the file was cut between them, that is the size at the cut: the
    /// blocks beyond it are freed once an image has landed, with or without a rollback.
    pub(in crate::softupdates) fn or_earlier(self, other: Before) -> Before {
        match (self, other) {
            (Before::Same, other) => other,
            (Before::Size(one), Before::Size(other)) => Before::Size(one.min(other)),
            (first, _) => first,
        }
    }
}

/// A new name, or an entry that names another inode now (`diradd`). It takes one cache line: a busy volume has more of
/// them than fit in the processor's cache, and most are examined only once more, when they are removed.
pub(in crate::softupdates) struct DirAdd {
    /// The inode that it names.
    pub(in crate::softupdates) ino: Ino,
    /// Which of that inode's records; the inode's record outlives this one.
    pub(in crate::softupdates) turn: NonZeroU32,
    /// The page of the directory's block.
    pub(in crate::softupdates) page: PageNo,
    /// Offset of the entry in its block, in bytes.
    pub(in crate::softupdates) offset: u32,
    pub(in crate::softupdates) state: State,
    /// The first image of the inode's block with the raised link count.
    pub(in crate::softupdates) inode_image: ImageNo,
    /// The removal of another name waits for this one, or did.
    pub(in crate::softupdates) awaited: bool,
    /// It is a `..`, which gives no file a name.
    pub(in crate::softupdates) dotdot: bool,
    /// The pointer or size that the directory must have on the disk for the entry to be found (`newdirblk`): its growth
    /// over the entry, and the block's last move.
    pub(in crate::softupdates) claim: Option<Id<AllocDep>>,
    /// Its number in the sequence of added and removed names.
    pub(in crate::softupdates) seq: u64,
    pub(in crate::softupdates) rare: Option<Box<DirAddRare>>,
}

impl DirAdd {
    /// The record of the inode that it names.
    #[inline]
    pub(in crate::softupdates) fn named(&self) -> Id<InodeDep> {
        ByIno::id(self.ino, self.turn)
    }

    /// What the entry named before, as far as the disk may have it, and its type.
    #[inline]
    pub(in crate::softupdates) fn was(&self) -> (Ino, u8) {
        self.rare.as_ref().map_or((Ino::NONE, 0), |rare| rare.was)
    }
}

impl Linked for DirAdd {
    #[inline]
    fn next(&self) -> Option<Id<DirAdd>> {
        self.rare.as_ref()?.next
    }

    fn set_next(&mut self, next: Option<Id<DirAdd>>) {
        self.rare.get_or_insert_default().next = next;
    }
}

/// Rarely used fields of a name.
#[derive(Default)]
pub(in crate::softupdates) struct DirAddRare {
    /// What the entry named before, as far as the disk may have it, and its type.
    pub(in crate::softupdates) was: (Ino, u8),
    /// The next older name of the same inode.
    pub(in crate::softupdates) next: Option<Id<DirAdd>>,
    /// The pointers that the inode was made with.
    pub(in crate::softupdates) bodies: Vec<Id<AllocDep>>,
    /// The parent's raised link count.
    pub(in crate::softupdates) parent: Option<Landing>,
    /// The directory's growth (as `claim`), if it has indirect blocks.
    pub(in crate::softupdates) grown: Option<Grown>,
    /// Names that must be reachable first.
    pub(in crate::softupdates) awaits: Vec<Id<DirAdd>>,
    /// Names that must be gone first: older names of what the entry named before, if that is a directory removed for
    /// good (renames-4); the same name elsewhere in the directory (same_name-1).
    pub(in crate::softupdates) after: Vec<RemId>,
    /// A `..` that must be durable first: that of a new directory that moved before it had a name.
    pub(in crate::softupdates) dotdot: Option<Id<DirAdd>>,
    /// The running call removes it; it must not be written meanwhile.
    pub(in crate::softupdates) doomed: bool,
    /// Redeemed when the change is durable: they drop the link of what the entry named before.
    pub(in crate::softupdates) tickets: Vec<Ticket>,
}

impl DirAddRare {
    pub(in crate::softupdates) fn is_empty(&self) -> bool {
        self.was.0 == Ino::NONE
            && self.next.is_none()
            && self.bodies.is_empty()
            && self.parent.is_none()
            && self.grown.is_none()
            && self.awaits.is_empty()
            && self.after.is_empty()
            && self.dotdot.is_none()
            && !self.doomed
            && self.tickets.is_empty()
    }
}

/// How a directory grew: names in its last blocks are found only if all of this is durable.
#[derive(Clone, Default)]
pub(in crate::softupdates) struct Grown {
    /// Some block is reached through an indirect one. If none is, the pointer in the dinode carries the size.
    pub(in crate::softupdates) beyond_direct: bool,
    /// The pointers in indirect blocks.
    pub(in crate::softupdates) pointers: Vec<Id<AllocDep>>,
    /// The dinode with the size.
    pub(in crate::softupdates) size: Option<Landing>,
}

/// A removal: the page that it is attached to, and its number in the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::softupdates) struct RemId(pub(in crate::softupdates) PageNo, pub(in crate::softupdates) u64);

/// A removed name (`dirrem`).
pub(in crate::softupdates) struct DirRem {
    pub(in crate::softupdates) offset: u32,
    pub(in crate::softupdates) seq: u64,
    pub(in crate::softupdates) state: State,
    /// Names that must be reachable first.
    pub(in crate::softupdates) awaits: Box<[Id<DirAdd>]>,
    /// Older names of a directory removed for good: they must be gone first (renames-4).
    pub(in crate::softupdates) after: Box<[RemId]>,
    /// The old bytes around the entry, and their offset: images have them while the removal is held.
    pub(in crate::softupdates) before: Option<(u32, Box<[u8]>)>,
    /// The addition of the same entry, if no image had it yet and another change waits for it.
    pub(in crate::softupdates) add: Option<Id<DirAdd>>,
    /// The pointer that the directory must have on the disk for the removal to take effect: the block's last move.
    /// Until then the disk has the name in the old place.
    pub(in crate::softupdates) claim: Option<Id<AllocDep>>,
    /// Redeemed when the removal is durable.
    pub(in crate::softupdates) tickets: Vec<Ticket>,
}

impl DirRem {
    /// The bytes that it keeps around its entry contain this offset.
    pub(in crate::softupdates) fn keeps(&self, offset: u32) -> bool {
        let kept = self.before.as_ref().map(|(from, bytes)| *from..*from + bytes.len() as u32);
        kept.is_some_and(|kept| kept.contains(&offset))
    }
}

// deps-3: a busy volume has more records than fit in the processor's cache.
const _: () = assert!(size_of::<DirRem>() <= 128);
const _: () =
    assert!(place_size::<InodeDep>() == 64 && place_size::<DirAdd>() == 64 && place_size::<AllocDep>() == 128);
