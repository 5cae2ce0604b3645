//! One buf: a piece of the volume in memory.

use crate::Role;
use ordo_disk::{Block, DiskOff, Image, Written};
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_rt::Time;
use std::cell::{Cell, Ref, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// What a buf is (buf-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A piece of the volume's own metadata, by the address of its first fragment: superblock, cylinder groups,
    /// summary, inode blocks.
    Device(FragNo),
    /// A block of a file: data or a directory; indirect and extended-attribute blocks have negative numbers.
    File(Ino, Lbn),
    /// A dinode by itself, on a layout where dinodes move: no block is its home.
    Inode(Ino),
}

impl Key {
    /// It is of a dinode by itself.
    pub(crate) fn is_dinode(self) -> bool {
        matches!(self, Key::Inode(_))
    }
}

/// Numbers the images of one buf in the order in which they were sent: 1, 2, and so on; 0 is what was read from the
/// disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ImageNo(pub u32);

impl ImageNo {
    /// The next number.
    pub fn next(self) -> ImageNo {
        ImageNo(self.0 + 1)
    }
}

/// The progress of a buf's images. It outlives the buf, so that waiting for an image does not pin the buf.
pub(crate) struct Progress {
    pub(crate) key: Key,
    pub(crate) buf: Weak<Buf>,
    /// The last image that was taken.
    pub(crate) sent: Cell<ImageNo>,
    /// The highest image that is durable.
    pub(crate) durable: Cell<ImageNo>,
}

/// The images of one buf that are in flight; [`crate::flight`] says what becomes of them.
#[derive(Default)]
pub(crate) struct Flight {
    images: Cell<u32>,
    /// The write of the newest of them.
    newest: RefCell<Option<Written>>,
    /// Set by each departure, cleared by each completion.
    leaving: Cell<bool>,
}

impl Flight {
    pub(crate) fn depart(&self, written: &Written) {
        self.images.set(self.images.get() + 1);
        self.leaving.set(true);
        *self.newest.borrow_mut() = Some(written.clone());
    }

    pub(crate) fn complete(&self) {
        self.leaving.set(false);
    }

    pub(crate) fn arrive(&self) {
        self.images.set(self.images.get() - 1);
        if self.is_over() {
            self.newest.borrow_mut().take();
        }
    }

    /// Nothing is in flight.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.images.get() == 0
    }

    /// The newest image is on its way to the device. Of two at once, the older's completion ends this.
    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    /// The write of the newest image, until all are durable.
    pub(crate) fn newest(&self) -> Option<Written> {
        self.newest.borrow().clone()
    }
}

/// A reference to a buf, which pins it (buf-6).
pub type BufRef = Rc<Buf>;

/// A piece of the volume in memory. The bytes are read with [`Buf::bytes`] and changed only through the cache, which
/// therefore knows what is dirty.
pub struct Buf {
    key: Key,
    pub(crate) kind: Cell<Role>,
    pub(crate) image: RefCell<Image>,
    pub(crate) addr: Cell<Option<DiskOff>>,
    pub(crate) state: Cell<State>,
    pub(crate) progress: Rc<Progress>,
    pub(crate) flight: Flight,
    /// The syncer has it in one of its queues, under its `dirty_since`.
    pub(crate) in_line: Cell<bool>,
    /// How many times the syncer skipped it to avoid a rollback.
    pub(crate) rounds: Cell<u8>,
    pub(crate) dirty_since: Cell<Time>,
    /// Its `dirty_since` when a sweep last found it dirty.
    pub(crate) marked: Cell<Time>,
    /// The call that changed it last (buf-7).
    pub(crate) cause: Cell<u64>,
    pub(crate) referenced: Cell<bool>,
    pub(crate) place_in_cache: Cell<u32>,
    /// Notified when the buf is filled, when an image is written, and when one has landed.
    pub(crate) changed: ordo_rt::sync::Notify,
    pub(crate) stored: Cell<Stored>,
    /// It was created as zeroes, not read.
    pub(crate) born: Cell<bool>,
    slot: Cell<u32>,
}

/// What the disk holds of a buf, perhaps in an older state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Nothing,
    /// Something, at its address.
    Here,
    /// Something, at an address from which the buf has moved.
    Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Being read; the bytes are not valid yet.
    Loading,
    /// The read failed; tasks that wait for it must read again.
    Failed,
    Clean,
    Dirty,
    /// Discarded: its contents were freed, and must never be written.
    Dead,
}

impl Buf {
    pub(crate) fn new(key: Key, kind: Role, addr: Option<DiskOff>, block: Block, state: State) -> BufRef {
        Rc::new_cyclic(|buf| Buf {
            key,
            kind: Cell::new(kind),
            image: RefCell::new(Arc::new(block)),
            addr: Cell::new(addr),
            state: Cell::new(state),
            progress: Rc::new(Progress { key, buf: buf.clone(), sent: Cell::default(), durable: Cell::default() }),
            flight: Flight::default(),
            in_line: Cell::new(false),
            rounds: Cell::new(0),
            dirty_since: Cell::new(Time::default()),
            marked: Cell::new(Time::NEVER),
            cause: Cell::new(0),
            referenced: Cell::new(true),
            place_in_cache: Cell::new(u32::MAX),
            changed: ordo_rt::sync::Notify::new(),
            stored: Cell::new(if state == State::Loading { Stored::Here } else { Stored::Nothing }),
            born: Cell::new(false),
            slot: Cell::new(0),
        })
    }

    /// What it is.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The kind of thing in it, for the recorder, the schemes and the statistics.
    pub fn kind(&self) -> Role {
        self.kind.get()
    }

    /// The bytes.
    pub fn bytes(&self) -> Ref<'_, [u8]> {
        Ref::map(self.image.borrow(), |image| &image[..])
    }

    /// The present contents as a shared image, which does not change any more (buf-3).
    pub fn image(&self) -> Image {
        self.image.borrow().clone()
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.image.borrow().len()
    }

    /// Always `false`: a buf holds at least a dinode.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where it lives, if that is known.
    pub fn addr(&self) -> Option<DiskOff> {
        self.addr.get()
    }

    /// Changed in memory, and no image with that change is in flight.
    pub fn is_dirty(&self) -> bool {
        self.state.get() == State::Dirty
    }

    /// Every change made to it is durable.
    pub fn is_durable(&self) -> bool {
        !self.is_dirty() && self.flight.is_over()
    }

    /// The first image that can hold the present contents: the next one if the buf is dirty, else the last one.
    #[inline]
    pub fn current_image(&self) -> ImageNo {
        if self.is_dirty() { self.progress.sent.get().next() } else { self.progress.sent.get() }
    }

    /// The number that its next image will have.
    #[inline]
    pub fn next_image(&self) -> ImageNo {
        self.progress.sent.get().next()
    }

    /// The highest durable image. All images before it are durable, too: they are written to one place in order.
    #[inline]
    pub fn durable_image(&self) -> ImageNo {
        self.progress.durable.get()
    }

    /// The buf has moved from an address where the disk holds an older state, and is not durable at its new one yet. If
    /// a pointer to the new address became durable first, a crash would lose what is safe now.
    pub fn has_moved(&self) -> bool {
        self.stored.get() == Stored::Elsewhere
    }

    /// It was created as zeroes, and no image was sent: the disk holds nothing of it.
    pub fn is_new(&self) -> bool {
        self.born.get() && self.progress.sent.get() == ImageNo(0)
    }

    /// Records that the disk holds an older state of a fresh buf, which was not read because all of it changes.
    pub fn set_stored(&self) {
        self.stored.set(Stored::Here);
    }

    /// The [`crate::Op::id`] of the call that changed it last; 0 for none (buf-7).
    pub fn cause(&self) -> u64 {
        self.cause.get()
    }

    /// The number that the scheme keeps with this buf; 0 at first.
    pub fn slot(&self) -> u32 {
        self.slot.get()
    }

    /// Sets the scheme's number.
    pub fn set_slot(&self, slot: u32) {
        self.slot.set(slot);
    }

    /// Another reference to the image exists: a change makes a copy first.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.image.borrow()) > 1
    }

    /// Gets a private copy if the present image is in flight, as for a change (buf-3).
    pub(crate) fn renew(&self) {
        Arc::make_mut(&mut self.image.borrow_mut());
    }

    /// Changes the bytes. Makes a private copy first if the present image is in flight (buf-3).
    pub(crate) fn change<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut image = self.image.borrow_mut();
        f(&mut Arc::make_mut(&mut image)[..])
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key {
            Key::Device(at) => write!(f, "{:?}@{}", self.kind.get(), at.0),
            Key::File(ino, lbn) => write!(f, "{:?}({}:{})", self.kind.get(), ino.0, lbn.0),
            Key::Inode(ino) => write!(f, "{:?}({})", self.kind.get(), ino.0),
        }
    }
}
