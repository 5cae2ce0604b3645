//! What must be durable before fsync and sync return: everything pending at their beginning, whatever other calls add.
//!
//! A1. A sync ends although other calls change the volume as fast as the disk takes it: it waits for what was held,
//!     carried, or dirty at its beginning.
//! A2. A wait without progress is a defect of this scheme. It is reported as one (`Error::Bug`), and does not hang.
//! A3. fsync goes round by round: each writes what its needs can do with now (unmet-order-2), until none is left.
//! A4. Where contents only replace others, the inode has nothing but times and a size within its blocks: it leaves in
//!     the round of the contents, and shares their flush.

use super::super::deps::{AllocDep, Deps, DirAdd, InodeDep, Page, PageKind, PageNo, RemId, rems_of};
use super::super::state::State;
use super::order::Advance;
use crate::records::Id;
use ordo_buf::{BufRef, Cache, Freed, Landing, Ready, Ticket};
use ordo_ondisk::Ino;
use ordo_vfs::Result;
use std::cell::RefCell;
use std::rc::Rc;

/// Rounds of writing without progress after which the wait ends. Bufs that nothing holds back take one or two.
const FRUITLESS: u32 = 64;

/// Rounds that a sync adds for changes made since, once everything it must wait for is durable. If no other call runs,
/// nothing is left after one.
const MORE: u32 = 16;

/// Counts the rounds of a wait.
#[derive(Default)]
struct Patience {
    seen: u64,
    rounds: u32,
}

impl Patience {
    /// Called after a round of writing. `seen` differs from its last value if the round made progress.
    ///
    /// # Errors
    /// `Bug`: too many rounds without progress (A2).
    fn after_a_round(&mut self, seen: u64) -> Result<()> {
        self.rounds = if self.seen == seen { self.rounds + 1 } else { 0 };
        self.seen = seen;
        if self.rounds < FRUITLESS {
            return Ok(());
        }
        Err(ordo_vfs::Error::bug(format!(
            "soft updates wrote {FRUITLESS} times, and what was waited for came no nearer"
        )))
    }

    /// The last round made no progress.
    fn is_tried(&self) -> bool {
        self.rounds > 0
    }
}

/// What was not durable at some moment (A1).
struct Standing {
    bufs: Vec<Landing>,
    inodes: Vec<Id<InodeDep>>,
    pointers: Vec<Id<AllocDep>>,
    names: Vec<Id<DirAdd>>,
    /// The sequence number of the newest removal.
    removals: u64,
}

impl Standing {
    fn of(deps: &Deps, cache: &Cache) -> Standing {
        Standing {
            bufs: cache.unsettled().iter().map(|buf| Landing::of(buf)).collect(),
            inodes: deps.inodes.ids().collect(),
            pointers: deps.pointers.ids().collect(),
            names: deps.names.ids().collect(),
            removals: deps.seq,
        }
    }

    /// How much of it is not durable yet.
    fn left(&mut self, deps: &Deps) -> u64 {
        self.bufs.retain(|landing| !landing.is_done() && landing.buf().is_some());
        self.inodes.retain(|id| deps.inodes.get(*id).is_some_and(|dep| dep.state != State::Durable));
        self.pointers.retain(|id| !deps.is_pointer_durable(*id));
        self.names.retain(|id| !deps.is_settled(*id));
        let removals = deps.removals_until(self.removals);
        (self.bufs.len() + self.inodes.len() + self.pointers.len() + self.names.len() + removals) as u64
    }
}

/// What an fsync of a file makes durable, as it was when fsync began.
pub(in crate::softupdates) struct Wanted {
    ino: Ino,
    /// What the file's bufs held.
    since: Vec<Landing>,
    /// What the block of its inode must have.
    inode: Landing,
    /// The inodes whose names must be found.
    above: Vec<Ino>,
    /// Their older names that must not be found, and those that other names replaced. Otherwise a crash could leave a
    /// directory with two names, and its repair might remove the new one.
    gone: Vec<RemId>,
    replaced: Vec<Id<DirAdd>>,
    /// The sequence number of the newest change of a name.
    began: u64,
}

impl Wanted {
    pub(in crate::softupdates) fn of(deps: &Deps, cache: &Cache, ino: Ino, news: &Landing) -> Wanted {
        let since = cache.unsettled_of(ino).iter().map(|buf| Landing::of(buf)).collect();
        let above = deps.above(ino);
        let (gone, replaced) = (deps.removals_of(&above), deps.replacements_of(&above));
        Wanted { ino, since, inode: news.clone(), above, gone, replaced, began: deps.seq }
    }
}

/// Writes, round by round, until all that is wanted is durable (A3).
pub(in crate::softupdates) async fn fsync(deps: Rc<RefCell<Deps>>, cache: Rc<Cache>, wanted: Wanted) -> Result<()> {
    let mut patience = Patience::default();
    loop {
        deps.borrow_mut().settle(&cache);
        let round = deps.borrow().fsync_round(&wanted);
        if round.is_empty() {
            deps.borrow_mut().renamed_until(wanted.began);
            return Ok(());
        }
        cache.write_all(round).await?;
        patience.after_a_round(deps.borrow().counters.released)?;
    }
}

/// Writes until all that was not durable at the beginning is (A1).
pub(in crate::softupdates) async fn sync(deps: Rc<RefCell<Deps>>, cache: Rc<Cache>) -> Result<()> {
    let began = deps.borrow().seq;
    let mut standing = Standing::of(&deps.borrow(), &cache);
    let mut patience = Patience::default();
    let mut more = MORE;
    loop {
        // A buf that other calls keep changing always needs a rollback; after a fruitless round it is written with one.
        let left = if patience.is_tried() {
            cache.write_everything().await?;
            true
        } else {
            cache.write_in_order().await?
        };
        deps.borrow_mut().settle(&cache);
        let standing = standing.left(&deps.borrow());
        more -= u32::from(standing == 0);
        if standing == 0 {
            deps.borrow_mut().moved_until(began);
        }
        if !left || more == 0 {
            return Ok(());
        }
        if standing > 0 {
            patience.after_a_round(standing)?;
        }
    }
}

impl Deps {
    /// A file with pending names, and the directories above it, as far up as they have pending names themselves; also
    /// all renamed directories, since one of them may be above the file where those between have their names on the
    /// disk.
    fn above(&self, ino: Ino) -> Vec<Ino> {
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

    /// The next round of an fsync: the bufs to write now.
    fn fsync_round(&self, wanted: &Wanted) -> Vec<BufRef> {
        let mut advance = Advance::new(self);
        self.contents_round(&mut advance, wanted.ino, &wanted.since);
        if advance.is_empty() || self.is_overwritten(wanted) {
            self.inode_round(&mut advance, wanted.ino, &wanted.inode);
        }
        if advance.is_empty() {
            let names = wanted.above.iter().flat_map(|ino| self.names_of(*ino));
            names.for_each(|id| advance.name(id));
        }
        if advance.is_empty() {
            wanted.gone.iter().for_each(|at| advance.removal(*at));
            wanted.replaced.iter().for_each(|id| advance.name(*id));
        }
        advance.bufs()
    }

    /// Nothing of the inode is held, and none of the contents hold anything: they need no order (A4).
    fn is_overwritten(&self, wanted: &Wanted) -> bool {
        let plain = |landing: &Landing| landing.buf().is_none_or(|buf| self.find_page(&buf).is_none());
        self.inode_of(wanted.ino).is_none() && wanted.since.iter().all(plain)
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
        let Some(dep) = self.inode_of(ino) else { return advance.landing(inode) };
        let pending = dep.state != State::Durable
            || self.pointers_of(ino).any(|id| !self.is_pointer_durable(id))
            || !inode.is_done_after(dep.held_in);
        if pending {
            advance.inode(ino);
        }
    }

    /// Removals up to this sequence number that are not durable.
    fn removals_until(&self, seq: u64) -> usize {
        let removals = |page: &Page| rems_of(Some(page)).iter().take_while(|rem| rem.seq <= seq).count();
        self.pages.iter().flatten().map(removals).sum()
    }

    /// The removals of names of these files that are not durable.
    fn removals_of(&self, files: &[Ino]) -> Vec<RemId> {
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
    fn replacements_of(&self, files: &[Ino]) -> Vec<Id<DirAdd>> {
        if self.renamed.is_empty() {
            return Vec::new();
        }
        let of_them = |ticket: &Ticket| matches!(ticket.freed(), Freed::DropLink { ino, .. } if files.contains(ino));
        let replaces = |id: &Id<DirAdd>| {
            let rare = self.names.get(*id).and_then(|add| add.rare.as_ref());
            rare.is_some_and(|rare| rare.tickets.iter().any(of_them))
        };
        self.names.ids().filter(replaces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_vfs::Error;

    #[test]
    fn a_wait_without_progress_ends_as_a_defect_and_progress_begins_it_anew() {
        let mut patience = Patience::default();
        for seen in [7, 8] {
            for _ in 0..FRUITLESS {
                patience.after_a_round(seen).expect("the first round was progress");
            }
        }
        let ended = patience.after_a_round(8);
        assert!(matches!(ended, Err(Error::Bug(_))), "{ended:?}");
    }
}
