//! What `ordo info` says of an active journal.

use ordofs::{ActiveState, Rest};
use serde::Serialize;

/// An active journal.
#[derive(Debug, Serialize)]
pub(crate) struct ActiveInfo {
    /// `all clean`: any system may use the volume. `clean`: everything is at home. `dirty`: some is in a group journal
    /// only.
    state: &'static str,
    groups: u32,
    /// Fragments whose checksum is known.
    mapped: u64,
    /// Of these, with a copy in a group journal.
    copies: u64,
    /// Fragments that were read, and written, from another copy since the mount.
    healed: u64,
    /// Pages of the map that could not be read.
    #[serde(skip_serializing_if = "is_none")]
    lost_pages: u32,
    /// Commits that waited until what they overwrite was at home (forced checkpoints), since the mount.
    #[serde(skip_serializing_if = "is_none")]
    forced: u64,
    /// Fragments with a replica, and reads that were served from one since the mount: on a disk with a head.
    #[serde(skip_serializing_if = "is_none")]
    replicas: u64,
    #[serde(skip_serializing_if = "is_none")]
    from_replica: u64,
}

fn is_none<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

impl ActiveInfo {
    pub(crate) fn of(active: &ActiveState) -> ActiveInfo {
        let state = match active.rest {
            Rest::AllClean => "all clean",
            Rest::Clean => "clean",
            Rest::Dirty => "dirty",
        };
        let ActiveState { groups, mapped, copies, healed, lost_pages, forced, replicas, from_replica, .. } = *active;
        ActiveInfo { state, groups, mapped, copies, healed, lost_pages, forced, replicas, from_replica }
    }

    pub(super) fn line(&self) -> String {
        let ActiveInfo { state, groups, mapped, copies, lost_pages, forced, .. } = self;
        let lost = if *lost_pages > 0 { format!("; {lost_pages} pages of the map are lost") } else { String::new() };
        let forced = if *forced > 0 { format!("; {forced} forced checkpoints") } else { String::new() };
        format!(
            "{state}; {groups} group journals, {mapped} fragments known, {copies} of them with a copy{forced}{lost}"
        )
    }
}
