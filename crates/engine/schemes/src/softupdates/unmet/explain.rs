//! What is held back in a buf and why, in words.
//!
//! This file only describes. `unmet` decides what a change waits for, and `leave` which bytes around a held removal
//! are frozen (leave-4). The tests of `ordo trace` compare what is said with what is rolled back.

use super::super::deps::{AllocDep, Before, Deps, DirAdd, DirRem, PageDep, PageKind, PageNo, PointerSlot};
use super::super::rule::Rule;
use super::super::state::State;
use super::{Change, Need};
use crate::records::Id;
use crate::rules::RuleNames;
use crate::words::{Fragments, Frees};
use ordo_buf::{BufRef, Held, How, Ticket};
use ordo_ondisk::Ino;
use std::ops::ControlFlow::{self, Continue};

/// Bufs that must be durable first, each with the rule that says so.
type Until = Vec<(BufRef, &'static str)>;

/// A removal that is held, and why.
struct Frozen<'a> {
    rem: &'a DirRem,
    until: Until,
}

fn rolled_back(what: String, until: Until) -> Held {
    Held { what, how: How::RolledBack, until }
}

impl Deps {
    /// What is held back in `buf` now.
    pub(in crate::softupdates) fn explain(&self, buf: &BufRef) -> Vec<Held> {
        let Some(no) = self.find_page(buf) else { return Vec::new() };
        let page = self.page(no);
        let mut held = Vec::new();
        match &page.kind {
            // leave-2: a group is not rolled back.
            PageKind::Group(fresh) => held.extend(self.until(Change::Group(fresh)).map(|until| {
                let what = "the map, and the count of initialised inodes".to_owned();
                Held { what, how: How::Waits, until }
            })),
            PageKind::Inodes(row) => {
                for dep in row.ids().iter().filter_map(|id| self.inodes.get(*id)) {
                    let until = self.until(Change::Inode(dep));
                    held.extend(until.map(|until| rolled_back(format!("inode {}", dep.ino.0), until)));
                    self.explain_pointers(self.pointers_from(dep.pointers), buf, &mut held);
                }
            }
            PageKind::Indirect(indirect) => {
                self.explain_pointers(indirect.pointers.values().copied(), buf, &mut held);
            }
            PageKind::Directory(names) => self.explain_directory(no, names, &mut held),
        }
        held.extend(page.waiting.iter().map(|(_, ticket)| kept(ticket, buf, Rule::BlockDeallocation)));
        held
    }

    /// What the change waits for, or `None` if it waits for nothing.
    fn until(&self, change: Change<'_>) -> Option<Until> {
        let mut until = None;
        let _: ControlFlow<()> = self.unmet(change, |rule, need| {
            let until: &mut Until = until.get_or_insert_default();
            until.extend(self.buf_of(need).map(|buf| (buf, rule.text().0)));
            Continue(())
        });
        until
    }

    /// The buf with which a need is met.
    fn buf_of(&self, need: Need<'_>) -> Option<BufRef> {
        let page = match need {
            Need::Landing(landing) => return landing.buf(),
            Need::ParentCount(landing, dir) => match self.inode_of(dir) {
                Some(dep) => dep.page,
                None => return landing.buf(),
            },
            Need::Inode(ino) => self.inode_of(ino)?.page,
            Need::Pointer(id) => match self.pointers.get(id)? {
                AllocDep { slot: PointerSlot::Indirect(page, _), .. } => *page,
                dep => self.inode_of(dep.ino)?.page,
            },
            Need::Name(id) | Need::Entry(id) => self.names.get(id)?.page,
            Need::Removal(removal) => removal.0,
            Need::WithoutIt(page) => page,
        };
        Some(self.page(page).buf.clone())
    }

    /// The pointers that are held; and what they replaced, which stays allocated until they are durable.
    fn explain_pointers(&self, ids: impl Iterator<Item = Id<AllocDep>>, holder: &BufRef, held: &mut Vec<Held>) {
        for dep in ids.filter_map(|id| self.pointers.get(id)) {
            held.extend(self.until(Change::Pointer(dep)).map(|until| rolled_back(pointer_words(dep), until)));
            held.extend(dep.freed.iter().map(|ticket| kept(ticket, holder, Rule::MovedFragment)));
        }
    }

    fn explain_directory(&self, no: PageNo, names: &PageDep, held: &mut Vec<Held>) {
        let block = &self.page(no).buf;
        let (mut frozen, mut dropped): (Vec<Frozen<'_>>, Vec<Id<DirAdd>>) = (Vec::new(), Vec::new());
        for rem in &names.rems {
            held.extend(rem.tickets.iter().map(|ticket| kept(ticket, block, Rule::LinkRemoval)));
            if rem.state != State::Held {
                continue;
            }
            let behind = frozen.iter().find(|frozen| frozen.rem.keeps(rem.offset)).map(|frozen| frozen.until.clone());
            let is_behind = behind.is_some();
            let Some(until) = behind.or_else(|| self.until(Change::Removal(no, rem))) else {
                dropped.extend(rem.add);
                continue;
            };
            held.push(rolled_back(format!("removal of the entry at byte {}", rem.offset), until.clone()));
            if !is_behind {
                frozen.push(Frozen { rem, until });
            }
        }
        let mut adds: Vec<_> = names.adds.ids().iter().filter(|id| !dropped.contains(id)).collect();
        adds.sort_by_key(|id| std::cmp::Reverse(self.names.get(**id).map_or(0, |add| add.seq)));
        self.explain_names(block, adds.into_iter().filter_map(|id| self.names.get(*id)), &frozen, held);
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
            let tickets = add.rare.iter().flat_map(|rare| &rare.tickets);
            held.extend(tickets.map(|ticket| kept(ticket, block, Rule::LinkRemoval)));
            if add.state == State::Held && carried.contains(&add.offset) {
                continue;
            }
            let mut until = self.until(Change::Name(add));
            if add.state == State::Held {
                for frozen in frozen.iter().filter(|frozen| frozen.rem.seq < add.seq && frozen.rem.keeps(add.offset)) {
                    until.get_or_insert_default().extend(frozen.until.iter().cloned());
                }
            }
            match until {
                Some(until) => {
                    held.push(rolled_back(format!("entry at byte {} -> inode {}", add.offset, add.ino.0), until));
                }
                None if add.was().0 != Ino::NONE => carried.push(add.offset),
                None => {}
            }
        }
    }
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
        Before::Same | Before::Attributes(_) => String::new(),
    };
    match dep.slot {
        PointerSlot::Size => format!("{pointer}{size}"),
        _ => format!("{pointer}, {} -> {}{size}", Fragments(dep.old), Fragments(dep.new)),
    }
}
