//! The open files of a volume that threads share, on its thread.

use super::Volume;
use super::file::{File, Parts};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;

/// The open files of one volume, on its thread.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: RefCell<BTreeMap<u64, Parts>>,
    next: Cell<u64>,
}

impl OpenFiles {
    pub(super) fn keep(&self, parts: Parts) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.files.borrow_mut().insert(number, parts);
        number
    }

    pub(super) fn close(&self, number: u64) {
        let closed = self.files.borrow_mut().remove(&number);
        // After the borrow: closing runs calls of the file system.
        drop(closed);
    }

    pub(super) fn with<T>(
        &self,
        volume: &Volume,
        number: u64,
        work: impl FnOnce(&File<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let parts = self.files.borrow_mut().remove(&number).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let file = File::of(volume, parts);
        let result = work(&file);
        self.files.borrow_mut().insert(number, file.into_parts());
        result
    }
}
