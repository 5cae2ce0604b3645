//! The records of removed names, and which removals must precede others.

use super::arena::Id;
use super::deps::{Deps, DirAdd, DirRem, Page, PageKind, PageNo, RemId};
use super::names::Place;
use super::rule::Rule;
use super::state::State;
use ordo_buf::{Cache, Freed, Key, Ticket};
use ordo_ondisk::Ino;

impl Deps {
    pub(super) fn hang_rem(
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
        let claim = self.newest_move(at.dir);
        let (awaits, after) = (awaits.into(), after.into());
        let rem = DirRem { offset: at.offset, seq, state: State::Held, awaits, after, before, add, claim, tickets };
        if let PageKind::Directory(names) = &mut self.page_mut(page).kind {
            names.rems.push(rem);
        }
        RemId(page, seq)
    }

    /// Returns the ticket of a name that was never on the disk, if it is ripe; `gone`: of a directory removed for good.
    pub(super) fn with_its_name(&mut self, ino: Ino, gone: bool, ticket: Ticket) -> Option<Ticket> {
        if gone { self.after_its_names(ino, ticket) } else { Some(ticket) }
    }

    /// The ticket of a directory removed for good, with its `.` and its parent's link. It must keep both while the disk
    /// may have an older name of it: then the ticket is added to those that wait for the removal of such a name, and is
    /// checked again with them (names-4).
    pub(super) fn after_its_names(&mut self, ino: Ino, ticket: Ticket) -> Option<Ticket> {
        if self.was_never_there(ino) || !self.has(Rule::LinkRemoval) {
            return Some(ticket);
        }
        let is_its = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino: of, .. } if *of == ino);
        if let Some(rem) = self.removals().find(|rem| rem.tickets.iter().any(is_its)) {
            rem.tickets.push(ticket);
            return None;
        }
        let mut changes = self.names.records_mut().filter_map(|add| add.extra.as_mut());
        if let Some(extra) = changes.find(|extra| extra.tickets.iter().any(is_its)) {
            extra.tickets.push(ticket);
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

    /// Everything that moved up to this sequence number is durable in its place.
    pub(super) fn moved_until(&mut self, seq: u64) {
        self.moved.retain(|_, moved| *moved > seq);
        self.renamed_until(seq);
    }

    /// All directories renamed up to this sequence number have their names on the disk.
    pub(super) fn renamed_until(&mut self, seq: u64) {
        self.renamed.retain(|_, renamed| *renamed > seq);
    }

    pub(super) fn moved_out_of(&mut self, dir: Ino) -> Vec<Id<DirAdd>> {
        let moved = self.moved_out.remove(&dir).unwrap_or_default();
        moved.into_iter().filter(|id| !self.is_settled(*id)).collect()
    }

    /// The removals, not durable yet, that must precede the removal of a directory's last name, which is in `dir`
    /// (names-4): of names that it had elsewhere, and of names in it that wait for others themselves.
    pub(super) fn must_go_before(&self, cache: &Cache, ino: Ino, dir: Ino) -> Vec<RemId> {
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

    /// All removals that are not durable.
    pub(super) fn removals(&mut self) -> impl Iterator<Item = &mut DirRem> {
        self.pages.iter_mut().flatten().flat_map(|page| match &mut page.kind {
            PageKind::Directory(names) => names.rems.iter_mut(),
            _ => [].iter_mut(),
        })
    }

    /// Removals up to this sequence number that are not durable.
    pub(super) fn removals_until(&self, seq: u64) -> usize {
        let removals = |page: &Page| rems_of(Some(page)).iter().take_while(|rem| rem.seq <= seq).count();
        self.pages.iter().flatten().map(removals).sum()
    }

    /// The removals of names of these files that are not durable.
    pub(super) fn removals_of(&self, files: &[Ino]) -> Vec<RemId> {
        if self.removals == 0 {
            return Vec::new();
        }
        let of_them = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino, .. } if files.contains(ino));
        let pages = (0..).map(PageNo).zip(&self.pages);
        let rems = pages.flat_map(|(no, page)| rems_of(page.as_ref()).iter().map(move |rem| (no, rem)));
        rems.filter(|(_, rem)| rem.tickets.iter().any(of_them)).map(|(no, rem)| RemId(no, rem.seq)).collect()
    }

    /// Names that replaced names of these files, for renamed directories. Until such a name is durable, the disk has
    /// two names of that directory.
    pub(super) fn replacements_of(&self, files: &[Ino]) -> Vec<Id<DirAdd>> {
        if self.renamed.is_empty() {
            return Vec::new();
        }
        let of_them = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino, .. } if files.contains(ino));
        let replaces = |id: &Id<DirAdd>| {
            let extra = self.names.get(*id).and_then(|add| add.extra.as_ref());
            extra.is_some_and(|extra| extra.tickets.iter().any(of_them))
        };
        self.names.ids().filter(replaces).collect()
    }

    /// The removals in a page up to this sequence number, if that one is not durable yet.
    pub(super) fn removals_to(&self, RemId(no, seq): RemId) -> &[DirRem] {
        let rems = self.removals_in(no);
        rems.iter().position(|rem| rem.seq == seq).map_or(&[], |at| &rems[..=at])
    }

    /// The removals in a page that are not durable, oldest first.
    pub(super) fn removals_in(&self, page: PageNo) -> &[DirRem] {
        rems_of(self.pages.get(page.0 as usize).and_then(Option::as_ref))
    }

    /// Drops the removals in moved blocks that have taken effect on the disk.
    pub(super) fn settle_removals(&mut self, cache: &Cache) {
        for RemId(page, seq) in std::mem::take(&mut self.unclaimed) {
            let Some(at) = self.removals_in(page).iter().position(|rem| rem.seq == seq) else { continue };
            if self.removals_in(page)[at].claim.is_some_and(|id| !self.is_pointer_durable(id)) {
                self.unclaimed.push(RemId(page, seq));
                continue;
            }
            let PageKind::Directory(names) = &mut self.page_mut(page).kind else { continue };
            let tickets = names.rems.remove(at).tickets;
            self.removals -= 1;
            self.release(cache, tickets);
            self.drop_page_if_idle(page);
        }
    }

    /// A removal is durable.
    pub(super) fn is_gone(&self, removal: RemId) -> bool {
        self.removals_to(removal).is_empty()
    }
}

/// Oldest first.
fn rems_of(page: Option<&Page>) -> &[DirRem] {
    match page.map(|page| &page.kind) {
        Some(PageKind::Directory(names)) => &names.rems,
        _ => &[],
    }
}
