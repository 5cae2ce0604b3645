//! `sync`: the conventional fast file system. Waiting keeps the order: a write that something depends on is durable
//! before the call goes on. (4.4BSD's form, which also awaits the last write of a sequence, so that a name is there, or
//! gone, when the call returns: Seltzer et al. 2000, section 6; Ganger and Patt 1994, section 2.)
//!
//! The [`Rule`]s say what is awaited, and which crash each prevents. Each wait serves a rule, and can be dropped with
//! it; a wait that serves two rules stays as long as one of them is in force. What a rule demands only when the call
//! *returns*, not before another step, is awaited at the call's end.
//!
//! Bitmaps, summaries, times, modes, sizes and data are delayed. A crash leaves link counts that are too high, files
//! without a name, and stale maps, so that a fragment in use may be marked free: nothing may be allocated before `fsck
//! -p` has run. Extended attributes are delayed like data, whether they are rewritten in place or in a new area (the
//! inode that points to that area is awaited only if an older area is freed, and callers must not rely on it); fsync
//! writes their blocks and the inode.

mod rule;
#[cfg(test)]
mod tests;

pub(crate) use rule::Rule;

use crate::AllocInit;
use crate::rules::{RuleNames, Rules};
use ordo_buf::{
    Answer, BufRef, Cache, CallKind, Capabilities, CrashLeaves, Durable, Fields, Must, Op, Promises, Role, Scheme,
    Slot, Step, Ticket, WhileLeaving,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The scheme `sync`.
pub struct Synchronous {
    alloc_init: AllocInit,
    /// The rules that it follows. It declares those that it should follow, even if some were dropped.
    follows: Rules<Rule>,
    /// Blocks with names that were not awaited, by call: only if a rule was dropped.
    at_end: RefCell<BTreeMap<u64, Vec<BufRef>>>,
    /// Names on which nothing depends are sent at once, and not awaited.
    sends_names: bool,
}

impl Synchronous {
    /// With this allocation initialisation.
    pub fn new(alloc_init: AllocInit) -> Synchronous {
        Synchronous::without(alloc_init, Rules::default())
    }

    /// With this allocation initialisation, and without the rules `dropped`, which it still declares: a scheme that
    /// breaks its promises, to test the tests with.
    pub fn without(alloc_init: AllocInit, dropped: Rules<Rule>) -> Synchronous {
        let follows = Rules::in_force(alloc_init).without(dropped);
        Synchronous { alloc_init, follows, at_end: RefCell::default(), sends_names: false }
    }

    /// For a scheme that does not wait: what `sync` awaits only because a name must be durable when its call returns is
    /// sent. (The paper's last write of a sequence: asynchronous. Its counts of requests show that it was not delayed.)
    pub(crate) fn unawaited(alloc_init: AllocInit, dropped: Rules<Rule>) -> Synchronous {
        let on_return: Rules<Rule> = [Rule::NameOnReturn].into_iter().collect();
        let mut scheme = Synchronous::without(alloc_init, dropped);
        scheme.follows = scheme.follows.without(on_return);
        scheme.sends_names = true;
        scheme
    }

    /// Its rules, except the one that only callers would notice.
    pub(crate) fn rules_of_order(&self) -> Vec<(&'static str, &'static str)> {
        let (on_return, _) = Rule::NameOnReturn.text();
        let mut rules = Rules::<Rule>::in_force(self.alloc_init).texts();
        rules.retain(|(name, _)| *name != on_return);
        rules
    }

    /// Waits for `buf` where `rule` demands it.
    fn by(&self, rule: Rule, buf: &BufRef) -> Must {
        if self.follows.has(rule) { wait_for(buf) } else { Must::Nothing }
    }

    /// A new block is awaited for what it holds, or because it was somewhere else before.
    fn block_ready(&self, block: &BufRef, role: Role) -> Must {
        let initialised = match role {
            Role::Indirect => Rule::IndirectInitialised,
            Role::Inodes => Rule::InodesInitialised,
            Role::ExtAttr => Rule::AttributesInitialised,
            Role::Directory => Rule::DirectoryInitialised,
            Role::Symlink => Rule::TargetInitialised,
            _ => Rule::DataInitialised,
        };
        match self.by(initialised, block) {
            Must::Nothing if block.has_moved() => self.by(Rule::MovedContents, block),
            must => must,
        }
    }

    fn inode_changed(&self, inode: &BufRef, fields: Fields) -> Must {
        match fields {
            Fields::LinksUp => self.by(Rule::InodeBeforeName, inode),
            Fields::LinksDown => self.by(Rule::LinkBeforeFree, inode),
            Fields::DirectorySize => self.by(Rule::DirectorySize, inode),
            Fields::Size | Fields::Mode | Fields::Times => Must::Nothing,
        }
    }

    /// A name was set or cleared in `block`. The rules of `order` demand the block before the call's next step. If
    /// there are none, it is awaited at once for the return; if all were dropped, only at the return.
    fn named(&self, op: Op, block: &BufRef, order: &[Rule]) -> Must {
        let ordered = order.iter().any(|rule| self.follows.has(*rule));
        let on_return = self.follows.has(Rule::NameOnReturn);
        if ordered || on_return && order.is_empty() {
            return wait_for(block);
        }
        if self.sends_names {
            return Must::Sent(block.clone());
        }
        if on_return {
            self.at_end.borrow_mut().entry(op.id).or_default().push(block.clone());
        }
        Must::Nothing
    }
}

/// Whether a name made by such a call may soon be the only one that leads to something older: another name of it is
/// cleared, or it moves into the new directory.
pub(crate) fn leads_on(kind: CallKind) -> bool {
    matches!(kind, CallKind::Rename | CallKind::Link | CallKind::Mkdir)
}

fn wait_for(buf: &BufRef) -> Must {
    Must::Durable(buf.clone())
}

fn then_free(must: Must, ticket: Ticket) -> Answer {
    Answer { must, ripe: Some(ticket) }
}

impl Scheme for Synchronous {
    fn name(&self) -> &'static str {
        "sync"
    }

    fn declares(&self) -> Promises {
        Promises {
            name_added: Durable::OnReturn,
            name_removed: Durable::OnReturn,
            data: Durable::AfterFsync,
            attributes: Durable::AfterFsync,
            fsync_covers_name: true,
            rename_never_loses: true,
            names_of_a_moment: false,
            durable_stays: true,
            crash_leaves: CrashLeaves::Counts,
            no_stale_data: self.alloc_init == AllocInit::All,
            mount_at_once: false,
            rules: Rules::<Rule>::in_force(self.alloc_init).texts(),
        }
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { while_leaving: WhileLeaving::Lock, ..Capabilities::default() }
    }

    fn end(&self, _cache: &Rc<Cache>, op: Op) -> Must {
        match self.at_end.borrow_mut().remove(&op.id) {
            None => Must::Nothing,
            Some(blocks) => Must::InOrder(blocks),
        }
    }

    fn step(&self, _cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        match step {
            Step::InodesReady { cg } => self.by(Rule::InodesInitialised, cg).into(),
            Step::InodeAllocated { .. } | Step::Links { .. } | Step::FragmentsTaken { .. } => Must::Nothing.into(),
            // Names beyond the directory's size, in a block that it already has: the size is reported next.
            Step::DataWritten { block, .. } if block.kind() == Role::Directory => {
                self.by(Rule::DirectoryInitialised, block).into()
            }
            Step::DataWritten { .. } => Must::Nothing.into(),
            Step::SizeGrown { inode, directory, .. } => {
                let fields = if directory { Fields::DirectorySize } else { Fields::Size };
                self.inode_changed(inode, fields).into()
            }
            Step::InodeChanged { inode, fields, .. } => self.inode_changed(inode, fields).into(),
            Step::BlockReady { block, role, .. } => self.block_ready(block, role).into(),
            Step::BlockAllocated { slot, freed: Some(ticket), .. } => {
                then_free(self.by(Rule::MovedFragment, slot.buf()), ticket)
            }
            Step::BlockAllocated { freed: None, role: Role::Directory, slot: Slot::Indirect(at, _), .. } => {
                self.by(Rule::DirectorySize, at).into()
            }
            // A pointer within an indirect block: that block was durable when it was made, and a new pointer in it only
            // leads to what is initialised as far as needed. fsync and the syncer write it.
            Step::BlockAllocated { freed: None, .. } => Must::Nothing.into(),
            Step::LinkAdded { block, .. } => {
                self.named(op, block, if leads_on(op.kind) { &[Rule::NewNameBeforeOld] } else { &[] }).into()
            }
            // Only a rename does it: the name is new for what moves, and gone for what was replaced.
            Step::LinkChanged { block, ticket, .. } => {
                then_free(self.named(op, block, &[Rule::NewNameBeforeOld, Rule::NameGoneBeforeLink]), ticket)
            }
            Step::LinkRemoved { block, ticket, .. } => {
                then_free(self.named(op, block, &[Rule::NameGoneBeforeLink]), ticket)
            }
            Step::BlocksReleased { at, ticket, .. } => then_free(self.by(Rule::LinkBeforeFree, at), ticket),
            // What it pointed to was released before. An inode that is still marked used has no name, and fsck, which
            // comes before a mount, frees it. The next file with its number waits for it before a name points to it.
            Step::InodeReleased { ticket, .. } => then_free(Must::Nothing, ticket),
        }
    }
}
