//! What `ordo info` says of an active journal.

use crate::text;
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
    /// When the last whole pass of scrubs ended, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    scrubbed: Option<String>,
    /// When the present one began, of a schedule, and the fragments that it has read.
    #[serde(skip_serializing_if = "Option::is_none")]
    scrub_began: Option<String>,
    #[serde(skip_serializing_if = "is_none")]
    scrub_read: u64,
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
        let time = |at: u64| (at > 0).then(|| text::time(i64::try_from(at).unwrap_or(i64::MAX)));
        ActiveInfo {
            state,
            groups: active.groups,
            mapped: active.mapped,
            copies: active.copies,
            healed: active.healed,
            lost_pages: active.lost_pages,
            forced: active.forced,
            replicas: active.replicas,
            from_replica: active.from_replica,
            scrubbed: time(active.pass.ended),
            scrub_began: time(active.pass.began).filter(|_| active.passed > 0),
            scrub_read: active.passed,
        }
    }

    pub(super) fn line(&self) -> String {
        let ActiveInfo { state, groups, mapped, copies, lost_pages, forced, scrubbed, scrub_began, scrub_read, .. } =
            self;
        let mut line =
            format!("{state}; {groups} group journals, {mapped} fragments known, {copies} of them with a copy");
        if *forced > 0 {
            line += &format!("; {forced} forced checkpoints");
        }
        if *lost_pages > 0 {
            line += &format!("; {lost_pages} pages of the map are lost");
        }
        if let Some(time) = scrubbed {
            line += &format!("; scrubbed: {time}");
        }
        if let Some(time) = scrub_began {
            line += &format!("; {scrub_read} scrubbed since {time}");
        }
        line
    }
}
