//! What is held back in a buf and why, in words: the conditions of `leave`, without its effects.
//!
//! Nothing here decides anything. This file names exactly what `leave` rolls back in an image (except a `doomed` name);
//! the tests of `ordo trace` compare the two.

use super::arena::Id;
use super::deps::{AllocDep, Before, Deps, DirAdd, DirRem, PageDep, PageKind, PageNo, PointerSlot, RemId};
use super::rule::Rule;
use super::state::State;
use crate::rules::RuleNames;
use crate::words::{Fragments, Frees};
use ordo_buf::{BufRef, Held, How, Landing, Ticket};
use ordo_ondisk::Ino;

type Until = Vec<(BufRef, &'static str)>;

/// Adds the buf of a landing that has not happened.
fn landing(until: &mut Until, landing: Option<&Landing>, rule: Rule) {
    let buf = landing.filter(|landing| !landing.is_done()).and_then(|landing| landing.buf());
    until.extend(buf.map(|buf| (buf, rule.text().0)));
}

/// A removal that is held, with the bytes around it.
struct Frozen<'a> {
    rem: &'a DirRem,
    until: Until,
}

impl Frozen<'_> {
    fn has(&self, offset: u32) -> bool {
        let chunk = self.rem.before.as_ref().map(|(from, bytes)| *from..*from + bytes.len() as u32);
        chunk.is_some_and(|chunk| chunk.contains(&offset))
    }
}

fn rolled_back(what: String, until: Until) -> Held {
    Held { what, how: How::RolledBack, until }
}

impl Deps {
    /// What is held back in `buf` now.
    pub(super) fn explain(&self, buf: &BufRef) -> Vec<Held> {
        let Some(no) = self.find_page(buf) else { return Vec::new() };
        let page = self.page(no);
        let mut held = match &page.kind {
            PageKind::Group(fresh) => explain_group(fresh),
            PageKind::Inodes(row) => row
                .ids()
                .iter()
                .filter_map(|id| self.inodes.get(*id))
                .flat_map(|dep| self.explain_inode(dep.ino))
                .collect(),
            PageKind::Indirect(indirect) => {
                let pending = indirect.pointers.values().filter_map(|id| self.pointers.get(*id));
                pending.flat_map(|dep| self.explain_pointer(dep, buf)).collect()
            }
            PageKind::Directory(names) => self.explain_directory(no, names),
        };
        held.extend(page.waiting.iter().map(|(_, ticket)| kept(ticket, buf, Rule::BlockDeallocation)));
        held
    }

    fn explain_inode(&self, ino: Ino) -> Vec<Held> {
        let Some(dep) = self.inode_of(ino) else { return Vec::new() };
        let mut held = Vec::new();
        let mut until = Until::new();
        if dep.state == State::Held {
            landing(&mut until, dep.bit.as_ref(), Rule::InodeMarked);
        }
        if !until.is_empty() {
            held.push(rolled_back(format!("inode {}", ino.0), until));
        }
        let holder = &self.page(dep.page).buf;
        for pointer in self.pointers_of(ino).filter_map(|id| self.pointers.get(id)) {
            held.extend(self.explain_pointer(pointer, holder));
        }
        held
    }

    /// The pointer, if it is held; and what it replaced, which stays allocated until the pointer is durable.
    fn explain_pointer(&self, dep: &AllocDep, holder: &BufRef) -> Vec<Held> {
        let mut held = Vec::new();
        let mut until = Until::new();
        if dep.state == State::Held {
            landing(&mut until, dep.bit.as_ref(), Rule::BlockAllocation);
            landing(&mut until, dep.contents.as_ref(), Rule::BlockAllocation);
        }
        if !until.is_empty() {
            held.push(rolled_back(pointer_words(dep), until));
        }
        held.extend(dep.freed.iter().map(|ticket| kept(ticket, holder, Rule::MovedFragment)));
        held
    }

    fn explain_directory(&self, no: PageNo, names: &PageDep) -> Vec<Held> {
        let block = &self.page(no).buf;
        let mut held = Vec::new();
        let (mut frozen, mut dropped): (Vec<Frozen<'_>>, Vec<Id<DirAdd>>) = (Vec::new(), Vec::new());
        for rem in &names.rems {
            held.extend(rem.tickets.iter().map(|ticket| kept(ticket, block, Rule::LinkRemoval)));
            if rem.state != State::Held {
                continue;
            }
            let behind = frozen.iter().find(|frozen| frozen.has(rem.offset)).map(|frozen| frozen.until.clone());
            let until = behind.clone().unwrap_or_else(|| self.until_removed(no, rem));
            if until.is_empty() {
                dropped.extend(rem.add);
                continue;
            }
            held.push(rolled_back(format!("removal of the entry at byte {}", rem.offset), until.clone()));
            if behind.is_none() {
                frozen.push(Frozen { rem, until });
            }
        }
        let mut adds: Vec<_> = names.adds.ids().iter().filter(|id| !dropped.contains(id)).collect();
        adds.sort_by_key(|id| std::cmp::Reverse(self.names.get(**id).map_or(0, |add| add.seq)));
        self.explain_names(block, adds.into_iter().filter_map(|id| self.names.get(*id)), &frozen, &mut held);
        held
    }

    /// Newest first: an older meaning of an entry does not matter under a newer one that is written.
    fn explain_names<'a>(
        &self,
        block: &BufRef,
        adds: impl Iterator<Item = &'a DirAdd>,
        frozen: &[Frozen<'_>],
        held: &mut Vec<Held>,
    ) {
        let mut carried: Vec<u32> = Vec::new();
        for add in adds {
            let tickets = add.extra.iter().flat_map(|extra| &extra.tickets);
            held.extend(tickets.map(|ticket| kept(ticket, block, Rule::LinkRemoval)));
            let mut until = Until::new();
            if add.state == State::Held {
                if carried.contains(&add.offset) {
                    continue;
                }
                until = self.until_named(add);
                let around = frozen.iter().filter(|frozen| frozen.rem.seq < add.seq && frozen.has(add.offset));
                until.extend(around.flat_map(|frozen| frozen.until.iter().cloned()));
            }
            if !until.is_empty() {
                held.push(rolled_back(format!("entry at byte {} -> inode {}", add.offset, add.ino.0), until));
            } else if add.was().0 != Ino::NONE {
                carried.push(add.offset);
            }
        }
    }

    fn until_removed(&self, no: PageNo, rem: &DirRem) -> Until {
        let awaited = rem.awaits.iter().filter(|id| !self.can_go_together(**id, no, rem));
        let named = awaited.filter_map(|id| self.names.get(*id)).map(|add| add.page);
        named
            .map(|page| (self.page(page).buf.clone(), Rule::LinkRemoval.text().0))
            .chain(self.until_gone(&rem.after))
            .collect()
    }

    fn until_gone(&self, older: &[RemId]) -> impl Iterator<Item = (BufRef, &'static str)> {
        let left = older.iter().filter(|removal| !self.is_gone(**removal));
        left.map(|removal| (self.page(removal.0).buf.clone(), Rule::LinkRemoval.text().0))
    }

    /// The unmet conditions of `is_name_safe`, without `doomed`.
    fn until_named(&self, add: &DirAdd) -> Until {
        let mut until = Until::new();
        if self.has(Rule::LinkAddition)
            && !self.is_inode_durable(add.named(), add.inode_image)
            && let Some(dep) = self.inode_of(add.ino)
        {
            until.push((self.page(dep.page).buf.clone(), Rule::LinkAddition.text().0));
        }
        let Some(extra) = &add.extra else { return until };
        if let Some(parent) = &extra.parent {
            match self.inode_of(self.directory_of(add)) {
                Some(dep) if dep.state == State::Held || !parent.is_done_after(dep.held_in) => {
                    until.push((self.page(dep.page).buf.clone(), Rule::LinkAddition.text().0));
                }
                Some(_) => {}
                None => landing(&mut until, Some(parent), Rule::LinkAddition),
            }
        }
        for body in extra.bodies.iter().filter(|id| !self.is_pointer_durable(**id)) {
            let holder = self.pointers.get(*body).and_then(|dep| match dep.slot {
                PointerSlot::Indirect(page, _) => Some(page),
                _ => self.inode_of(dep.ino).map(|inode| inode.page),
            });
            until.extend(holder.map(|page| (self.page(page).buf.clone(), Rule::LinkAddition.text().0)));
        }
        for other in extra.awaits.iter().filter(|id| !self.is_settled(**id)).filter_map(|id| self.names.get(*id)) {
            until.push((self.page(other.page).buf.clone(), Rule::LinkRemoval.text().0));
        }
        let dotdot = extra.dotdot.and_then(|id| self.names.get(id)).filter(|dotdot| !self.is_entered(dotdot));
        until.extend(dotdot.map(|dotdot| (self.page(dotdot.page).buf.clone(), Rule::LinkAddition.text().0)));
        until.extend(self.until_gone(&extra.after));
        until
    }
}

/// leave-2: a group is not rolled back; it waits.
fn explain_group(fresh: &[Landing]) -> Vec<Held> {
    let mut until = Until::new();
    fresh.iter().for_each(|block| landing(&mut until, Some(block), Rule::InodesInitialised));
    let what = "the map, and the count of initialised inodes".to_owned();
    if until.is_empty() { Vec::new() } else { vec![Held { what, how: How::Waits, until }] }
}

fn kept(ticket: &Ticket, at: &BufRef, rule: Rule) -> Held {
    Held { what: Frees(ticket).to_string(), how: How::Kept, until: vec![(at.clone(), rule.text().0)] }
}

fn pointer_words(dep: &AllocDep) -> String {
    let ino = dep.ino.0;
    let pointer = match dep.slot {
        PointerSlot::Inode(i) if i < 12 => format!("direct pointer {i} of inode {ino}"),
        PointerSlot::Inode(i) => format!("indirect pointer {} of inode {ino}", i - 12),
        PointerSlot::ExtAttr(i) => format!("attribute pointer {i} of inode {ino}"),
        PointerSlot::Indirect(_, index) => format!("pointer {index}"),
        PointerSlot::Size => format!("size of inode {ino}"),
    };
    let size = match dep.before {
        Before::Size(before) => format!(", size beyond {before} bytes"),
        Before::Same | Before::Area(_) => String::new(),
    };
    match dep.slot {
        PointerSlot::Size => format!("{pointer}{size}"),
        _ => format!("{pointer}, {} -> {}{size}", Fragments(dep.old), Fragments(dep.new)),
    }
}
