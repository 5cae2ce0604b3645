//! Notifications of names: which entries of directories were entered, redirected and cleared.
//!
//! An observer is informed of names as a watcher of the ledger is informed of tickets (`Ledger::watch`), and can so
//! keep an account of the tree beside the calls that change it. Without an observer a change costs one branch.
//!
//! O1. Each change of an entry is one notification, in the order of the changes. It comes while the directory is locked
//!     exclusively, after the change in memory and before its step. So an observer that reads a directory while it
//!     holds the directory shared has been notified of all that it reads, and of nothing else.
//! O2. A directory that moves to another is three notifications, as it is three changes: its new name is entered or
//!     redirected, its `..` is redirected, its old name is cleared. `.` and `..` of a new directory come with its name,
//!     those of a removed one go with it: no notifications of their own.

use ordo_buf::Freed;
use ordo_ondisk::Ino;
use std::cell::RefCell;
use std::rc::Rc;

/// An entry of a directory: its place, and what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryAt {
    /// The directory.
    pub dir: Ino,
    /// Where it begins in the directory, in bytes.
    pub offset: u64,
    /// What it names.
    pub ino: Ino,
}

/// An observer of names. It only takes note: it makes no call.
pub trait Observer {
    /// A name was entered, of a directory or of another file; `new`: of a new directory, whose `.` and `..` came into
    /// being with it.
    fn entered(&self, entry: EntryAt, directory: bool, new: bool);

    /// A name of `was` was redirected to `now.ino`; the ticket of the link that it was will free `freed`.
    fn redirected(&self, was: Ino, now: EntryAt, directory: bool, freed: &Freed);

    /// A name was cleared; the ticket of its link will free `freed`. If that has a parent, the name was that of a
    /// removed directory, whose `.` and `..` went with it.
    fn cleared(&self, entry: EntryAt, freed: &Freed);
}

/// The observer of a file system's names, if there is one.
#[derive(Default)]
pub(crate) struct Observed(RefCell<Option<Rc<dyn Observer>>>);

impl Observed {
    #[inline]
    pub(crate) fn tell(&self, what: impl FnOnce(&dyn Observer)) {
        let observer = self.0.borrow().clone();
        if let Some(observer) = observer {
            what(&*observer);
        }
    }

    pub(crate) fn watch(&self, observer: Option<Rc<dyn Observer>>) {
        let mut slot = self.0.borrow_mut();
        debug_assert!(slot.is_none() || observer.is_none(), "a file system has one observer at a time");
        *slot = observer;
    }
}
