//! Conversions between the host's types and ours.

use ordo_ondisk::dinode::flags::{SF_APPEND, SF_IMMUTABLE, UF_NODUMP};
use ordo_vfs::{Attr, Error, Kind, Mode, Refusal, Result, Stamp};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, IFlags, Statx, StatxAttributes, StatxFlags, StatxTimestamp, makedev, statx};
use rustix::io::Errno;

/// Device and inode number on the host.
pub(super) type FileKey = (u64, u64);

/// An error number as a refusal; one without a counterpart is an I/O failure.
pub(super) fn refusal(errno: Errno) -> Error {
    let refusal = match errno {
        Errno::NOENT => Refusal::NotFound,
        Errno::EXIST => Refusal::Exists,
        Errno::NOTDIR => Refusal::NotDirectory,
        Errno::ISDIR => Refusal::IsDirectory,
        Errno::NOTEMPTY => Refusal::NotEmpty,
        Errno::NAMETOOLONG => Refusal::NameTooLong,
        Errno::INVAL => Refusal::Invalid,
        Errno::PERM => Refusal::NotPermitted,
        Errno::ACCESS => Refusal::Denied,
        Errno::ROFS => Refusal::ReadOnly,
        Errno::NOSPC | Errno::DQUOT => Refusal::NoSpace,
        Errno::FBIG => Refusal::TooBig,
        Errno::MLINK => Refusal::TooManyLinks,
        Errno::NODATA => Refusal::NoAttribute,
        Errno::RANGE => Refusal::Range,
        Errno::TOOBIG => Refusal::AttributeTooBig,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY => Refusal::NotSupported,
        Errno::NXIO => Refusal::BeyondEnd,
        Errno::STALE => Refusal::Stale,
        Errno::BUSY | Errno::TXTBSY => Refusal::Busy,
        Errno::XDEV => Refusal::CrossDevice,
        Errno::NOMEM => Refusal::NoMemory,
        other => return Error::io(format!("the host says: {other}")),
    };
    refusal.into()
}

/// The path by which the host reaches an open descriptor.
pub(super) fn magic(fd: &OwnedFd) -> Vec<u8> {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes()
}

/// Attributes by one system call, and the file's key.
pub(super) fn stat(dir: &OwnedFd, path: &[u8], flags: AtFlags) -> Result<(FileKey, Attr)> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = statx(dir, path, flags, wanted).map_err(refusal)?;
    Ok(((makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino), attr(&stat)?))
}

fn attr(stat: &Statx) -> Result<Attr> {
    let kind = kind(FileType::from_raw_mode(stat.stx_mode.into()));
    let kind = kind.ok_or_else(|| Error::io(format!("the host knows a mode {:o}", stat.stx_mode)))?;
    let flag = |host, ours| if stat.stx_attributes.contains(host) { ours } else { 0 };
    Ok(Attr {
        ino: stat.stx_ino,
        generation: 0,
        kind,
        mode: Mode::new(stat.stx_mode.into()),
        nlink: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        rdev: if kind.is_device() { makedev(stat.stx_rdev_major, stat.stx_rdev_minor) } else { 0 },
        size: stat.stx_size,
        sectors: stat.stx_blocks,
        block_size: stat.stx_blksize,
        flags: flag(StatxAttributes::IMMUTABLE, SF_IMMUTABLE)
            | flag(StatxAttributes::APPEND, SF_APPEND)
            | flag(StatxAttributes::NODUMP, UF_NODUMP),
        atime: stamp(&stat.stx_atime),
        mtime: stamp(&stat.stx_mtime),
        ctime: stamp(&stat.stx_ctime),
        birth: (stat.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| stamp(&stat.stx_btime)),
    })
}

fn stamp(time: &StatxTimestamp) -> Stamp {
    Stamp { secs: time.tv_sec, nanos: time.tv_nsec }
}

/// Our flags that the host has, and its names for them.
const FLAGS: [(u32, IFlags); 3] =
    [(SF_IMMUTABLE, IFlags::IMMUTABLE), (SF_APPEND, IFlags::APPEND), (UF_NODUMP, IFlags::NODUMP)];

/// The host's flags, with the bits that we know replaced by ours.
///
/// # Errors
/// `NotSupported` for a flag that the host does not have.
pub(super) fn flags(old: IFlags, ours: u32) -> Result<IFlags> {
    let known = FLAGS.iter().fold(0, |known, (flag, _)| known | flag);
    if ours & !known != 0 {
        return Err(Refusal::NotSupported.into());
    }
    let mut flags = old;
    FLAGS.iter().for_each(|(flag, host)| flags.set(*host, ours & flag != 0));
    Ok(flags)
}

/// Our kind; `None` if the host does not report it.
pub fn kind(kind: FileType) -> Option<Kind> {
    Some(match kind {
        FileType::Fifo => Kind::Fifo,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::Directory => Kind::Directory,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::RegularFile => Kind::Regular,
        FileType::Symlink => Kind::Symlink,
        FileType::Socket => Kind::Socket,
        FileType::Unknown => return None,
    })
}

/// The file type for `mknod`; `None` for one that it does not make.
pub(super) fn special(kind: Kind) -> Option<FileType> {
    Some(match kind {
        Kind::Fifo => FileType::Fifo,
        Kind::CharDevice => FileType::CharacterDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::Socket => FileType::Socket,
        Kind::Directory | Kind::Regular | Kind::Symlink => return None,
    })
}
