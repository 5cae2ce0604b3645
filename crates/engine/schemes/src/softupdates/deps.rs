//! The records of soft updates, and what each is attached to. Where the kernels that the papers describe have a name,
//! it is used here (Ganger and Patt 1994, appendix; McKusick and Ganger 1999).
//!
//! D1. A record is attached to the page of the buf whose images carry its change. It is examined only when that buf is
//!     written and when an image has landed. A page pins its buf.
//! D2. A record names what it waits for by a landing or by another record's id. It gets no notification: whether that
//!     has happened is checked when the buf is written.
//! D3. A record is at most 128 bytes. Rarely used fields are boxed.
//! D4. The record of an inode exists as long as a pending pointer in it, or a pending name of it.

use super::beyond::{Beyond, Grown};
use super::rule::Rule;
use super::state::State;
use crate::AllocInit;
use crate::records::{Arena, ByIno, Id, Linked, Row, place_size};
use crate::rules::Rules;
use ordo_buf::{BufRef, Cache, ImageNo, Key, Landing, Role, Run, Ticket};
use ordo_ondisk::{FragNo, Ino};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

/// The index of a page; a buf keeps it, plus one, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageNo(pub(super) u32);

/// What is attached to a buf of metadata.
pub(super) struct Page {
    pub(super) buf: BufRef,
    pub(super) kind: PageKind,
    /// Tickets that ripen when this image, or a later one, has landed.
    pub(super) waiting: VecDeque<(ImageNo, Ticket)>,
}

impl Page {
    /// The file whose block it is; `Ino::NONE` for the volume's own blocks.
    #[inline]
    pub(super) fn owner(&self) -> Ino {
        match self.buf.key() {
            Key::File(ino, _) => ino,
            Key::Device(_) | Key::Inode(_) => Ino::NONE,
        }
    }
}

/// The records of a page, by the kind of its block.
pub(super) enum PageKind {
    /// A cylinder group (`bmsafemap`): blocks of inodes that must be initialised before it counts them.
    Group(Vec<Landing>),
    /// A block of inodes.
    Inodes(Row<InodeDep>),
    /// A block of a directory (`pagedep`).
    Directory(PageDep),
    /// An indirect block (`indirdep`).
    Indirect(IndirDep),
}

/// Names added and removed in a block of a directory.
#[derive(Default)]
pub(super) struct PageDep {
    pub(super) adds: Row<DirAdd>,
    /// Oldest first.
    pub(super) rems: Vec<DirRem>,
}

/// New pointers in an indirect block, by index.
#[derive(Default)]
pub(super) struct IndirDep {
    pub(super) pointers: BTreeMap<u32, Id<AllocDep>>,
}

/// An inode with pending changes (`inodedep`).
pub(super) struct InodeDep {
    pub(super) ino: Ino,
    pub(super) page: PageNo,
    /// The state of the dinode; one that existed before is durable.
    pub(super) state: State,
    /// For a new one: the group's map with its bit.
    pub(super) bit: Option<Landing>,
    /// The last image in which it was written as a free dinode.
    pub(super) held_in: ImageNo,
    /// It has no name yet that can be reached after a crash.
    pub(super) unnamed: bool,
    /// It is useless without its blocks: a directory or a symlink. While it is new, its names wait for them.
    pub(super) has_body: bool,
    /// Pending pointers in the dinode, newest first.
    pub(super) pointers: Option<Id<AllocDep>>,
    /// Pending names of it, newest first.
    pub(super) names: Option<Id<DirAdd>>,
}

/// A new pointer (`allocdirect`, `allocindirect`).
pub(super) struct AllocDep {
    pub(super) ino: Ino,
    pub(super) slot: PointerSlot,
    /// What it meant before, as far as the disk may have it: nothing, or another run.
    pub(super) old: Run,
    pub(super) new: Run,
    /// The block's contents, if they must be durable first.
    pub(super) contents: Option<Landing>,
    /// The group's map with the fragments.
    pub(super) bit: Option<Landing>,
    pub(super) state: State,
    /// The file's size before it grew with this pointer; for attributes, the old area.
    pub(super) before: Before,
    /// Frees the old run, when the pointer is durable (`freefrag`).
    pub(super) freed: Option<Box<Ticket>>,
    /// The next older one of the same inode.
    pub(super) next: Option<Id<AllocDep>>,
}

impl Linked for AllocDep {
    #[inline]
    fn next(&self) -> Option<Id<AllocDep>> {
        self.next
    }

    fn set_next(&mut self, next: Option<Id<AllocDep>>) {
        self.next = next;
    }
}

/// Where the pointer lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointerSlot {
    /// In the inode: 0 to 11 direct, 12 to 14 indirect.
    Inode(u8),
    /// In the inode, among the pointers to the attributes.
    ExtAttr(u8),
    /// In the indirect block of this page.
    Indirect(PageNo, u32),
    /// No pointer: a directory's size grew over names in a block that it already had.
    Size,
}

/// What is rolled back together with a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Same,
    /// The size, in bytes.
    Size(u64),
    /// The pointers to the attributes, and their size.
    Area(Box<([FragNo; 2], u64)>),
}

impl Before {
    /// The value to which two pointers roll back. If the file was cut between them, that is the size at the cut: the
    /// blocks beyond it are freed once an image has landed, with or without a rollback.
    pub(super) fn or_earlier(self, other: Before) -> Before {
        match (self, other) {
            (Before::Same, other) => other,
            (Before::Size(one), Before::Size(other)) => Before::Size(one.min(other)),
            (first, _) => first,
        }
    }
}

/// A new name, or an entry that names another inode now (`diradd`). It takes one cache line: a busy volume has more of
/// them than fit in the processor's cache, and most are examined only once more, when they are removed.
pub(super) struct DirAdd {
    /// The inode that it names.
    pub(super) ino: Ino,
    /// Which of that inode's records; the inode's record outlives this one.
    pub(super) turn: NonZeroU32,
    /// The page of the directory's block.
    pub(super) page: PageNo,
    /// Offset of the entry in its block, in bytes.
    pub(super) offset: u32,
    pub(super) state: State,
    /// The first image of the inode's block with the raised link count.
    pub(super) inode_image: ImageNo,
    /// The removal of another name waits for this one, or did.
    pub(super) awaited: bool,
    /// It is a `..`, which gives no file a name.
    pub(super) dotdot: bool,
    /// The pointer or size that the directory must have on the disk for the entry to be found (`newdirblk`): its growth
    /// over the entry, and the block's last move.
    pub(super) claim: Option<Id<AllocDep>>,
    /// Its number in the sequence of added and removed names.
    pub(super) seq: u64,
    pub(super) rare: Option<Box<DirAddRare>>,
}

impl DirAdd {
    /// The record of the inode that it names.
    #[inline]
    pub(super) fn named(&self) -> Id<InodeDep> {
        ByIno::id(self.ino, self.turn)
    }

    /// What the entry named before, as far as the disk may have it, and its type.
    #[inline]
    pub(super) fn was(&self) -> (Ino, u8) {
        self.rare.as_ref().map_or((Ino::NONE, 0), |rare| rare.was)
    }
}

impl Linked for DirAdd {
    #[inline]
    fn next(&self) -> Option<Id<DirAdd>> {
        self.rare.as_ref()?.next
    }

    fn set_next(&mut self, next: Option<Id<DirAdd>>) {
        self.rare.get_or_insert_default().next = next;
    }
}

/// Rarely used fields of a name.
#[derive(Default)]
pub(super) struct DirAddRare {
    /// What the entry named before, as far as the disk may have it, and its type.
    pub(super) was: (Ino, u8),
    /// The next older name of the same inode.
    pub(super) next: Option<Id<DirAdd>>,
    /// The pointers that the inode was made with.
    pub(super) bodies: Vec<Id<AllocDep>>,
    /// The parent's raised link count.
    pub(super) parent: Option<Landing>,
    /// The directory's growth (as `claim`), if it has indirect blocks.
    pub(super) grown: Option<Grown>,
    /// Names that must be reachable first.
    pub(super) awaits: Vec<Id<DirAdd>>,
    /// Names that must be gone first: older names of what the entry named before, if that is a directory removed for
    /// good (renames-4); the same name elsewhere in the directory (same_name-1).
    pub(super) after: Vec<RemId>,
    /// A `..` that must be durable first: that of a new directory that moved before it had a name.
    pub(super) dotdot: Option<Id<DirAdd>>,
    /// The running call removes it; it must not be written meanwhile.
    pub(super) doomed: bool,
    /// Redeemed when the change is durable: they drop the link of what the entry named before.
    pub(super) tickets: Vec<Ticket>,
}

impl DirAddRare {
    pub(super) fn is_empty(&self) -> bool {
        self.was.0 == Ino::NONE
            && self.next.is_none()
            && self.bodies.is_empty()
            && self.parent.is_none()
            && self.grown.is_none()
            && self.awaits.is_empty()
            && self.after.is_empty()
            && self.dotdot.is_none()
            && !self.doomed
            && self.tickets.is_empty()
    }
}

/// A removal: the page that it is attached to, and its number in the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemId(pub(super) PageNo, pub(super) u64);

/// A removed name (`dirrem`).
pub(super) struct DirRem {
    pub(super) offset: u32,
    pub(super) seq: u64,
    pub(super) state: State,
    /// Names that must be reachable first.
    pub(super) awaits: Box<[Id<DirAdd>]>,
    /// Older names of a directory removed for good: they must be gone first (renames-4).
    pub(super) after: Box<[RemId]>,
    /// The old bytes around the entry, and their offset: images have them while the removal is held.
    pub(super) before: Option<(u32, Box<[u8]>)>,
    /// The addition of the same entry, if no image had it yet and another change waits for it.
    pub(super) add: Option<Id<DirAdd>>,
    /// The pointer that the directory must have on the disk for the removal to take effect: the block's last move.
    /// Until then the disk has the name in the old place.
    pub(super) claim: Option<Id<AllocDep>>,
    /// Redeemed when the removal is durable.
    pub(super) tickets: Vec<Ticket>,
}

impl DirRem {
    /// The bytes that it keeps around its entry contain this offset.
    pub(super) fn keeps(&self, offset: u32) -> bool {
        let kept = self.before.as_ref().map(|(from, bytes)| *from..*from + bytes.len() as u32);
        kept.is_some_and(|kept| kept.contains(&offset))
    }
}

/// Counts since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) inodes_held: u64,
    pub(super) pointers_held: u64,
    pub(super) names_held: u64,
    pub(super) removals_held: u64,
    pub(super) cancelled: u64,
    pub(super) deferred: u64,
    /// Changes that became durable.
    pub(super) released: u64,
    pub(super) slowed: u64,
    pub(super) most: u64,
}

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

const _: () = assert!(size_of::<DirRem>() <= 128);
const _: () =
    assert!(place_size::<InodeDep>() == 64 && place_size::<DirAdd>() == 64 && place_size::<AllocDep>() == 128);

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

    /// Releases all bufs to which nothing is attached.
    pub(super) fn drop_idle(&mut self) {
        self.inodes.drop_idle_leaves();
        for no in 0..self.pages.len() {
            if self.pages[no].is_some() {
                self.drop_page_if_idle(PageNo(no as u32));
            }
        }
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

    /// The page of a buf, if something is attached to it.
    #[inline]
    pub(super) fn find_page(&self, buf: &BufRef) -> Option<PageNo> {
        buf.slot().checked_sub(1).map(PageNo)
    }

    /// The page of a buf.
    #[inline]
    pub(super) fn page_of(&mut self, buf: &BufRef) -> PageNo {
        match self.find_page(buf) {
            Some(page) => page,
            None => self.new_page(buf),
        }
    }

    #[cold]
    fn new_page(&mut self, buf: &BufRef) -> PageNo {
        let kind = match buf.kind() {
            Role::CylinderGroup => PageKind::Group(Vec::new()),
            Role::InodeBlock => PageKind::Inodes(Row::default()),
            Role::Directory => PageKind::Directory(PageDep::default()),
            _ => PageKind::Indirect(IndirDep::default()),
        };
        let page = Page { buf: buf.clone(), kind, waiting: VecDeque::new() };
        let no = self.free_pages.pop().unwrap_or_else(|| {
            self.pages.push(None);
            PageNo((self.pages.len() - 1) as u32)
        });
        self.pages[no.0 as usize] = Some(page);
        buf.set_slot(no.0 + 1);
        no
    }

    /// The page with this index.
    #[inline]
    pub(super) fn page(&self, no: PageNo) -> &Page {
        // OK to expect: the index comes from a record on the page, or from the buf's slot.
        self.pages[no.0 as usize].as_ref().expect("a page with records is there")
    }

    /// The same, mutable.
    #[inline]
    pub(super) fn page_mut(&mut self, no: PageNo) -> &mut Page {
        page_in(&mut self.pages, no)
    }

    /// Attaches a name to the page of its directory's block.
    #[inline]
    pub(super) fn attach_to_directory(&mut self, no: PageNo, id: Id<DirAdd>) {
        if let Some(Page { kind: PageKind::Directory(names), .. }) = &mut self.pages[no.0 as usize] {
            names.adds.push(id, |id| self.names.get(id).is_some());
        }
    }

    /// Attaches an inode to the page of its block.
    #[inline]
    pub(super) fn attach_to_inodes(&mut self, no: PageNo, id: Id<InodeDep>) {
        if let Some(Page { kind: PageKind::Inodes(row), .. }) = &mut self.pages[no.0 as usize] {
            row.push(id, |id| self.inodes.get(id).is_some());
        }
    }

    /// Releases the buf, if nothing is attached to it any more.
    pub(super) fn drop_page_if_idle(&mut self, no: PageNo) {
        let page = self.page(no);
        let idle = match &page.kind {
            PageKind::Group(fresh) => fresh.is_empty(),
            PageKind::Inodes(inodes) => inodes.is_empty(),
            PageKind::Directory(names) => names.adds.is_empty() && names.rems.is_empty(),
            PageKind::Indirect(dep) => dep.pointers.is_empty(),
        };
        if idle && page.waiting.is_empty() {
            self.remove_page(no);
        }
    }

    pub(super) fn remove_page(&mut self, no: PageNo) -> Option<Page> {
        let page = self.pages[no.0 as usize].take()?;
        page.buf.set_slot(0);
        self.free_pages.push(no);
        Some(page)
    }

    /// Keeps a ticket until `page` with its present contents has landed.
    pub(super) fn wait_for_page(&mut self, no: PageNo, ticket: Ticket) {
        self.counters.deferred += 1;
        let page = self.page_mut(no);
        let image = page.buf.current_image();
        page.waiting.push_back((image, ticket));
    }

    /// Returns these tickets to the layout.
    pub(super) fn ripen(cache: &Cache, tickets: impl IntoIterator<Item = Ticket>) {
        tickets.into_iter().for_each(|ticket| cache.ripen(ticket));
    }
}

/// The page with this index, borrowed apart from the other records.
#[inline]
pub(super) fn page_in(pages: &mut [Option<Page>], no: PageNo) -> &mut Page {
    // OK to expect: the index comes from a record on the page, or from the buf's slot.
    pages[no.0 as usize].as_mut().expect("a page with records is there")
}
