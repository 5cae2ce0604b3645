//! The records of soft updates, and where each of them hangs. The names are those of the kernels that the papers
//! describe (Ganger and Patt 1994, appendix; McKusick and Ganger 1999), where there is one.
//!
//! D1. A record hangs on the page of the buf whose images carry its change, and is looked at when that buf leaves and when
//!     it has landed, at no other time. A page pins its buf.
//! D2. What a record waits for, it names by a landing or by another record's number. Nobody has to tell it when that has
//!     happened: it is asked when the buf leaves.
//! D3. A record is at most 128 bytes. What only a few of them need is boxed.
//! D4. The record of an inode is there as long as a pending pointer in it, or name of it, is.

use super::arena::{Arena, Id, place_size};
use super::by_ino::ByIno;
use super::gone::GoneNames;
use super::row::Row;
use super::rule::Rule;
use super::state::State;
use crate::AllocInit;
use crate::rules::Rules;
use buf::{BufRef, Cache, ImageNo, Key, Landing, Role, Run, Ticket};
use ondisk::{FragNo, Ino};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

/// A page's place; a buf keeps it, plus one, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageNo(pub(super) u32);

/// What hangs on a buf of metadata.
pub(super) struct Page {
    pub(super) buf: BufRef,
    pub(super) kind: PageKind,
    /// Tickets that ripen when this image, or a later one, has landed.
    pub(super) waiting: VecDeque<(ImageNo, Ticket)>,
}

impl Page {
    /// The file that it is a block of; of the volume's own blocks, nobody.
    #[inline]
    pub(super) fn owner(&self) -> Ino {
        match self.buf.key() {
            Key::File(ino, _) => ino,
            Key::Device(_) => Ino::NONE,
        }
    }
}

/// What hangs on it, by what it is.
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

/// Names that came and names that went in a block of a directory.
#[derive(Default)]
pub(super) struct PageDep {
    pub(super) adds: Row<DirAdd>,
    /// In the order of time.
    pub(super) rems: Vec<DirRem>,
}

/// Pointers that came in an indirect block, by index.
#[derive(Default)]
pub(super) struct IndirDep {
    pub(super) pointers: BTreeMap<u32, Id<AllocDep>>,
}

/// An inode with something pending (`inodedep`).
pub(super) struct InodeDep {
    pub(super) ino: Ino,
    pub(super) page: PageNo,
    /// Where the dinode stands; one that was there before is durable.
    pub(super) state: State,
    /// For a new one: the group's map with its bit.
    pub(super) bit: Option<Landing>,
    /// The last image in which it left as a free dinode.
    pub(super) held_in: ImageNo,
    /// It has no name yet that can be reached after a crash.
    pub(super) unnamed: bool,
    /// It is nothing without its blocks: a directory or a symlink. While it is new, its names wait for them.
    pub(super) has_body: bool,
    /// Pending pointers in the dinode, newest first.
    pub(super) pointers: Option<Id<AllocDep>>,
    /// Pending names of it, newest first.
    pub(super) names: Option<Id<DirAdd>>,
}

/// A pointer that came (`allocdirect`, `allocindirect`).
pub(super) struct AllocDep {
    pub(super) ino: Ino,
    pub(super) slot: PointerSlot,
    /// What it meant before, as far as the disk may know: nothing, or another run.
    pub(super) old: Run,
    pub(super) new: Run,
    /// The contents, where they must be there first.
    pub(super) contents: Option<Landing>,
    /// The group's map with the fragments.
    pub(super) bit: Option<Landing>,
    pub(super) state: State,
    /// Where the file ended before it grew with this pointer; for attributes, what the area was.
    pub(super) before: Before,
    /// Frees the old run, when the pointer is durable (`freefrag`).
    pub(super) freed: Option<Box<Ticket>>,
    /// The next older one of the same inode.
    pub(super) next: Option<Id<AllocDep>>,
}

/// Where the pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointerSlot {
    /// In the inode: 0 to 11 direct, 12 to 14 indirect.
    Inode(u8),
    /// In the inode, to the attributes.
    ExtAttr(u8),
    /// In the indirect block that this page is of.
    Indirect(PageNo, u32),
    /// None: a directory's size went up over names in a block that it had.
    Size,
}

/// What goes back with a pointer.
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
    /// What both go back to. The file may have been cut between them: it then goes back to where it was cut, since what
    /// lay beyond is freed once an image has landed, whether or not that is rolled back.
    pub(super) fn or_earlier(self, other: Before) -> Before {
        match (self, other) {
            (Before::Same, other) => other,
            (Before::Size(one), Before::Size(other)) => Before::Size(one.min(other)),
            (first, _) => first,
        }
    }
}

/// A name that came, or came to mean another inode (`diradd`). It takes one cache line: a volume that is busy has more of
/// them than a processor keeps near, and most of them are looked at only once more, when they go.
pub(super) struct DirAdd {
    /// What it names.
    pub(super) ino: Ino,
    /// Which of that inode's records: it outlives this one.
    pub(super) turn: NonZeroU32,
    /// The block of the directory that it is in.
    pub(super) page: PageNo,
    /// Offset of the entry in its block, in bytes.
    pub(super) offset: u32,
    pub(super) state: State,
    /// The first image of the inode's block with the raised link count.
    pub(super) inode_image: ImageNo,
    /// The removal of another name waits for this one, or did.
    pub(super) awaited: bool,
    /// It is a `..`, and gives nobody a name.
    pub(super) dotdot: bool,
    /// What the directory must have pointed to for the entry to be found (`newdirblk`): its growth over the entry, and the
    /// block's last move.
    pub(super) claim: Option<Id<AllocDep>>,
    /// Its place in time among names that come and go.
    pub(super) seq: u64,
    pub(super) extra: Option<Box<Extra>>,
}

impl DirAdd {
    /// The record of what it names.
    #[inline]
    pub(super) fn named(&self) -> Id<InodeDep> {
        ByIno::id(self.ino, self.turn)
    }

    /// What the entry meant before, as far as the disk may know, and its type there.
    #[inline]
    pub(super) fn was(&self) -> (Ino, u8) {
        self.extra.as_ref().map_or((Ino::NONE, 0), |extra| extra.was)
    }

    /// The next older one of the same inode.
    #[inline]
    pub(super) fn next(&self) -> Option<Id<DirAdd>> {
        self.extra.as_ref()?.next
    }
}

/// What only some names need.
#[derive(Default)]
pub(super) struct Extra {
    /// What the entry meant before, as far as the disk may know, and its type there.
    pub(super) was: (Ino, u8),
    /// The next older name of the same inode.
    pub(super) next: Option<Id<DirAdd>>,
    /// What the inode was made with.
    pub(super) bodies: Vec<Id<AllocDep>>,
    /// The parent's raised link count.
    pub(super) parent: Option<Landing>,
    /// The same, where the directory has indirect blocks.
    pub(super) grown: Option<Grown>,
    /// Names that must be reachable first.
    pub(super) awaits: Vec<Id<DirAdd>>,
    /// Names that must be gone first: older ones of what the entry named before, a directory that goes for good (W4 of
    /// `names`); the same name elsewhere in the directory (G1 of `gone`).
    pub(super) after: Vec<RemId>,
    /// A `..` that must be durable first: that of a new directory which moved before it had a name.
    pub(super) dotdot: Option<Id<DirAdd>>,
    /// It goes in the call that is running, and must not leave meanwhile.
    pub(super) doomed: bool,
    /// What is done when the change is durable: the link of what the entry named before goes.
    pub(super) tickets: Vec<Ticket>,
}

/// How a directory grew: names in its last blocks are found with all of this, and with no part of it.
#[derive(Clone, Default)]
pub(super) struct Grown {
    /// Some block hangs on an indirect one. Where none does, the pointer in the dinode goes with the size.
    pub(super) beyond_direct: bool,
    /// The pointers in indirect blocks.
    pub(super) pointers: Vec<Id<AllocDep>>,
    /// The dinode with the size.
    pub(super) size: Option<Landing>,
}

/// A removal: the page that it hangs on, and its place in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemId(pub(super) PageNo, pub(super) u64);

/// A name that went (`dirrem`).
pub(super) struct DirRem {
    pub(super) offset: u32,
    pub(super) seq: u64,
    pub(super) state: State,
    /// Names that must be reachable first.
    pub(super) awaits: Box<[Id<DirAdd>]>,
    /// Older names of a directory that goes for good: they must be gone first (W4 of `names`).
    pub(super) after: Box<[RemId]>,
    /// Where the bytes around the entry begin, and what they were: they leave so while the removal is held.
    pub(super) before: Option<(u32, Box<[u8]>)>,
    /// The same entry's coming, if no image had it yet and somebody waits for it.
    pub(super) add: Option<Id<DirAdd>>,
    /// What the directory must have pointed to for the removal to be seen: the block's last move. Before, the disk has the
    /// name, in the old place.
    pub(super) claim: Option<Id<AllocDep>>,
    /// What is done when the removal is durable.
    pub(super) tickets: Vec<Ticket>,
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
    /// The block of inodes that was told last, until its group counts it.
    pub(super) fresh_inodes: Option<Landing>,
    /// Names that are durable in their block, and cannot be reached yet.
    pub(super) unreached: Vec<Id<DirAdd>>,
    /// Removals that are durable in a block which the disk does not have in its new place yet.
    pub(super) unclaimed: Vec<RemId>,
    /// Pending `..`, by the directory that they are in.
    pub(super) dotdots: FxHashMap<Ino, Id<DirAdd>>,
    /// By directory: what removals in it were waiting for. Its own name must not go before.
    pub(super) moved_out: FxHashMap<Ino, Vec<Id<DirAdd>>>,
    /// By directory: the removals of its names in other directories, which it was renamed out of.
    pub(super) moved_from: FxHashMap<Ino, Vec<RemId>>,
    /// Names that went, by directory and name.
    pub(super) gone: GoneNames,
    /// Directories that got other names since all was durable, and their places in time.
    pub(super) renamed: FxHashMap<Ino, u64>,
    /// Directories that moved to other ones since all was durable, and their places in time.
    pub(super) moved: FxHashMap<Ino, u64>,
    /// By directory: how it grew, until that is durable.
    pub(super) grown: FxHashMap<Ino, Grown>,
    /// One of them did so beyond its direct blocks.
    pub(super) grows_beyond_direct: bool,
    /// Tickets that hung on bufs which were thrown away, by inode, until it is told where its pointers were cleared.
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
            dotdots: FxHashMap::default(),
            moved_out: FxHashMap::default(),
            moved_from: FxHashMap::default(),
            gone: GoneNames::default(),
            renamed: FxHashMap::default(),
            moved: FxHashMap::default(),
            grown: FxHashMap::default(),
            grows_beyond_direct: false,
            late: FxHashMap::default(),
            seq: 0,
            counters: Counters::default(),
        }
    }

    /// Records that are pending.
    pub(super) fn len(&self) -> usize {
        self.inodes.len() + self.pointers.len() + self.names.len() + self.removals
    }

    /// Records that are pending, and tickets that wait for something or to be given back: what callers wait for when there
    /// is too much of it.
    pub(super) fn pending(&self, cache: &Cache) -> usize {
        self.len() + cache.ledger().outstanding() as usize
    }

    /// Something hangs on a page: a record, or a ticket that waits for a landing.
    pub(super) fn is_busy(&self) -> bool {
        self.len() > 0 || self.pages.iter().flatten().any(|page| !page.waiting.is_empty())
    }

    /// Lets go of all bufs that nothing hangs on.
    pub(super) fn drop_idle(&mut self) {
        self.inodes.drop_idle_leaves();
        for no in 0..self.pages.len() {
            if self.pages[no].is_some() {
                self.drop_page_if_idle(PageNo(no as u32));
            }
        }
    }

    /// The next place in time.
    pub(super) fn tick(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// A rule is followed.
    #[inline]
    pub(super) fn has(&self, rule: Rule) -> bool {
        self.follows.has(rule)
    }

    /// The page of a buf, if something hangs on it.
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

    /// A page that something hangs on.
    #[inline]
    pub(super) fn page(&self, no: PageNo) -> &Page {
        // OK to expect: whoever has the number hangs on the page, or has it from the buf's slot.
        self.pages[no.0 as usize].as_ref().expect("a page with records is there")
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn page_mut(&mut self, no: PageNo) -> &mut Page {
        page_in(&mut self.pages, no)
    }

    /// Hangs a name on the page of its directory's block.
    #[inline]
    pub(super) fn hang_on_directory(&mut self, no: PageNo, id: Id<DirAdd>) {
        if let Some(Page { kind: PageKind::Directory(names), .. }) = &mut self.pages[no.0 as usize] {
            names.adds.push(id, |id| self.names.get(id).is_some());
        }
    }

    /// Hangs an inode on the page of its block.
    #[inline]
    pub(super) fn hang_on_inodes(&mut self, no: PageNo, id: Id<InodeDep>) {
        if let Some(Page { kind: PageKind::Inodes(row), .. }) = &mut self.pages[no.0 as usize] {
            row.push(id, |id| self.inodes.get(id).is_some());
        }
    }

    /// Lets go of the buf, if nothing hangs on it any more.
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

    /// A ticket ripens when `page`, as it is now, has landed.
    pub(super) fn wait_for_page(&mut self, no: PageNo, ticket: Ticket) {
        self.counters.deferred += 1;
        let page = self.page_mut(no);
        let image = page.buf.current_image();
        page.waiting.push_back((image, ticket));
    }

    /// Gives these back to the layout.
    pub(super) fn ripen(cache: &Cache, tickets: impl IntoIterator<Item = Ticket>) {
        tickets.into_iter().for_each(|ticket| cache.ripen(ticket));
    }
}

/// A page that something hangs on, beside other records.
#[inline]
pub(super) fn page_in(pages: &mut [Option<Page>], no: PageNo) -> &mut Page {
    // OK to expect: whoever has the number hangs on the page, or has it from the buf's slot.
    pages[no.0 as usize].as_mut().expect("a page with records is there")
}
