//! Writes that brought home what only a copy had, until they are durable.

use std::collections::BTreeMap;

/// Writes that brought something home that it lacked.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// How many, and how many of them are durable.
    pub(crate) count: u64,
    pub(crate) durable: u64,
    /// Places with copies of what is not durable at home: the last of the writes for each.
    pub(crate) places: BTreeMap<u32, u64>,
}

impl Carried {
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// A flush that began after so many has ended.
    pub(crate) fn are_durable(&mut self, count: u64) {
        self.durable = self.durable.max(count);
        let durable = self.durable;
        self.places.retain(|_, last| *last > durable);
    }
}
