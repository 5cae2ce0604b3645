//! The one question: *what does this change still wait for?*
//!
//! It is asked here and nowhere else. `leave` rolls back every change in an image for which the answer is not empty
//! ([`Deps::is_safe`]). Three readers want the whole answer: `order` (which buf can be written now, and which ones
//! first), `wait` (fsync and sync: what must be durable before they return) and `explain` (what is held back, and why).
//!
//! U1. Every condition of every rule that holds a change back is a [`Need`] with that rule. A reader that knows all
//!     kinds of need so misses none.
//! U2. Only a held change has needs: what one image had is never held back again (softupdates-state-1).
//! U3. A need is met by writing bufs, and needs of needs end: a change waits for older ones (renames-1), or for
//!     changes that wait for nothing.

mod explain;
mod order;
mod settle;
#[cfg(test)]
mod tests;
pub(super) mod wait;

use super::deps::{AllocDep, Deps, DirAdd, DirRem, Grown, InodeDep, PageNo, RemId};
use super::rule::Rule;
use super::state::State;
use crate::records::Id;
use ordo_buf::{ImageNo, Landing};
use ordo_ondisk::Ino;
use std::ops::ControlFlow::{self, Break, Continue};

/// A change of which the question is asked.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// A cylinder group counts these blocks of inodes as initialised.
    Group(&'a [Landing]),
    /// A new inode's dinode.
    Inode(&'a InodeDep),
    /// A pointer to a new block.
    Pointer(&'a AllocDep),
    /// An added or redirected name.
    Name(&'a DirAdd),
    /// The removal of a name in the block of this page.
    Removal(PageNo, &'a DirRem),
}

/// Something that the disk lacks, and for which a change waits.
#[derive(Clone, Copy)]
pub(super) enum Need<'a> {
    /// The landing of a buf with what it held: a map, a block's contents.
    Landing(&'a Landing),
    /// This inode's dinode, in an image that was not rolled back.
    Inode(Ino),
    /// The raised link count of the directory that a new directory is in.
    ParentCount(&'a Landing, Ino),
    /// A pointer.
    Pointer(Id<AllocDep>),
    /// A name that would be found after a crash, from the root down.
    Name(Id<DirAdd>),
    /// An entry in its own directory, whether a path leads there or not: a `..`.
    Entry(Id<DirAdd>),
    /// The removal of a name.
    Removal(RemId),
    /// The block of this page without the name: the running call removes it before it ends.
    WithoutIt(PageNo),
}

impl Deps {
    /// What the change still waits for: `each` gets every need and the rule behind it, until it breaks off.
    // Inlined, so that a caller with one kind of change pays for that kind only: a directory's block has many.
    #[inline(always)]
    pub(super) fn unmet<'a, B>(
        &'a self,
        change: Change<'a>,
        mut each: impl FnMut(Rule, Need<'a>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match change {
            Change::Group(fresh) => {
                for block in fresh.iter().filter(|block| !block.is_done()) {
                    each(Rule::InodesInitialised, Need::Landing(block))?;
                }
            }
            Change::Inode(dep) if dep.state == State::Held => {
                if let Some(bit) = dep.bit.as_ref().filter(|bit| !bit.is_done()) {
                    each(Rule::InodeMarked, Need::Landing(bit))?;
                }
            }
            Change::Pointer(dep) if dep.state == State::Held => {
                for landing in [&dep.bit, &dep.contents].into_iter().flatten().filter(|landing| !landing.is_done()) {
                    each(Rule::BlockAllocation, Need::Landing(landing))?;
                }
            }
            Change::Name(add) if add.state == State::Held => self.unmet_of_name(add, each)?,
            Change::Removal(page, rem) if rem.state == State::Held => {
                for id in rem.awaits.iter().filter(|id| !self.can_go_together(**id, page, rem)) {
                    each(Rule::LinkRemoval, Need::Name(*id))?;
                }
                for older in rem.after.iter().filter(|older| !self.is_gone(**older)) {
                    each(Rule::LinkRemoval, Need::Removal(*older))?;
                }
            }
            Change::Inode(_) | Change::Pointer(_) | Change::Name(_) | Change::Removal(..) => {}
        }
        Continue(())
    }

    #[inline(always)]
    fn unmet_of_name<'a, B>(
        &'a self,
        add: &'a DirAdd,
        mut each: impl FnMut(Rule, Need<'a>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.has(Rule::LinkAddition) && !self.is_inode_durable(add.named(), add.inode_image) {
            each(Rule::LinkAddition, Need::Inode(add.ino))?;
        }
        let Some(rare) = &add.rare else { return Continue(()) };
        if let Some(parent) = &rare.parent {
            let dir = self.directory_of(add);
            let is_raised = match self.inode_of(dir) {
                Some(dep) => dep.state != State::Held && parent.is_done_after(dep.held_in),
                None => parent.is_done(),
            };
            if !is_raised {
                each(Rule::LinkAddition, Need::ParentCount(parent, dir))?;
            }
        }
        for body in rare.bodies.iter().filter(|id| !self.is_pointer_durable(**id)) {
            each(Rule::LinkAddition, Need::Pointer(*body))?;
        }
        for other in rare.awaits.iter().filter(|id| !self.is_settled(**id)) {
            each(Rule::LinkRemoval, Need::Name(*other))?;
        }
        if let Some(dotdot) = rare.dotdot.filter(|id| self.names.get(*id).is_some_and(|add| !self.is_entered(add))) {
            each(Rule::LinkAddition, Need::Entry(dotdot))?;
        }
        for older in rare.after.iter().filter(|older| !self.is_gone(**older)) {
            each(Rule::LinkRemoval, Need::Removal(*older))?;
        }
        if rare.doomed {
            each(Rule::LinkRemoval, Need::WithoutIt(add.page))?;
        }
        Continue(())
    }

    /// The change waits for nothing: an image may carry it.
    #[inline(always)]
    pub(super) fn is_safe(&self, change: Change<'_>) -> bool {
        self.unmet(change, |_, _| Break(())).is_continue()
    }

    /// What the disk lacks of the way from a directory's dinode to this entry: the directory's growth over the entry,
    /// and its block's last move. As [`Deps::unmet`].
    #[inline(always)]
    fn unclaimed<'a, B>(&'a self, add: &'a DirAdd, mut each: impl FnMut(Need<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
        if let Some(claim) = add.claim.filter(|id| !self.is_pointer_durable(*id)) {
            each(Need::Pointer(claim))?;
        }
        match add.rare.as_ref().and_then(|rare| rare.grown.as_ref()) {
            Some(grown) => self.ungrown(grown, each),
            None => Continue(()),
        }
    }

    fn ungrown<'a, B>(&'a self, grown: &'a Grown, mut each: impl FnMut(Need<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
        for id in grown.pointers.iter().filter(|id| !self.is_pointer_durable(**id)) {
            each(Need::Pointer(*id))?;
        }
        match grown.size.as_ref().filter(|size| !size.is_done()) {
            Some(size) => each(Need::Landing(size)),
            None => Continue(()),
        }
    }

    /// All of a directory's growth is durable.
    fn has_grown(&self, grown: &Grown) -> bool {
        self.ungrown(grown, |_| Break(())).is_continue()
    }

    /// The name can be found; or it is written in the same sector as the removal that waits for it, so that both are
    /// written or neither.
    fn can_go_together(&self, id: Id<DirAdd>, page: PageNo, rem: &DirRem) -> bool {
        let Some(add) = self.names.get(id) else { return true };
        let together = add.page == page
            && add.state == State::Held
            && rem.keeps(add.offset)
            && self.is_reachable(self.directory_of(add))
            && self.is_claimed(add)
            && self.is_safe(Change::Name(add));
        together || self.is_settled(id)
    }

    /// The dinode, as it was in image `from` of its block, is durable.
    #[inline]
    fn is_inode_durable(&self, id: Id<InodeDep>, from: ImageNo) -> bool {
        let Some(dep) = self.inodes.get(id) else { return true };
        dep.state != State::Held && self.page(dep.page).buf.durable_image() >= from.max(dep.held_in.next())
    }

    /// After a crash a path leads to the directory.
    pub(super) fn is_reachable(&self, dir: Ino) -> bool {
        self.inode_of(dir).is_none_or(|dep| !dep.unnamed)
    }

    /// No image has had this inode: the disk never led to anything through it.
    pub(super) fn was_never_there(&self, ino: Ino) -> bool {
        self.inode_of(ino).is_some_and(|dep| dep.state == State::Held)
    }

    /// The disk has the pointer, or its record is gone.
    pub(super) fn is_pointer_durable(&self, id: Id<AllocDep>) -> bool {
        self.pointers.get(id).is_none_or(|dep| dep.state == State::Durable)
    }

    /// After a crash the name would be found, from the root down; or its record is gone.
    pub(super) fn is_settled(&self, id: Id<DirAdd>) -> bool {
        let Some(add) = self.names.get(id) else { return true };
        self.is_entered(add) && self.is_reachable(self.directory_of(add))
    }

    /// The directory on the disk has the entry.
    fn is_entered(&self, add: &DirAdd) -> bool {
        add.state == State::Durable && self.is_claimed(add)
    }

    /// The directory on the disk leads to the entry's block.
    fn is_claimed(&self, add: &DirAdd) -> bool {
        self.unclaimed(add, |_| Break(())).is_continue()
    }

    /// The directory on the disk leads to the block that the removal is in.
    pub(super) fn is_removal_claimed(&self, rem: &DirRem) -> bool {
        rem.claim.is_none_or(|id| self.is_pointer_durable(id))
    }

    /// A removal is durable.
    pub(super) fn is_gone(&self, removal: RemId) -> bool {
        self.removals_to(removal).is_empty()
    }
}
