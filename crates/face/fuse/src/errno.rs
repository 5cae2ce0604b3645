//! Translates errors of a file system to Linux errno values: the only place that knows both.

use ordo_vfs::{Error, Refusal};
use rustix::io::Errno;

/// The errno that the kernel receives for `error`.
pub(crate) fn errno(error: &Error) -> Errno {
    match error {
        Error::Refused(refusal) => refused(*refusal),
        Error::Io(_) | Error::Bug(_) => Errno::IO,
        // EUCLEAN, as Linux's own file systems return for corrupted metadata.
        Error::Corrupt(_) => Errno::UCLEAN,
        // A kind that was added after this was written: the call failed, nothing more is known.
        _ => Errno::IO,
    }
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
        // A refusal that was added after this was written.
        _ => Errno::IO,
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
            NotPermitted,
            Denied,
            ReadOnly,
            NoSpace,
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
        let mut numbers: Vec<i32> = all.iter().map(|&r| errno(&r.into()).raw_os_error()).collect();
        assert!(!numbers.contains(&Errno::IO.raw_os_error()));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all.len());
        assert_eq!(errno(&NoInodes.into()), Errno::NOSPC);
        assert_eq!(errno(&Error::io("disk")), Errno::IO);
        assert_eq!(errno(&Error::corrupt("image")), Errno::UCLEAN);
        assert_eq!(errno(&Error::bug("invariant")), Errno::IO);
    }
}
