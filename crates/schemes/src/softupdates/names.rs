//! Names that come and go: link addition and link removal (Ganger and Patt 1994, section 4.2), and rename.
//!
//! A name that comes is held back (its entry leaves with what it meant before) until its inode is durable. A name that
//! goes only defers what follows from it, unless the file has just got other names: then the removal itself is held
//! back until those can be reached, and the bytes around the entry leave as they were.
//!
//! W1. Each removal that is held waits for names that came before it, never for later ones. The oldest of all that are
//!     held so waits for nothing but inodes and pointers, which never wait for names: nobody waits for ever.
//! W2. A name that a held removal waits for is not cancelled by a second rename: the removal would then have to wait for a
//!     later name, against W1. It is written, in its turn. Where the file goes for good it is cancelled.
//! W3. A directory's own name goes only after what moved out of it can be reached elsewhere.
//! W4. The last name of a directory goes only after those that it had in other directories: with one of them it would come
//!     back there, and with a `..` that leads elsewhere. So does the directory in which such a name waits to go: the `..`
//!     would lead nowhere. These removals are older, so that W1 holds for them, too.

use super::arena::Id;
use super::deps::{AllocDep, Deps, DirAdd, DirRem, Extra, InodeDep, PageDep, PageKind, PageNo, PointerSlot, RemId};
use super::rule::Rule;
use super::state::{Deed, Event, State};
use buf::{BufRef, Cache, Freed, Key, Landing, Ticket, Undo};
use ondisk::Ino;
use std::borrow::Cow;

/// An entry: its directory, the block, and where it is in it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) dir: Ino,
    pub(super) block: &'a BufRef,
    pub(super) offset: u32,
}

impl Deps {
    /// A name came.
    pub(super) fn link_added(&mut self, at: Place<'_>, ino: Ino, inode: &BufRef, parent: Option<&BufRef>) {
        let parent = parent.filter(|_| self.has(Rule::LinkAddition)).map(|buf| Landing::of(buf));
        let named = self.inode_dep(ino, inode);
        let mut extra = Extra { parent, indirect: self.indirect_claim(at.dir), ..Extra::default() };
        self.made_with(named, at.dir, &mut extra);
        let extra = (!extra.is_empty()).then(|| Box::new(extra));
        self.hang_add(at, ino, named, inode, (Ino::NONE, 0), false, extra);
    }

    /// An entry came to mean another inode. The ticket for the link of what it meant before comes back if that name was
    /// never on the disk.
    pub(super) fn link_changed(
        &mut self,
        cache: &Cache,
        at: Place<'_>,
        ino: Ino,
        inode: &BufRef,
        kind_before: u8,
        dotdot: bool,
        ticket: Ticket,
    ) -> Option<Ticket> {
        let Freed::DropLink { ino: was, parent, .. } = *ticket.freed() else { return Some(ticket) };
        let page = self.page_of(at.block);
        let named = self.inode_dep(ino, inode);
        let mut extra = Extra::default();
        self.made_with(named, at.dir, &mut extra);
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
        let replaces = older.filter(|id| {
            self.names.get(*id).is_some_and(|add| add.state == State::Held && (!add.awaited || extra.awaits.is_empty()))
        });
        match replaces.and_then(|id| self.cancel_add(cache, id)) {
            // It was never on the disk (M2 of `state`).
            Some(add) => {
                meant = add.was;
                // What the disk has there is what the older one was to replace.
                let older = add.extra.map(|extra| *extra).unwrap_or_default();
                extra.ticket = older.ticket;
                extra.awaits = if dotdot { extra.awaits } else { older.awaits };
                extra.after = older.after;
                ripe = self.with_its_name(was, parent.is_some(), ticket);
            }
            None if self.has(Rule::LinkRemoval) => extra.ticket = Some(ticket),
            None => ripe = Some(ticket),
        }
        self.mark_awaited(&extra.awaits);
        let extra = (!extra.is_empty()).then(|| Box::new(extra));
        let id = self.hang_add(at, ino, named, inode, meant, dotdot, extra);
        if dotdot {
            self.dotdots.insert(at.dir, id);
        }
        if moves_unnamed {
            self.move_unnamed(at.dir, id);
        }
        ripe
    }

    /// A name went. The ticket for its link comes back if the name was never on the disk.
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
        if let Some(below) = kept.and_then(|id| self.names.get(id)).filter(|add| add.state == State::Held)
            && let Some(extra) = &below.extra
        {
            // The removal may overtake that name, and must not overtake what that waits for: the disk has there what the
            // entry meant before both.
            awaits.extend(extra.awaits.iter().filter(|id| !self.is_settled(**id)));
            after.extend(extra.after.iter().filter(|removal| !self.is_gone(**removal)));
        }
        if let (Some(id), None) = (add, kept) {
            let gone = if state == State::Held { self.cancel_add(cache, id) } else { self.remove_add(id) };
            let cancelled = state.next(Event::TakenBack).1 == Deed::Cancel;
            self.counters.cancelled += u64::from(cancelled);
            if cancelled && gone.as_ref().is_none_or(|add| add.was.0 == Ino::NONE) {
                named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
                return self.with_its_name(ino, parent.is_some(), ticket);
            }
            if let Some(add) = gone.as_ref().filter(|_| cancelled) {
                // While the removal is held the entry leaves with what the disk has there, and not with the cancelled name.
                let offset = at.offset - before.0;
                cache.undo(bytes.to_mut(), &Undo::Entry { offset, ino: add.was.0, kind: add.was.1 });
            }
            let below = gone.and_then(|add| add.extra).map(|extra| *extra).unwrap_or_default();
            if cancelled {
                (awaits, after) = (below.awaits, below.after);
            }
            tickets.extend(below.ticket);
        }
        let ripe = match state.next(Event::TakenBack).1 {
            Deed::Cancel if kept.is_none() => self.with_its_name(ino, parent.is_some(), ticket),
            _ if !self.has(Rule::LinkRemoval) => Some(ticket),
            _ => {
                tickets.push(ticket);
                None
            }
        };
        named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
        let moves = parent.is_none() && self.dotdots.contains_key(&ino);
        let removal = self.hang_rem(page, at, (awaits, after), (before.0, &bytes), kept, tickets);
        if moves {
            self.moved_from.entry(ino).or_default().push(removal);
        }
        ripe
    }

    /// The ticket of a name that was never on the disk. A directory that goes for good while the disk still has an older
    /// name of it keeps its `.` and its parent's link until that name is gone, too.
    fn with_its_name(&mut self, ino: Ino, gone: bool, ticket: Ticket) -> Option<Ticket> {
        if !gone || self.was_never_there(ino) || !self.has(Rule::LinkRemoval) {
            return Some(ticket);
        }
        let names = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino: of, .. } if *of == ino);
        match self.removals().find(|rem| rem.tickets.iter().any(names)) {
            Some(rem) => {
                rem.tickets.push(ticket);
                None
            }
            None => Some(ticket),
        }
    }

    /// The directory is new, and nobody needs the name that it is about to lose.
    fn is_movable(&self, dir: Ino) -> bool {
        let is_free = |id: Id<DirAdd>| {
            self.names.get(id).is_some_and(|add| add.dotdot || add.state == State::Held && !add.awaited)
        };
        self.has(Rule::LinkRemoval) && !self.is_reachable(dir) && self.names_of(dir).all(is_free)
    }

    /// A new directory gets its `..` before its new name, and never its old one: with a `..` that leads elsewhere than
    /// its only name it could not be left.
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

    fn hang_rem(
        &mut self,
        page: PageNo,
        at: Place<'_>,
        (awaits, after): (Vec<Id<DirAdd>>, Vec<RemId>),
        before: (u32, &[u8]),
        add: Option<Id<DirAdd>>,
        tickets: Vec<Ticket>,
    ) -> RemId {
        let before = (!awaits.is_empty() || !after.is_empty()).then(|| (before.0, Box::from(before.1)));
        self.mark_awaited(&awaits);
        if !awaits.is_empty() {
            self.moved_out.entry(at.dir).or_default().extend(awaits.iter().copied());
        }
        self.counters.deferred += tickets.len() as u64;
        self.removals += 1;
        let seq = self.tick();
        let rem = DirRem { offset: at.offset, seq, state: State::Held, awaits, after, before, add, tickets };
        if let PageKind::Directory(names) = &mut self.page_mut(page).kind {
            names.rems.push(rem);
        }
        RemId(page, seq)
    }

    /// The pending name in this entry, the newest if there are two. `newest`: that of all names of the inode.
    fn add_at(&self, newest: Option<Id<DirAdd>>, page: PageNo, offset: u32) -> Option<Id<DirAdd>> {
        let is_here = |id: &Id<DirAdd>| self.names.get(*id).is_some_and(|add| add.page == page && add.offset == offset);
        self.names_from(newest).find(is_here)
    }

    fn newest_name(&self, ino: Ino) -> Option<Id<DirAdd>> {
        self.inode_of(ino)?.names
    }

    /// A pending name and the older ones of the same inode, newest first.
    fn names_from(&self, newest: Option<Id<DirAdd>>) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        std::iter::successors(newest, |id| self.names.get(*id)?.next)
    }

    /// Pending names of an inode, newest first.
    pub(super) fn names_of(&self, ino: Ino) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        self.names_from(self.newest_name(ino))
    }

    /// What a file's name must wait for before it goes: the other names that it has just got, and for a directory `..`.
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
            at = add.next;
        }
        others.extend(self.dotdots.get(&ino).copied().filter(|id| waits_for(*id)));
        others
    }

    fn moved_out_of(&mut self, dir: Ino) -> Vec<Id<DirAdd>> {
        let moved = self.moved_out.remove(&dir).unwrap_or_default();
        moved.into_iter().filter(|id| !self.is_settled(*id)).collect()
    }

    /// The removals, not durable yet, that must go before the last name of a directory, which is in `dir` (W4): those of
    /// names that it had elsewhere, and those in it that wait for others themselves.
    fn must_go_before(&self, cache: &Cache, ino: Ino, dir: Ino) -> Vec<RemId> {
        let elsewhere = |removal: &RemId| {
            let in_dir = || matches!(self.page(removal.0).buf.key(), Key::File(ino, _) if ino == dir);
            !self.is_gone(*removal) && !in_dir()
        };
        let mut first: Vec<RemId> =
            self.moved_from.get(&ino).into_iter().flatten().copied().filter(elsewhere).collect();
        for page in cache.unsettled_of(ino).iter().filter_map(|buf| self.find_page(buf)) {
            let waits = |rem: &&DirRem| rem.after.iter().any(|older| !self.is_gone(*older));
            first.extend(self.removals_in(page).iter().filter(waits).map(|rem| RemId(page, rem.seq)));
        }
        first
    }

    /// Notes that somebody waits for these to be reached, and so for the names of the new directories above them (W2).
    fn mark_awaited(&mut self, names: &[Id<DirAdd>]) {
        let mut marked = names.to_vec();
        while let Some(id) = marked.pop() {
            let Some(add) = self.names.get_mut(id) else { continue };
            let dir = add.dir;
            if !std::mem::replace(&mut add.awaited, true) && !self.is_reachable(dir) {
                marked.extend(self.names_of(dir).filter(|id| self.names.get(*id).is_some_and(|add| !add.dotdot)));
            }
        }
    }

    /// What a new inode was made with must be durable before any of its names: its first blocks; and for a directory
    /// that is renamed where it is, what its first name there waits for, its parent's count or its `..`.
    #[inline]
    fn made_with(&self, id: Id<InodeDep>, dir: Ino, extra: &mut Extra) {
        let Some(dep) = self.inodes.get(id).filter(|dep| dep.unnamed && self.has(Rule::LinkAddition)) else { return };
        let is_body = |id: &Id<AllocDep>| {
            dep.has_body || self.pointers.get(*id).is_some_and(|dep| matches!(dep.slot, PointerSlot::ExtAttr(_)))
        };
        extra.bodies.extend(self.pointers_from(dep.pointers).filter(is_body));
        let names = std::iter::successors(dep.names, |id| self.names.get(*id)?.next);
        let older = names.filter_map(|id| self.names.get(id)).find(|add| !add.dotdot && add.dir == dir);
        if let Some(older) = older.and_then(|add| add.extra.as_ref()) {
            extra.parent = extra.parent.take().or_else(|| older.parent.clone());
            extra.dotdot = older.dotdot;
        }
    }

    /// What must be durable of a directory for its newest entries to be found: the newest pointer or size, which is not
    /// carried before the older ones are.
    fn newest_claim(&self, dir: Ino) -> Option<Id<AllocDep>> {
        let grows =
            |id: &Id<AllocDep>| self.pointers.get(*id).is_some_and(|dep| !matches!(dep.slot, PointerSlot::ExtAttr(_)));
        self.pointers_of(dir).find(grows)
    }

    /// The same, where the block hangs on an indirect one.
    fn indirect_claim(&self, dir: Ino) -> Option<(Id<AllocDep>, Landing)> {
        let dep = self.inode_of(dir)?;
        let newest = dep.indirect.filter(|id| self.pointers.get(*id).is_some())?;
        Some((newest, Landing::of(&self.page(dep.page).buf)))
    }

    #[inline]
    fn hang_add(
        &mut self,
        at: Place<'_>,
        ino: Ino,
        named: Id<InodeDep>,
        inode: &BufRef,
        was: (Ino, u8),
        dotdot: bool,
        extra: Option<Box<Extra>>,
    ) -> Id<DirAdd> {
        let page = self.page_of(at.block);
        let add = DirAdd {
            ino,
            named,
            dir: at.dir,
            page,
            offset: at.offset,
            was,
            seq: self.tick(),
            state: State::Held,
            inode_image: inode.current_image(),
            awaited: false,
            dotdot,
            claim: self.newest_claim(at.dir),
            next: self.inodes.get(named).and_then(|dep| dep.names),
            extra,
        };
        let id = self.names.insert(add);
        if let Some(dep) = self.inodes.get_mut(named) {
            dep.names = Some(id);
        }
        self.hang_on_directory(page, id);
        id
    }

    /// Takes a pending name out of where it hangs.
    #[inline]
    pub(super) fn remove_add(&mut self, id: Id<DirAdd>) -> Option<DirAdd> {
        self.unlink_from_inode(id);
        let add = self.names.remove(id)?;
        if let PageKind::Directory(names) = &mut self.page_mut(add.page).kind {
            names.adds.forget_one();
        }
        Some(add)
    }

    /// Takes a pending name out of its inode's row.
    #[inline]
    pub(super) fn unlink_from_inode(&mut self, id: Id<DirAdd>) {
        let Some((named, next)) = self.names.get(id).map(|add| (add.named, add.next)) else { return };
        let Some(dep) = self.inodes.get_mut(named) else { return };
        if dep.names == Some(id) {
            dep.names = next;
            return;
        }
        let mut at = dep.names;
        while let Some(other) = at.and_then(|at| self.names.get_mut(at)) {
            if other.next == Some(id) {
                other.next = next;
                break;
            }
            at = other.next;
        }
    }

    /// The same for a name that no image had: it must not leave with the bytes around another entry either.
    #[inline]
    fn cancel_add(&mut self, cache: &Cache, id: Id<DirAdd>) -> Option<DirAdd> {
        let add = self.remove_add(id)?;
        if let PageKind::Directory(PageDep { rems, .. }) = &mut self.page_mut(add.page).kind {
            for rem in rems.iter_mut().filter(|rem| rem.seq > add.seq) {
                if let Some((from, bytes)) = &mut rem.before
                    && let Some(offset) = add.offset.checked_sub(*from).filter(|at| (*at as usize) < bytes.len())
                {
                    cache.undo(bytes, &Undo::Entry { offset, ino: add.was.0, kind: add.was.1 });
                }
            }
        }
        Some(add)
    }

    /// What the name depends on is durable.
    pub(super) fn is_name_safe(&self, add: &DirAdd) -> bool {
        let inode = !self.has(Rule::LinkAddition) || self.is_inode_durable(add.named, add.inode_image);
        let Some(extra) = &add.extra else { return inode };
        let parent = extra.parent.as_ref().is_none_or(|parent| match self.inode_of(add.dir) {
            Some(dep) => dep.state != State::Held && parent.is_done_after(dep.held_in),
            None => parent.is_done(),
        });
        inode
            && parent
            && !extra.doomed
            && extra.dotdot.and_then(|id| self.names.get(id)).is_none_or(|dotdot| dotdot.state == State::Durable)
            && extra.bodies.iter().all(|id| self.is_pointer_durable(*id))
            && extra.awaits.iter().all(|id| self.is_settled(*id))
            && extra.after.iter().all(|removal| self.is_gone(*removal))
    }

    pub(super) fn is_pointer_durable(&self, id: Id<AllocDep>) -> bool {
        self.pointers.get(id).is_none_or(|dep| dep.state == State::Durable)
    }

    /// After a crash the name would be found, from the root down; or it is none any more.
    pub(super) fn is_settled(&self, id: Id<DirAdd>) -> bool {
        let Some(add) = self.names.get(id) else { return true };
        if add.state != State::Durable || !self.is_reachable(add.dir) {
            return false;
        }
        self.is_claimed(add)
    }

    /// The directory leads to the entry.
    pub(super) fn is_claimed(&self, add: &DirAdd) -> bool {
        let indirect = add.extra.as_ref().and_then(|extra| extra.indirect.as_ref());
        add.claim.is_none_or(|id| self.is_pointer_durable(id))
            && indirect.is_none_or(|(id, size)| self.is_pointer_durable(*id) && size.is_done())
    }

    /// Drops the names that can be reached now; what was without a name has one then.
    pub(super) fn settle(&mut self) {
        loop {
            let waiting = std::mem::take(&mut self.unreached);
            let before = waiting.len();
            for id in waiting {
                if !self.is_settled(id) {
                    self.unreached.push(id);
                    continue;
                }
                let Some(add) = self.remove_add(id) else { continue };
                if !add.dotdot
                    && let Some(dep) = self.inodes.get_mut(add.named)
                {
                    dep.unnamed = false;
                }
                self.drop_inode_if_idle(add.named);
                self.drop_page_if_idle(add.page);
            }
            if self.unreached.is_empty() || self.unreached.len() == before {
                break;
            }
        }
        let names = &self.names;
        self.dotdots.retain(|_, id| names.get(*id).is_some());
        self.moved_out.retain(|_, moved| {
            moved.retain(|id| names.get(*id).is_some());
            !moved.is_empty()
        });
        let mut moved_from = std::mem::take(&mut self.moved_from);
        moved_from.retain(|_, removals| {
            removals.retain(|removal| !self.is_gone(*removal));
            !removals.is_empty()
        });
        self.moved_from = moved_from;
    }
}

impl Extra {
    fn is_empty(&self) -> bool {
        self.bodies.is_empty()
            && self.parent.is_none()
            && self.indirect.is_none()
            && self.awaits.is_empty()
            && self.after.is_empty()
            && self.dotdot.is_none()
            && !self.doomed
            && self.ticket.is_none()
    }
}
