//! Inodes that are new, renamed or removed.

use super::deps::{Deps, InodeDep, PageKind};
use super::rule::Rule;
use super::state::{Action, Event, State};
use crate::records::Id;
use ordo_buf::{Ahead, BufRef, Cache, ImageNo, Landing, Ticket};
use ordo_ondisk::Ino;

impl Deps {
    /// Prefetches the records of a file that is about to lose a name. On a busy volume they are not in the processor's
    /// cache, and each is found through the one before.
    pub(super) fn prefetch(&self, ino: Ino, ahead: Ahead) {
        match ahead {
            Ahead::Found => self.inodes.prefetch(ino),
            Ahead::Read => {
                let Some(dep) = self.inodes.of(ino) else { return };
                dep.names.into_iter().for_each(|name| self.names.prefetch(name));
                dep.pointers.into_iter().for_each(|pointer| self.pointers.prefetch(pointer));
            }
        }
    }

    /// The record of an inode that existed before, or has a record already.
    #[inline]
    pub(super) fn inode_dep(&mut self, ino: Ino, inode: &BufRef) -> Id<InodeDep> {
        match self.id_of(ino) {
            Some(id) => id,
            None => self.add_inode(ino, inode, State::Durable, None, false),
        }
    }

    /// The id of an inode's record, if it has one.
    #[inline]
    pub(super) fn id_of(&self, ino: Ino) -> Option<Id<InodeDep>> {
        self.inodes.id_of(ino)
    }

    /// The record of an inode, if it has one.
    #[inline]
    pub(super) fn inode_of(&self, ino: Ino) -> Option<&InodeDep> {
        self.inodes.of(ino)
    }

    /// The same, mutable.
    #[inline]
    pub(super) fn inode_of_mut(&mut self, ino: Ino) -> Option<&mut InodeDep> {
        self.inodes.of_mut(ino)
    }

    #[inline]
    fn add_inode(
        &mut self,
        ino: Ino,
        inode: &BufRef,
        state: State,
        bit: Option<Landing>,
        unnamed: bool,
    ) -> Id<InodeDep> {
        let page = self.page_of(inode);
        let dep = InodeDep {
            ino,
            page,
            state,
            bit,
            held_in: ImageNo::default(),
            unnamed,
            has_body: false,
            pointers: None,
            names: None,
        };
        let id = self.inodes.insert(ino, dep);
        self.attach_to_inodes(page, id);
        id
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

    /// A dinode was cleared. If no image had it, drops the record: its number is free at once (state-2). `false`
    /// if an image had it.
    #[inline(never)]
    pub(super) fn was_never_taken(&mut self, cache: &Cache, ino: Ino) -> bool {
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
    fn forget_inode(&mut self, cache: &Cache, id: Id<InodeDep>) -> State {
        while let Some(name) = self.inodes.get(id).and_then(|dep| dep.names) {
            let add = self.remove_add(name);
            Deps::ripen(cache, add.and_then(|add| add.rare).into_iter().flat_map(|rare| rare.tickets));
        }
        while let Some(pointer) = self.inodes.get(id).and_then(|dep| dep.pointers) {
            Deps::ripen(cache, self.remove_pointer(pointer));
        }
        self.remove_inode(id)
    }

    /// Drops the record. Returns the state of its dinode.
    #[inline(always)]
    fn remove_inode(&mut self, id: Id<InodeDep>) -> State {
        let Some((page, state)) = self.inodes.get(id).map(|dep| (dep.page, dep.state)) else { return State::Durable };
        self.inodes.discard(id);
        if let PageKind::Inodes(row) = &mut self.page_mut(page).kind {
            row.forget(id);
        }
        state
    }

    /// Drops the record of an inode with nothing pending.
    pub(super) fn drop_inode_if_idle(&mut self, id: Id<InodeDep>) {
        let Some(dep) = self.inodes.get(id) else { return };
        let idle = dep.state == State::Durable && dep.pointers.is_none() && dep.names.is_none() && !dep.unnamed;
        if idle {
            self.remove_inode(id);
        }
    }
}
