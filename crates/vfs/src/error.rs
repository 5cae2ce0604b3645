//! Errors by kind: the caller's, the disk's, the image's. A bug of ours is none of them.

/// What every call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call did not happen.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call cannot be done as asked; the volume is well.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The disk failed; the text says which request, and where.
    #[error("{0}")]
    Io(std::sync::Arc<str>),
    /// The image is damaged; the text names structure, field, place and value.
    #[error("{0}")]
    Corrupt(std::sync::Arc<str>),
}

impl Error {
    /// A disk's failure, described.
    pub fn io(what: impl std::fmt::Display) -> Error {
        Error::Io(what.to_string().into())
    }

    /// An image's damage, described.
    pub fn corrupt(what: impl std::fmt::Display) -> Error {
        Error::Corrupt(what.to_string().into())
    }
}

/// The caller's errors, one for each answer that POSIX knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// ENOENT
    #[error("no such file or directory")]
    NotFound,
    /// EEXIST
    #[error("the name exists already")]
    Exists,
    /// ENOTDIR
    #[error("not a directory")]
    NotDirectory,
    /// EISDIR
    #[error("is a directory")]
    IsDirectory,
    /// ENOTEMPTY
    #[error("the directory is not empty")]
    NotEmpty,
    /// ENAMETOOLONG
    #[error("the name is longer than 255 bytes, or the target longer than 1023")]
    NameTooLong,
    /// EINVAL
    #[error("invalid argument")]
    Invalid,
    /// EPERM
    #[error("the file's flags forbid it")]
    NotPermitted,
    /// EACCES
    #[error("permission denied")]
    Denied,
    /// EROFS
    #[error("the volume is read-only")]
    ReadOnly,
    /// ENOSPC
    #[error("no space left on the volume")]
    NoSpace,
    /// ENOSPC, of inodes
    #[error("no inode left on the volume")]
    NoInodes,
    /// EFBIG
    #[error("the file would be larger than the format allows")]
    TooBig,
    /// EMLINK
    #[error("too many links")]
    TooManyLinks,
    /// ENODATA
    #[error("no such attribute")]
    NoAttribute,
    /// ERANGE
    #[error("the result does not fit into the space given")]
    Range,
    /// E2BIG
    #[error("the attribute is larger than the format allows")]
    AttributeTooBig,
    /// EOPNOTSUPP
    #[error("not supported by this volume")]
    NotSupported,
    /// ENXIO
    #[error("no data or hole at or beyond this offset")]
    BeyondEnd,
    /// ESTALE
    #[error("the file is gone")]
    Stale,
    /// EBUSY
    #[error("in use")]
    Busy,
    /// EXDEV
    #[error("not on the same volume")]
    CrossDevice,
    /// ENOMEM
    #[error("out of memory")]
    NoMemory,
}
