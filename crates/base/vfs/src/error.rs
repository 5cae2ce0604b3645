//! Errors by kind: the caller's, the disk's, the image's, and the program's own.
//!
//! E1. An error of a lower crate keeps its type on the way up: [`Error::cause`] finds it, so that a caller can ask
//!     which request failed, and where, or which field of which structure is damaged. This crate knows none of these
//!     types.
//! E2. A broken invariant of the program is [`Error::Bug`], and not a failure of the disk: whoever reads the error
//!     would otherwise replace a sound disk.
//! E3. An error has at most 16 bytes and is cheap to clone: every call returns a `Result`, and the failure that turned
//!     a volume read-only is returned again by each later sync.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What every call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
///
/// `source()` skips what the text already has, as that of [`io::Error`] does: the typed error is behind
/// [`Error::cause`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call cannot be done as requested; the volume is sound.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The disk failed; the text says which request, and where.
    #[error(transparent)]
    Io(Source),
    /// The image is damaged; the text names structure, field, place and value.
    #[error(transparent)]
    Corrupt(Source),
    /// An invariant of the program is broken: neither the caller, the disk nor the image is to blame.
    #[error(transparent)]
    Bug(Source),
}

/// Who has to act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The caller: a different call, or the same call later, can succeed.
    Caller,
    /// The disk: it could not read or write.
    Disk,
    /// The image: what the disk holds is damaged.
    Image,
    /// The program: it is to be reported to its authors.
    Defect,
}

impl Error {
    /// An error for a failure of the disk: the error of a lower crate, or a text.
    #[cold]
    pub fn io(what: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::Io(Source::new(what))
    }

    /// An error for a damaged image: the error of a lower crate, or a text.
    #[cold]
    pub fn corrupt(what: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::Corrupt(Source::new(what))
    }

    /// An error for a broken invariant of the program (E2): an error, or a text that says what was not as it must be.
    #[cold]
    pub fn bug(what: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let what = Source::new(what);
        let text = format!("a defect of OrdoFS: {what}; please report it, and check the volume");
        Error::Bug(what.told_as(text))
    }

    /// The same kind of error, told by `outer`: an error, or a text, which repeats what is to be read of this one.
    /// [`Error::cause`] finds both. A refusal becomes `Io`: the call that was refused is over, and for those that are
    /// told later, the failure is not theirs.
    #[must_use]
    #[cold]
    pub fn told_as(self, outer: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        match self {
            Error::Refused(refusal) => Error::Io(Source::new(refusal).told_as(outer)),
            Error::Io(source) => Error::Io(source.told_as(outer)),
            Error::Corrupt(source) => Error::Corrupt(source.told_as(outer)),
            Error::Bug(source) => Error::Bug(source.told_as(outer)),
        }
    }

    /// The error of type `T` that this one began as or passed through (E1): `ordo_disk::DiskError` has the failed
    /// request, `ordo_ondisk::Corrupt` the damaged field. `None` for errors that have only a text.
    pub fn cause<T: StdError + 'static>(&self) -> Option<&T> {
        match self {
            Error::Refused(refusal) => (refusal as &dyn StdError).downcast_ref(),
            Error::Io(source) | Error::Corrupt(source) | Error::Bug(source) => source.cause(),
        }
    }

    /// Who has to act.
    pub fn origin(&self) -> Origin {
        match self {
            Error::Refused(_) => Origin::Caller,
            Error::Io(_) => Origin::Disk,
            Error::Corrupt(_) => Origin::Image,
            Error::Bug(_) => Origin::Defect,
        }
    }

    /// The nearest kind that `std::io` knows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Refused(refusal) => refusal.kind(),
            Error::Io(_) | Error::Bug(_) => ErrorKind::Other,
            Error::Corrupt(_) => ErrorKind::InvalidData,
        }
    }
}

/// What a lower crate said: its own error with its type, or a text; and behind it what that was made from.
#[derive(Clone)]
pub struct Source(Arc<Told>);

struct Told {
    what: Box<dyn StdError + Send + Sync>,
    /// Its text is a part of that of `what`.
    inner: Option<Source>,
}

impl Source {
    fn new(what: impl Into<Box<dyn StdError + Send + Sync>>) -> Source {
        Source(Arc::new(Told { what: what.into(), inner: None }))
    }

    fn told_as(self, outer: impl Into<Box<dyn StdError + Send + Sync>>) -> Source {
        Source(Arc::new(Told { what: outer.into(), inner: Some(self) }))
    }

    /// See [`Error::cause`].
    pub fn cause<T: StdError + 'static>(&self) -> Option<&T> {
        let mut source = Some(self);
        while let Some(Source(told)) = source {
            let mut error: Option<&(dyn StdError + 'static)> = Some(&*told.what);
            while let Some(link) = error {
                if let Some(found) = link.downcast_ref() {
                    return Some(found);
                }
                error = link.source();
            }
            source = told.inner.as_ref();
        }
        None
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.what, f)?;
        match &self.0.inner {
            Some(inner) => write!(f, " of {inner:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.what, f)
    }
}

impl StdError for Source {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.what.source()
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
    /// ELOOP
    #[error("too many symbolic links: one leads back to itself, or they are more than 40")]
    Loop,
    /// EPERM
    #[error("not permitted: a flag of the file, a file of the system, or a link to a directory")]
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
    /// EDQUOT
    #[error("the quota is used up")]
    Quota,
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
    /// EAGAIN
    #[error("the file has changed meanwhile")]
    Changed,
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
            Refusal::Invalid | Refusal::Loop | Refusal::Range | Refusal::AttributeTooBig | Refusal::BeyondEnd => {
                ErrorKind::InvalidInput
            }
            Refusal::NotPermitted | Refusal::Denied => ErrorKind::PermissionDenied,
            Refusal::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            Refusal::NoSpace | Refusal::NoInodes => ErrorKind::StorageFull,
            Refusal::Quota => ErrorKind::QuotaExceeded,
            Refusal::TooBig => ErrorKind::FileTooLarge,
            Refusal::TooManyLinks => ErrorKind::TooManyLinks,
            Refusal::NotSupported => ErrorKind::Unsupported,
            Refusal::Stale => ErrorKind::StaleNetworkFileHandle,
            Refusal::Busy => ErrorKind::ResourceBusy,
            Refusal::CrossDevice => ErrorKind::CrossesDevices,
            Refusal::NoMemory => ErrorKind::OutOfMemory,
            Refusal::Changed => ErrorKind::WouldBlock,
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
        assert_eq!(io::Error::from(Error::bug("no progress")).kind(), ErrorKind::Other);
    }

    /// The error of a crate below.
    #[derive(Debug, Clone, PartialEq, thiserror::Error)]
    #[error("read at {at}: {why}")]
    struct Failed {
        at: u64,
        why: &'static str,
    }

    /// One of a crate between, which keeps the other as its source.
    #[derive(Debug, thiserror::Error)]
    #[error("the log")]
    struct OfLog(#[source] Failed);

    const FAILED: Failed = Failed { at: 4096, why: "a bad sector" };

    #[test]
    fn an_error_is_small_cheap_to_clone_and_may_go_to_another_thread() {
        fn may_be_sent<T: Send + Sync + 'static>() {}
        may_be_sent::<Error>();
        assert!(size_of::<Error>() <= 16 && size_of::<Result<()>>() <= 16, "{}", size_of::<Result<()>>());
        let error = Error::io(FAILED);
        let (Error::Io(Source(one)), Error::Io(Source(other))) = (&error, &error.clone()) else { panic!("{error:?}") };
        assert!(Arc::ptr_eq(one, other));
    }

    #[test]
    fn a_cause_keeps_its_type_and_its_text() {
        for error in [Error::io(FAILED), Error::corrupt(FAILED), Error::bug(FAILED), Error::io(OfLog(FAILED))] {
            assert_eq!(error.cause::<Failed>(), Some(&FAILED), "{error:?}");
            assert!(error.cause::<Refusal>().is_none());
        }
        assert_eq!(Error::io(FAILED).to_string(), FAILED.to_string());
        assert!(Error::io(FAILED).source().is_none(), "its text would be shown twice");
        assert!(Error::io(OfLog(FAILED)).source().is_some_and(|source| source.is::<Failed>()));
        assert!(Error::io("only a text").cause::<Failed>().is_none());
        assert_eq!(Error::from(Refusal::Busy).cause::<Refusal>(), Some(&Refusal::Busy));
    }

    #[test]
    fn an_error_told_in_other_words_keeps_its_kind_and_what_was_told_before() {
        for (error, origin) in [
            (Error::io(FAILED), Origin::Disk),
            (Error::corrupt(FAILED), Origin::Image),
            (Error::bug(FAILED), Origin::Defect),
        ] {
            let later = error.told_as(OfLog(Failed { at: 0, ..FAILED })).told_as("the volume is read-only now");
            assert_eq!((later.origin(), later.to_string()), (origin, "the volume is read-only now".into()));
            assert_eq!(later.cause::<Failed>().map(|failed| failed.at), Some(0), "the outer one first");
            assert!(later.cause::<OfLog>().is_some());
        }
        let refused = Error::from(Refusal::NoSpace).told_as("no space for the log");
        assert_eq!((refused.origin(), refused.cause()), (Origin::Disk, Some(&Refusal::NoSpace)));
    }

    #[test]
    fn a_defect_says_that_it_is_one() {
        let error = Error::bug("64 rounds without progress");
        assert_eq!(
            error.to_string(),
            "a defect of OrdoFS: 64 rounds without progress; please report it, and check the volume"
        );
        assert_eq!(error.origin(), Origin::Defect);
    }
}
