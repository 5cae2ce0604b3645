//! The records of new names, and when a name can be found.

use super::deps::{
    AllocDep, Deps, DirAdd, DirAddRare, Grown, InodeDep, PageDep, PageKind, PageNo, PointerSlot, page_in,
};
use super::names::Place;
use super::rule::Rule;
use super::state::State;
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Undo};
use ordo_ondisk::Ino;

impl Deps {
    // The record is built in place, by both callers.
    #[inline(always)]
    pub(super) fn attach_add(
        &mut self,
        at: Place<'_>,
        ino: Ino,
        named: Id<InodeDep>,
        inode: &BufRef,
        was: (Ino, u8),
        dotdot: bool,
        mut rare: Option<Box<DirAddRare>>,
    ) -> Id<DirAdd> {
        let page = self.page_of(at.block);
        debug_assert_eq!(self.page(page).owner(), at.dir, "an entry is in a block of its directory");
        let (seq, claim) = (self.tick(), self.newest_claim(at.dir));
        let mut dep = self.inodes.get_mut(named);
        let next = dep.as_ref().and_then(|dep| dep.names);
        if was.0 != Ino::NONE || next.is_some() {
            let rare = rare.get_or_insert_default();
            (rare.was, rare.next) = (was, next);
        }
        let add = DirAdd {
            ino,
            turn: named.turn(),
            page,
            offset: at.offset,
            state: State::Held,
            inode_image: inode.current_image(),
            awaited: false,
            dotdot,
            claim,
            seq,
            rare,
        };
        let id = self.names.insert(add);
        if let Some(dep) = &mut dep {
            dep.names = Some(id);
        }
        self.attach_to_directory(page, id);
        id
    }

    /// Removes a pending name from its page and its inode.
    #[inline]
    pub(super) fn remove_add(&mut self, id: Id<DirAdd>) -> Option<DirAdd> {
        self.unlink_from_inode(id);
        let add = self.names.remove(id)?;
        if let PageKind::Directory(names) = &mut self.page_mut(add.page).kind {
            names.adds.forget(id);
        }
        Some(add)
    }

    /// Removes a pending name from its inode's list.
    #[inline]
    pub(super) fn unlink_from_inode(&mut self, id: Id<DirAdd>) {
        let Some((named, next)) = self.names.get(id).map(|add| (add.named(), add.next())) else { return };
        let Some(dep) = self.inodes.get_mut(named) else { return };
        if dep.names == Some(id) {
            dep.names = next;
            return;
        }
        let mut at = dep.names;
        while let Some(other) = at.and_then(|at| self.names.get_mut(at)) {
            let Some(rare) = &mut other.rare else { break };
            if rare.next == Some(id) {
                rare.next = next;
                break;
            }
            at = rare.next;
        }
    }

    /// The same for a name that no image had: the bytes kept around another entry must not contain it either.
    #[inline]
    pub(super) fn cancel_add(&mut self, cache: &Cache, id: Id<DirAdd>) -> Option<DirAdd> {
        let add = self.remove_add(id)?;
        if let PageKind::Directory(PageDep { rems, .. }) = &mut self.page_mut(add.page).kind {
            for rem in rems.iter_mut().filter(|rem| rem.seq > add.seq) {
                if let Some((from, bytes)) = &mut rem.before
                    && let Some(offset) = add.offset.checked_sub(*from).filter(|at| (*at as usize) < bytes.len())
                {
                    cache.undo(bytes, &Undo::Entry { offset, ino: add.was().0, kind: add.was().1 });
                }
            }
        }
        Some(add)
    }

    /// The pending name in this entry, the newest if there are two. `newest` is the newest of all names of the inode.
    pub(super) fn add_at(&self, newest: Option<Id<DirAdd>>, page: PageNo, offset: u32) -> Option<Id<DirAdd>> {
        let is_here = |id: &Id<DirAdd>| self.names.get(*id).is_some_and(|add| add.page == page && add.offset == offset);
        self.names_from(newest).find(is_here)
    }

    pub(super) fn newest_name(&self, ino: Ino) -> Option<Id<DirAdd>> {
        self.inode_of(ino)?.names
    }

    /// A pending name and the older ones of the same inode, newest first.
    pub(super) fn names_from(&self, newest: Option<Id<DirAdd>>) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        std::iter::successors(newest, |id| self.names.get(*id)?.next())
    }

    /// Pending names of an inode, newest first.
    pub(super) fn names_of(&self, ino: Ino) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        self.names_from(self.newest_name(ino))
    }

    /// What must be durable of a directory before its newest entries can be found: its newest pointer or size, which is
    /// not carried before the older ones.
    pub(super) fn newest_claim(&self, dir: Ino) -> Option<Id<AllocDep>> {
        let grows =
            |id: &Id<AllocDep>| self.pointers.get(*id).is_some_and(|dep| !matches!(dep.slot, PointerSlot::ExtAttr(_)));
        self.pointers_of(dir).find(grows)
    }

    /// The newest pointer to a block of the directory that has moved, if it is not durable.
    pub(super) fn newest_move(&self, dir: Ino) -> Option<Id<AllocDep>> {
        let moved = |id: &Id<AllocDep>| {
            let dep = self.pointers.get(*id).filter(|dep| !matches!(dep.slot, PointerSlot::ExtAttr(_)));
            dep.is_some_and(|dep| dep.old.frags > 0 && dep.old.at != dep.new.at)
        };
        self.pointers_of(dir).filter(|_| self.has(Rule::MovedEntry)).find(moved)
    }

    /// A block of a directory moved. Names added and removed in it take effect with the pointer to the new place; an
    /// image that lands there before that changes no name on the disk.
    #[inline(never)]
    pub(super) fn directory_moved(&mut self, block: &BufRef, pointer: Id<AllocDep>) {
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
    pub(super) fn indirect_claim(&self, dir: Ino) -> Option<Grown> {
        if !self.grows_beyond_direct {
            return None;
        }
        self.grown.get(&dir).filter(|grown| grown.beyond_direct).cloned()
    }

    /// The directory that the name is in.
    #[inline]
    pub(super) fn directory_of(&self, add: &DirAdd) -> Ino {
        self.page(add.page).owner()
    }
}

impl DirAddRare {
    pub(super) fn is_empty(&self) -> bool {
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
