//! What is in flight: images that were sent and are not durable yet.
//!
//! An image departs; the device completes it, or refuses it; it arrives, durable or lost. Each of these is recorded
//! here at once, for its buf ([`Flight`](crate::buf::Flight)) and for the cache, and nowhere else.

use crate::buf::ImageNo;
use crate::{BufRef, Key};
use ordo_disk::{DiskOff, Written};
use ordo_ondisk::{Ino, Lbn};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// An image in flight.
pub(crate) struct Departed {
    pub(crate) buf: BufRef,
    pub(crate) number: ImageNo,
    pub(crate) addr: DiskOff,
    len: usize,
    /// Its number among all that have departed.
    serial: u64,
}

/// The images in flight of all bufs, those of discarded ones, too.
#[derive(Default)]
pub(crate) struct Flights {
    /// By buf, in the order of sending.
    images: RefCell<BTreeMap<(Key, u64), BufRef>>,
    /// Bytes of these images.
    bytes: Cell<usize>,
    /// Those that the device has not completed.
    incomplete: Cell<usize>,
    /// Images that have departed so far.
    departed: Cell<u64>,
}

impl Flights {
    /// An image of `buf`, `len` bytes at `addr`, was sent.
    pub(crate) fn depart(&self, buf: &BufRef, addr: DiskOff, len: usize, written: &Written) -> Departed {
        buf.flight.depart(written);
        self.bytes.set(self.bytes.get() + len);
        self.incomplete.set(self.incomplete.get() + 1);
        let serial = self.departed.get();
        self.departed.set(serial + 1);
        self.images.borrow_mut().insert((buf.key(), serial), buf.clone());
        Departed { buf: buf.clone(), number: buf.progress.sent.get(), addr, len, serial }
    }

    /// The device has completed these images of one write, or refused them.
    pub(crate) fn complete(&self, images: &[Departed]) {
        for Departed { buf, .. } in images {
            buf.flight.complete();
            buf.changed.notify_all();
        }
        self.incomplete.set(self.incomplete.get() - images.len());
    }

    /// The image is durable, or could not be written.
    pub(crate) fn arrive(&self, Departed { buf, len, serial, .. }: &Departed) {
        self.images.borrow_mut().remove(&(buf.key(), *serial));
        self.bytes.set(self.bytes.get() - len);
        buf.flight.arrive();
    }

    /// Bytes that are sent and not durable.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The device has images that it has not completed.
    pub(crate) fn are_incomplete(&self) -> bool {
        self.incomplete.get() > 0
    }

    /// Nothing is in flight.
    pub(crate) fn are_over(&self) -> bool {
        self.images.borrow().is_empty()
    }

    /// The buf of each image, in the order of bufs.
    pub(crate) fn bufs(&self) -> Vec<BufRef> {
        self.images.borrow().values().cloned().collect()
    }

    /// The same for the blocks of one file.
    pub(crate) fn of_file(&self, ino: Ino) -> Vec<BufRef> {
        let whole = (Key::File(ino, Lbn(i64::MIN)), 0)..=(Key::File(ino, Lbn(i64::MAX)), u64::MAX);
        self.images.borrow().range(whole).map(|(_, buf)| buf.clone()).collect()
    }
}
