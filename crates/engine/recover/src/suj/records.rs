//! Records by their subject: links, and blocks of files.

use crate::walk::{Pointer, Slot};
use ordo_ondisk::suj::{BlockRecord, MoveRecord, RefRecord};
use ordo_ondisk::{Geometry, Lbn};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Comes,
    Goes,
}

/// A link that is added to a place or removed from it.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub(super) ino: u32,
    pub(super) parent: u32,
    pub(super) at: u32,
    pub(super) what: What,
    /// The links before, and the mode; the record of a moved entry has neither.
    pub(super) links: Option<(u16, u16)>,
    pub(super) seq: u32,
}

impl Event {
    fn of(of: RefRecord, what: What, seq: u32) -> Event {
        let links = Some((of.nlink, of.mode));
        Event { ino: of.ino.0, parent: of.parent.0, at: of.diroff as u32, what, links, seq }
    }

    pub(super) fn add(of: RefRecord, seq: u32) -> Event {
        Event::of(of, What::Comes, seq)
    }

    pub(super) fn remove(of: RefRecord, seq: u32) -> Event {
        Event::of(of, What::Goes, seq)
    }

    pub(super) fn moves(of: MoveRecord, seq: u32) -> [Event; 2] {
        let one = |at: u64, what| Event { ino: of.ino.0, parent: of.parent.0, at: at as u32, what, links: None, seq };
        [one(of.oldoff, What::Goes), one(of.newoff, What::Comes)]
    }
}

/// A record about fragments.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    pub(super) block: FileBlock,
    /// They were about to become free.
    pub(super) freed: bool,
    pub(super) seq: u32,
}

/// Fragments that are, or were, a block of an inode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileBlock {
    pub(super) ino: u32,
    pub(super) lbn: i64,
    pub(super) frag: u64,
    pub(super) count: u32,
}

impl Claim {
    pub(super) fn taken(of: BlockRecord, seq: u32) -> Claim {
        let block = FileBlock { ino: of.ino.0, lbn: of.lbn.0, frag: of.blkno.0, count: of.frags.into() };
        Claim { block, freed: false, seq }
    }

    pub(super) fn freed(of: BlockRecord, seq: u32) -> Claim {
        Claim { freed: true, ..Claim::taken(of, seq) }
    }
}

impl FileBlock {
    pub(super) fn of(ino: u32, pointer: &Pointer) -> FileBlock {
        FileBlock { ino, lbn: name(pointer).0, frag: pointer.frag.0, count: pointer.count }
    }
}

/// The journal's number for a block.
fn name(pointer: &Pointer) -> Lbn {
    match (pointer.slot, pointer.level) {
        (Slot::Ext(k), _) => Geometry::extattr_lbn(k),
        (_, 0) => Lbn(pointer.lbn as i64),
        (_, level) => Lbn(-(pointer.lbn as i64) - (level as i64 - 1)),
    }
}
