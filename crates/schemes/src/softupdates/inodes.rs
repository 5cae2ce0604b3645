//! Inodes that are new, changed names, or went.

use super::arena::Id;
use super::deps::{Deps, InodeDep, PageKind};
use super::rule::Rule;
use super::state::{Deed, Event, State};
use buf::{BufRef, Cache, ImageNo, Landing, Ticket};
use ondisk::Ino;

impl Deps {
    /// The record of an inode that was there before, or is known already.
    #[inline]
    pub(super) fn inode_dep(&mut self, ino: Ino, inode: &BufRef) -> Id<InodeDep> {
        match self.by_ino.get(&ino) {
            Some(id) => *id,
            None => self.add_inode(ino, inode, State::Durable, None, false),
        }
    }

    /// The record of an inode, if it has one.
    #[inline]
    pub(super) fn inode_of(&self, ino: Ino) -> Option<&InodeDep> {
        self.inodes.get(*self.by_ino.get(&ino)?)
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn inode_of_mut(&mut self, ino: Ino) -> Option<&mut InodeDep> {
        self.inodes.get_mut(*self.by_ino.get(&ino)?)
    }

    fn add_inode(
        &mut self,
        ino: Ino,
        inode: &BufRef,
        state: State,
        bit: Option<Landing>,
        unnamed: bool,
    ) -> Id<InodeDep> {
        let page = self.page_of(inode);
        let PageKind::Inodes(row) = &self.page(page).kind else { unreachable!("an inode lives in a block of inodes") };
        let at = row.len() as u32;
        let dep = InodeDep {
            ino,
            page,
            at,
            state,
            bit,
            held_in: ImageNo::default(),
            unnamed,
            pointers: None,
            indirect: None,
            names: None,
        };
        let id = self.inodes.insert(dep);
        if let PageKind::Inodes(row) = &mut self.page_mut(page).kind {
            row.push(id);
        }
        self.by_ino.insert(ino, id);
        id
    }

    /// A number was taken.
    pub(super) fn inode_allocated(&mut self, ino: Ino, cg: &BufRef, inode: &BufRef) {
        debug_assert!(!self.by_ino.contains_key(&ino), "an inode that is free has nothing pending");
        let bit = self.has(Rule::InodeMarked).then(|| Landing::of(cg));
        self.add_inode(ino, inode, State::Held, bit, true);
    }

    /// A dinode was cleared. The ticket comes back if its number is free at once.
    pub(super) fn inode_released(&mut self, cache: &Cache, ino: Ino, inode: &BufRef, ticket: Ticket) -> Option<Ticket> {
        let state = match self.by_ino.get(&ino).copied() {
            Some(id) => self.forget_inode(cache, id),
            None => State::Durable,
        };
        if state.next(Event::TakenBack).1 == Deed::Cancel || !self.has(Rule::BlockDeallocation) {
            self.counters.cancelled += 1;
            return Some(ticket);
        }
        let page = self.page_of(inode);
        self.wait_for_page(page, ticket);
        None
    }

    /// Drops the record with all that hangs on it: the inode is gone.
    fn forget_inode(&mut self, cache: &Cache, id: Id<InodeDep>) -> State {
        while let Some(name) = self.inodes.get(id).and_then(|dep| dep.names) {
            let add = self.remove_add(name);
            Deps::ripen(cache, add.and_then(|add| add.extra).and_then(|extra| extra.ticket));
        }
        while let Some(pointer) = self.inodes.get(id).and_then(|dep| dep.pointers) {
            let freed = self.remove_pointer(pointer).and_then(|dep| dep.freed);
            Deps::ripen(cache, freed.map(|ticket| *ticket));
        }
        let state = self.inodes.get(id).map_or(State::Durable, |dep| dep.state);
        self.remove_inode(id);
        state
    }

    fn remove_inode(&mut self, id: Id<InodeDep>) {
        let Some(dep) = self.inodes.remove(id) else { return };
        self.by_ino.remove(&dep.ino);
        let PageKind::Inodes(row) = &mut self.page_mut(dep.page).kind else { return };
        row.swap_remove(dep.at as usize);
        if let Some(moved) = row.get(dep.at as usize).copied()
            && let Some(other) = self.inodes.get_mut(moved)
        {
            other.at = dep.at;
        }
    }

    /// Drops the record of an inode with nothing pending.
    pub(super) fn drop_inode_if_idle(&mut self, ino: Ino) {
        let Some(dep) = self.inode_of(ino) else { return };
        let newest_gone = dep.indirect.is_none_or(|id| self.pointers.get(id).is_none());
        let idle = dep.state == State::Durable && dep.pointers.is_none() && dep.names.is_none() && !dep.unnamed;
        if idle && newest_gone {
            let id = self.by_ino[&ino];
            self.remove_inode(id);
        }
    }

    /// The dinode of `ino`, as it was in image `from` of its block, is durable.
    #[inline]
    pub(super) fn is_inode_durable(&self, ino: Ino, from: ImageNo) -> bool {
        let Some(dep) = self.inode_of(ino) else { return true };
        dep.state != State::Held && self.page(dep.page).buf.durable_image() >= from.max(dep.held_in.next())
    }

    /// A path leads to the directory after a crash.
    pub(super) fn is_reachable(&self, dir: Ino) -> bool {
        self.inode_of(dir).is_none_or(|dep| !dep.unnamed)
    }

    /// No image has had this inode: nothing that it leads to was ever reached from the disk.
    pub(super) fn was_never_there(&self, ino: Ino) -> bool {
        self.inode_of(ino).is_some_and(|dep| dep.state == State::Held)
    }
}
