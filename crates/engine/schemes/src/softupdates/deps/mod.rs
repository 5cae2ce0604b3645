//! The records of soft updates, and what each is attached to. Where the kernels that the papers describe have a name,
//! it is used here (Ganger and Patt 1994, appendix; McKusick and Ganger 1999).
//!
//! D1. A record is attached to the page of the buf whose images carry its change. It is examined only when that buf is
//!     written and when an image has landed. A page pins its buf.
//! D2. A record names what it waits for by a landing or by another record's id. It gets no notification: whether that
//!     has happened is checked when the buf is written.
//! D3. A record is at most 128 bytes. Rarely used fields are boxed.
//! D4. The record of an inode exists as long as a pending pointer in it, or a pending name of it.
//!
//! `records` has the records, `page` and `pages` what they are attached to (D1), `attach` attaches them, `search` finds
//! them, and `counters` counts.

mod attach;
mod counters;
mod page;
mod pages;
mod records;
mod search;

pub(super) use counters::Counters;
pub(super) use page::{Page, PageDep, PageKind, page_in};
pub(super) use records::{AllocDep, Before, DirAdd, DirAddRare, DirRem, Grown, InodeDep, PageNo, PointerSlot, RemId};
pub(super) use search::rems_of;

use super::beyond::Beyond;
use super::rule::Rule;
use crate::AllocInit;
use crate::records::{Arena, ByIno, Id};
use crate::rules::Rules;
use ordo_buf::{Cache, Landing, Ticket};
use ordo_ondisk::Ino;
use rustc_hash::FxHashMap;

/// All records of one volume.
pub(super) struct Deps {
    pub(super) follows: Rules<Rule>,
    pub(super) alloc_init: AllocInit,
    pub(super) inodes: ByIno<InodeDep>,
    pub(super) pointers: Arena<AllocDep>,
    pub(super) names: Arena<DirAdd>,
    pub(super) removals: usize,
    pub(super) pages: Vec<Option<Page>>,
    free_pages: Vec<PageNo>,
    /// The block of inodes reported last, until its group counts it.
    pub(super) fresh_inodes: Option<Landing>,
    /// Names that are durable in their block, but cannot be reached yet.
    pub(super) unreached: Vec<Id<DirAdd>>,
    /// Removals that are durable in a block to whose new place the disk has no pointer yet.
    pub(super) unclaimed: Vec<RemId>,
    pub(super) beyond: Beyond,
    /// Directories that were renamed since everything was durable, and their sequence numbers.
    pub(super) renamed: FxHashMap<Ino, u64>,
    /// Directories that moved to another directory since everything was durable, and their sequence numbers.
    pub(super) moved: FxHashMap<Ino, u64>,
    /// Tickets of discarded bufs, by inode, until a step reports where the pointers to them were cleared.
    pub(super) late: FxHashMap<Ino, Vec<Ticket>>,
    pub(super) seq: u64,
    pub(super) counters: Counters,
}

impl Deps {
    pub(super) fn new(alloc_init: AllocInit, follows: Rules<Rule>) -> Deps {
        Deps {
            follows,
            alloc_init,
            inodes: ByIno::default(),
            pointers: Arena::default(),
            names: Arena::default(),
            removals: 0,
            pages: Vec::new(),
            free_pages: Vec::new(),
            fresh_inodes: None,
            unreached: Vec::new(),
            unclaimed: Vec::new(),
            beyond: Beyond::default(),
            renamed: FxHashMap::default(),
            moved: FxHashMap::default(),
            late: FxHashMap::default(),
            seq: 0,
            counters: Counters::default(),
        }
    }

    /// Pending records.
    pub(super) fn len(&self) -> usize {
        self.inodes.len() + self.pointers.len() + self.names.len() + self.removals
    }

    /// Pending records, and tickets that wait for a landing or for the upkeep: calls wait when there are too many.
    pub(super) fn pending(&self, cache: &Cache) -> usize {
        self.len() + cache.ledger().outstanding() as usize
    }

    /// Something is attached to a page: a record, or a ticket that waits for a landing.
    pub(super) fn is_busy(&self) -> bool {
        self.len() > 0 || self.pages.iter().flatten().any(|page| !page.waiting.is_empty())
    }

    /// The next sequence number.
    pub(super) fn tick(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Whether the rule is followed.
    #[inline]
    pub(super) fn has(&self, rule: Rule) -> bool {
        self.follows.has(rule)
    }

    /// Returns these tickets to the layout.
    pub(super) fn ripen(cache: &Cache, tickets: impl IntoIterator<Item = Ticket>) {
        tickets.into_iter().for_each(|ticket| cache.ripen(ticket));
    }
}
