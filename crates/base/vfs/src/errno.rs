//! Translates errors of a file system to Linux errno values: the only place that knows both.

use crate::{Error, Refusal};
use rustix::io::Errno;
use std::io;

impl Error {
    /// The errno of this error, as the kernel and C programs take it.
    pub fn errno(&self) -> i32 {
        let errno = match self {
            Error::Refused(refusal) => refused(*refusal),
            Error::Io(_) | Error::Bug(_) => Errno::IO,
            // EUCLEAN, as Linux's own file systems return for corrupted metadata.
            Error::Corrupt(_) => Errno::UCLEAN,
        };
        errno.raw_os_error()
    }
}

/// The errno of an error of `std::io`: the system's own number, that of an [`Error`] inside, or the nearest one.
pub fn errno_of(error: &io::Error) -> i32 {
    let inside = error.get_ref().and_then(|inside| inside.downcast_ref::<Error>());
    let nearest = || match error.kind() {
        io::ErrorKind::NotFound => Errno::NOENT,
        io::ErrorKind::AlreadyExists => Errno::EXIST,
        io::ErrorKind::IsADirectory => Errno::ISDIR,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::StorageFull => Errno::NOSPC,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::ResourceBusy => Errno::BUSY,
        io::ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::InvalidData => Errno::UCLEAN,
        io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        io::ErrorKind::NotConnected => Errno::NOTCONN,
        io::ErrorKind::Deadlock => Errno::DEADLK,
        _ => Errno::IO,
    };
    error.raw_os_error().or_else(|| inside.map(Error::errno)).unwrap_or_else(|| nearest().raw_os_error())
}

fn refused(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::NotFound => Errno::NOENT,
        Refusal::Exists => Errno::EXIST,
        Refusal::NotDirectory => Errno::NOTDIR,
        Refusal::IsDirectory => Errno::ISDIR,
        Refusal::NotEmpty => Errno::NOTEMPTY,
        Refusal::NameTooLong => Errno::NAMETOOLONG,
        Refusal::Invalid => Errno::INVAL,
        Refusal::Loop => Errno::LOOP,
        Refusal::NotPermitted => Errno::PERM,
        Refusal::Denied => Errno::ACCESS,
        Refusal::ReadOnly => Errno::ROFS,
        Refusal::NoSpace | Refusal::NoInodes => Errno::NOSPC,
        Refusal::Quota => Errno::DQUOT,
        Refusal::TooBig => Errno::FBIG,
        Refusal::TooManyLinks => Errno::MLINK,
        Refusal::NoAttribute => Errno::NODATA,
        Refusal::Range => Errno::RANGE,
        Refusal::AttributeTooBig => Errno::TOOBIG,
        Refusal::NotSupported => Errno::OPNOTSUPP,
        Refusal::BeyondEnd => Errno::NXIO,
        Refusal::Stale => Errno::STALE,
        Refusal::Busy => Errno::BUSY,
        Refusal::CrossDevice => Errno::XDEV,
        Refusal::NoMemory => Errno::NOMEM,
        Refusal::Changed => Errno::AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_number_of_its_own_and_none_is_io() {
        use Refusal::*;
        let all = [
            NotFound,
            Exists,
            NotDirectory,
            IsDirectory,
            NotEmpty,
            NameTooLong,
            Invalid,
            Loop,
            NotPermitted,
            Denied,
            ReadOnly,
            NoSpace,
            Quota,
            TooBig,
            TooManyLinks,
            NoAttribute,
            Range,
            AttributeTooBig,
            NotSupported,
            BeyondEnd,
            Stale,
            Busy,
            CrossDevice,
            NoMemory,
        ];
        let errno = |error: &Error| error.errno();
        let mut numbers: Vec<i32> = all.iter().map(|&r| errno(&r.into())).collect();
        assert!(!numbers.contains(&Errno::IO.raw_os_error()));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all.len());
        assert_eq!(errno(&NoInodes.into()), Errno::NOSPC.raw_os_error());
        assert_eq!(errno(&Error::io("disk")), Errno::IO.raw_os_error());
        assert_eq!(errno(&Error::corrupt("image")), Errno::UCLEAN.raw_os_error());
        assert_eq!(errno(&Error::bug("invariant")), Errno::IO.raw_os_error());
    }

    #[test]
    fn an_error_of_std_io_keeps_its_number() {
        assert_eq!(errno_of(&io::Error::from_raw_os_error(28)), 28);
        assert_eq!(errno_of(&Error::from(Refusal::NotEmpty).into()), Errno::NOTEMPTY.raw_os_error());
        assert_eq!(errno_of(&io::ErrorKind::NotFound.into()), Errno::NOENT.raw_os_error());
    }
}
