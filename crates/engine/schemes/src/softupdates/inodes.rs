//! Inodes that are new, renamed or removed.

use super::deps::{Deps, InodeDep, PageKind};
use super::rule::Rule;
use super::state::{Action, Event, State};
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Landing, Ticket};
use ordo_ondisk::Ino;

impl Deps {
    /// The record of an inode that existed before, or has a record already.
    #[inline]
    pub(super) fn inode_dep(&mut self, ino: Ino, inode: &BufRef) -> Id<InodeDep> {
        match self.id_of(ino) {
            Some(id) => id,
            None => self.add_inode(ino, inode, State::Durable, None, false),
        }
    }

    /// A group counts a new block of its inodes.
    #[inline(never)]
    pub(super) fn inodes_ready(&mut self, cg: &BufRef) {
        let fresh = self.fresh_inodes.take().filter(|_| self.has(Rule::InodesInitialised));
        let page = self.page_of(cg);
        if let PageKind::Group(inodes) = &mut self.page_mut(page).kind {
            inodes.extend(fresh);
        }
    }

    /// An inode was allocated.
    #[inline(never)]
    pub(super) fn inode_allocated(&mut self, ino: Ino, cg: &BufRef, inode: &BufRef) {
        debug_assert!(self.inodes.of(ino).is_none(), "an inode that is free has nothing pending");
        let bit = self.has(Rule::InodeMarked).then(|| Landing::of(cg));
        self.add_inode(ino, inode, State::Held, bit, true);
    }

    /// A dinode was cleared. Returns the ticket if the number is free at once.
    #[inline(never)]
    pub(super) fn inode_released(&mut self, cache: &Cache, ino: Ino, inode: &BufRef, ticket: Ticket) -> Option<Ticket> {
        let state = self.id_of(ino).map_or(State::Durable, |id| self.forget_inode(cache, id));
        if state.next(Event::TakenBack).1 == Action::Cancel || !self.has(Rule::BlockDeallocation) {
            self.counters.cancelled += 1;
            return Some(ticket);
        }
        let page = self.page_of(inode);
        self.wait_for_page(page, ticket);
        None
    }

    /// Drops the record of a freed inode, with all that is attached to it.
    #[inline(never)]
    pub(super) fn forget_inode(&mut self, cache: &Cache, id: Id<InodeDep>) -> State {
        while let Some(name) = self.inodes.get(id).and_then(|dep| dep.names) {
            let add = self.remove_add(name);
            Deps::ripen(cache, add.and_then(|add| add.rare).into_iter().flat_map(|rare| rare.tickets));
        }
        while let Some(pointer) = self.inodes.get(id).and_then(|dep| dep.pointers) {
            Deps::ripen(cache, self.remove_pointer(pointer));
        }
        self.remove_inode(id)
    }
}
