//! Attaches records to their inodes and pages, and takes them off again (deps-1, deps-4). What a step means, and so
//! what a record says, is for `names`, `inodes` and `pointers`.

use super::super::beyond::First;
use super::super::names::EntryPlace;
use super::super::state::State;
use super::{AllocDep, Deps, DirAdd, DirAddRare, DirRem, InodeDep, Page, PageKind, PageNo, PointerSlot, RemId};
use crate::records::Id;
use ordo_buf::{BufRef, ImageNo, Landing, Ticket};
use ordo_ondisk::Ino;

impl Deps {
    #[inline]
    pub(in crate::softupdates) fn add_inode(
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

    /// Drops the record. Returns the state of its dinode.
    #[inline(always)]
    pub(in crate::softupdates) fn remove_inode(&mut self, id: Id<InodeDep>) -> State {
        let Some((page, state)) = self.inodes.get(id).map(|dep| (dep.page, dep.state)) else { return State::Durable };
        self.inodes.discard(id);
        if let PageKind::Inodes(row) = &mut self.page_mut(page).kind {
            row.forget(id);
        }
        state
    }

    /// Drops the record of an inode with nothing pending.
    pub(in crate::softupdates) fn drop_inode_if_idle(&mut self, id: Id<InodeDep>) {
        let Some(dep) = self.inodes.get(id) else { return };
        let idle = dep.state == State::Durable && dep.pointers.is_none() && dep.names.is_none() && !dep.unnamed;
        if idle {
            self.remove_inode(id);
        }
    }

    /// Removes a pending pointer from its page or inode. Returns the ticket of what it replaced.
    #[inline]
    pub(in crate::softupdates) fn remove_pointer(&mut self, id: Id<AllocDep>) -> Option<Ticket> {
        let dep = self.pointers.get_mut(id)?;
        let (ino, slot, freed) = (dep.ino, dep.slot, dep.freed.take());
        if let PointerSlot::Indirect(page, index) = slot {
            if let PageKind::Indirect(indirect) = &mut self.page_mut(page).kind
                && indirect.pointers.get(&index) == Some(&id)
            {
                indirect.pointers.remove(&index);
            }
        } else if let Some(inode) = self.inodes.of_mut(ino) {
            self.pointers.unlink(&mut inode.pointers, id);
        }
        self.pointers.discard(id);
        freed.map(|ticket| *ticket)
    }

    // The record is built in place, by both callers.
    #[inline(always)]
    pub(in crate::softupdates) fn attach_add(
        &mut self,
        at: EntryPlace<'_>,
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
    pub(in crate::softupdates) fn remove_add(&mut self, id: Id<DirAdd>) -> Option<DirAdd> {
        let named = self.names.get(id)?.named();
        if let Some(dep) = self.inodes.get_mut(named) {
            self.names.unlink(&mut dep.names, id);
        }
        let add = self.names.remove(id)?;
        if let PageKind::Directory(names) = &mut self.page_mut(add.page).kind {
            names.adds.forget(id);
        }
        Some(add)
    }

    pub(in crate::softupdates) fn attach_rem(
        &mut self,
        page: PageNo,
        at: EntryPlace<'_>,
        First { awaits, after }: First,
        before: (u32, &[u8]),
        add: Option<Id<DirAdd>>,
        tickets: Vec<Ticket>,
    ) -> RemId {
        let before = (!awaits.is_empty() || !after.is_empty()).then(|| (before.0, Box::from(before.1)));
        self.mark_awaited(&awaits);
        if !awaits.is_empty() {
            self.beyond.moved_out.entry(at.dir).or_default().extend(awaits.iter().copied());
        }
        self.counters.deferred += tickets.len() as u64;
        self.removals += 1;
        let seq = self.tick();
        let claim = self.newest_move(at.dir);
        let (awaits, after) = (awaits.into(), after.into());
        let rem = DirRem { offset: at.offset, seq, state: State::Held, awaits, after, before, add, claim, tickets };
        if let PageKind::Directory(names) = &mut self.page_mut(page).kind {
            names.rems.push(rem);
        }
        RemId(page, seq)
    }

    /// Attaches a name to the page of its directory's block.
    #[inline]
    fn attach_to_directory(&mut self, no: PageNo, id: Id<DirAdd>) {
        if let Some(Page { kind: PageKind::Directory(names), .. }) = &mut self.pages[no.0 as usize] {
            names.adds.push(id, |id| self.names.get(id).is_some());
        }
    }

    /// Attaches an inode to the page of its block.
    #[inline]
    fn attach_to_inodes(&mut self, no: PageNo, id: Id<InodeDep>) {
        if let Some(Page { kind: PageKind::Inodes(row), .. }) = &mut self.pages[no.0 as usize] {
            row.push(id, |id| self.inodes.get(id).is_some());
        }
    }
}
