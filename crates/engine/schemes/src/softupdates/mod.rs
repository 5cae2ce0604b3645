//! `softupdates`: every write is delayed, and any buf can be written at any time. What must not be on the disk yet is
//! rolled back in the image that is written; what must not be free yet is freed later. (Ganger and Patt 1994, section
//! 4.2 and appendix; McKusick and Ganger, "Soft Updates: A Technique for Eliminating Most Synchronous Writes in the
//! Fast Filesystem", 1999.)
//!
//! Dependencies are tracked per pointer, not per block: per block they would form cycles, and a block that changes all
//! the time would never be written. The dependencies:
//!
//! | change | is held back until | frees, once it is durable |
//! | --- | --- | --- |
//! | a new inode's dinode | the map with its bit is durable | |
//! | a pointer to a new block | the block's contents and the map are | the old fragments |
//! | a new name | its inode, what that was made with, and the parent's count are | the old meaning's link |
//! | a removed name | the file's newer names can be reached | the link |
//! | a cleared pointer or inode | | blocks, inode numbers |
//!
//! The files directly in this folder have what the papers describe. The rules, each with the crash that it prevents,
//! are in [`Rule`]. `state` is the state machine of all these changes; `pointers`, `names` and `inodes` record them,
//! step by step; `leave` writes images, rolls back what must wait, and releases what waited. Beside it are four more
//! rooms:
//!
//! * `deps` has the records of changes: what each contains, which page it is attached to, how it is found.
//! * `unmet` asks what a change still waits for, for `leave` and for its readers: `order` keeps rollbacks few, `wait`
//!   runs fsync and sync until they may return, `explain` says what is held back and why.
//! * `beyond` has what the papers do not have: renames above all; the short paths, which most steps take (`short`); the
//!   limit of records, beyond which calls wait (`limit`).
//! * `crate::records` has the containers.
//!
//! A crash leaves space and inodes that are marked used and are free, and link counts that are too high. The volume is
//! mounted again at once, and they are reclaimed while it is in use.
//!
//! Differences from the papers. An image is undone, not the buf, so that no caller waits for a write and nothing is
//! redone. A buf that was rolled back stays dirty and in memory, so that no workitem has to bring it back after 15
//! seconds. The queue of workitems is the volume's upkeep, which receives ripe tickets and works at once. Removals are
//! held back, too, where a rename would otherwise leave a file without a name.
//!
//! FreeBSD's names (`ffs_softdep.c`) and ours:
//!
//! | FreeBSD | here |
//! | --- | --- |
//! | `inodedep` | `deps::InodeDep`, found by inode number (`by_ino`) |
//! | `pagedep` | `deps::PageDep`, on the page of a directory's block |
//! | `indirdep` | `deps::IndirDep`, on the page of an indirect block |
//! | `allocdirect`, `allocindir` | `deps::AllocDep`; its `PointerSlot` says which |
//! | `newblk` | none: an `AllocDep` is made when the pointer is set |
//! | `bmsafemap` | `deps::PageKind::Group`; the landings `InodeDep::bit` and `AllocDep::bit` |
//! | `diradd` | `deps::DirAdd`, with rare fields in `deps::DirAddRare` |
//! | `newdirblk` | `DirAdd::claim`, `DirAddRare::grown` (`beyond::claims`) |
//! | `mkdir` (`MKDIR_BODY`, `MKDIR_PARENT`) | `DirAddRare::bodies`, `DirAddRare::parent` |
//! | `dirrem` | `deps::DirRem`; for an entry that a rename redirects, the tickets in `DirAddRare` |
//! | `freefrag` | the ticket `AllocDep::freed` |
//! | `freeblks`, `freefile` | tickets in `deps::Page::waiting` |
//! | `softdep_setup_inomapdep` | `Deps::inode_allocated` |
//! | `softdep_setup_allocdirect`, `softdep_setup_allocindir_page` | `Deps::block_allocated` |
//! | `softdep_setup_directory_add` | `Deps::link_added` |
//! | `softdep_setup_directory_change` | `Deps::link_changed` |
//! | `softdep_setup_remove` | `Deps::link_removed` |
//! | `softdep_setup_freeblocks`, `softdep_freefile` | `Deps::blocks_released`, `Deps::inode_released` |
//! | `softdep_disk_io_initiation` | `Deps::leaving` |
//! | `initiate_write_inodeblock` | `Deps::leave_inode`, `Deps::leave_pointers` |
//! | `initiate_write_indirdep` | `Deps::leave_indirect` |
//! | `initiate_write_filepage` | `Deps::leave_removals`, `Deps::leave_names` |
//! | `softdep_disk_write_complete` | `Deps::landed` |
//! | `handle_written_inodeblock` | `Deps::land_inode`, `Deps::land_pointer` |
//! | `handle_written_filepage` | `Deps::land_names` |
//! | `handle_workitem_freeblocks`, `handle_workitem_freefrag` | the volume's upkeep, on ripe tickets (`Deps::ripen`) |
//! | `handle_workitem_freefile`, `handle_workitem_remove` | the same |
//! | `softdep_fsync` | `unmet::wait::fsync`, `Deps::fsync_round` |

mod beyond;
mod deps;
mod inodes;
mod leave;
mod names;
mod pointers;
mod rule;
mod state;
#[cfg(test)]
mod tests;
mod unmet;

use rule::Rule;

use crate::AllocInit;
use crate::rules::Rules;
use beyond::Limit;
use deps::Deps;
use names::{EntryPlace, Named};
use ordo_buf::{
    Ahead, Answer, BufRef, Cache, Capabilities, CrashLeaves, Defers, Durable, Explains, Fields, Held, ImageNo, Landing,
    Leave, Must, Op, Promises, Ready, Role, Scheme, Step, Ticket, TracksBufs, TracksInodes,
};
use ordo_ondisk::Ino;
use pointers::Allocated;
use std::cell::RefCell;
use std::rc::Rc;
use unmet::wait::{self, Wanted};

/// The scheme `softupdates`.
pub struct SoftUpdates {
    alloc_init: AllocInit,
    limit: Limit,
    deps: Rc<RefCell<Deps>>,
}

impl SoftUpdates {
    /// With this allocation initialisation, and without the rules `dropped`, which it still declares: a scheme that
    /// breaks its promises, to test the tests.
    pub fn without(alloc_init: AllocInit, dropped: Rules<Rule>) -> SoftUpdates {
        let follows = Rules::in_force(alloc_init).without(dropped);
        let deps = Rc::new(RefCell::new(Deps::new(alloc_init, follows)));
        SoftUpdates { alloc_init, limit: Limit::default(), deps }
    }

    /// With this allocation initialisation.
    pub fn new(alloc_init: AllocInit) -> SoftUpdates {
        SoftUpdates::without(alloc_init, Rules::default())
    }

    /// The same, but calls wait beyond `limit` records.
    pub fn with_limit(self, limit: usize) -> SoftUpdates {
        SoftUpdates { limit: Limit::of(limit), ..self }
    }

    /// Records the dependencies of a step whose ticket, if it has one, is ripe at once. `false`: the ticket is not
    /// ripe, or not surely, and nothing was done. The step is not moved: it is large, and moving it would cost more
    /// than most steps.
    #[inline(always)]
    fn note(&self, cache: &Rc<Cache>, step: &Step<'_>) -> bool {
        let mut deps = self.deps.borrow_mut();
        match *step {
            Step::InodesReady { cg } => deps.inodes_ready(cg),
            Step::BlockReady { block, .. } => deps.fresh_inodes = Some(Landing::of(block)),
            Step::InodeAllocated { ino, map: Some(cg), inode, .. } => deps.inode_allocated(ino, cg, inode),
            Step::BlockAllocated { ino, role, slot, old, new, block, map: Some(cg), with, freed: None, .. } => {
                let set = Allocated { ino, role, slot, old, new, block, cg, with };
                if !deps.first_pointer_allocated(&set) {
                    deps.block_allocated(cache, &set, &mut None);
                }
            }
            Step::SizeGrown { ino, inode, block, size_before, .. } => {
                deps.directory_grown(ino, inode, block, size_before);
            }
            Step::InodeChanged { ino, inode, .. } => deps.directory_has_grown(ino, inode),
            Step::LinkAdded { dir, name, block, offset, ino, inode, directory, mkdir } => {
                let named = Named { ino, inode, moves: directory && mkdir.is_none() };
                deps.link_added(EntryPlace { dir, name, block, offset }, named, mkdir.map(|(_, parent)| parent));
            }
            Step::LinkRemoved { dir, name, block, offset, ref ticket, .. } => {
                return deps.came_and_went(EntryPlace { dir, name, block, offset }, ticket);
            }
            Step::BlocksReleased { ino, at, ref ticket, .. } => return deps.were_never_reached(cache, ino, at, ticket),
            Step::InodeReleased { ino, .. } => return deps.was_never_taken(cache, ino),
            _ => return false,
        }
        true
    }

    /// Records what a ticket must wait for. Returns the ticket if it is ripe at once.
    #[inline(never)]
    fn keep(&self, cache: &Rc<Cache>, step: Step<'_>) -> Option<Ticket> {
        let mut deps = self.deps.borrow_mut();
        match step {
            Step::BlockAllocated { ino, role, slot, old, new, block, map: Some(cg), with, mut freed, .. } => {
                let set = Allocated { ino, role, slot, old, new, block, cg, with };
                deps.block_allocated(cache, &set, &mut freed);
                freed
            }
            Step::LinkChanged { dir, block, offset, ino, inode, directory, kind_before, dotdot, ticket } => {
                let at = EntryPlace { dir, name: &[], block, offset };
                let named = Named { ino, inode, moves: directory && !dotdot };
                deps.link_changed(cache, at, named, kind_before, dotdot, ticket)
            }
            Step::LinkRemoved { dir, name, block, offset, before, ticket } => {
                deps.link_removed(cache, EntryPlace { dir, name, block, offset }, before, ticket)
            }
            Step::BlocksReleased { ino, at, ticket, .. } => deps.blocks_released(cache, ino, at, ticket),
            Step::InodeReleased { ino, inode, ticket } => deps.inode_released(cache, ino, inode, ticket),
            step => step.into_ticket(),
        }
    }
}

/// Steps that create no dependency; about half of all.
#[inline(always)]
fn is_no_news(step: &Step<'_>) -> bool {
    match step {
        Step::InodeChanged { fields, .. } => *fields != Fields::DirectorySize,
        Step::BlockReady { role, .. } => *role != Role::Inodes,
        Step::SizeGrown { directory, .. } => !directory,
        Step::Links { .. } | Step::FragmentsTaken { .. } | Step::DataWritten { .. } => true,
        _ => false,
    }
}

impl Scheme for SoftUpdates {
    fn name(&self) -> &'static str {
        "softupdates"
    }

    fn declares(&self) -> Promises {
        Promises {
            name_added: Durable::AfterSync,
            name_removed: Durable::AfterSync,
            data: Durable::AfterFsync,
            attributes: Durable::AfterFsync,
            fsync_covers_name: true,
            rename_never_loses: true,
            names_of_a_moment: false,
            durable_stays: true,
            crash_leaves: CrashLeaves::Leaks,
            no_stale_data: self.alloc_init == AllocInit::All,
            mount_at_once: true,
            rules: Rules::<Rule>::in_force(self.alloc_init).texts(),
        }
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities {
            defers: Some(self.clone()),
            bufs: Some(self.clone()),
            inodes: Some(self.clone()),
            explains: Some(self),
            ..Capabilities::default()
        }
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        if self.limit.admitted_ahead() { Must::Nothing } else { self.limit.admit(&self.deps, cache, op) }
    }

    fn step(&self, cache: &Rc<Cache>, _op: Op, step: Step<'_>) -> Answer {
        if is_no_news(&step) {
            return Must::Nothing.into();
        }
        let ripe = if self.note(cache, &step) { step.into_ticket() } else { self.keep(cache, step) };
        Answer { must: Must::Nothing, ripe }
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        self.deps.borrow_mut().leaving(cache, buf, image)
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.deps.borrow_mut().landed(cache, buf, image);
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, _inode: &BufRef, news: &Landing) -> Must {
        let wanted = Wanted::of(&self.deps.borrow(), cache, ino, news);
        Must::Wait(Box::pin(wait::fsync(self.deps.clone(), cache.clone(), wanted)))
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        Must::Wait(Box::pin(wait::sync(self.deps.clone(), cache.clone())))
    }

    fn tick(&self, cache: &Rc<Cache>, _now: ordo_rt::Time) {
        let mut deps = self.deps.borrow_mut();
        deps.settle(cache);
        deps.drop_idle();
        if !deps.is_busy() {
            deps.moved.clear();
            deps.renamed.clear();
        }
    }
}

impl Defers for SoftUpdates {
    fn ready(&self, _cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        self.deps.borrow().ready(buf)
    }
}

impl TracksBufs for SoftUpdates {
    fn wants_flush(&self) -> bool {
        self.deps.borrow().is_busy()
    }

    fn discarded(&self, buf: &BufRef) {
        self.deps.borrow_mut().discarded(buf);
    }
}

impl TracksInodes for SoftUpdates {
    fn is_moving(&self, dir: Ino) -> bool {
        self.deps.borrow().moved.contains_key(&dir)
    }

    fn look_ahead(&self, ino: Ino, ahead: Ahead) {
        self.deps.borrow().prefetch(ino, ahead);
    }
}

impl Explains for SoftUpdates {
    fn explain(&self, buf: &BufRef) -> Vec<Held> {
        self.deps.borrow().explain(buf)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let deps = self.deps.borrow();
        deps.counters.list(deps.len())
    }
}
