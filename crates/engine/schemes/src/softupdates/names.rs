//! Names added and removed: link addition and link removal (Ganger and Patt 1994, section 4.2).
//!
//! An added name is held back (its entry is written with what it named before) until its inode is durable. A removed
//! name defers what its removal frees. A name that no image had is cancelled by its removal. What renames add to this
//! is in `renames`.

use super::beyond::First;
use super::deps::{AllocDep, Deps, DirAdd, DirAddRare, InodeDep, PageDep, PageKind, PointerSlot};
use super::rule::Rule;
use super::state::State;
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Freed, Landing, Ticket, Undo};
use ordo_ondisk::Ino;
use std::borrow::Cow;

/// An entry: its directory, block, and offset.
#[derive(Clone, Copy)]
pub(super) struct EntryPlace<'a> {
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
    pub(super) fn link_added(&mut self, at: EntryPlace<'_>, to: Named<'_>, parent: Option<&BufRef>) {
        let Named { ino, inode, moves } = to;
        let parent = parent.filter(|_| self.has(Rule::LinkAddition)).map(|buf| Landing::of(buf));
        let named = self.inode_dep(ino, inode);
        let mut rare = self.rare_of(at.dir);
        if parent.is_some() {
            rare.get_or_insert_default().parent = parent;
        }
        self.made_with(named, at.dir, &mut rare);
        if moves {
            self.directory_renamed(ino, named, at.dir, &mut rare);
        }
        if let Some(older) = self.same_name_before(at) {
            rare.get_or_insert_default().after.push(older);
        }
        self.attach_add(at, ino, named, inode, (Ino::NONE, 0), false, rare);
    }

    /// An entry was redirected to another inode. Returns the ticket for the link of what it named before, if that name
    /// was never on the disk.
    #[inline(never)]
    pub(super) fn link_changed(
        &mut self,
        cache: &Cache,
        at: EntryPlace<'_>,
        to: Named<'_>,
        kind_before: u8,
        dotdot: bool,
        ticket: Ticket,
    ) -> Option<Ticket> {
        let Freed::DropLink { ino: was, parent, .. } = *ticket.freed() else { return Some(ticket) };
        let Named { ino, inode, moves } = to;
        let page = self.page_of(at.block);
        let named = self.inode_dep(ino, inode);
        let mut rare = self.rare_of(at.dir);
        self.made_with(named, at.dir, &mut rare);
        let mut rare = rare.unwrap_or_default();
        let newest = self.newest_name(was);
        let older = self.add_at(newest, page, at.offset);
        let moves_unnamed = dotdot && self.is_movable(at.dir);
        let mut first = match dotdot {
            true if moves_unnamed => First::default(),
            true => self.before_losing(cache, (at.dir, None), self.newest_name(at.dir), older),
            false => self.before_losing(cache, (was, parent.map(|_| at.dir)), newest, older),
        };
        let (mut meant, mut ripe) = ((was, kind_before), None);
        match self.cancel_replaced(cache, older, &first) {
            // The disk has there what the older change was to replace; so this one waits for what that one waited for,
            // and frees what that one was to free.
            Some(add) => {
                meant = add.was();
                let older = add.rare.map(|rare| *rare).unwrap_or_default();
                first = First { awaits: if dotdot { first.awaits } else { older.awaits }, after: older.after };
                rare.tickets = older.tickets;
                ripe = Some(ticket);
            }
            None if self.has(Rule::LinkRemoval) => {
                self.not_before_below(older, &mut first);
                rare.tickets.push(ticket);
            }
            None => ripe = Some(ticket),
        }
        self.mark_awaited(&first.awaits);
        (rare.awaits, rare.after) = (first.awaits, first.after);
        let mut rare = Some(rare).filter(|rare| !rare.is_empty());
        if moves {
            self.directory_renamed(ino, named, at.dir, &mut rare);
        }
        let id = self.attach_add(at, ino, named, inode, meant, dotdot, rare);
        if dotdot {
            self.dotdot_changed(at.dir, id, moves_unnamed);
        }
        ripe.and_then(|ticket| self.with_its_name(was, parent.is_some(), ticket))
    }

    /// Ends the older change of an entry that is changed again, if no image had it (softupdates-state-2). Not if a
    /// removal waits for it and this change waits for a name (renames-2).
    fn cancel_replaced(&mut self, cache: &Cache, older: Option<Id<DirAdd>>, first: &First) -> Option<DirAdd> {
        let add = self.names.get(older?)?;
        let replaces = add.state == State::Held && (!add.awaited || first.awaits.is_empty());
        if replaces { self.cancel_add(cache, older?) } else { None }
    }

    /// A name was removed. Returns the ticket for its link if the name was never on the disk.
    #[inline(never)]
    pub(super) fn link_removed(
        &mut self,
        cache: &Cache,
        at: EntryPlace<'_>,
        before: (u32, &[u8]),
        ticket: Ticket,
    ) -> Option<Ticket> {
        let Freed::DropLink { ino, parent, .. } = *ticket.freed() else { return Some(ticket) };
        let page = self.page_of(at.block);
        let named = self.id_of(ino);
        let newest = named.and_then(|id| self.inodes.get(id)?.names);
        let add = self.add_at(newest, page, at.offset);
        let mut first = self.before_losing(cache, (ino, parent.map(|_| at.dir)), newest, add);
        let pending = add.and_then(|id| self.names.get(id));
        let kept = add.filter(|_| !first.awaits.is_empty() && pending.is_some_and(|add| add.awaited));
        let cancels = kept.is_none() && pending.is_some_and(|add| add.state == State::Held);
        self.not_before_below(kept, &mut first);
        let (mut tickets, mut bytes) = (vec![], Cow::Borrowed(before.1));
        if let (Some(id), None) = (add, kept) {
            let below = self.end_add(cache, id, cancels);
            if cancels && below.was.0 == Ino::NONE {
                named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
                return self.with_its_name(ino, parent.is_some(), ticket);
            }
            if cancels {
                // What is removed is the entry's older meaning, which the disk has. While the removal is held, images
                // have that, and not the cancelled name.
                let offset = at.offset - before.0;
                cache.undo(bytes.to_mut(), &Undo::Entry { offset, ino: below.was.0, kind: below.was.1 });
                first = First { awaits: below.awaits, after: below.after };
            }
            tickets = below.tickets;
        }
        let mut ripe = Some(ticket);
        if !cancels && self.has(Rule::LinkRemoval) {
            tickets.extend(ripe.take());
        }
        named.into_iter().for_each(|id| self.drop_inode_if_idle(id));
        let moves = parent.is_none() && self.beyond.dotdots.contains_key(&ino);
        let sector = (before.0, before.1.len() as u32);
        let removal = self.attach_rem(page, at, first, (before.0, &bytes), kept, tickets);
        self.name_goes(at, removal, sector);
        if moves {
            self.beyond.moved_from.entry(ino).or_default().push(removal);
        }
        ripe.and_then(|ticket| self.with_its_name(ino, parent.is_some(), ticket))
    }

    /// Ends the pending addition of a name that is removed. Returns what its entry named before, with what that change
    /// waited for and was to free.
    fn end_add(&mut self, cache: &Cache, id: Id<DirAdd>, cancels: bool) -> DirAddRare {
        self.counters.cancelled += u64::from(cancels);
        let ended = if cancels { self.cancel_add(cache, id) } else { self.remove_add(id) };
        ended.and_then(|add| add.rare).map(|rare| *rare).unwrap_or_default()
    }

    /// What every name in the directory needs in addition, if anything.
    #[inline]
    fn rare_of(&self, dir: Ino) -> Option<Box<DirAddRare>> {
        self.indirect_claim(dir).map(|grown| Box::new(DirAddRare { grown: Some(grown), ..DirAddRare::default() }))
    }

    /// What a new inode was made with must be durable before any of its names: its first blocks; and for a directory
    /// renamed within its parent, what its first name there waits for (the parent's count, or its `..`).
    #[inline(always)]
    fn made_with(&self, id: Id<InodeDep>, dir: Ino, rare: &mut Option<Box<DirAddRare>>) {
        let Some(dep) = self.inodes.get(id).filter(|dep| dep.pointers.is_some() || dep.names.is_some()) else { return };
        if dep.unnamed && self.has(Rule::LinkAddition) {
            self.made_with_these(dep, dir, rare);
        }
    }

    #[inline(never)]
    fn made_with_these(&self, dep: &InodeDep, dir: Ino, rare: &mut Option<Box<DirAddRare>>) {
        let is_body = |id: &Id<AllocDep>| {
            dep.has_body || self.pointers.get(*id).is_some_and(|dep| matches!(dep.slot, PointerSlot::ExtAttr(_)))
        };
        for body in self.pointers_from(dep.pointers).filter(is_body) {
            rare.get_or_insert_default().bodies.push(body);
        }
        let older = self
            .names_from(dep.names)
            .filter_map(|id| self.names.get(id))
            .find(|add| !add.dotdot && self.directory_of(add) == dir);
        if let Some(older) = older.and_then(|add| add.rare.as_ref()) {
            let rare = rare.get_or_insert_default();
            rare.parent = rare.parent.take().or_else(|| older.parent.clone());
            rare.dotdot = older.dotdot;
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
}
