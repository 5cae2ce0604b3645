//! Why a volume was not changed.

use crate::OpenError;
use ordo_ondisk::{Dialect, Refused};

/// Why a volume was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The volume cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// This program does not write to such volumes.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The volume is in use, or was not unmounted cleanly.
    #[error("the volume was not unmounted in order; run ordo fsck -p first")]
    Dirty,
    /// The primary superblock is damaged.
    #[error("its first superblock is damaged; run ordo fsck -p first, or -y where that does not repair it")]
    Backup,
    /// Not a volume of FreeBSD.
    #[error("{what} is FreeBSD's, and the volume is of {dialect}")]
    Dialect {
        /// What was requested.
        what: &'static str,
        /// The system that made the volume.
        dialect: Dialect,
    },
    /// No scheme has this name.
    #[error("no scheme is called {0:?}; ordo schemes lists them")]
    NoScheme(String),
    /// The volume is of another system, or of an old form, and its superblock has no place for the name.
    #[error("its superblock has no place for a scheme; name one at each mount (ordo mount -o scheme=NAME)")]
    NoPlaceForScheme,
    /// The scheme keeps a log, and the volume has none.
    #[error("{0} keeps a log, and the volume has none for it; make one with the same command (docs/schemes)")]
    NoLogFor(&'static str),
    /// Without the active journal these would be read as they are.
    #[error(
        "{0} fragments are nowhere right, and would be read as they are without the active journal; remove their files, \
         which cannot be read, or give the journal up: mount once with another scheme"
    )]
    Rotten(u64),
    /// Only UFS2 has a place for them.
    #[error("access control lists are kept in extended attributes, which are UFS2's, and the volume is a UFS1")]
    AclsOfUfs1,
    /// Only UFS2 has check hashes.
    #[error("check hashes are UFS2's, and the volume is a UFS1")]
    HashesOfUfs1,
    /// A group's block is damaged, and a hash would make it look right.
    #[error("{0}; run ordo fsck -y first")]
    Damaged(#[from] ordo_ondisk::Corrupt),
    /// There is no place for a record.
    #[error(
        "the volume has no boot area of 8 or 64 KiB before its superblock, in which the record of its writer would be"
    )]
    NoMmpPlace,
    /// Something else is in its place.
    #[error(
        "the record of the writer would be at bytes {owner} and {beat}, and something else is there, boot code for one; \
         clear these two sectors if nothing needs them"
    )]
    MmpPlaceTaken {
        /// The sector of the owner.
        owner: u64,
        /// The sector of the beats.
        beat: u64,
    },
    /// No such interval.
    #[error("beats every {0} milliseconds: 0.1 to 30 seconds are possible")]
    MmpInterval(u32),
    /// The label is too long or contains NUL.
    #[error("a label of {0} bytes: at most 31, without NUL")]
    Label(usize),
    /// The reserve is not a valid percentage.
    #[error("a reserve of {0} percent: at most 99")]
    Minfree(u32),
    /// The journal requires soft updates.
    #[error("the journal needs soft updates; switch it off as well (journal=off)")]
    JournalNeedsSoftUpdates,
    /// The journal cannot have this size.
    #[error("a journal of {found} bytes: {least} to {most}, in whole blocks of the volume")]
    JournalSize {
        /// The requested size.
        found: u64,
        /// The minimum, in bytes.
        least: u64,
        /// The maximum, in bytes.
        most: u64,
    },
    /// A user's file has the name of the journal.
    #[error("the root directory has a file {0} that is no journal; rename it first")]
    NameTaken(&'static str),
    /// The volume is too full.
    #[error("a journal of {needed} bytes does not fit: {free} bytes are free")]
    NoRoom {
        /// Bytes of the journal.
        needed: u64,
        /// Bytes of free blocks.
        free: u64,
    },
}

impl From<ordo_disk::fence::ClaimError> for TuneError {
    fn from(error: ordo_disk::fence::ClaimError) -> TuneError {
        OpenError::Claim(Box::new(error)).into()
    }
}

impl From<ordo_vfs::Error> for TuneError {
    fn from(error: ordo_vfs::Error) -> TuneError {
        OpenError::from(error).into()
    }
}

impl From<ordo_disk::DiskError> for TuneError {
    fn from(error: ordo_disk::DiskError) -> TuneError {
        OpenError::from(error).into()
    }
}
