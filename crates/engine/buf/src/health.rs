//! Whether the volume can still be changed.

use ordo_vfs::{Error, Refusal, Result};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// A failure of a write or flush, reported when it happens: there may be no caller to return it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble<'a> {
    /// The volume turned read-only, for this reason.
    ReadOnly(&'a str),
    /// Contents of a file could not be written; they stay in memory, and the write is tried again. Reported once per
    /// file, until an fsync has returned the error.
    Write(&'a str),
    /// A segment could not be cleaned; what is alive in it stays where it is, and the segment is left alone.
    Uncleaned(&'a str),
}

/// Receives the reports.
type Watch = Rc<dyn Fn(Trouble<'_>)>;

#[derive(Default)]
struct Inner {
    read_only: Cell<bool>,
    /// The failure that turned it read-only, and its text.
    failure: RefCell<Option<(Error, Arc<str>)>>,
    watch: RefCell<Option<Watch>>,
}

/// Latches read-only when a metadata write or a flush failed (buf-4): the order that the scheme promised can no longer
/// be kept, and later calls must not pretend that it was.
#[derive(Clone, Default)]
pub struct Health(Rc<Inner>);

impl Health {
    /// A volume that was opened read-only.
    pub fn read_only() -> Health {
        let health = Health::default();
        health.0.read_only.set(true);
        health
    }

    /// Reports all trouble to `watch` from now on. `watch` is called in the middle of operations and must not call the
    /// cache.
    pub fn watch(&self, watch: impl Fn(Trouble<'_>) + 'static) {
        *self.0.watch.borrow_mut() = Some(Rc::new(watch));
    }

    /// Reports to the watcher.
    pub fn tell(&self, trouble: Trouble<'_>) {
        let watch = self.0.watch.borrow().clone();
        if let Some(watch) = watch {
            watch(trouble);
        }
    }

    /// Latches. The first failure stays; its text is the reason.
    pub fn degrade(&self, failure: Error) {
        if self.0.failure.borrow().is_none() {
            let reason: Arc<str> = failure.to_string().into();
            *self.0.failure.borrow_mut() = Some((failure, reason.clone()));
            self.tell(Trouble::ReadOnly(&reason));
        }
    }

    /// The reason for which the volume turned read-only while it was mounted.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.failure.borrow().as_ref().map(|(_, reason)| reason.clone())
    }

    /// Nothing can be changed, from the start or since a failure.
    pub fn is_read_only(&self) -> bool {
        self.0.read_only.get() || self.0.failure.borrow().is_some()
    }

    /// `Ok` when changes are allowed.
    ///
    /// # Errors
    /// `ReadOnly` when the volume was opened so, or turned so after a failure.
    pub fn writable(&self) -> Result<()> {
        if self.0.read_only.get() {
            return Err(Refusal::ReadOnly.into());
        }
        match &*self.0.failure.borrow() {
            None => Ok(()),
            Some(_) => Err(Refusal::ReadOnly.into()),
        }
    }

    /// `Ok` unless a failure made the volume read-only: the result of fsync and sync.
    ///
    /// # Errors
    /// That failure, with its kind and its cause.
    pub fn sound(&self) -> Result<()> {
        match &*self.0.failure.borrow() {
            None => Ok(()),
            Some((failure, _)) => Err(failure.clone()),
        }
    }
}
