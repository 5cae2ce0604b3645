//! Whether the volume can still be changed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use vfs::{Error, Refusal, Result};

#[derive(Default)]
struct Inner {
    read_only: Cell<bool>,
    reason: RefCell<Option<Arc<str>>>,
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

    /// Latches. The first reason stays.
    pub fn degrade(&self, reason: impl std::fmt::Display) {
        let mut slot = self.0.reason.borrow_mut();
        if slot.is_none() {
            *slot = Some(reason.to_string().into());
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
