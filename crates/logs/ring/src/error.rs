//! Why a log cannot be placed or found. Each log has errors of its own, which say in its words what to do.

use ordo_disk::DiskError;

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
