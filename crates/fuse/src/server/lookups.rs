//! What the kernel holds: how many lookups of each node it was given and has not taken back.
//!
//! L1. Every lookup that the file system granted is returned to it exactly once: by FORGET, when a reply was not
//!     taken, or at the end, since the kernel sends no FORGET for what it drops while unmounting. A file that was
//!     removed while it was open would otherwise never be freed.
//! L2. FORGET for more than was granted returns what was granted, so the file system's counts cannot go below zero.
//! L3. They grow with what the kernel remembers, which no setting of ours bounds: without memory a call is refused
//!      before it has done anything.

use rustc_hash::FxHashMap;
use rustix::io::Errno;
use std::collections::hash_map::Entry;
use vfs::NodeId;

#[derive(Default)]
pub(super) struct Lookups(FxHashMap<NodeId, u64>);

impl Lookups {
    /// Makes sure that there is memory for one node more; to be asked before the call that grants it (L3).
    ///
    /// # Errors
    /// ENOMEM.
    pub(super) fn reserve(&mut self) -> Result<(), Errno> {
        self.0.try_reserve(1).map_err(|_| Errno::NOMEM)
    }

    pub(super) fn grant(&mut self, node: NodeId) {
        *self.0.entry(node).or_default() += 1;
    }

    /// Takes up to `count` lookups of `node` back; how many there were.
    pub(super) fn take_back(&mut self, node: NodeId, count: u64) -> u64 {
        let Entry::Occupied(mut held) = self.0.entry(node) else { return 0 };
        let taken = count.min(*held.get());
        *held.get_mut() -= taken;
        if *held.get() == 0 {
            held.remove();
        }
        taken
    }

    /// All that is left, by node.
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
