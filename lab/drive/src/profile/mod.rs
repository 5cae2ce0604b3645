//! The data of one drive, parsed and checked.
//!
//! P1. No input is trusted. The contents of a [`Profile`] have been checked for consistency: times are finite, zones
//!     follow one another without a gap, their sizes agree with their spares and slips, the layout's nodes are reached
//!     in a bounded number of steps. The model then needs no checks.
//! P2. Each code in the file has a variant here. A code that no drive uses and no rule describes is rejected, by name.

mod check;
mod data;
mod embedded;
mod raw;

pub use data::{
    After, Cache, Controller, DiskProfile, ExtraDisconnect, Kind, Latency, Prefetch, Profile, Requested, SsdProfile,
    WriteCache, WritePolicy,
};

use crate::error::ProfileError;

/// The names of the drives that are built in, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    embedded::PROFILES.iter().map(|(name, _)| *name)
}

impl Profile {
    /// The built-in drive of that name.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        let found = embedded::PROFILES.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| ProfileError::Unknown { name: name.to_owned() })?;
        Profile::parse(text)
    }

    /// Parses a drive from the text of its file (TOML). A layout that it names must be built in.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        check::profile(text)
    }
}
