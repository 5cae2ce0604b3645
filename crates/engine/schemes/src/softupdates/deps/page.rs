//! A page: what is attached to one buf of metadata (deps-1).

use super::records::{AllocDep, DirAdd, DirRem, InodeDep, PageNo};
use crate::records::{Id, Row};
use ordo_buf::{BufRef, ImageNo, Key, Landing, Ticket};
use ordo_ondisk::Ino;
use std::collections::{BTreeMap, VecDeque};

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

/// The page with this index, borrowed apart from the other records.
#[inline]
pub(in crate::softupdates) fn page_in(pages: &mut [Option<Page>], no: PageNo) -> &mut Page {
    // OK to expect: the index comes from a record on the page, or from the buf's slot.
    pages[no.0 as usize].as_mut().expect("a page with records is there")
}
