//! Why something with a snapshot was not done.

use crate::OpenError;
use ordo_disk::DiskError;
use ordo_ondisk::{Corrupt, Dialect, Refused};

/// Why a snapshot was not read, made, kept or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The volume cannot be opened.
    #[error(transparent)]
    Open(Box<OpenError>),
    /// A request to the disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file could not be made or removed.
    #[error(transparent)]
    Volume(#[from] ordo_vfs::Error),
    /// This program does not write to such volumes.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No snapshot has this name.
    #[error("the volume has no snapshot {0:?}; ordo snapshot --list IMAGE shows them")]
    NotFound(String),
    /// The snapshot is damaged, and nothing can be kept for it.
    #[error("snapshot {ino} is damaged: {why}; ordo fsck -y removes it")]
    Damaged {
        /// Its inode.
        ino: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A structure of the volume is damaged.
    #[error("{0}; run ordo fsck -y first")]
    Corrupt(Corrupt),
    /// The volume is in use, or was not unmounted cleanly.
    #[error("the volume was not unmounted in order; run ordo fsck -p first")]
    Dirty,
    /// The list in the superblock is full.
    #[error("the volume has {0} snapshots, which is the most; remove one first")]
    TooMany(usize),
    /// The form of snapshots on such a volume is not known for sure.
    #[error("snapshots are made and kept on volumes of FreeBSD only, and this is one of {0}")]
    Dialect(Dialect),
    /// The scheme's recovery is not known to leave snapshots as they are.
    #[error("a volume with snapshots is not written to under the scheme {0}; choose another, or remove the snapshots")]
    Scheme(&'static str),
    /// Removing it by one name would leave an empty file under the others.
    #[error("the snapshot has {0} names; remove the others on FreeBSD first")]
    Names(u16),
    /// An active journal is no file of the volume's format.
    #[error(
        "the volume has an active journal, which a snapshot cannot leave out; take it away (ordo tune -o active=off)"
    )]
    Active,
    /// No space for the first copies of a new snapshot.
    #[error("a snapshot needs {needs} free blocks for its first copies, and the volume has {has}")]
    NoSpace {
        /// Blocks.
        needs: u64,
        /// Blocks.
        has: u64,
    },
}

impl From<OpenError> for SnapshotError {
    fn from(error: OpenError) -> SnapshotError {
        match error {
            OpenError::Snapshot(error) => *error,
            error => SnapshotError::Open(Box::new(error)),
        }
    }
}

impl From<Corrupt> for SnapshotError {
    fn from(damage: Corrupt) -> SnapshotError {
        SnapshotError::Corrupt(damage)
    }
}
