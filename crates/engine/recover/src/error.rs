//! Why a volume cannot be read.

/// Why a volume cannot be read, or checked: nothing is known of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ordo_disk::DiskError),
    /// Neither the superblock nor a backup of it is usable.
    #[error("no superblock that can be used, and no copy of one: {why}")]
    NoSuperblock {
        /// What is wrong with the first one.
        why: String,
    },
    /// The volume is longer than the disk.
    #[error("the volume has {volume} bytes, the disk only {disk}: the rest of the volume is missing")]
    TooShort {
        /// Bytes of the volume.
        volume: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// An impossible place was accessed: a bug in this program.
    #[error("byte {at} is beyond the volume's end at {end}")]
    Beyond {
        /// The place.
        at: u64,
        /// Bytes of the volume.
        end: u64,
    },
    /// A structure that was found right, or repaired, before is invalid: a bug in this program.
    #[error(transparent)]
    Corrupt(#[from] ordo_ondisk::Corrupt),
}
