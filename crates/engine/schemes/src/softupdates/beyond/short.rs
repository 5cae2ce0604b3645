//! The short paths, which most steps take. The papers have only the long ones.
//!
//! F1. A short path equals its long path for the steps in which nothing else is pending. For any other step it records
//!     nothing and returns `false`, and the long path follows. Otherwise what else is pending would be forgotten, and
//!     written before what it waits for.

use super::super::deps::{AllocDep, Before, Deps, PageKind, PointerSlot, page_in};
use super::super::names::EntryPlace;
use super::super::pointers::Allocated;
use super::super::rule::Rule;
use super::super::state::State;
use ordo_buf::{BufRef, Cache, Freed, Landing, Role, Slot, Ticket};
use ordo_ondisk::Ino;

impl Deps {
    /// A pointer was set where the disk has none, in a dinode that has a record and no other pending pointer. Equals
    /// `block_allocated` there: there is nothing that the pointer could replace, and no run to free. This is the common
    /// case of a small file. `false` in other cases.
    #[inline(never)]
    pub(in crate::softupdates) fn first_pointer_allocated(&mut self, set: &Allocated<'_>) -> bool {
        let Slot::Inode(_, slot) = set.slot else { return false };
        let (follows, awaits_contents) = (self.has(Rule::BlockAllocation), self.awaits_contents(set.block, set.role));
        let Some(inode) = self.inodes.of_mut(set.ino).filter(|inode| inode.pointers.is_none()) else { return false };
        if set.old.frags > 0 {
            return false;
        }
        inode.has_body |= matches!(set.role, Role::Directory | Role::Symlink);
        inode.pointers = Some(self.pointers.insert(AllocDep {
            ino: set.ino,
            slot: PointerSlot::Inode(slot),
            old: set.old,
            new: set.new,
            contents: awaits_contents.then(|| Landing::of(set.block)),
            bit: follows.then(|| Landing::of(set.cg)),
            state: State::Held,
            before: Before::of(set.with),
            freed: None,
            next: None,
        }));
        true
    }

    /// A name was removed. Equals `link_removed` in the simple case, which covers most files removed soon after they
    /// were made, and cancels the name: it is the file's only pending name, so its removal waits for nothing; no image
    /// had it, so nothing waits for its removal (softupdates-state-2); the disk has nothing in the entry; and no other
    /// removal keeps the bytes around it. `false` in other cases.
    #[inline(never)]
    pub(in crate::softupdates) fn came_and_went(&mut self, at: EntryPlace<'_>, ticket: &Ticket) -> bool {
        let Freed::DropLink { ino, parent: None, .. } = *ticket.freed() else { return false };
        let Some(page) = self.find_page(at.block) else { return false };
        let Some(dep) = self.inodes.of_mut(ino) else { return false };
        let Some(id) = dep.names else { return false };
        let Some(add) = self.names.get(id) else { return false };
        let PageKind::Directory(names) = &mut page_in(&mut self.pages, page).kind else { return false };
        let alone = add.state == State::Held
            && add.rare.is_none()
            && (add.page, add.offset) == (page, at.offset)
            && names.rems.is_empty()
            && !self.beyond.dotdots.contains_key(&ino);
        if !alone {
            return false;
        }
        dep.names = None;
        let was_there = dep.state == State::Durable;
        names.adds.forget(id);
        self.names.discard(id);
        self.counters.cancelled += 1;
        if was_there {
            self.id_of(ino).into_iter().for_each(|id| self.drop_inode_if_idle(id));
        }
        true
    }

    /// Pointers in `at` were cleared. Equals `blocks_released` where the disk never led to their blocks, because no
    /// image had the dinode (softupdates-state-2): their records are dropped, and the blocks are free at once. One
    /// difference: so is what the pointers replaced, which the long path frees with the next image of `at`. Not for
    /// pointers in an indirect block, which stays in place: an image written before would become reachable through the
    /// new inode, and lead to blocks that another file owns by then.
    #[inline(never)]
    pub(in crate::softupdates) fn were_never_reached(
        &mut self,
        cache: &Cache,
        ino: Ino,
        at: &BufRef,
        ticket: &Ticket,
    ) -> bool {
        let Freed::Blocks { runs, .. } = ticket.freed() else { return false };
        let Some(dep) = self.inode_of(ino) else { return false };
        if dep.state != State::Held || self.find_page(at) != Some(dep.page) {
            return false;
        }
        let mut pointer = dep.pointers;
        if let Some(late) = self.late.remove(&ino) {
            Deps::ripen(cache, late);
        }
        while let Some(id) = pointer {
            pointer = self.pointers.get(id).and_then(|dep| dep.next);
            Deps::ripen(cache, self.cut_pointer(id, runs).1);
        }
        self.counters.cancelled += 1;
        true
    }

    /// A dinode was cleared. Equals `inode_released` where no image had the dinode: its record is dropped, and its
    /// number is free at once (softupdates-state-2). `false` if an image had it.
    #[inline(never)]
    pub(in crate::softupdates) fn was_never_taken(&mut self, cache: &Cache, ino: Ino) -> bool {
        let Some(dep) = self.inodes.of(ino).filter(|dep| dep.state == State::Held) else { return false };
        let bare = dep.names.is_none() && dep.pointers.is_none();
        let Some(id) = self.id_of(ino) else { return false };
        if bare {
            self.remove_inode(id);
        } else {
            self.forget_inode(cache, id);
        }
        self.counters.cancelled += 1;
        true
    }
}
