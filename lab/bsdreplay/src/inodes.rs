//! The inodes that records name.

use crate::lists::{Element, Told, merged};
use std::collections::{BTreeMap, BTreeSet};

/// An inode that records name.
#[derive(Default)]
pub(crate) struct Inode {
    pub(crate) told: Vec<Told>,
    pub(crate) list: Vec<Element>,
    /// Links that it lost with directories before it was looked at.
    pub(crate) lost: i64,
    /// It was looked at.
    pub(crate) checked: bool,
    pub(crate) links: i64,
    pub(crate) dots: i64,
    /// The type of its last record.
    pub(crate) kind: u16,
}

/// The inodes that records name.
#[derive(Default)]
pub(crate) struct Inodes {
    pub(crate) all: BTreeMap<u32, Inode>,
    /// Directories whose `..` takes no link from a dying parent.
    pub(crate) skips: BTreeSet<u32>,
}

impl Inodes {
    pub(crate) fn tell(&mut self, told: Told) {
        self.all.entry(told.ino()).or_default().told.push(told);
    }

    pub(crate) fn merge(&mut self) {
        for inode in self.all.values_mut() {
            inode.list = merged(std::mem::take(&mut inode.told));
        }
        self.all.retain(|_, inode| !inode.list.is_empty());
    }
}
