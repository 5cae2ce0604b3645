//! Between the file system's values and those of the protocol.

use nfs3_types::nfs3::{
    Nfs3Option, fattr3, ftype3, nfsstat3, nfstime3, sattr3, set_atime, set_mtime, specdata3, wcc_attr,
};
use ordo_vfs::{Attr, Error, Kind, Mode, Refusal, SetAttr, SetTime, Stamp};

/// The protocol has no times before 1970 and after 2106: they are shown as the nearest it has.
pub(crate) fn time(stamp: Stamp) -> nfstime3 {
    match u32::try_from(stamp.secs) {
        Ok(seconds) => nfstime3 { seconds, nseconds: stamp.nanos },
        Err(_) if stamp.secs < 0 => nfstime3::default(),
        Err(_) => nfstime3 { seconds: u32::MAX, nseconds: 0 },
    }
}

fn stamp(time: nfstime3) -> Stamp {
    Stamp { secs: time.seconds.into(), nanos: time.nseconds.min(999_999_999) }
}

pub(crate) fn kind(kind: Kind) -> ftype3 {
    match kind {
        Kind::Regular => ftype3::NF3REG,
        Kind::Directory => ftype3::NF3DIR,
        Kind::BlockDevice => ftype3::NF3BLK,
        Kind::CharDevice => ftype3::NF3CHR,
        Kind::Symlink => ftype3::NF3LNK,
        Kind::Socket => ftype3::NF3SOCK,
        Kind::Fifo => ftype3::NF3FIFO,
    }
}

/// Linux's encoding of a device number.
pub(crate) fn rdev(spec: &specdata3) -> u64 {
    let (major, minor) = (u64::from(spec.specdata1), u64::from(spec.specdata2));
    (minor & 0xff) | (major & 0xfff) << 8 | (minor & 0xf_ff00) << 12
}

fn spec(rdev: u64) -> specdata3 {
    specdata3 { specdata1: ((rdev >> 8) & 0xfff) as u32, specdata2: ((rdev & 0xff) | (rdev >> 12 & 0xf_ff00)) as u32 }
}

pub(crate) fn attributes(volume: u64, attr: &Attr) -> fattr3 {
    fattr3 {
        type_: kind(attr.kind),
        mode: attr.mode.bits().into(),
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size,
        used: attr.sectors.saturating_mul(512),
        rdev: spec(attr.rdev),
        fsid: volume,
        fileid: attr.ino,
        atime: time(attr.atime),
        mtime: time(attr.mtime),
        ctime: time(attr.ctime),
    }
}

/// What a client compares to learn whether only its own call has changed a file.
pub(crate) fn before(attr: &Attr) -> wcc_attr {
    wcc_attr { size: attr.size, mtime: time(attr.mtime), ctime: time(attr.ctime) }
}

fn option<T: Copy + nfs3_types::xdr_codec::Pack + nfs3_types::xdr_codec::Unpack>(value: &Nfs3Option<T>) -> Option<T> {
    match value {
        Nfs3Option::Some(value) => Some(*value),
        Nfs3Option::None => None,
    }
}

pub(crate) fn set(wanted: &sattr3) -> SetAttr {
    SetAttr {
        mode: option(&wanted.mode).map(Mode::new),
        uid: option(&wanted.uid),
        gid: option(&wanted.gid),
        size: option(&wanted.size),
        atime: match wanted.atime {
            set_atime::DONT_CHANGE => None,
            set_atime::SET_TO_SERVER_TIME => Some(SetTime::Now),
            set_atime::SET_TO_CLIENT_TIME(time) => Some(SetTime::At(stamp(time))),
        },
        mtime: match wanted.mtime {
            set_mtime::DONT_CHANGE => None,
            set_mtime::SET_TO_SERVER_TIME => Some(SetTime::Now),
            set_mtime::SET_TO_CLIENT_TIME(time) => Some(SetTime::At(stamp(time))),
        },
        ..SetAttr::default()
    }
}

pub(crate) fn status(error: &Error) -> nfsstat3 {
    match error {
        Error::Refused(refusal) => refused(*refusal),
        Error::Io(_) | Error::Corrupt(_) => nfsstat3::NFS3ERR_IO,
        _ => nfsstat3::NFS3ERR_SERVERFAULT,
    }
}

fn refused(refusal: Refusal) -> nfsstat3 {
    match refusal {
        Refusal::NotFound => nfsstat3::NFS3ERR_NOENT,
        Refusal::Exists => nfsstat3::NFS3ERR_EXIST,
        Refusal::NotDirectory => nfsstat3::NFS3ERR_NOTDIR,
        Refusal::IsDirectory => nfsstat3::NFS3ERR_ISDIR,
        Refusal::NotEmpty => nfsstat3::NFS3ERR_NOTEMPTY,
        Refusal::NameTooLong => nfsstat3::NFS3ERR_NAMETOOLONG,
        Refusal::NotPermitted => nfsstat3::NFS3ERR_PERM,
        Refusal::Denied => nfsstat3::NFS3ERR_ACCES,
        Refusal::ReadOnly => nfsstat3::NFS3ERR_ROFS,
        Refusal::NoSpace | Refusal::NoInodes => nfsstat3::NFS3ERR_NOSPC,
        Refusal::Quota => nfsstat3::NFS3ERR_DQUOT,
        Refusal::TooBig => nfsstat3::NFS3ERR_FBIG,
        Refusal::TooManyLinks => nfsstat3::NFS3ERR_MLINK,
        Refusal::Stale => nfsstat3::NFS3ERR_STALE,
        Refusal::CrossDevice => nfsstat3::NFS3ERR_XDEV,
        Refusal::NotSupported => nfsstat3::NFS3ERR_NOTSUPP,
        Refusal::Changed => nfsstat3::NFS3ERR_NOT_SYNC,
        // A moment later it goes: the client waits, and calls again.
        Refusal::Busy | Refusal::NoMemory => nfsstat3::NFS3ERR_JUKEBOX,
        // Invalid, and what only calls return that the protocol does not have.
        _ => nfsstat3::NFS3ERR_INVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive_the_way_to_the_client_and_back() {
        for (major, minor) in [(0, 0), (8, 1), (4095, 255), (1, 256), (4095, 0xf_ffff)] {
            let wanted = specdata3 { specdata1: major, specdata2: minor };
            assert_eq!(spec(rdev(&wanted)), wanted);
        }
        assert_eq!(rdev(&specdata3 { specdata1: 8, specdata2: 1 }), 0x801);
    }

    #[test]
    fn times_that_the_protocol_cannot_tell_are_shown_as_the_nearest() {
        let at = |secs| time(Stamp { secs, nanos: 5 });
        assert_eq!(at(7), nfstime3 { seconds: 7, nseconds: 5 });
        assert_eq!(at(-1), nfstime3::default());
        assert_eq!(at(i64::from(u32::MAX) + 1).seconds, u32::MAX);
    }
}
