//! The order in which bufs are written, if there is a choice, so that little is rolled back; and what fsync needs.
//!
//! O1. Contents and maps wait for nothing, dinodes and indirect blocks for those, directories for dinodes, and removals
//!     for names elsewhere. Writers with a choice follow that order; those without one (fsync, memory pressure) do not
//!     need it for safety.
//! O2. Whatever is wanted, some bufs can be written now to get closer to it ([`Advance`]): a change waits for older
//!     ones (names-1), or for changes that wait for nothing. fsync goes round by round until nothing is left to
//!     write.

use super::arena::Id;
use super::deps::{AllocDep, Deps, DirAdd, DirRem, PageDep, PageKind, PageNo, PointerSlot, RemId};
use super::state::State;
use ordo_buf::{BufRef, Key, Landing, Ready};
use ordo_ondisk::Ino;

/// Collects the bufs to write now so that a condition becomes true.
struct Advance<'a> {
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
    fn new(deps: &'a Deps) -> Advance<'a> {
        Advance { deps, bufs: Vec::new(), last: None, last_page: None, seen: Vec::new() }
    }

    fn write(&mut self, buf: Option<BufRef>) {
        self.bufs.extend(buf.filter(|buf| !buf.is_durable()));
    }

    fn write_page(&mut self, page: PageNo) {
        if self.last_page.replace(page) != Some(page) {
            self.write(Some(self.deps.page(page).buf.clone()));
        }
    }

    /// Collects what makes the landing happen.
    fn landing(&mut self, landing: Option<&'a Landing>) {
        let Some(landing) = landing.filter(|landing| !landing.is_done()) else { return };
        if self.last.is_some_and(|last| last.is_of_same(landing)) {
            return;
        }
        if let Key::Device(_) = landing.key() {
            self.last = Some(landing);
        }
        self.write(landing.buf());
    }

    /// Collects what makes the dinode carried and durable.
    fn inode(&mut self, ino: Ino) {
        let Some(dep) = self.deps.inode_of(ino) else { return };
        match &dep.bit {
            Some(bit) if dep.state == State::Held && !bit.is_done() => self.landing(Some(bit)),
            _ => self.write_page(dep.page),
        }
    }

    /// Collects what a held pointer depends on. `false` if it waits for nothing.
    fn under_pointer(&mut self, dep: &'a AllocDep) -> bool {
        if dep.state != State::Held || self.deps.is_pointer_safe(dep) {
            return false;
        }
        self.landing(dep.bit.as_ref());
        self.landing(dep.contents.as_ref());
        true
    }

    /// Collects what the pending pointers of a dinode depend on. `false` if all can be carried.
    fn under_pointers_of(&mut self, ino: Ino) -> bool {
        self.under_pointers_from(self.deps.inode_of(ino).and_then(|dep| dep.pointers))
    }

    /// The same for this pointer and the older ones.
    fn under_pointers_from(&mut self, newest: Option<Id<AllocDep>>) -> bool {
        let deps = self.deps;
        let pending = deps.pointers_from(newest).filter_map(|id| deps.pointers.get(id));
        // No short circuit: what they need can be written together.
        pending.filter(|dep| self.under_pointer(dep)).count() > 0
    }

    /// Collects what makes a pointer durable.
    fn pointer(&mut self, id: Id<AllocDep>) {
        let Some(dep) = self.deps.pointers.get(id).filter(|dep| dep.state != State::Durable) else { return };
        match dep.slot {
            PointerSlot::Indirect(page, _) => {
                if !self.under_pointer(dep) {
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

    /// Collects what a held name depends on. `false` if it can be carried.
    fn under_name(&mut self, add: &'a DirAdd) -> bool {
        if add.state != State::Held || self.deps.is_name_safe(add) {
            return false;
        }
        if !self.deps.is_inode_durable(add.named(), add.inode_image) {
            self.inode(add.ino);
        }
        let Some(extra) = &add.extra else { return true };
        if extra.parent.as_ref().is_some_and(|parent| !parent.is_done()) {
            self.landing(extra.parent.as_ref());
        }
        let dir = self.deps.directory_of(add);
        if self.deps.was_never_there(dir) {
            self.inode(dir);
        }
        for body in &extra.bodies {
            self.pointer(*body);
        }
        for other in &extra.awaits {
            self.name(*other);
        }
        for older in &extra.after {
            self.removal(*older);
        }
        if let Some(dotdot) =
            extra.dotdot.and_then(|id| self.deps.names.get(id)).filter(|add| !self.deps.is_entered(add))
            && !self.under_name(dotdot)
        {
            match dotdot.claim.filter(|_| dotdot.state == State::Durable) {
                Some(claim) => self.pointer(claim),
                None => self.write_page(dotdot.page),
            }
        }
        true
    }

    /// Collects what makes a name reachable after a crash.
    fn name(&mut self, id: Id<DirAdd>) {
        let deps = self.deps;
        let Some(add) = deps.names.get(id).filter(|_| !deps.is_settled(id)) else { return };
        if self.seen.contains(&add.seq) {
            return;
        }
        self.seen.push(add.seq);
        if self.under_name(add) {
            return;
        }
        if add.state != State::Durable {
            let mut held = false;
            for rem in deps.blockers(add) {
                held |= self.under_removal(rem, |id| deps.can_go_together(id, add.page, rem));
            }
            if !held {
                self.write_page(add.page);
            }
            return;
        }
        if let Some(claim) = add.claim {
            self.pointer(claim);
        }
        if let Some(grown) = add.extra.as_ref().and_then(|extra| extra.grown.as_ref()) {
            grown.pointers.iter().for_each(|id| self.pointer(*id));
            self.landing(grown.size.as_ref());
        }
        let dir = deps.directory_of(add);
        if !deps.is_reachable(dir) {
            for above in deps.names_of(dir) {
                self.name(above);
            }
        }
    }

    /// Collects what makes a removal durable, and those before it in the same block, which may freeze the bytes around
    /// it.
    fn removal(&mut self, removal: RemId) {
        let deps = self.deps;
        if deps.is_gone(removal) || self.seen.contains(&removal.1) {
            return;
        }
        self.seen.push(removal.1);
        let mut held = false;
        for rem in deps.removals_to(removal).iter().filter(|rem| rem.state == State::Held) {
            held |= self.under_removal(rem, |id| deps.is_settled(id));
        }
        if held {
            return;
        }
        match deps.removals_to(removal).last().filter(|rem| rem.state == State::Durable).and_then(|rem| rem.claim) {
            Some(claim) => self.pointer(claim),
            None => self.write_page(removal.0),
        }
    }

    /// Collects what a held removal depends on; it need not wait for names that are `in_time`. `false` if it can be
    /// carried.
    fn under_removal(&mut self, rem: &DirRem, in_time: impl Fn(Id<DirAdd>) -> bool) -> bool {
        let deps = self.deps;
        let mut held = false;
        for id in rem.awaits.iter().filter(|id| !in_time(**id)) {
            held = true;
            self.name(*id);
        }
        for older in rem.after.iter().filter(|older| !deps.is_gone(**older)) {
            held = true;
            self.removal(*older);
        }
        held
    }

    /// Collects what the names in a block of a directory depend on. `false` if all can be carried as they are.
    fn under_directory(&mut self, page: PageNo, names: &PageDep) -> bool {
        let deps = self.deps;
        let adds = names.adds.ids().iter().filter_map(|id| deps.names.get(*id));
        let mut held = adds.filter(|add| self.under_name(add)).count() > 0;
        for rem in names.rems.iter().filter(|rem| rem.state == State::Held) {
            // In the same block, the name is in the image first, and the removal in the next one.
            let goes_first = |add: &DirAdd| add.page == page && add.state == State::Held && deps.is_name_safe(add);
            let in_time = |id| deps.is_settled(id) || deps.names.get(id).is_some_and(goes_first);
            held |= self.under_removal(rem, in_time);
        }
        held
    }

    /// Nothing is left to write.
    fn is_empty(&self) -> bool {
        self.bufs.is_empty()
    }

    /// Each buf once, in the order of their keys.
    fn bufs(mut self) -> Vec<BufRef> {
        self.bufs.sort_unstable_by_key(|buf| buf.key());
        self.bufs.dedup_by_key(|buf| buf.key());
        self.bufs
    }
}

impl Deps {
    /// Whether a buf can be written without a rollback.
    pub(super) fn ready(&self, buf: &BufRef) -> Ready {
        let Some(page) = self.find_page(buf) else { return Ready::Yes };
        let mut advance = Advance::new(self);
        let held = match &self.page(page).kind {
            PageKind::Group(fresh) => {
                fresh.iter().for_each(|landing| advance.landing(Some(landing)));
                fresh.iter().any(|landing| !landing.is_done())
            }
            PageKind::Inodes(row) => row.ids().iter().filter_map(|id| self.inodes.get(*id)).fold(false, |held, dep| {
                let bit = dep.bit.as_ref().filter(|bit| dep.state == State::Held && !bit.is_done());
                advance.landing(bit);
                advance.under_pointers_from(dep.pointers) || bit.is_some() || held
            }),
            PageKind::Indirect(indirect) => {
                let pending = indirect.pointers.values().filter_map(|id| self.pointers.get(*id));
                pending.filter(|dep| advance.under_pointer(dep)).count() > 0
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
        rems.iter().filter(move |rem| {
            let chunk = rem.before.as_ref().map(|(from, bytes)| *from..*from + bytes.len() as u32);
            rem.state == State::Held && rem.seq < seq && chunk.is_some_and(|chunk| chunk.contains(&offset))
        })
    }

    /// A file with pending names, and the directories above it, as far up as they have pending names themselves; also
    /// all renamed directories, since one of them may be above the file where those between have their names on the
    /// disk.
    pub(super) fn above(&self, ino: Ino) -> Vec<Ino> {
        let (mut above, mut at) = (vec![ino], 0);
        above.extend(self.renamed.keys().filter(|renamed| **renamed != ino));
        while let Some(ino) = above.get(at).copied() {
            at += 1;
            for add in self.names_of(ino).filter_map(|id| self.names.get(id)).filter(|add| !add.dotdot) {
                let dir = self.directory_of(add);
                if !above.contains(&dir) {
                    above.push(dir);
                }
            }
        }
        above
    }

    /// The next round of an fsync of `ino`: the bufs to write now. `since`: what the file's bufs held when fsync began;
    /// `inode`: the same for the block of its inode; `above`: the inodes whose names must be found; `gone`: their older
    /// names that must not be found, with those that other names replaced. Otherwise a crash could leave a directory
    /// with two names, and its repair might remove the new one.
    pub(super) fn fsync_round(
        &self,
        ino: Ino,
        since: &[Landing],
        inode: &Landing,
        above: &[Ino],
        (gone, replaced): (&[RemId], &[Id<DirAdd>]),
    ) -> Vec<BufRef> {
        let mut advance = Advance::new(self);
        self.contents_round(&mut advance, ino, since);
        if advance.is_empty() {
            self.inode_round(&mut advance, ino, inode);
        }
        if advance.is_empty() {
            let names = above.iter().flat_map(|ino| self.names_of(*ino));
            names.for_each(|id| advance.name(id));
        }
        if advance.is_empty() {
            gone.iter().for_each(|at| advance.removal(*at));
            replaced.iter().for_each(|id| advance.name(*id));
        }
        advance.bufs()
    }

    /// Contents and maps; then indirect blocks from the bottom up.
    fn contents_round<'a>(&'a self, advance: &mut Advance<'a>, ino: Ino, since: &'a [Landing]) {
        let mut indirect = Vec::new();
        for landing in since {
            let Some(buf) = landing.buf() else { continue };
            // What has landed may have been rolled back.
            if landing.is_done() && !self.find_page(&buf).is_some_and(|page| self.is_pending(page)) {
                continue;
            }
            match self.find_page(&buf).map(|page| (page, &self.page(page).kind)) {
                Some((page, PageKind::Directory(names))) if advance.under_directory(page, names) => {}
                Some((_, PageKind::Indirect(_))) => indirect.push(buf),
                _ => advance.write(Some(buf)),
            }
        }
        advance.under_pointers_of(ino);
        for buf in indirect {
            match self.ready(&buf) {
                Ready::Yes => advance.write(Some(buf)),
                Ready::After(first) => first.into_iter().for_each(|buf| advance.write(Some(buf))),
            }
        }
    }

    /// Something in the block itself is not durable yet.
    fn is_pending(&self, page: PageNo) -> bool {
        match &self.page(page).kind {
            PageKind::Indirect(indirect) => indirect.pointers.values().any(|id| !self.is_pointer_durable(*id)),
            PageKind::Directory(names) => {
                let mut adds = names.adds.ids().iter().filter_map(|id| self.names.get(*id));
                adds.any(|add| add.state != State::Durable) || names.rems.iter().any(|rem| rem.state != State::Durable)
            }
            PageKind::Group(_) | PageKind::Inodes(_) => false,
        }
    }

    fn inode_round<'a>(&'a self, advance: &mut Advance<'a>, ino: Ino, inode: &'a Landing) {
        let Some(dep) = self.inode_of(ino) else { return advance.landing(Some(inode)) };
        let pending = dep.state != State::Durable
            || self.pointers_of(ino).any(|id| !self.is_pointer_durable(id))
            || !inode.is_done_after(dep.held_in);
        if pending {
            advance.inode(ino);
        }
    }
}
