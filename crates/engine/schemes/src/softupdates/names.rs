//! Names added and removed: link addition and link removal (Ganger and Patt 1994, section 4.2), and rename.
//!
//! An added name is held back (its entry is written with what it named before) until its inode is durable. A removed
//! name only defers what its removal frees, unless the file has just got other names. Then the removal itself is held
//! back until those can be reached, and the bytes around the entry are written as they were.
//!
//! W1. Each held removal waits for names added before it, never for later ones. The oldest of all held removals so
//!     waits only for inodes and pointers, which never wait for names: no change waits forever.
//! W2. A name that a held removal waits for is not cancelled by a second rename: the removal would then have to wait
//!     for a later name, against W1. It is written, in its turn; so is the `..` that it needs. If the entry changes or
//!     is removed before that, the later change waits for what the name waits for, and counts for it once it is
//!     durable. If the file is removed for good, the name is cancelled.
//! W3. A directory's own name is removed only after everything that moved out of it can be reached elsewhere.
//! W4. The last name of a directory is removed only after the names that it had in other directories. Otherwise it
//!     would come back under one of them, with a `..` that leads elsewhere. The same holds for a directory in which
//!     such a name waits to be removed: the `..` would lead nowhere. These removals are older, so W1 holds for them,
//!     too.
//! W5. If a directory moves to another one while its older name is not on the disk, and that name cannot be cancelled,
//!     its new name is written after the older one. With the new name alone, the directory would not be where its `..`
//!     leads.

use super::arena::Id;
use super::deps::{AllocDep, Deps, DirAdd, Extra, InodeDep, PageKind, PointerSlot, RemId, page_in};
use super::rule::Rule;
use super::state::{Deed, Event, State};
use ordo_buf::{BufRef, Cache, Freed, Landing, Ticket, Undo};
use ordo_ondisk::Ino;
use std::borrow::Cow;

/// An entry: its directory, block, and offset.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) dir: Ino,
    /// The name, if it is added or removed.
    pub(super) name: &'a [u8],
    pub(super) block: &'a BufRef,
    pub(super) offset: u32,
}

/// What an entry names.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) ino: Ino,
    /// The buf with its inode.
    pub(super) inode: &'a BufRef,
    /// It is a directory that had another name before.
    pub(super) moves: bool,
}

impl Deps {
    /// A name was added.
    #[inline(never)]
    pub(super) fn link_added(&mut self, at: Place<'_>, to: Named<'_>, parent: Option<&BufRef>) {
        let Named { ino, inode, moves } = to;
        let parent = parent.filter(|_| self.has(Rule::LinkAddition)).map(|buf| Landing::of(buf));
        let named = self.inode_dep(ino, inode);
        let mut extra = self.extra_of(at.dir);
        if parent.is_some() {
            extra.get_or_insert_default().parent = parent;
        }
        self.made_with(named, at.dir, &mut extra);
        if moves {
            self.directory_renamed(ino, named, at.dir, &mut extra);
        }
        if let Some(older) = self.same_name_before(at) {
            extra.get_or_insert_default().after.push(older);
        }
        self.hang_add(at, ino, named, inode, (Ino::NONE, 0), false, extra);
    }

    /// An entry was redirected to another inode. Returns the ticket for the link of what it named before, if that name
    /// was never on the disk.
    #[inline(never)]
    pub(super) fn link_changed(
        &mut self,
        cache: &Cache,
        at: Place<'_>,
        to: Named<'_>,
        kind_before: u8,
        dotdot: bool,
        ticket: Ticket,
    ) -> Option<Ticket> {
        let Freed::DropLink { ino: was, parent, .. } = *ticket.freed() else { return Some(ticket) };
        let Named { ino, inode, moves } = to;
        let page = self.page_of(at.block);
        let named = self.inode_dep(ino, inode);
        let mut extra = self.extra_of(at.dir);
        self.made_with(named, at.dir, &mut extra);
        let mut extra = extra.unwrap_or_default();
        let names_before = self.newest_name(was);
        let older = self.add_at(names_before, page, at.offset);
        let moves_unnamed = dotdot && self.is_movable(at.dir);
        if !moves_unnamed {
            let (who, names) = if dotdot { (at.dir, self.newest_name(at.dir)) } else { (was, names_before) };
            extra.awaits = self.other_names(who, names, older);
        }
        if parent.is_some() {
            extra.awaits.extend(self.moved_out_of(was));
            extra.after = self.must_go_before(cache, was, at.dir);
        }
        let (mut meant, mut ripe) = ((was, kind_before), None);
        let was_gone = parent.is_some();
        let replaces = older.filter(|id| {
            self.names.get(*id).is_some_and(|add| add.state == State::Held && (!add.awaited || extra.awaits.is_empty()))
        });
        match replaces.and_then(|id| self.cancel_add(cache, id)) {
            // It was never on the disk (state-2).
            Some(add) => {
                meant = add.was();
                // The disk has there what the older change was to replace.
                let older = add.extra.map(|extra| *extra).unwrap_or_default();
                extra.tickets = older.tickets;
                extra.awaits = if dotdot { extra.awaits } else { older.awaits };
                extra.after = older.after;
                ripe = Some(ticket);
            }
            None if self.has(Rule::LinkRemoval) => {
                self.not_before_below(older, &mut extra.awaits, &mut extra.after);
                extra.tickets.push(ticket);
            }
            None => ripe = Some(ticket),
        }
        self.mark_awaited(&extra.awaits);
        let mut extra = Some(extra).filter(|extra| !extra.is_empty());
        if moves {
            self.directory_renamed(ino, named, at.dir, &mut extra);
        }
        let id = self.hang_add(at, ino, named, inode, meant, dotdot, extra);
        if dotdot {
            self.dotdots.insert(at.dir, id);
            if !moves_unnamed {
                self.moved.insert(at.dir, self.seq);
            }
        }
        if moves_unnamed {
            self.move_unnamed(at.dir, id);
        }
        ripe.and_then(|ticket| self.with_its_name(was, was_gone, ticket))
    }

    /// A name was removed. Returns the ticket for its link if the name was never on the disk.
    #[inline(never)]
    pub(super) fn link_removed(
        &mut self,
        cache: &Cache,
        at: Place<'_>,
        before: (u32, &[u8]),
        ticket: Ticket,
    ) -> Option<Ticket> {
        let Freed::DropLink { ino, parent, .. } = *ticket.freed() else { return Some(ticket) };
        let page = self.page_of(at.block);
        let named = self.id_of(ino);
        let newest = named.and_then(|id| self.inodes.get(id)?.names);
        let add = self.add_at(newest, page, at.offset);
        let mut awaits = self.other_names(ino, newest, add);
        let mut after = Vec::new();
        if parent.is_some() {
            awaits.extend(self.moved_out_of(ino));
            after = self.must_go_before(cache, ino, at.dir);
        }
        let state = add.and_then(|id| self.names.get(id)).map_or(State::Durable, |add| add.state);
        let kept = add.filter(|id| !awaits.is_empty() && self.names.get(*id).is_some_and(|add| add.awaited));
        let (mut tickets, mut bytes) = (vec![], Cow::Borrowed(before.1));
        self.not_before_below(kept, &mut awaits, &mut after);
        if let (Some(id), None) = (add, kept) {
            let gone = if state == State::Held { self.cancel_add(cache, id) } else { self.remove_add(id) };
            let cancelled = state.next(Event::TakenBack).1 == Deed::Cancel;
            self.counters.cancelled += u64::from(cancelled);
            if cancelled && gone.as_ref().is_none_or(|add| add.was().0 == Ino::NONE) {
                named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
                return self.with_its_name(ino, parent.is_some(), ticket);
            }
            if let Some(add) = gone.as_ref().filter(|_| cancelled) {
                // While the removal is held, the entry is written with what the disk has there, not with the cancelled
                // name.
                let offset = at.offset - before.0;
                cache.undo(bytes.to_mut(), &Undo::Entry { offset, ino: add.was().0, kind: add.was().1 });
            }
            let below = gone.and_then(|add| add.extra).map(|extra| *extra).unwrap_or_default();
            if cancelled {
                (awaits, after) = (below.awaits, below.after);
            }
            tickets.extend(below.tickets);
        }
        let ripe = match state.next(Event::TakenBack).1 {
            Deed::Cancel if kept.is_none() => Some(ticket),
            _ if !self.has(Rule::LinkRemoval) => Some(ticket),
            _ => {
                tickets.push(ticket);
                None
            }
        };
        named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
        let moves = parent.is_none() && self.dotdots.contains_key(&ino);
        let sector = (before.0, before.1.len() as u32);
        let removal = self.hang_rem(page, at, (awaits, after), (before.0, &bytes), kept, tickets);
        self.name_goes(at, removal, sector);
        if moves {
            self.moved_from.entry(ino).or_default().push(removal);
        }
        ripe.and_then(|ticket| self.with_its_name(ino, parent.is_some(), ticket))
    }

    /// A name was removed. Cancels it in the simple case, which covers most files removed soon after they were made: it
    /// is the file's only pending name, so its removal waits for nothing; no image had it, so nothing waits for its
    /// removal (state-2); the disk has nothing in the entry; and no other removal keeps the bytes around it.
    /// `false` in other cases.
    #[inline(never)]
    pub(super) fn came_and_went(&mut self, at: Place<'_>, ticket: &Ticket) -> bool {
        let Freed::DropLink { ino, parent: None, .. } = *ticket.freed() else { return false };
        let Some(page) = self.find_page(at.block) else { return false };
        let Some(dep) = self.inodes.of_mut(ino) else { return false };
        let Some(id) = dep.names else { return false };
        let Some(add) = self.names.get(id) else { return false };
        let PageKind::Directory(names) = &mut page_in(&mut self.pages, page).kind else { return false };
        let alone = add.state == State::Held
            && add.extra.is_none()
            && (add.page, add.offset) == (page, at.offset)
            && names.rems.is_empty()
            && !self.dotdots.contains_key(&ino);
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

    /// A change of an entry may overtake an older one that no image had, but must wait for what that one waits for: the
    /// disk has in the entry what it named before both.
    fn not_before_below(&self, below: Option<Id<DirAdd>>, awaits: &mut Vec<Id<DirAdd>>, after: &mut Vec<RemId>) {
        let below = below.and_then(|id| self.names.get(id)).filter(|add| add.state == State::Held);
        let Some(extra) = below.and_then(|add| add.extra.as_ref()) else { return };
        awaits.extend(extra.awaits.iter().filter(|id| !self.is_settled(**id)));
        after.extend(extra.after.iter().filter(|removal| !self.is_gone(**removal)));
    }

    /// The directory is new, and no change waits for the name that it is about to lose.
    fn is_movable(&self, dir: Ino) -> bool {
        let is_free = |id: Id<DirAdd>| {
            self.names.get(id).is_some_and(|add| add.dotdot || add.state == State::Held && !add.awaited)
        };
        self.has(Rule::LinkRemoval) && !self.is_reachable(dir) && self.names_of(dir).all(is_free)
    }

    /// A new directory gets its `..` before its new name, and never its old name: a directory whose `..` leads
    /// elsewhere than its only name could not be left.
    fn move_unnamed(&mut self, dir: Ino, dotdot: Id<DirAdd>) {
        let names: Vec<Id<DirAdd>> = self.names_of(dir).collect();
        let mut newest = true;
        for id in names {
            let Some(add) = self.names.get_mut(id).filter(|add| !add.dotdot) else { continue };
            let extra = add.extra.get_or_insert_default();
            if std::mem::take(&mut newest) {
                extra.dotdot = Some(dotdot);
            } else {
                extra.doomed = true;
            }
        }
    }

    /// What must be durable before a file's name is removed: the other names that it has just got, and for a directory
    /// its `..`.
    #[inline]
    fn other_names(&self, ino: Ino, newest: Option<Id<DirAdd>>, this: Option<Id<DirAdd>>) -> Vec<Id<DirAdd>> {
        let mut others = Vec::new();
        if !self.has(Rule::LinkRemoval) {
            return others;
        }
        let waits_for = |id: Id<DirAdd>| Some(id) != this && !self.is_settled(id);
        let mut at = newest;
        while let Some((id, add)) = at.and_then(|id| Some((id, self.names.get(id)?))) {
            if !add.dotdot && waits_for(id) {
                others.push(id);
            }
            at = add.next();
        }
        others.extend(self.dotdots.get(&ino).copied().filter(|id| waits_for(*id)));
        others
    }

    /// Marks these names as awaited, and with them the names of the new directories above them, and the `..` of each
    /// (W2).
    pub(super) fn mark_awaited(&mut self, names: &[Id<DirAdd>]) {
        let mut marked = names.to_vec();
        while let Some(id) = marked.pop() {
            let Some(add) = self.names.get_mut(id) else { continue };
            let (page, was) = (add.page, std::mem::replace(&mut add.awaited, true));
            if !was && let Some(dotdot) = add.extra.as_ref().and_then(|extra| extra.dotdot) {
                marked.push(dotdot);
            }
            let dir = self.page(page).owner();
            if !was && !self.is_reachable(dir) {
                marked.extend(self.names_of(dir).filter(|id| self.names.get(*id).is_some_and(|add| !add.dotdot)));
            }
        }
    }

    /// What every name in the directory needs in addition, if anything.
    #[inline]
    fn extra_of(&self, dir: Ino) -> Option<Box<Extra>> {
        self.indirect_claim(dir).map(|grown| Box::new(Extra { grown: Some(grown), ..Extra::default() }))
    }

    /// What a new inode was made with must be durable before any of its names: its first blocks; and for a directory
    /// renamed within its parent, what its first name there waits for (the parent's count, or its `..`).
    #[inline(always)]
    fn made_with(&self, id: Id<InodeDep>, dir: Ino, extra: &mut Option<Box<Extra>>) {
        let Some(dep) = self.inodes.get(id).filter(|dep| dep.pointers.is_some() || dep.names.is_some()) else { return };
        if dep.unnamed && self.has(Rule::LinkAddition) {
            self.made_with_these(dep, dir, extra);
        }
    }

    /// A directory got another name, in `dir`. W5: that name waits for the older ones elsewhere. They are not marked as
    /// awaited: a cancelled one is not waited for.
    #[cold]
    fn directory_renamed(&mut self, ino: Ino, id: Id<InodeDep>, dir: Ino, extra: &mut Option<Box<Extra>>) {
        if self.has(Rule::RenamedAbove) {
            self.renamed.insert(ino, self.seq + 1);
        }
        let names = self.inodes.get(id).and_then(|dep| dep.names).filter(|_| self.has(Rule::MovedDirectory));
        let elsewhere = |id: &Id<DirAdd>| {
            let add = self.names.get(*id);
            add.is_some_and(|add| !add.dotdot && self.directory_of(add) != dir) && !self.is_settled(*id)
        };
        let older: Vec<_> = self.names_from(names).filter(elsewhere).collect();
        if !older.is_empty() {
            extra.get_or_insert_default().awaits.extend(older);
        }
    }

    #[inline(never)]
    fn made_with_these(&self, dep: &InodeDep, dir: Ino, extra: &mut Option<Box<Extra>>) {
        let is_body = |id: &Id<AllocDep>| {
            dep.has_body || self.pointers.get(*id).is_some_and(|dep| matches!(dep.slot, PointerSlot::ExtAttr(_)))
        };
        for body in self.pointers_from(dep.pointers).filter(is_body) {
            extra.get_or_insert_default().bodies.push(body);
        }
        let names = std::iter::successors(dep.names, |id| self.names.get(*id)?.next());
        let older = names.filter_map(|id| self.names.get(id)).find(|add| !add.dotdot && self.directory_of(add) == dir);
        if let Some(older) = older.and_then(|add| add.extra.as_ref()) {
            let extra = extra.get_or_insert_default();
            extra.parent = extra.parent.take().or_else(|| older.parent.clone());
            extra.dotdot = older.dotdot;
        }
    }
}
