//! Why a volume did not get another size.

use crate::OpenError;
use ordo_disk::DiskError;
use ordo_ondisk::{Corrupt, Refused};
use std::path::PathBuf;

/// Why a volume did not get another size.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
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
    /// Something of the volume depends on its size, and is not changed here.
    #[error("the volume has {0}")]
    Unsupported(&'static str),
    /// A group is damaged.
    #[error("{0}; run ordo fsck -y first")]
    Damaged(Corrupt),
    /// The counts of the groups and of the volume differ.
    #[error("the summary of the groups and the superblock count differently; run ordo fsck -y first")]
    Counts,
    /// The volume cannot have this size.
    #[error("a volume of this kind cannot have this size: {0}")]
    Impossible(Corrupt),
    /// Too small for one group.
    #[error("{bytes} bytes are too few: this volume needs {least} for its first group")]
    TooSmall {
        /// The requested size.
        bytes: u64,
        /// The minimum.
        least: u64,
    },
    /// Larger than its disk or partition.
    #[error("{bytes} bytes are more than the disk or the partition has, {disk}; enlarge that first")]
    TooLarge {
        /// The requested size.
        bytes: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// No place for a longer summary.
    #[error("no group has {frags} free fragments at its begin, which the summary of so many groups needs")]
    NoRoom {
        /// Fragments of the summary.
        frags: u32,
    },
    /// There is something where the volume would end.
    #[error(
        "{files} files and {blocks} bytes in use lie beyond {bytes} bytes; only what is free can be cut off: copy the \
         files to a new volume instead"
    )]
    InUse {
        /// The requested size.
        bytes: u64,
        /// Inodes in use there.
        files: u64,
        /// Bytes in use there.
        blocks: u64,
    },
    /// The image's file did not get its new length.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
}

impl From<DiskError> for ResizeError {
    fn from(error: DiskError) -> ResizeError {
        OpenError::from(error).into()
    }
}
