//! Months of use of a server's file system, day by day: what makes an old volume different from a new one.
//!
//! After the aging study of Seltzer, Smith and others (USENIX 1995, section 5), which had daily snapshots of the free
//! maps of real servers. They are not public, so the use is simulated: [`Profile`] has what is known of each server and
//! what is assumed, `course` the days, `sizes` the sizes of files, `tree` what the users know to be there, `plan` what
//! happens on a day, `relief` what the users do when there is no room, and `play` how that becomes calls.
//!
//! A1. A profile, a seed and the space of a volume decide what is done on every day, as long as the volume refuses
//!     nothing. What is done after a refusal depends on it, as it does for people.
//! A2. Contents do not matter. All files are written from one buffer.
//! A3. Between two days nothing is held: a volume can be unmounted, measured, mounted again, and used further.
//! A4. The users have no privilege and cannot fill the reserve, unless the profile says so.

mod course;
mod plan;
mod play;
mod profile;
mod relief;
mod sizes;
#[cfg(test)]
mod tests;
mod tree;

pub use course::{DAYS_OF_A_MONTH, Date, STUDY};
pub use play::{Aged, Full};
pub use profile::{Kind, PROFILES, Profile, Use, Volume};
pub use sizes::Sizes;
pub use tree::Space;

use course::Sway;
use ordo_rt::Rng;
use plan::State;
use std::collections::BTreeSet;
use tree::Tree;

/// One operation of a user. Directories and files have numbers, which are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Makes a directory in another, or in the base.
    Mkdir {
        /// Its number.
        dir: u32,
    },
    /// Removes an empty directory.
    Rmdir {
        /// Its number.
        dir: u32,
    },
    /// Makes a file.
    Create {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its size.
        bytes: u64,
        /// What is written by a first call, before the rest.
        first: u64,
    },
    /// Replaces a file's contents, in place, as editors and compilers do.
    Rewrite {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its new size.
        bytes: u64,
    },
    /// Writes behind a file's end.
    Append {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its size before.
        from: u64,
        /// What is added.
        bytes: u64,
    },
    /// Removes a file.
    Remove {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
    },
}

/// A volume that gets older.
#[derive(Debug, Clone)]
pub struct Aging {
    profile: Profile,
    rng: Rng,
    sway: Sway,
    tree: Tree,
    uses: Vec<State>,
    /// The day that is played next; the history counts.
    day: u32,
    /// What has happened.
    aged: Aged,
    /// Directories for which there was no room; the plan has them, and the volume does not.
    unmade: BTreeSet<u32>,
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
