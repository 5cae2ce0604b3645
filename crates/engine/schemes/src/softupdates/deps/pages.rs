//! The table of pages: what is attached to each buf of metadata.

use super::{AllocDep, Deps, DirAdd, DirRem, InodeDep};
use crate::records::{Id, Row};
use ordo_buf::{BufRef, ImageNo, Key, Landing, Role, Ticket};
use ordo_ondisk::Ino;
use std::collections::{BTreeMap, VecDeque};

/// The index of a page; a buf keeps it, plus one, in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::softupdates) struct PageNo(pub(in crate::softupdates) u32);

/// What is attached to a buf of metadata.
pub(in crate::softupdates) struct Page {
    pub(in crate::softupdates) buf: BufRef,
    pub(in crate::softupdates) kind: PageKind,
    /// Tickets that ripen when this image, or a later one, has landed.
    pub(in crate::softupdates) waiting: VecDeque<(ImageNo, Ticket)>,
}

impl Page {
    /// The file whose block it is; `Ino::NONE` for the volume's own blocks.
    #[inline]
    pub(in crate::softupdates) fn owner(&self) -> Ino {
        match self.buf.key() {
            Key::File(ino, _) => ino,
            Key::Device(_) | Key::Inode(_) => Ino::NONE,
        }
    }
}

/// The records of a page, by the kind of its block.
pub(in crate::softupdates) enum PageKind {
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
pub(in crate::softupdates) struct PageDep {
    pub(in crate::softupdates) adds: Row<DirAdd>,
    /// Oldest first.
    pub(in crate::softupdates) rems: Vec<DirRem>,
}

/// New pointers in an indirect block, by index.
#[derive(Default)]
pub(in crate::softupdates) struct IndirDep {
    pub(in crate::softupdates) pointers: BTreeMap<u32, Id<AllocDep>>,
}

impl Deps {
    /// The page of a buf, if something is attached to it.
    #[inline]
    pub(in crate::softupdates) fn find_page(&self, buf: &BufRef) -> Option<PageNo> {
        buf.slot().checked_sub(1).map(PageNo)
    }

    /// The page of a buf.
    #[inline]
    pub(in crate::softupdates) fn page_of(&mut self, buf: &BufRef) -> PageNo {
        match self.find_page(buf) {
            Some(page) => page,
            None => self.new_page(buf),
        }
    }

    #[cold]
    fn new_page(&mut self, buf: &BufRef) -> PageNo {
        let kind = match buf.kind() {
            Role::Maps => PageKind::Group(Vec::new()),
            Role::Inodes => PageKind::Inodes(Row::default()),
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
    pub(in crate::softupdates) fn page(&self, no: PageNo) -> &Page {
        // OK to expect: the index comes from a record on the page, or from the buf's slot.
        self.pages[no.0 as usize].as_ref().expect("a page with records is there")
    }

    /// The same, mutable.
    #[inline]
    pub(in crate::softupdates) fn page_mut(&mut self, no: PageNo) -> &mut Page {
        page_in(&mut self.pages, no)
    }

    /// Releases the buf, if nothing is attached to it any more.
    pub(in crate::softupdates) fn drop_page_if_idle(&mut self, no: PageNo) {
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

    pub(in crate::softupdates) fn remove_page(&mut self, no: PageNo) -> Option<Page> {
        let page = self.pages[no.0 as usize].take()?;
        page.buf.set_slot(0);
        self.free_pages.push(no);
        Some(page)
    }

    /// Keeps a ticket until `page` with its present contents has landed.
    pub(in crate::softupdates) fn wait_for_page(&mut self, no: PageNo, ticket: Ticket) {
        self.counters.deferred += 1;
        let page = self.page_mut(no);
        let image = page.buf.current_image();
        page.waiting.push_back((image, ticket));
    }

    /// Releases all bufs to which nothing is attached.
    pub(in crate::softupdates) fn drop_idle(&mut self) {
        self.inodes.drop_idle_leaves();
        for no in 0..self.pages.len() {
            if self.pages[no].is_some() {
                self.drop_page_if_idle(PageNo(no as u32));
            }
        }
    }
}

/// The page with this index, borrowed apart from the other records.
#[inline]
pub(in crate::softupdates) fn page_in(pages: &mut [Option<Page>], no: PageNo) -> &mut Page {
    // OK to expect: the index comes from a record on the page, or from the buf's slot.
    pages[no.0 as usize].as_mut().expect("a page with records is there")
}
