//! The order in which bufs are written, if there is a choice, so that little is rolled back.
//!
//! O1. Contents and maps wait for nothing, dinodes and indirect blocks for those, directories for dinodes, and removals
//!     for names elsewhere. Writers with a choice follow that order; those without one (fsync, memory pressure) do not
//!     need it for safety.
//! O2. Whatever change is to become durable, there are bufs whose write now brings that closer ([`Advance`]), since
//!     needs end (unmet-3).

use super::super::deps::{AllocDep, Deps, DirAdd, DirRem, PageDep, PageKind, PageNo, PointerSlot, RemId};
use super::super::state::State;
use super::{Change, Need};
use crate::records::Id;
use ordo_buf::{BufRef, Key, Landing, Ready};
use ordo_ondisk::Ino;
use std::ops::ControlFlow::{self, Continue};

/// Collects the bufs to write now so that a condition becomes true.
pub(super) struct Advance<'a> {
    deps: &'a Deps,
    bufs: Vec<BufRef>,
    /// The last landing of a group or block of inodes that was needed: many changes wait for the same.
    last: Option<&'a Landing>,
    /// The last page whose buf was taken, for the same reason.
    last_page: Option<PageNo>,
    /// Names that were examined, by their sequence numbers.
    seen: Vec<u64>,
}

impl<'a> Advance<'a> {
    pub(super) fn new(deps: &'a Deps) -> Advance<'a> {
        Advance { deps, bufs: Vec::new(), last: None, last_page: None, seen: Vec::new() }
    }

    pub(super) fn write(&mut self, buf: Option<BufRef>) {
        self.bufs.extend(buf.filter(|buf| !buf.is_durable()));
    }

    fn write_page(&mut self, page: PageNo) {
        if self.last_page.replace(page) != Some(page) {
            self.write(Some(self.deps.page(page).buf.clone()));
        }
    }

    /// Collects what a change waits for. `true` if it is held: it waits for something.
    fn under(&mut self, change: Change<'a>) -> bool {
        self.under_unless(change, |_| false)
    }

    /// The same, except for needs that are `in_time`.
    #[inline(always)]
    fn under_unless(&mut self, change: Change<'a>, in_time: impl Fn(Need<'a>) -> bool) -> bool {
        let (deps, mut held) = (self.deps, false);
        let _: ControlFlow<()> = deps.unmet(change, |_, need| {
            if !in_time(need) {
                held = true;
                self.need(need);
            }
            Continue(())
        });
        // A path leads to the name only through its directory, so that one's dinode is written with what the name
        // needs.
        if held
            && let Change::Name(add) = change
            && add.rare.is_some()
            && deps.was_never_there(deps.directory_of(add))
        {
            self.inode(deps.directory_of(add));
        }
        held
    }

    /// Collects what meets a need.
    fn need(&mut self, need: Need<'a>) {
        match need {
            Need::Landing(landing) | Need::ParentCount(landing, _) => self.landing(landing),
            Need::Inode(ino) => self.inode(ino),
            Need::Pointer(id) => self.pointer(id),
            Need::Name(id) => self.name(id),
            Need::Entry(id) => self.entry(id),
            Need::Removal(removal) => self.removal(removal),
            // The running call makes the change that is waited for.
            Need::WithoutIt(_) => {}
        }
    }

    /// Collects what makes the landing happen.
    pub(super) fn landing(&mut self, landing: &'a Landing) {
        if landing.is_done() || self.last.is_some_and(|last| last.is_of_same(landing)) {
            return;
        }
        if let Key::Device(_) = landing.key() {
            self.last = Some(landing);
        }
        self.write(landing.buf());
    }

    /// Collects what makes the dinode carried and durable.
    pub(super) fn inode(&mut self, ino: Ino) {
        let Some(dep) = self.deps.inode_of(ino) else { return };
        if !self.under(Change::Inode(dep)) {
            self.write_page(dep.page);
        }
    }

    /// Collects what the pending pointers of a dinode wait for. `true` if one is held.
    pub(super) fn under_pointers_of(&mut self, ino: Ino) -> bool {
        self.under_pointers_from(self.deps.inode_of(ino).and_then(|dep| dep.pointers))
    }

    /// The same for this pointer and the older ones.
    fn under_pointers_from(&mut self, newest: Option<Id<AllocDep>>) -> bool {
        let deps = self.deps;
        let pending = deps.pointers_from(newest).filter_map(|id| deps.pointers.get(id));
        // No short circuit: what they need can be written together.
        pending.filter(|dep| self.under(Change::Pointer(dep))).count() > 0
    }

    /// Collects what makes a pointer durable.
    fn pointer(&mut self, id: Id<AllocDep>) {
        let Some(dep) = self.deps.pointers.get(id).filter(|dep| dep.state != State::Durable) else { return };
        match dep.slot {
            PointerSlot::Indirect(page, _) => {
                if !self.under(Change::Pointer(dep)) {
                    self.write_page(page);
                }
            }
            _ => {
                if !self.under_pointers_of(dep.ino) {
                    self.inode(dep.ino);
                }
            }
        }
    }

    /// Collects what makes a directory's own entry durable in it.
    fn entry(&mut self, id: Id<DirAdd>) {
        let Some(add) = self.deps.names.get(id).filter(|add| !self.under(Change::Name(add))) else { return };
        match add.claim.filter(|_| add.state == State::Durable) {
            Some(claim) => self.pointer(claim),
            None => self.write_page(add.page),
        }
    }

    /// Collects what makes a name reachable after a crash.
    pub(super) fn name(&mut self, id: Id<DirAdd>) {
        let deps = self.deps;
        let Some(add) = deps.names.get(id).filter(|_| !deps.is_settled(id)) else { return };
        if self.seen.contains(&add.seq) {
            return;
        }
        self.seen.push(add.seq);
        if self.under(Change::Name(add)) {
            return;
        }
        if add.state != State::Durable {
            let blockers = deps.blockers(add);
            if blockers.filter(|rem| self.under(Change::Removal(add.page, rem))).count() == 0 {
                self.write_page(add.page);
            }
            return;
        }
        let _: ControlFlow<()> = deps.unclaimed(add, |need| {
            self.need(need);
            Continue(())
        });
        let dir = deps.directory_of(add);
        if !deps.is_reachable(dir) {
            for above in deps.names_of(dir) {
                self.name(above);
            }
        }
    }

    /// Collects what makes a removal durable, and those before it in the same block, which may freeze the bytes around
    /// it.
    pub(super) fn removal(&mut self, removal: RemId) {
        let deps = self.deps;
        if deps.is_gone(removal) || self.seen.contains(&removal.1) {
            return;
        }
        self.seen.push(removal.1);
        let up_to_it = deps.removals_to(removal);
        if up_to_it.iter().filter(|rem| self.under(Change::Removal(removal.0, rem))).count() > 0 {
            return;
        }
        match up_to_it.last().filter(|rem| rem.state == State::Durable).and_then(|rem| rem.claim) {
            Some(claim) => self.pointer(claim),
            None => self.write_page(removal.0),
        }
    }

    /// Collects what the names in a block of a directory wait for. `true` if one is held.
    pub(super) fn under_directory(&mut self, page: PageNo, names: &'a PageDep) -> bool {
        let deps = self.deps;
        let adds = names.adds.ids().iter().filter_map(|id| deps.names.get(*id));
        let mut held = adds.filter(|add| self.under(Change::Name(add))).count() > 0;
        // In the same block, the name is in the image first, and the removal in the next one.
        let goes_first = |add: &DirAdd| add.page == page && add.state == State::Held && deps.is_safe(Change::Name(add));
        for rem in &names.rems {
            let in_time = |need| matches!(need, Need::Name(id) if deps.names.get(id).is_some_and(goes_first));
            held |= self.under_unless(Change::Removal(page, rem), in_time);
        }
        held
    }

    /// Nothing is left to write.
    pub(super) fn is_empty(&self) -> bool {
        self.bufs.is_empty()
    }

    /// Each buf once, in the order of their keys.
    pub(super) fn bufs(mut self) -> Vec<BufRef> {
        self.bufs.sort_unstable_by_key(|buf| buf.key());
        self.bufs.dedup_by_key(|buf| buf.key());
        self.bufs
    }
}

impl Deps {
    /// Whether a buf can be written without a rollback.
    pub(in crate::softupdates) fn ready(&self, buf: &BufRef) -> Ready {
        let Some(page) = self.find_page(buf) else { return Ready::Yes };
        let mut advance = Advance::new(self);
        let held = match &self.page(page).kind {
            PageKind::Group(fresh) => advance.under(Change::Group(fresh)),
            PageKind::Inodes(row) => row.ids().iter().filter_map(|id| self.inodes.get(*id)).fold(false, |held, dep| {
                advance.under(Change::Inode(dep)) | advance.under_pointers_from(dep.pointers) | held
            }),
            PageKind::Indirect(indirect) => {
                let pending = indirect.pointers.values().filter_map(|id| self.pointers.get(*id));
                pending.filter(|dep| advance.under(Change::Pointer(dep))).count() > 0
            }
            PageKind::Directory(names) => advance.under_directory(page, names),
        };
        if !held {
            return Ready::Yes;
        }
        advance.bufs.retain(|other| other.key() != buf.key());
        Ready::After(advance.bufs())
    }

    /// Removals that freeze the bytes of this name.
    fn blockers(&self, add: &DirAdd) -> impl Iterator<Item = &DirRem> {
        let rems = match &self.page(add.page).kind {
            PageKind::Directory(names) => &names.rems[..],
            _ => &[],
        };
        let (seq, offset) = (add.seq, add.offset);
        rems.iter().filter(move |rem| rem.state == State::Held && rem.seq < seq && rem.keeps(offset))
    }
}
