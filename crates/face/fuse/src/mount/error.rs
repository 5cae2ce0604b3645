//! Why a mount or unmount was refused, and what to do.

use rustix::io::Errno;
use std::ffi::OsString;
use std::path::PathBuf;

/// Why a mount or unmount was refused.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum MountError {
    #[error("{0}: not a directory; name an existing directory to mount on")]
    NotDirectory(PathBuf),
    #[error("{0}: no such directory; make it first")]
    Missing(PathBuf),
    #[error("{0}: a FUSE file system is mounted there already; unmount it first (ordo umount {0})")]
    Busy(PathBuf),
    #[error("{0}: a mount whose server is gone; remove it first (ordo umount {0})")]
    Dead(PathBuf),
    #[error("{0}: no permission; run as root, or choose a directory of your own")]
    Permission(PathBuf),
    #[error("/dev/fuse is missing; load the module (modprobe fuse), or give this container the device")]
    NoDevice,
    #[error("fusermount3 is missing; install the package fuse3, or run as root")]
    NoHelper,
    #[error("only root may mount with suid, dev or runas")]
    RootOnly,
    #[error("fusermount3 refused: {0}")]
    Helper(String),
    #[error("{0}: not mounted")]
    NotMounted(PathBuf),
    #[error("{0}: {1} is mounted there, not an OrdoFS volume; use umount(8)")]
    NotOurs(PathBuf, String),
    #[error("{0}: in use; leave it and close its files (fuser -vm {0} lists them)")]
    InUse(PathBuf),
    #[error(
        "{0}: its server is gone, and a program is still in it; end that program (fuser -vm {0} lists it), or detach \
         the mount now: ordo umount -l {0}"
    )]
    DeadInUse(PathBuf),
    #[error(
        "{0}: the volume was opened for reading only (with ro, or since it needs a check): unmount it, and mount it \
         with rw. If mount -i has made it read-only, mount -i -o remount,rw {0} undoes that"
    )]
    ServedReadOnly(PathBuf),
    #[error("{0}: it is read-only now; what was written before is durable after its user has run ordo sync {0}")]
    NotDurable(PathBuf),
    #[error("{0}: {src} is mounted there; name it, or the directory alone (mount -o remount)", src = .1.display())]
    OtherSource(PathBuf, OsString),
    #[error("{0}: the mount has the option {1}, which is unknown here and would be lost; use mount -i -o remount")]
    UnknownFlag(PathBuf, String),
    #[error("{0}: a program has a file open for writing there; close it (fuser -vm {0} lists who is there)")]
    Written(PathBuf),
    #[error("{0}: another program records it")]
    Recorded(PathBuf),
    #[error(
        "{0}: its volume has no attributes, and the kernel asks for none any more; unmount, mount and record again"
    )]
    NoAttributes(PathBuf),
    #[error("{0}: its server cannot record; unmount it and mount it again")]
    NoRecorder(PathBuf),
    #[error("{doing} {path}: {errno}")]
    System { doing: &'static str, path: PathBuf, errno: Errno },
    #[error("the table of mounts cannot be read: {0}; is /proc mounted?")]
    Table(std::io::Error),
}
