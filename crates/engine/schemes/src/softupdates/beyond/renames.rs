//! What renames add to the papers: a file is renamed by adding a name and removing another one, and neither removal nor
//! crash may leave it without a name, or a directory where its `..` does not lead.
//!
//! A removed name then does more than defer what its removal frees: if the file has just got other names, the removal
//! itself is held back until those can be reached, and the bytes around the entry are written as they were (leave-4).
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

use super::super::deps::{Deps, DirAdd, DirAddRare, DirRem, InodeDep, RemId};
use super::super::rule::Rule;
use super::super::state::State;
use crate::records::Id;
use ordo_buf::{Cache, Freed, Key, Ticket};
use ordo_ondisk::Ino;

/// What must be on the disk before a name goes.
#[derive(Default)]
pub(in crate::softupdates) struct First {
    /// Names that must be reachable.
    pub(in crate::softupdates) awaits: Vec<Id<DirAdd>>,
    /// Names that must be gone.
    pub(in crate::softupdates) after: Vec<RemId>,
}

impl Deps {
    /// What must precede the loss of a name of `ino`: its other names; and if it is a directory removed for good, from
    /// `gone_from`, what W3 and W4 ask for. `newest` is the newest of its names, `this` the one that it loses.
    pub(in crate::softupdates) fn before_losing(
        &mut self,
        cache: &Cache,
        (ino, gone_from): (Ino, Option<Ino>),
        newest: Option<Id<DirAdd>>,
        this: Option<Id<DirAdd>>,
    ) -> First {
        let mut first = First { awaits: self.other_names(ino, newest, this), after: Vec::new() };
        if let Some(dir) = gone_from {
            first.awaits.extend(self.moved_out_of(ino));
            first.after = self.must_go_before(cache, ino, dir);
        }
        first
    }

    /// What must be durable before a file's name is removed: the other names that it has just got, and for a directory
    /// its `..`.
    #[inline]
    fn other_names(&self, ino: Ino, newest: Option<Id<DirAdd>>, this: Option<Id<DirAdd>>) -> Vec<Id<DirAdd>> {
        if !self.has(Rule::LinkRemoval) {
            return Vec::new();
        }
        let waits_for = |id: &Id<DirAdd>| Some(*id) != this && !self.is_settled(*id);
        let names_it = |id: &Id<DirAdd>| self.names.get(*id).is_some_and(|add| !add.dotdot);
        let mut others: Vec<_> = self.names_from(newest).filter(names_it).filter(waits_for).collect();
        others.extend(self.beyond.dotdots.get(&ino).copied().filter(waits_for));
        others
    }

    /// A change of an entry may overtake an older one that no image had, but must wait for what that one waits for: the
    /// disk has in the entry what it named before both.
    pub(in crate::softupdates) fn not_before_below(&self, below: Option<Id<DirAdd>>, first: &mut First) {
        let below = below.and_then(|id| self.names.get(id)).filter(|add| add.state == State::Held);
        let Some(rare) = below.and_then(|add| add.rare.as_ref()) else { return };
        first.awaits.extend(rare.awaits.iter().filter(|id| !self.is_settled(**id)));
        first.after.extend(rare.after.iter().filter(|removal| !self.is_gone(**removal)));
    }

    /// Marks these names as awaited, and with them the names of the new directories above them, and the `..` of each
    /// (W2).
    pub(in crate::softupdates) fn mark_awaited(&mut self, names: &[Id<DirAdd>]) {
        let mut marked = names.to_vec();
        while let Some(id) = marked.pop() {
            let Some(add) = self.names.get_mut(id) else { continue };
            let (page, was) = (add.page, std::mem::replace(&mut add.awaited, true));
            if !was && let Some(dotdot) = add.rare.as_ref().and_then(|rare| rare.dotdot) {
                marked.push(dotdot);
            }
            let dir = self.page(page).owner();
            if !was && !self.is_reachable(dir) {
                marked.extend(self.names_of(dir).filter(|id| self.names.get(*id).is_some_and(|add| !add.dotdot)));
            }
        }
    }

    fn moved_out_of(&mut self, dir: Ino) -> Vec<Id<DirAdd>> {
        let moved = self.beyond.moved_out.remove(&dir).unwrap_or_default();
        moved.into_iter().filter(|id| !self.is_settled(*id)).collect()
    }

    /// The removals, not durable yet, that must precede the removal of a directory's last name, which is in `dir` (W4):
    /// of names that it had elsewhere, and of names in it that wait for others themselves.
    fn must_go_before(&self, cache: &Cache, ino: Ino, dir: Ino) -> Vec<RemId> {
        let elsewhere = |removal: &RemId| {
            let in_dir = || matches!(self.page(removal.0).buf.key(), Key::File(ino, _) if ino == dir);
            !self.is_gone(*removal) && !in_dir()
        };
        let mut first: Vec<RemId> =
            self.beyond.moved_from.get(&ino).into_iter().flatten().copied().filter(elsewhere).collect();
        for page in cache.unsettled_of(ino).iter().filter_map(|buf| self.find_page(buf)) {
            let waits = |rem: &&DirRem| rem.after.iter().any(|older| !self.is_gone(*older));
            first.extend(self.removals_in(page).iter().filter(waits).map(|rem| RemId(page, rem.seq)));
        }
        first
    }

    /// Returns the ticket of a name that was never on the disk, if it is ripe; `gone`: of a directory removed for good.
    pub(in crate::softupdates) fn with_its_name(&mut self, ino: Ino, gone: bool, ticket: Ticket) -> Option<Ticket> {
        if gone { self.after_its_names(ino, ticket) } else { Some(ticket) }
    }

    /// The ticket of a directory removed for good, with its `.` and its parent's link. It must keep both while the disk
    /// may have an older name of it: then the ticket is added to those that wait for the removal of such a name, and is
    /// checked again with them (W4).
    pub(in crate::softupdates) fn after_its_names(&mut self, ino: Ino, ticket: Ticket) -> Option<Ticket> {
        if self.was_never_there(ino) || !self.has(Rule::LinkRemoval) {
            return Some(ticket);
        }
        let is_its = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino: of, .. } if *of == ino);
        if let Some(rem) = self.removals().find(|rem| rem.tickets.iter().any(is_its)) {
            rem.tickets.push(ticket);
            return None;
        }
        let mut changes = self.names.records_mut().filter_map(|add| add.rare.as_mut());
        if let Some(rare) = changes.find(|rare| rare.tickets.iter().any(is_its)) {
            rare.tickets.push(ticket);
            return None;
        }
        let mut waiting = self.pages.iter_mut().flatten().map(|page| &mut page.waiting);
        if let Some((row, image)) = waiting.find_map(|row| {
            let image = row.iter().find(|(_, ticket)| is_its(ticket))?.0;
            Some((row, image))
        }) {
            let at = row.partition_point(|(from, _)| *from <= image);
            row.insert(at, (image, ticket));
            return None;
        }
        Some(ticket)
    }

    /// The directory is new, and no change waits for the name that it is about to lose.
    pub(in crate::softupdates) fn is_movable(&self, dir: Ino) -> bool {
        let is_free = |id: Id<DirAdd>| {
            self.names.get(id).is_some_and(|add| add.dotdot || add.state == State::Held && !add.awaited)
        };
        self.has(Rule::LinkRemoval) && !self.is_reachable(dir) && self.names_of(dir).all(is_free)
    }

    /// The `..` of a directory was redirected by this change. `unnamed`: the directory has no name yet.
    pub(in crate::softupdates) fn dotdot_changed(&mut self, dir: Ino, dotdot: Id<DirAdd>, unnamed: bool) {
        self.beyond.dotdots.insert(dir, dotdot);
        if unnamed {
            self.move_unnamed(dir, dotdot);
        } else {
            self.moved.insert(dir, self.seq);
        }
    }

    /// A new directory gets its `..` before its new name, and never its old name: a directory whose `..` leads
    /// elsewhere than its only name could not be left.
    fn move_unnamed(&mut self, dir: Ino, dotdot: Id<DirAdd>) {
        let names: Vec<Id<DirAdd>> = self.names_of(dir).collect();
        let mut newest = true;
        for id in names {
            let Some(add) = self.names.get_mut(id).filter(|add| !add.dotdot) else { continue };
            let rare = add.rare.get_or_insert_default();
            if std::mem::take(&mut newest) {
                rare.dotdot = Some(dotdot);
            } else {
                rare.doomed = true;
            }
        }
    }

    /// A directory got another name, in `dir`. W5: that name waits for the older ones elsewhere. They are not marked as
    /// awaited: a cancelled one is not waited for.
    #[cold]
    pub(in crate::softupdates) fn directory_renamed(
        &mut self,
        ino: Ino,
        id: Id<InodeDep>,
        dir: Ino,
        rare: &mut Option<Box<DirAddRare>>,
    ) {
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
            rare.get_or_insert_default().awaits.extend(older);
        }
    }

    /// Everything that moved up to this sequence number is durable in its place.
    pub(in crate::softupdates) fn moved_until(&mut self, seq: u64) {
        self.moved.retain(|_, moved| *moved > seq);
        self.renamed_until(seq);
    }

    /// All directories renamed up to this sequence number have their names on the disk.
    pub(in crate::softupdates) fn renamed_until(&mut self, seq: u64) {
        self.renamed.retain(|_, renamed| *renamed > seq);
    }
}
