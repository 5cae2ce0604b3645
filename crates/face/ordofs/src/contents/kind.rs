//! What a signature says.

/// What a signature says about the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentsKind {
    /// A UFS volume, which this program supports.
    Ufs,
    /// A log-structured volume, which it supports, too.
    Lfs,
    /// Another Berkeley file system, which this program does not read.
    Bsd,
    /// A log or a journal of a volume that is elsewhere.
    Log,
    /// Another file system.
    FileSystem,
    /// Swap.
    Swap,
    /// An encryption container.
    Crypt,
    /// A member of an array or pool of several disks.
    Member,
    /// A partition table.
    Table,
    /// A disk image in a format of its own.
    Image,
    /// A compressed file.
    Packed,
    /// An archive of files.
    Archive,
}
