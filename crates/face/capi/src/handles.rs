//! The tables of what is open, by number.

use crate::failure::{Failure, Result};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers from 1 on, and what they stand for. A number is never used again.
pub(crate) struct Handles<T> {
    open: Mutex<(i32, BTreeMap<i32, Arc<T>>)>,
    what: &'static str,
}

impl<T> Handles<T> {
    pub(crate) const fn new(what: &'static str) -> Handles<T> {
        Handles { open: Mutex::new((0, BTreeMap::new())), what }
    }

    /// One change is made under the lock, so a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, (i32, BTreeMap<i32, Arc<T>>)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, one: T) -> Result<i32> {
        let mut open = self.lock();
        let number = open.0.checked_add(1).ok_or_else(|| Failure::new(Errno::NFILE, "no numbers are left"))?;
        open.0 = number;
        open.1.insert(number, Arc::new(one));
        Ok(number)
    }

    pub(crate) fn get(&self, number: i32) -> Result<Arc<T>> {
        self.lock().1.get(&number).cloned().ok_or_else(|| self.unknown(number))
    }

    /// Other threads that have it in a call finish that call.
    pub(crate) fn remove(&self, number: i32) -> Result<Arc<T>> {
        self.lock().1.remove(&number).ok_or_else(|| self.unknown(number))
    }

    fn unknown(&self, number: i32) -> Failure {
        Failure::new(Errno::BADF, format!("{number} is no open {}", self.what))
    }
}
