//! Lookup counts: how many lookups of each node the kernel was granted and has not returned.
//!
//! L1. Every lookup that the file system granted is returned to it exactly once: by FORGET, when a reply was not
//!     accepted, or at the end, because the kernel sends no FORGET for nodes that it drops while unmounting. Otherwise
//!     a file that was removed while open would never be freed.
//! L2. FORGET for more than was granted returns what was granted, so the file system's counts cannot go below zero.
//! L3. The counts grow with the kernel's cache, which no setting of ours bounds: if memory is short, a call is refused
//!     before it has done anything.

use ordo_vfs::NodeId;
use rustc_hash::FxHashMap;
use rustix::io::Errno;
use std::collections::hash_map::Entry;

#[derive(Default)]
pub(super) struct Lookups(FxHashMap<NodeId, u64>);

impl Lookups {
    /// Reserves memory for one more node; must be called before the call that grants it (L3).
    ///
    /// # Errors
    /// ENOMEM.
    pub(super) fn reserve(&mut self) -> Result<(), Errno> {
        self.0.try_reserve(1).map_err(|_| Errno::NOMEM)
    }

    pub(super) fn grant(&mut self, node: NodeId) {
        *self.0.entry(node).or_default() += 1;
    }

    /// Removes up to `count` lookups of `node`; returns how many there were.
    pub(super) fn take_back(&mut self, node: NodeId, count: u64) -> u64 {
        let Entry::Occupied(mut held) = self.0.entry(node) else { return 0 };
        let taken = count.min(*held.get());
        *held.get_mut() -= taken;
        if *held.get() == 0 {
            held.remove();
        }
        taken
    }

    /// All nodes that have any.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.0.keys().copied().collect()
    }

    /// Removes all remaining lookups, by node.
    pub(super) fn drain(&mut self) -> Vec<(NodeId, u64)> {
        let mut all: Vec<_> = self.0.drain().collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_back_than_was_granted() {
        let mut lookups = Lookups::default();
        (0..3).for_each(|_| lookups.grant(NodeId(7)));
        lookups.grant(NodeId(5));
        assert_eq!(lookups.take_back(NodeId(7), 2), 2);
        assert_eq!(lookups.drain(), [(NodeId(5), 1), (NodeId(7), 1)]);
        assert_eq!(lookups.take_back(NodeId(7), 9), 0);
        lookups.grant(NodeId(7));
        assert_eq!(lookups.take_back(NodeId(7), u64::MAX), 1);
    }
}
