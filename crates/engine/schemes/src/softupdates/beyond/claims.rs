//! The way to a directory's entry: what must be on the disk of the directory itself before an entry in one of its
//! blocks can be found (`newdirblk`).
//!
//! C1. An entry in a new block, or over a size that grew, is found once the pointer to the block and the size are
//!     durable. The newest pointer or size stands for all older ones: a dinode does not carry it before them (leave-3).
//!     Beyond the direct blocks that is not so, and all of a directory's growth counts.
//! C2. A block that moved is found in its new place once the pointer to that is durable. Until then the disk has the
//!     old block, with the names that were removed and without those that were added.

use super::super::deps::{AllocDep, Deps, Grown, PageKind, PointerSlot, page_in};
use super::super::rule::Rule;
use crate::records::Id;
use ordo_buf::{BufRef, Landing, Role};
use ordo_ondisk::Ino;

impl Deps {
    /// What must be durable of a directory before its newest entries can be found: its newest pointer or size, which is
    /// not carried before the older ones.
    pub(in crate::softupdates) fn newest_claim(&self, dir: Ino) -> Option<Id<AllocDep>> {
        let grows =
            |id: &Id<AllocDep>| self.pointers.get(*id).is_some_and(|dep| !matches!(dep.slot, PointerSlot::ExtAttr(_)));
        self.pointers_of(dir).find(grows)
    }

    /// The newest pointer to a block of the directory that has moved, if it is not durable.
    pub(in crate::softupdates) fn newest_move(&self, dir: Ino) -> Option<Id<AllocDep>> {
        let moved = |id: &Id<AllocDep>| {
            let dep = self.pointers.get(*id).filter(|dep| !matches!(dep.slot, PointerSlot::ExtAttr(_)));
            dep.is_some_and(|dep| dep.old.frags > 0 && dep.old.at != dep.new.at)
        };
        self.pointers_of(dir).filter(|_| self.has(Rule::MovedEntry)).find(moved)
    }

    /// A block of a directory moved. Names added and removed in it take effect with the pointer to the new place; an
    /// image that lands there before that changes no name on the disk.
    #[inline(never)]
    pub(in crate::softupdates) fn directory_moved(&mut self, block: &BufRef, pointer: Id<AllocDep>) {
        let Some(page) = self.find_page(block).filter(|_| self.has(Rule::MovedEntry)) else { return };
        let PageKind::Directory(names) = &mut page_in(&mut self.pages, page).kind else { return };
        names.rems.iter_mut().for_each(|rem| rem.claim = Some(pointer));
        for id in names.adds.ids() {
            if let Some(add) = self.names.get_mut(*id) {
                add.claim = Some(pointer);
            }
        }
    }

    /// The same for a directory with indirect blocks.
    #[inline(always)]
    pub(in crate::softupdates) fn indirect_claim(&self, dir: Ino) -> Option<Grown> {
        if !self.beyond.grows_beyond_direct {
            return None;
        }
        self.beyond.grown.get(&dir).filter(|grown| grown.beyond_direct).cloned()
    }

    /// Records a pointer in an indirect block, if it belongs to a directory. The pointers above the directory's own
    /// block are reported after the pointer to that block.
    pub(in crate::softupdates) fn grown_beyond_direct(&mut self, ino: Ino, role: Role, id: Id<AllocDep>) {
        let grown = match role {
            Role::Directory => self.beyond.grown.entry(ino).or_default(),
            _ => match self.beyond.grown.get_mut(&ino) {
                Some(grown) => grown,
                None => return,
            },
        };
        grown.beyond_direct = true;
        self.beyond.grows_beyond_direct = true;
        grown.pointers.push(id);
    }

    /// A directory's size grew over names in a new block. The step for the pointer to that block comes before or after
    /// this one.
    #[inline(never)]
    pub(in crate::softupdates) fn directory_has_grown(&mut self, ino: Ino, inode: &BufRef) {
        if self.has(Rule::BlockAllocation) {
            self.beyond.grown.entry(ino).or_default().size = Some(Landing::of(inode));
        }
    }
}
