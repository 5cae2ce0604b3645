//! What is counted since the mount.

/// Counts since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::softupdates) struct Counters {
    pub(in crate::softupdates) inodes_held: u64,
    pub(in crate::softupdates) pointers_held: u64,
    pub(in crate::softupdates) names_held: u64,
    pub(in crate::softupdates) removals_held: u64,
    pub(in crate::softupdates) cancelled: u64,
    pub(in crate::softupdates) deferred: u64,
    /// Changes that became durable.
    pub(in crate::softupdates) released: u64,
    pub(in crate::softupdates) slowed: u64,
    pub(in crate::softupdates) most: u64,
}

impl Counters {
    /// All of them by name, as `ordo info` and `ordo bench` show them. `pending`: the records that there are now.
    pub(in crate::softupdates) fn list(self, pending: usize) -> Vec<(&'static str, u64)> {
        vec![
            ("dependencies", pending as u64),
            ("dependencies_most", self.most.max(pending as u64)),
            ("inodes_rolled_back", self.inodes_held),
            ("pointers_rolled_back", self.pointers_held),
            ("names_rolled_back", self.names_held),
            ("removals_rolled_back", self.removals_held),
            ("cancelled", self.cancelled),
            ("deferred", self.deferred),
            ("slowed", self.slowed),
        ]
    }
}
