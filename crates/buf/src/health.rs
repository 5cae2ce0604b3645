//! Whether the volume can still be changed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use vfs::{Error, Refusal, Result};

/// What goes wrong on the way to the disk, while it goes wrong: no caller may be there to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble<'a> {
    /// The volume turned read-only, for this reason.
    ReadOnly(&'a str),
    /// Contents of a file could not be written; they stay in memory, and will be tried again. Told once a file, until
    /// somebody has been told of it by an fsync.
    Write(&'a str),
}

/// Who is told of it.
type Watch = Rc<dyn Fn(Trouble<'_>)>;

#[derive(Default)]
struct Inner {
    read_only: Cell<bool>,
    reason: RefCell<Option<Arc<str>>>,
    watch: RefCell<Option<Watch>>,
}

/// Latches read-only when a metadata write or a flush failed (B4): the order that the scheme promised cannot be kept
/// any more, and what is in memory must not pretend that it was.
#[derive(Clone, Default)]
pub struct Health(Rc<Inner>);

impl Health {
    /// A volume that was opened read-only.
    pub fn read_only() -> Health {
        let health = Health::default();
        health.0.read_only.set(true);
        health
    }

    /// Tells `watch` of all trouble from now on. It is called in the middle of things: it must not come back to the
    /// cache.
    pub fn watch(&self, watch: impl Fn(Trouble<'_>) + 'static) {
        *self.0.watch.borrow_mut() = Some(Rc::new(watch));
    }

    /// Tells who watches.
    pub(crate) fn tell(&self, trouble: Trouble<'_>) {
        let watch = self.0.watch.borrow().clone();
        if let Some(watch) = watch {
            watch(trouble);
        }
    }

    /// Latches. The first reason stays.
    pub fn degrade(&self, reason: impl std::fmt::Display) {
        if self.0.reason.borrow().is_none() {
            let reason: Arc<str> = reason.to_string().into();
            *self.0.reason.borrow_mut() = Some(reason.clone());
            self.tell(Trouble::ReadOnly(&reason));
        }
    }

    /// The reason for which the volume turned read-only while it was mounted.
    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.reason.borrow().clone()
    }

    /// Nothing can be changed, from the start or since a failure.
    pub fn is_read_only(&self) -> bool {
        self.0.read_only.get() || self.0.reason.borrow().is_some()
    }

    /// `Ok` when changes are allowed.
    ///
    /// # Errors
    /// `ReadOnly` when the volume was opened so; `Io` with the reason after a failure.
    pub fn writable(&self) -> Result<()> {
        if self.0.read_only.get() {
            return Err(Refusal::ReadOnly.into());
        }
        match &*self.0.reason.borrow() {
            None => Ok(()),
            Some(_) => Err(Refusal::ReadOnly.into()),
        }
    }

    /// `Ok` unless a failure made the volume read-only: what fsync and sync answer.
    ///
    /// # Errors
    /// `Io` with the reason.
    pub fn sound(&self) -> Result<()> {
        match &*self.0.reason.borrow() {
            None => Ok(()),
            Some(reason) => Err(Error::Io(reason.clone())),
        }
    }
}
