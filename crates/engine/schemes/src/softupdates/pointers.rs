//! Pointers set and cleared: block allocation and de-allocation (Ganger and Patt 1994, section 4.2).

use super::deps::{AllocDep, Before, Deps, InodeDep, PageKind, PointerSlot};
use super::rule::Rule;
use super::state::{Action, Event, State};
use crate::AllocInit;
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Freed, Landing, Role, Run, Slot, Ticket, With};
use ordo_ondisk::{FragNo, Ino};

/// A pointer that was set, as the step reports it.
pub(super) struct Allocated<'a> {
    pub(super) ino: Ino,
    pub(super) role: Role,
    pub(super) slot: Slot<'a>,
    pub(super) old: Run,
    pub(super) new: Run,
    pub(super) block: &'a BufRef,
    pub(super) cg: &'a BufRef,
    pub(super) with: With<'a>,
}

/// Both are the same landing. A size that grows without a pause must not wait each time for its last growth.
fn is_same(one: Option<&Landing>, other: Option<&Landing>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.is_of_same(other) && one.image() == other.image())
}

/// The fields of a pointer's record that its maker knows.
struct Made {
    ino: Ino,
    slot: PointerSlot,
    old: Run,
    new: Run,
    contents: Option<Landing>,
    bit: Option<Landing>,
    before: Before,
}

impl Deps {
    /// A pointer was set. `freed`, the ticket for the old run, is taken unless the run is free at once.
    #[inline(never)]
    pub(super) fn block_allocated(&mut self, cache: &Cache, set: &Allocated<'_>, freed: &mut Option<Ticket>) {
        let slot = match set.slot {
            Slot::Inode(_, i) => PointerSlot::Inode(i),
            Slot::ExtAttr(_, k) => PointerSlot::ExtAttr(k),
            Slot::Indirect(buf, i) => PointerSlot::Indirect(self.page_of(buf), i),
        };
        let before = Before::of(set.with);
        if slot == PointerSlot::ExtAttr(0) {
            // The area changes as a whole: the second block of an area that no image had is dropped with it.
            self.take_pointer(cache, set.ino, PointerSlot::ExtAttr(1));
        }
        let contents = self.awaits_contents(set.block, set.role).then(|| Landing::of(set.block));
        let bit = self.has(Rule::BlockAllocation).then(|| Landing::of(set.cg));
        let made = Made { ino: set.ino, slot, old: set.old, new: set.new, contents, bit, before };
        let id = self.put_pointer(set.slot.buf(), made, freed);
        if matches!(set.role, Role::Directory | Role::Symlink)
            && let Some(inode) = self.inode_of_mut(set.ino)
        {
            inode.has_body = true;
        }
        if let PointerSlot::Indirect(..) = slot {
            self.grown_beyond_direct(set.ino, set.role, id);
        }
        if set.role == Role::Directory && set.old.frags > 0 && set.old.at != set.new.at {
            self.directory_moved(set.block, id);
        }
    }

    /// A directory's size grew over names in a block that it already had.
    #[inline(never)]
    pub(super) fn directory_grown(&mut self, ino: Ino, inode: &BufRef, block: &BufRef, size: u64) {
        if !self.has(Rule::BlockAllocation) || self.alloc_init == AllocInit::None {
            return;
        }
        let nothing = Run { at: FragNo::HOLE, frags: 0 };
        let (slot, contents, before) = (PointerSlot::Size, Some(Landing::of(block)), Before::Size(size));
        let made = Made { ino, slot, old: nothing, new: nothing, contents, bit: None, before };
        self.put_pointer(inode, made, &mut None);
    }

    pub(super) fn awaits_contents(&self, block: &BufRef, role: Role) -> bool {
        let by_choice = match role {
            Role::Directory => self.alloc_init != AllocInit::None,
            Role::Indirect | Role::Symlink | Role::ExtAttr => true,
            _ => self.alloc_init == AllocInit::All,
        };
        self.has(Rule::BlockAllocation) && (by_choice || block.has_moved())
    }

    /// Adds a pointer beside those that some image had. A pending one that no image had is replaced and keeps its id,
    /// since other records may wait for it.
    // The record is built in place: it is large, and this is the most frequent case.
    #[inline(always)]
    fn put_pointer(&mut self, holder: &BufRef, made: Made, freed: &mut Option<Ticket>) -> Id<AllocDep> {
        let (keeps, follows_cuts) = (self.has(Rule::MovedFragment), self.has(Rule::CutRun));
        let inode = match made.slot {
            PointerSlot::Indirect(..) => None,
            _ => Some(self.inode_dep(made.ino, holder)),
        };
        if let Some(id) = self.held_at(inode, made.slot)
            && let Some(older) = self.pointers.get_mut(id)
            && (made.slot != PointerSlot::Size || is_same(older.contents.as_ref(), made.contents.as_ref()))
        {
            let grew_in_place = older.old.frags > 0 && older.old.at == older.new.at;
            (older.new, older.contents, older.bit) = (made.new, made.contents, made.bit);
            if follows_cuts || older.before == Before::Same {
                older.before = std::mem::replace(&mut older.before, Before::Same).or_earlier(made.before);
            }
            // The disk still points to the first fragments of what it replaces; or that was never on the disk, and is
            // free at once (softupdates-state-2).
            if grew_in_place && keeps && freed.is_some() {
                older.freed = freed.take().map(Box::new);
            }
            return id;
        }
        let freed = if keeps { freed.take().map(Box::new) } else { None };
        let next = inode.and_then(|inode| self.inodes.get(inode)?.pointers);
        let Made { ino, slot, old, new, contents, bit, before } = made;
        let state = State::Held;
        let id = self.pointers.insert(AllocDep { ino, slot, old, new, contents, bit, state, before, freed, next });
        if let PointerSlot::Indirect(page, index) = slot {
            if let PageKind::Indirect(indirect) = &mut self.page_mut(page).kind {
                indirect.pointers.insert(index, id);
            }
        } else if let Some(inode) = inode.and_then(|inode| self.inodes.get_mut(inode)) {
            inode.pointers = Some(id);
        }
        id
    }

    /// The pending pointer in this slot that no image has had. `inode`: as above.
    fn held_at(&self, inode: Option<Id<InodeDep>>, slot: PointerSlot) -> Option<Id<AllocDep>> {
        let is_held =
            |id: &Id<AllocDep>| self.pointers.get(*id).is_some_and(|dep| dep.state == State::Held && dep.slot == slot);
        if let PointerSlot::Indirect(page, index) = slot {
            let PageKind::Indirect(indirect) = &self.page(page).kind else { return None };
            return indirect.pointers.get(&index).copied().filter(is_held);
        }
        self.pointers_from(self.inodes.get(inode?)?.pointers).find(is_held)
    }

    fn take_pointer(&mut self, cache: &Cache, ino: Ino, slot: PointerSlot) {
        let of_slot =
            |id: &Id<AllocDep>| self.pointers.get(*id).is_some_and(|dep| dep.slot == slot && dep.state == State::Held);
        let found = self.pointers_of(ino).find(of_slot);
        Deps::ripen(cache, found.and_then(|id| self.remove_pointer(id)));
    }

    /// Pointers in `at` were cleared. Returns the ticket if the disk never led to what it frees.
    #[inline(never)]
    pub(super) fn blocks_released(&mut self, cache: &Cache, ino: Ino, at: &BufRef, ticket: Ticket) -> Option<Ticket> {
        let page = self.page_of(at);
        let Freed::Blocks { runs, .. } = ticket.freed() else { return Some(ticket) };
        let (in_tree, mut at) = match &self.page(page).kind {
            PageKind::Indirect(indirect) => (indirect.pointers.values().copied().collect(), None),
            _ => (Vec::new(), self.inode_of(ino).and_then(|dep| dep.pointers)),
        };
        let whole: u64 = runs.iter().map(|run| u64::from(run.1)).sum();
        let (mut in_tree, mut never) = (in_tree.into_iter(), 0u64);
        let mut kept = self.late.remove(&ino).unwrap_or_default();
        while let Some(id) = in_tree.next().or(at) {
            at = self.pointers.get(id).and_then(|dep| dep.next);
            let (fresh, freed) = self.cut_pointer(id, runs);
            never = never.saturating_add(fresh);
            kept.extend(freed);
        }
        if !self.has(Rule::BlockDeallocation) {
            Deps::ripen(cache, kept);
            self.counters.cancelled += 1;
            return Some(ticket);
        }
        for late in kept {
            self.wait_for_page(page, late);
        }
        if never >= whole {
            self.counters.cancelled += 1;
            return Some(ticket);
        }
        self.wait_for_page(page, ticket);
        None
    }

    /// Drops a pending pointer that led to one of these runs, or shortens it to what is left. Returns how many of the
    /// fragments the disk has never pointed to (all, for the root of a tree), and the ticket of what it replaced.
    pub(super) fn cut_pointer(&mut self, id: Id<AllocDep>, runs: &[(FragNo, u32)]) -> (u64, Option<Ticket>) {
        let follows_cuts = self.has(Rule::CutRun);
        let Some(dep) = self.pointers.get_mut(id) else { return (0, None) };
        if dep.slot == PointerSlot::Size {
            return (0, None);
        }
        let end = dep.new.at.plus(dep.new.frags);
        let cancels = dep.state.next(Event::TakenBack).1 == Action::Cancel;
        if runs.iter().any(|(at, n)| *at <= dep.new.at && dep.new.at < at.plus(*n)) {
            let is_root = matches!(dep.slot, PointerSlot::Inode(12..));
            let was = if dep.old.at == dep.new.at { dep.old.frags } else { 0 };
            let never = match cancels {
                true if is_root && dep.old.frags == 0 => u64::MAX,
                true => u64::from(dep.new.frags.saturating_sub(was)),
                false => 0,
            };
            return (never, self.remove_pointer(id));
        }
        if let Some((at, _)) = runs.iter().find(|(at, _)| dep.new.at < *at && *at < end) {
            let left = (at.0 - dep.new.at.0) as u32;
            let was = if dep.old.at == dep.new.at { dep.old.frags } else { 0 };
            let never = if cancels { dep.new.frags.saturating_sub(left.max(was)) } else { 0 };
            dep.new.frags = left;
            if follows_cuts && dep.old.at == dep.new.at {
                dep.old.frags = dep.old.frags.min(left);
            }
            return (never.into(), None);
        }
        (0, None)
    }
}
