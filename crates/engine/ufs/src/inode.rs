//! An inode in memory.
//!
//! I1. The dinode here and the one in its inode block's buf are the same at every await: code that changes the first
//!     stores it ([`crate::Layout::store`]) before the next step. So an inode can be dropped from memory at any time.
//! I2. `nlink` of the dinode is what the scheme knows; [`Inode::links_seen`] is what callers see. They differ while
//!     removals are deferred (soft updates): the names are gone, the counts go down later.
//! I3. fdatasync leaves out a dinode of which only times have changed. The inode records other changes from its first
//!     fdatasync on: what its block held before that counts as changed, and so does everything after the block was read
//!     again. Otherwise fdatasync would leave behind a size or a pointer that no other fsync has made durable.
//!     A call may have changed the dinode and wait for its block: what it stores after that is a change, too.
//! I4. An fsync that has succeeded made that change durable if there was no later one while it ran. Under a journal the
//!     inode's block is written long after, so its landing alone would have each fsync force the log again.

use crate::Charged;
use ordo_buf::{BufRef, Landing};
use ordo_ondisk::{Dinode, Ino};
use ordo_rt::sync::RwLock;
use ordo_vfs::Kind;
use std::cell::{Cell, Ref, RefCell, RefMut};

/// An inode in memory.
pub struct Inode {
    ino: Ino,
    dinode: RefCell<Dinode>,
    /// It was changed and is not stored yet.
    unstored: Cell<bool>,
    /// Links of removed names that wait to be dropped (I2).
    leaving_links: Cell<u32>,
    /// Made without a name, and may still get one (`O_TMPFILE`).
    pub(crate) nameless: Cell<bool>,
    /// Shared by readers of contents and names; exclusive for changes.
    pub lock: RwLock<()>,
    /// The buf that holds the dinode, if it was found before: saves the search.
    block: RefCell<Option<BufRef>>,
    /// What is known of the last change that was more than times (I3).
    known: RefCell<Option<Known>>,
    /// What its owners were charged with (ufs-quota-1).
    charged: Cell<Option<Charged>>,
    /// For a directory: the index of its names, once it was needed.
    pub(crate) names: RefCell<Option<crate::dirhash::DirHash>>,
    /// For sequential readers: where the last read ended, and how far was read ahead, in blocks.
    pub(crate) read_cursor: Cell<(u64, u64)>,
    /// For the same: stored blocks that they have met since the file was changed.
    pub(crate) read_stored: Cell<u64>,
    /// Of a writer that fills blocks in order: the first that may not have been sent to the disk, and the next one.
    pub(crate) write_cursor: Cell<(u64, u64)>,
}

/// The last change of a dinode that was more than times.
struct Known {
    /// The dinode as it was stored last, if that is known.
    dinode: Option<Dinode>,
    /// Of the change.
    landing: Landing,
    /// Counts such changes.
    changes: u64,
    /// The change is durable (I4).
    durable: bool,
}

/// What an fsync of the contents must make durable of the inode.
pub(crate) struct News {
    pub(crate) landing: Landing,
    changes: Option<u64>,
}

impl Inode {
    /// An inode with its dinode from the disk.
    pub fn new(ino: Ino, dinode: Dinode) -> Inode {
        Inode {
            ino,
            dinode: RefCell::new(dinode),
            unstored: Cell::new(false),
            leaving_links: Cell::new(0),
            nameless: Cell::new(false),
            lock: RwLock::new(()),
            block: RefCell::new(None),
            known: RefCell::new(None),
            charged: Cell::new(None),
            names: RefCell::new(None),
            read_cursor: Cell::new((0, 0)),
            read_stored: Cell::new(0),
            write_cursor: Cell::new((0, 0)),
        }
    }

    /// What its owners are charged with from now on; returns what it was before.
    pub fn charge(&self, now: Option<Charged>) -> Option<Charged> {
        self.charged.replace(now)
    }

    /// Its number.
    pub fn ino(&self) -> Ino {
        self.ino
    }

    /// The dinode.
    pub fn dinode(&self) -> Ref<'_, Dinode> {
        self.dinode.borrow()
    }

    /// The dinode, mutable; to be stored before the next await (I1).
    pub fn dinode_mut(&self) -> RefMut<'_, Dinode> {
        self.unstored.set(true);
        self.dinode.borrow_mut()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.dinode.borrow().size
    }

    /// The file type; `None` for an inode that was freed.
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

    /// A name was removed; `links` links will be dropped later.
    pub(crate) fn links_leave(&self, links: u32) {
        self.leaving_links.set(self.leaving_links.get() + links);
    }

    /// These links are dropped now.
    pub(crate) fn links_left(&self, links: u32) {
        self.leaving_links.set(self.leaving_links.get().saturating_sub(links));
    }

    /// The buf with the dinode, if it is cached here.
    pub fn block(&self) -> Option<BufRef> {
        self.block.borrow().clone()
    }

    /// The dinode is in `block` as it is now, and that is dirty. For I3.
    pub fn stored(&self, block: &BufRef) {
        self.unstored.set(false);
        let mut known = self.known.borrow_mut();
        let Some(Known { dinode: was, landing, changes, durable }) = known.as_mut() else { return };
        let (now, of_now) = (self.dinode.borrow(), Landing::of(block));
        // What changes with each read or write of the contents is no news.
        if let Some(was) = was {
            (was.atime, was.mtime, was.ctime, was.modrev) = (now.atime, now.mtime, now.ctime, now.modrev);
        }
        if was.as_ref() != Some(&*now) || !landing.is_of_same(&of_now) {
            (*landing, *changes, *durable) = (of_now, *changes + 1, false);
            *was = Some(now.clone());
        }
    }

    /// The last change that was more than times; all that `block`, which has the dinode, holds, if that is not known
    /// (I3).
    pub(crate) fn news(&self, block: &BufRef) -> News {
        let (mut known, all) = (self.known.borrow_mut(), Landing::of(block));
        let again = known.as_ref().map_or(0, |known| known.changes + 1);
        let known = match known.take() {
            Some(same) if same.landing.is_of_same(&all) => known.insert(same),
            _ => {
                let dinode = (!self.unstored.get()).then(|| self.dinode.borrow().clone());
                known.insert(Known { dinode, landing: all, changes: again, durable: false })
            }
        };
        let landing = if known.durable { Landing::of_nothing_new(block) } else { known.landing.clone() };
        News { landing, changes: Some(known.changes) }
    }

    /// Everything that `block` holds.
    pub(crate) fn all_news(&self, block: &BufRef) -> News {
        News { landing: Landing::of(block), changes: self.known.borrow().as_ref().map(|known| known.changes) }
    }

    /// An fsync of `news` has succeeded (I4).
    pub(crate) fn made_durable(&self, news: &News) {
        if let Some(known) = self.known.borrow_mut().as_mut() {
            known.durable |= news.changes == Some(known.changes);
        }
    }

    /// Caches the buf with the dinode. It is pinned as long as the inode is in memory.
    pub fn set_block(&self, block: BufRef) {
        *self.block.borrow_mut() = Some(block);
    }
}
