//! Errors by kind: the caller's, the disk's, the image's. A bug of this program is not among them.

use std::io::{self, ErrorKind};

/// What every call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call cannot be done as requested; the volume is sound.
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
    /// An error for a failure of the disk.
    pub fn io(what: impl std::fmt::Display) -> Error {
        Error::Io(what.to_string().into())
    }

    /// An error for a damaged image.
    pub fn corrupt(what: impl std::fmt::Display) -> Error {
        Error::Corrupt(what.to_string().into())
    }

    /// The nearest kind that `std::io` knows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Refused(refusal) => refusal.kind(),
            Error::Io(_) => ErrorKind::Other,
            Error::Corrupt(_) => ErrorKind::InvalidData,
        }
    }
}

/// For callers who work with `std::io`. The error itself stays inside, with its text.
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

/// The caller's errors, one for each that POSIX knows.
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

impl Refusal {
    /// The nearest kind that `std::io` knows.
    pub fn kind(self) -> ErrorKind {
        match self {
            Refusal::NotFound | Refusal::NoAttribute => ErrorKind::NotFound,
            Refusal::Exists => ErrorKind::AlreadyExists,
            Refusal::NotDirectory => ErrorKind::NotADirectory,
            Refusal::IsDirectory => ErrorKind::IsADirectory,
            Refusal::NotEmpty => ErrorKind::DirectoryNotEmpty,
            Refusal::NameTooLong => ErrorKind::InvalidFilename,
            Refusal::Invalid | Refusal::Range | Refusal::AttributeTooBig | Refusal::BeyondEnd => {
                ErrorKind::InvalidInput
            }
            Refusal::NotPermitted | Refusal::Denied => ErrorKind::PermissionDenied,
            Refusal::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            Refusal::NoSpace | Refusal::NoInodes => ErrorKind::StorageFull,
            Refusal::TooBig => ErrorKind::FileTooLarge,
            Refusal::TooManyLinks => ErrorKind::TooManyLinks,
            Refusal::NotSupported => ErrorKind::Unsupported,
            Refusal::Stale => ErrorKind::StaleNetworkFileHandle,
            Refusal::Busy => ErrorKind::ResourceBusy,
            Refusal::CrossDevice => ErrorKind::CrossesDevices,
            Refusal::NoMemory => ErrorKind::OutOfMemory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_text_and_itself_within_std_io() {
        let full = io::Error::from(Error::from(Refusal::NoSpace));
        assert_eq!((full.kind(), full.to_string()), (ErrorKind::StorageFull, "no space left on the volume".into()));
        let inner = full.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        assert!(matches!(inner, Some(Error::Refused(Refusal::NoSpace))));
        assert_eq!(io::Error::from(Error::corrupt("inode 7")).kind(), ErrorKind::InvalidData);
        assert_eq!(io::Error::from(Error::io("a bad sector")).kind(), ErrorKind::Other);
    }
}
