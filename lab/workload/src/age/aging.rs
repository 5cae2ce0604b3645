//! A volume that gets older, between two days.

use super::aged::Aged;
use super::course::Sway;
use super::profile::Profile;
use super::state::State;
use super::tree::{Space, Tree};
use ordo_rt::Rng;
use std::collections::BTreeSet;

/// A volume that gets older.
#[derive(Debug, Clone)]
pub struct Aging {
    pub(super) profile: Profile,
    pub(super) rng: Rng,
    pub(super) sway: Sway,
    pub(super) tree: Tree,
    pub(super) uses: Vec<State>,
    /// The day that is played next; the history counts.
    pub(super) day: u32,
    /// What has happened.
    pub(super) aged: Aged,
    /// Directories for which there was no room; the plan has them, and the volume does not.
    pub(super) unmade: BTreeSet<u32>,
}

impl Aging {
    /// The use of `profile` on a volume with `space`, which is about to begin.
    pub fn new(profile: &Profile, seed: u64, space: Space) -> Aging {
        Aging {
            profile: *profile,
            rng: Rng::new(seed),
            sway: Sway::default(),
            tree: Tree::new(space, profile.uses.len()),
            uses: profile.uses.iter().map(State::new).collect(),
            day: 0,
            aged: Aged::default(),
            unmade: BTreeSet::new(),
        }
    }

    /// Days that were played, those before the study among them.
    pub fn played(&self) -> u32 {
        self.day
    }

    /// The number of days that are played up to the end of a day of the study.
    pub fn days_until(&self, day: u32) -> u32 {
        self.profile.history() + day + 1
    }

    /// What has happened so far.
    pub fn aged(&self) -> &Aged {
        &self.aged
    }

    /// Bytes that the users believe to have on the volume.
    pub fn used(&self) -> u64 {
        self.tree.used.iter().sum()
    }
}
