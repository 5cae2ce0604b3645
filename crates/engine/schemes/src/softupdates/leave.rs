//! Writing bufs (what of a buf is written), and landings.
//!
//! L1. An image is undone, never the buf: callers do not wait for a write in flight, and nothing is redone.
//! L2. A group is written only after the blocks of inodes that it counts. Those blocks wait for nothing, so there is no
//!     cycle.
//! L3. A dinode is written with all of its pending pointers that are safe, or as it was before the unsafe ones; the
//!     attribute area with all of its pointers or none, and with its own mode and owner.
//! L4. In a directory's block, the bytes around a held removal are written as they were before the oldest such removal;
//!     names added and removed in these bytes since then are written later.

use super::beyond::Frozen;
use super::deps::{AllocDep, Before, Deps, DirAdd, DirRem, PageKind, PageNo, PointerSlot, RemId, page_in};
use super::state::{Action, Event, State};
use super::unmet::Change;
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Freed, ImageNo, Leave, OldAttributes, Pointers, Ticket, Undo};
use ordo_disk::Block;
use ordo_ondisk::Ino;

/// The image that is written, if it differs from the buf.
struct Undone<'a> {
    cache: &'a Cache,
    buf: BufRef,
    block: Option<Block>,
}

impl Undone<'_> {
    fn undo(&mut self, undo: &Undo<'_>) -> u32 {
        let block = self.block.get_or_insert_with(|| Block::clone(&self.buf.image()));
        self.cache.undo(&mut block[..], undo)
    }

    fn leave(self) -> Leave {
        self.block.map_or(Leave::AsIs, Leave::Image)
    }
}

impl Deps {
    /// What of a buf is written.
    pub(super) fn leaving(&mut self, cache: &Cache, buf: &BufRef, image: ImageNo) -> Leave {
        let Some(page) = self.find_page(buf) else { return Leave::AsIs };
        let mut undone = Undone { cache, buf: buf.clone(), block: None };
        match &mut self.page_mut(page).kind {
            PageKind::Group(fresh) => {
                fresh.retain(|landing| !landing.is_done());
                let first: Vec<BufRef> = fresh.iter().filter_map(|landing| landing.buf()).collect();
                return if first.is_empty() { Leave::AsIs } else { Leave::AfterBufs(first) };
            }
            PageKind::Inodes(row) => {
                for id in row.ids().to_vec() {
                    self.leave_inode(id, image, &mut undone);
                }
            }
            PageKind::Directory(_) => {
                let frozen = self.leave_removals(page, image);
                if let PageKind::Directory(names) = &mut page_in(&mut self.pages, page).kind {
                    names.adds.sweep(|id| self.names.get(id).is_some());
                }
                self.leave_names(page, &frozen, image, &mut undone);
            }
            PageKind::Indirect(indirect) => {
                let pending: Vec<_> = indirect.pointers.iter().map(|(index, id)| (*index, *id)).collect();
                for (index, id) in pending {
                    self.leave_indirect(index, id, image, &mut undone);
                }
            }
        }
        undone.leave()
    }

    fn leave_inode(&mut self, id: Id<super::deps::InodeDep>, image: ImageNo, undone: &mut Undone<'_>) {
        let Some(safe) = self.inodes.get(id).map(|dep| self.is_safe(Change::Inode(dep))) else { return };
        let Some(dep) = self.inodes.get_mut(id) else { return };
        let ino = dep.ino;
        let (state, action) = dep.state.next(Event::Leaves { image, safe });
        dep.state = state;
        if action == Action::RollBack {
            dep.held_in = image;
            self.counters.inodes_held += 1;
            undone.undo(&Undo::Inode(ino));
            return;
        }
        dep.bit = None;
        if dep.pointers.is_some() {
            self.leave_pointers(ino, image, undone);
        }
    }

    /// L3.
    fn leave_pointers(&mut self, ino: Ino, image: ImageNo, undone: &mut Undone<'_>) {
        let pending: Vec<Id<AllocDep>> = self.pointers_of(ino).collect();
        let (mut back, mut size, mut area) = (Vec::new(), u64::MAX, None);
        let mut area_goes_back = false;
        for id in &pending {
            let Some(dep) = self.pointers.get(*id).filter(|dep| dep.state == State::Held) else { continue };
            if let (PointerSlot::ExtAttr(0), Before::Attributes(before)) = (dep.slot, &dep.before) {
                area = Some(**before);
            }
            if self.is_safe(Change::Pointer(dep)) {
                continue;
            }
            match dep.slot {
                PointerSlot::Inode(i) => back.push((i, dep.old.at)),
                PointerSlot::ExtAttr(_) => area_goes_back = true,
                PointerSlot::Size | PointerSlot::Indirect(..) => {}
            }
            if let Before::Size(before) = dep.before {
                size = size.min(before);
            }
        }
        let area: Option<OldAttributes> = area.filter(|_| area_goes_back);
        let mut gone = 0;
        if !back.is_empty() || size != u64::MAX || area.is_some() {
            let pointers = Pointers { ino, back: &back, size, attributes: area };
            gone = undone.undo(&Undo::Pointers(pointers));
        }
        for id in pending {
            let Some(dep) = self.pointers.get(id) else { continue };
            let safe = match (dep.slot, &dep.before) {
                (PointerSlot::Inode(i), _) => gone & 1 << i == 0,
                (PointerSlot::ExtAttr(_), _) => area.is_none(),
                // The size rolls back to where a later growth began, if that is beyond where this one began.
                (PointerSlot::Size, Before::Size(before)) => self.is_safe(Change::Pointer(dep)) && *before < size,
                (PointerSlot::Size | PointerSlot::Indirect(..), _) => size == u64::MAX,
            };
            let Some(dep) = self.pointers.get_mut(id) else { continue };
            let (state, action) = dep.state.next(Event::Leaves { image, safe });
            dep.state = state;
            self.counters.pointers_held += u64::from(action == Action::RollBack);
        }
    }

    fn leave_indirect(&mut self, index: u32, id: Id<AllocDep>, image: ImageNo, undone: &mut Undone<'_>) {
        let Some(dep) = self.pointers.get(id) else { return };
        let safe = self.is_safe(Change::Pointer(dep));
        let (state, action) = dep.state.next(Event::Leaves { image, safe });
        if action == Action::RollBack {
            self.counters.pointers_held += 1;
            undone.undo(&Undo::Pointer(index, dep.old.at));
        }
        if let Some(dep) = self.pointers.get_mut(id) {
            dep.state = state;
        }
    }

    fn leave_names(&mut self, page: PageNo, frozen: &[Frozen], image: ImageNo, undone: &mut Undone<'_>) {
        let PageKind::Directory(names) = &self.page(page).kind else { return };
        let adds = names.adds.ids().to_vec();
        let mut chunks = Vec::with_capacity(frozen.len());
        for frozen in frozen {
            chunks.extend(names.rems.get(frozen.rem).and_then(|rem| rem.before.clone()));
        }
        for (from, bytes) in chunks {
            undone.undo(&Undo::Chunk(from, &bytes));
        }
        // If two changes wait in one entry, the older one is undone last, and its older meaning stands. A row is in the
        // order of creation.
        let mut carried: Vec<(u32, Id<DirAdd>)> = Vec::new();
        for id in adds.into_iter().rev() {
            let Some(add) = self.names.get(id) else { continue };
            let (offset, was, seq, held) = (add.offset, add.was(), add.seq, add.state == State::Held);
            let behind = frozen.iter().any(|frozen| frozen.has(offset) && frozen.seq < seq);
            if held && let Some((_, newer)) = carried.iter().find(|(at, _)| *at == offset) {
                // The image has a newer meaning of the entry, and no change needed to wait for this one.
                self.supersede(id, *newer);
                continue;
            }
            let safe = !behind && self.is_safe(Change::Name(add));
            let Some(add) = self.names.get_mut(id) else { continue };
            let (state, action) = add.state.next(Event::Leaves { image, safe });
            add.state = state;
            if action == Action::RollBack {
                self.counters.names_held += 1;
                if !behind {
                    undone.undo(&Undo::Entry { offset, ino: was.0, kind: was.1 });
                }
            } else if was.0 != Ino::NONE {
                carried.push((offset, id));
            }
        }
    }

    /// A name that no image had, under a newer one in this image: its tickets are released with the newer one.
    fn supersede(&mut self, id: Id<DirAdd>, newer: Id<DirAdd>) {
        let Some(rare) = self.remove_add(id).and_then(|add| add.rare) else { return };
        if let Some(newer) = self.names.get_mut(newer) {
            newer.rare.get_or_insert_default().tickets.extend(rare.tickets);
        }
    }

    /// An image has landed: the changes that it was the first to carry are durable.
    pub(super) fn landed(&mut self, cache: &Cache, buf: &BufRef, image: ImageNo) {
        let Some(page) = self.find_page(buf) else { return };
        match &mut self.page_mut(page).kind {
            PageKind::Group(fresh) => fresh.retain(|landing| !landing.is_done()),
            PageKind::Inodes(row) => {
                for id in row.ids().to_vec() {
                    self.land_inode(cache, id, image);
                }
            }
            PageKind::Indirect(indirect) => {
                for id in indirect.pointers.values().copied().collect::<Vec<_>>() {
                    self.land_pointer(cache, id, image);
                }
            }
            PageKind::Directory(names) => {
                let rems = std::mem::take(&mut names.rems);
                let adds = names.adds.ids().to_vec();
                self.land_names(cache, page, adds, rems, image);
            }
        }
        let page_now = self.page_mut(page);
        let mut ripe = Vec::new();
        while page_now.waiting.front().is_some_and(|(from, _)| *from <= image) {
            ripe.extend(page_now.waiting.pop_front().map(|(_, ticket)| ticket));
        }
        self.release(cache, ripe);
        self.drop_page_if_idle(page);
        if !self.unreached.is_empty() || !self.unclaimed.is_empty() {
            self.settle(cache);
        }
    }

    fn land_inode(&mut self, cache: &Cache, id: Id<super::deps::InodeDep>, image: ImageNo) {
        let Some(dep) = self.inodes.get_mut(id) else { return };
        let ino = dep.ino;
        let (state, action) = dep.state.next(Event::Landed(image));
        dep.state = state;
        self.counters.released += u64::from(action == Action::Release);
        if dep.pointers.is_some() {
            for pointer in self.pointers_of(ino).collect::<Vec<_>>() {
                self.land_pointer(cache, pointer, image);
            }
        }
        self.drop_inode_if_idle(id);
    }

    fn land_pointer(&mut self, cache: &Cache, id: Id<AllocDep>, image: ImageNo) {
        let Some(dep) = self.pointers.get_mut(id) else { return };
        let (state, action) = dep.state.next(Event::Landed(image));
        dep.state = state;
        if action == Action::Release {
            self.counters.released += 1;
            Deps::ripen(cache, self.remove_pointer(id));
        }
    }

    fn land_names(&mut self, cache: &Cache, page: PageNo, adds: Vec<Id<DirAdd>>, rems: Vec<DirRem>, image: ImageNo) {
        let mut ripe = Vec::new();
        for id in adds {
            let Some(add) = self.names.get_mut(id) else { continue };
            let (state, action) = add.state.next(Event::Landed(image));
            add.state = state;
            if action == Action::Release {
                self.counters.released += 1;
                self.unreached.push(id);
            }
        }
        let mut left = Vec::with_capacity(rems.len());
        for mut rem in rems {
            let (state, action) = rem.state.next(Event::Landed(image));
            rem.state = state;
            if action == Action::Release {
                self.counters.released += 1;
                if self.is_removal_claimed(&rem) {
                    self.removals -= 1;
                    ripe.extend(rem.tickets);
                    continue;
                }
                self.unclaimed.push(RemId(page, rem.seq));
            }
            left.push(rem);
        }
        if let PageKind::Directory(names) = &mut self.page_mut(page).kind {
            names.rems = left;
        }
        self.release(cache, ripe);
    }

    /// What these tickets waited for has landed.
    pub(super) fn release(&mut self, cache: &Cache, tickets: Vec<Ticket>) {
        for ticket in tickets {
            let ripe = match *ticket.freed() {
                Freed::DropLink { ino, parent: Some(_), .. } => self.after_its_names(ino, ticket),
                _ => Some(ticket),
            };
            Deps::ripen(cache, ripe);
        }
    }

    /// A buf was discarded: its contents were freed. Its tickets wait until a step reports where the pointers to it
    /// were cleared.
    pub(super) fn discarded(&mut self, buf: &BufRef) {
        let Some(no) = self.find_page(buf) else { return };
        let mut late = Vec::new();
        match &self.page(no).kind {
            PageKind::Indirect(indirect) => {
                for id in indirect.pointers.values().copied().collect::<Vec<_>>() {
                    late.extend(self.remove_pointer(id));
                }
            }
            PageKind::Directory(names) => {
                for id in names.adds.ids().to_vec() {
                    let Some(add) = self.remove_add(id) else { continue };
                    let named = add.named();
                    late.extend(add.rare.into_iter().flat_map(|rare| rare.tickets));
                    self.drop_inode_if_idle(named);
                }
            }
            PageKind::Group(_) | PageKind::Inodes(_) => return,
        }
        let Some(page) = self.remove_page(no) else { return };
        if let PageKind::Directory(names) = page.kind {
            self.removals -= names.rems.len();
            late.extend(names.rems.into_iter().flat_map(|rem| rem.tickets));
        }
        late.extend(page.waiting.into_iter().map(|(_, ticket)| ticket));
        if let ordo_buf::Key::File(ino, _) = buf.key()
            && !late.is_empty()
        {
            self.late.entry(ino).or_default().extend(late);
        } else {
            debug_assert!(late.is_empty(), "blocks of files are thrown away, and no others");
        }
    }
}
