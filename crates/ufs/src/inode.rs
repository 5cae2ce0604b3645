//! An inode in memory.
//!
//! I1. The dinode here and the one in its inode block's buf are the same at every await: whoever changes the first
//!     stores it ([`crate::Layout::store`]) before the next step. An inode can so be dropped from memory at any time.
//! I2. `nlink` of the dinode is what the scheme knows; [`Inode::links_seen`] is what callers see. They differ while
//!     removals wait for their time (soft updates): the names are gone, the counts go down later.

use buf::BufRef;
use ondisk::{Dinode, Ino};
use rt::sync::RwLock;
use std::cell::{Cell, Ref, RefCell, RefMut};
use vfs::Kind;

/// An inode in memory.
pub struct Inode {
    ino: Ino,
    dinode: RefCell<Dinode>,
    /// Names that were removed while their links wait to be dropped (I2).
    leaving_links: Cell<u32>,
    /// Made without a name, and may still get one (`O_TMPFILE`).
    pub(crate) nameless: Cell<bool>,
    /// Readers of contents and names share it; whoever changes them has it alone.
    pub lock: RwLock<()>,
    /// The buf that holds the dinode, if it was met before: saves the search.
    block: RefCell<Option<BufRef>>,
    /// For a directory: its names, once they were needed.
    pub(crate) names: RefCell<Option<crate::dirhash::DirHash>>,
    /// Where the last read ended, in blocks, and how far ahead has been read: for sequential readers.
    pub(crate) read_cursor: Cell<(u64, u64)>,
}

impl Inode {
    /// An inode with what the disk says of it.
    pub fn new(ino: Ino, dinode: Dinode) -> Inode {
        Inode {
            ino,
            dinode: RefCell::new(dinode),
            leaving_links: Cell::new(0),
            nameless: Cell::new(false),
            lock: RwLock::new(()),
            block: RefCell::new(None),
            names: RefCell::new(None),
            read_cursor: Cell::new((0, 0)),
        }
    }

    /// Its number.
    pub fn ino(&self) -> Ino {
        self.ino
    }

    /// What the disk keeps of it.
    pub fn dinode(&self) -> Ref<'_, Dinode> {
        self.dinode.borrow()
    }

    /// The same, to be changed; to be stored before the next await (I1).
    pub fn dinode_mut(&self) -> RefMut<'_, Dinode> {
        self.dinode.borrow_mut()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.dinode.borrow().size
    }

    /// What it is; `None` for an inode that was freed.
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_bits(self.dinode.borrow().mode >> 12)
    }

    /// It is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind() == Some(Kind::Directory)
    }

    /// Links as callers see them (I2).
    pub fn links_seen(&self) -> u32 {
        u32::from(self.dinode.borrow().nlink).saturating_sub(self.leaving_links.get())
    }

    /// A name is gone, and `links` will be dropped with it later.
    pub(crate) fn links_leave(&self, links: u32) {
        self.leaving_links.set(self.leaving_links.get() + links);
    }

    /// They are dropped now.
    pub(crate) fn links_left(&self, links: u32) {
        self.leaving_links.set(self.leaving_links.get().saturating_sub(links));
    }

    /// The buf with the dinode, if it is remembered.
    pub fn block(&self) -> Option<BufRef> {
        self.block.borrow().clone()
    }

    /// Remembers the buf with the dinode. It is pinned as long as the inode is in memory.
    pub fn set_block(&self, block: BufRef) {
        *self.block.borrow_mut() = Some(block);
    }
}
