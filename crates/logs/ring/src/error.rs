//! Why a log cannot be placed or found. Each log has errors of its own, which say in its words what to do.

use ordo_disk::{DiskError, DiskOff};
use std::fmt;

/// Who must act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller: a different call, or the same call later, can succeed.
    Caller,
    /// The disk: it could not read or write.
    Disk,
    /// The image: the disk does not hold a log, or holds a damaged one.
    Image,
}

/// Why a log cannot lie in a place, or is not found there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No log can lie in these extents.
    #[error("no log can lie in these extents: {why}")]
    Extents {
        /// What is wrong with them.
        why: &'static str,
    },
    /// The disk has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Neither slot has the magic number.
    #[error("neither superblock has the magic number")]
    NoMagic,
    /// Neither superblock is valid.
    #[error("both superblocks are damaged ({why})")]
    Superblock {
        /// What is wrong with the better one.
        why: &'static str,
    },
    /// A superblock is of a later version of the format.
    #[error("version {version} of the format, and this program knows version {known}")]
    Version {
        /// What the superblock says.
        version: u32,
        /// The version that this program knows.
        known: u32,
    },
}

/// A log with a hole: it continues after the place where it seems to end (ring-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage<N> {
    /// The first entry that cannot be read.
    pub first: N,
    /// What is wrong with it, and where on the disk, if more is known than its number.
    pub why: Option<(&'static str, DiskOff)>,
    /// The newest entry that is known to have been durable.
    pub sure: N,
    /// The evidence for that.
    pub witness: Witness<N>,
}

/// What proves that a log continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness<N> {
    /// The superblock.
    Superblock,
    /// The program that has the log mounted.
    Mount,
    /// What lies after the hole, of the entry with this number.
    Entry(N),
    /// The same, and it names an opening, or a superblock, that is newer than the superblock: a newer one is lost.
    Lost(N),
}

/// The number of an entry. Its log says of damage in its own words what to do.
pub trait Entry: fmt::Debug + Copy {
    /// Writes the message.
    ///
    /// # Errors
    /// Those of `to`.
    fn say(damage: &Damage<Self>, to: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<N: Entry> fmt::Display for Damage<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        N::say(self, f)
    }
}

impl<N: Entry> std::error::Error for Damage<N> {}
