//! The table of pages.

use super::page::{IndirDep, Page, PageDep, PageKind, page_in};
use super::{Deps, PageNo};
use crate::records::Row;
use ordo_buf::{BufRef, Role, Ticket};
use std::collections::VecDeque;

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
