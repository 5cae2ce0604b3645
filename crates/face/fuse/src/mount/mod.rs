//! Mounting: root uses mount(2), all other users `fusermount3`.
//!
//! M1. Permissions are always checked by the kernel, and set-user-id files and devices inside an image are not honoured
//!     unless root says so: an image is a user's file, and may contain anything.
//! M2. A refused mount leaves nothing behind, and the error says in one line what to do.

mod helper;
mod lease;
mod options;
pub mod record;
pub mod remount;
pub mod status;
pub mod sync;
pub mod table;
pub mod unmount;

pub use lease::Lease;
pub use options::MountOptions;

use lease::Waiter;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::process::{getegid, geteuid};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::{CString, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The file system type of our mounts.
pub const FS_TYPE: &str = "fuse.ordo";
/// How far the kernel reads ahead, in KiB, where this can be set: four transfers. With one, the server waits for the
/// next request while the reader copies the last reply (docs/benchmarks.md).
const READ_AHEAD_KIB: u32 = 4 * crate::transport::MAX_TRANSFER / 1024;

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

/// The place of a mount, and who may end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountPoint {
    dir: PathBuf,
    by: By,
    /// The device number of the mount. A mount with another number is not unmounted.
    device: Option<String>,
}

/// Who mounts and unmounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Root,
    Helper,
}

impl By {
    fn now() -> By {
        if geteuid().is_root() { By::Root } else { By::Helper }
    }
}

/// What tells a mount from all others that have, or have had, its device number: the most that the kernel asks for in
/// one read. It is the one number of a FUSE mount that the table of mounts shows and that may be anything: beyond
/// [`MAX_TRANSFER`](crate::transport::MAX_TRANSFER) it limits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark(u32);

impl Mark {
    /// Milliseconds, which come again after 24 days. A number that is free again within one has had no server.
    fn new() -> Mark {
        let now = clock_gettime(ClockId::Boottime);
        let millis = now.tv_sec.wrapping_mul(1000).wrapping_add(now.tv_nsec / 1_000_000);
        Mark(1 << 31 | (millis & i64::from(i32::MAX)) as u32)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "max_read={}", self.0)
    }
}

/// A mount that has no server yet. Dropping it unmounts.
#[derive(Debug)]
pub struct Session {
    // Dropped in this order. If the device stayed open, the unmount would wait for the answer to a request that is
    // never read.
    fd: OwnedFd,
    mounted: Guard,
    lease: Option<Lease>,
}

/// Unmounts when it is dropped, if the mount still exists.
#[derive(Debug)]
pub(crate) struct Guard(MountPoint);

impl Drop for Guard {
    fn drop(&mut self) {
        // If it fails, the mount stays, and answers with errors; `umount` says so.
        let _ = unmount::detach(&self.0);
    }
}

impl Session {
    /// Where it is mounted.
    pub fn dir(&self) -> &Path {
        &self.mounted.0.dir
    }

    pub(crate) fn place(&self) -> MountPoint {
        self.mounted.0.clone()
    }

    pub(crate) fn into_parts(self) -> (OwnedFd, Guard, Option<Lease>) {
        (self.fd, self.mounted, self.lease)
    }
}

/// Mounts on `dir`. The mount is usable as soon as [`crate::serve`] has answered its first request.
///
/// # Errors
/// [`MountError`]; nothing is mounted then.
pub fn mount(dir: &Path, opts: &MountOptions) -> Result<Session, MountError> {
    let dir = check(dir)?;
    let by = By::now();
    let fd = match by {
        By::Root => direct(&dir, opts, Mark::new())?,
        By::Helper => helper::mount(&dir, opts, Mark::new())?,
    };
    let mounted = table::mounted_at(&dir).map_err(MountError::Table)?;
    // Without a lease everything works except the wait at the end of `umount`.
    let lease = mounted.as_ref().and_then(|mounted| Lease::take(mounted).ok());
    if let (By::Root, Some(mounted)) = (by, &mounted) {
        // This affects only speed; it is refused where /sys is read-only.
        let _ = std::fs::write(format!("/sys/class/bdi/{}/read_ahead_kb", mounted.device), READ_AHEAD_KIB.to_string());
    }
    let device = mounted.map(|mounted| mounted.device);
    Ok(Session { fd, mounted: Guard(MountPoint { dir, by, device }), lease })
}

/// The OrdoFS mount at `dir`.
///
/// # Errors
/// [`MountError`] if there is none, or it belongs to another file system.
fn our_mount(dir: &Path) -> Result<table::Mounted, MountError> {
    let absolute = table::absolute(dir).map_err(|_| MountError::Missing(dir.into()))?;
    match table::mounted_at(&absolute).map_err(MountError::Table)? {
        None => Err(MountError::NotMounted(absolute)),
        Some(mounted) if mounted.kind == FS_TYPE => Ok(mounted),
        Some(other) => Err(MountError::NotOurs(absolute, other.kind)),
    }
}

/// The canonical path of the directory, if it can be mounted on.
fn check(dir: &Path) -> Result<PathBuf, MountError> {
    let refuse = |error: std::io::Error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => MountError::Missing(dir.into()),
        Some(Errno::NOTCONN) => MountError::Dead(dir.into()),
        Some(Errno::ACCESS | Errno::PERM) => MountError::Permission(dir.into()),
        Some(Errno::NOTDIR) => MountError::NotDirectory(dir.into()),
        errno => MountError::System { doing: "looking at", path: dir.into(), errno: errno.unwrap_or(Errno::IO) },
    };
    let path = table::absolute(dir).map_err(refuse)?;
    match table::mounted_at(&path).map_err(MountError::Table)? {
        // Without accessing it: a server that hangs would make this process hang.
        Some(mounted) if mounted.kind == FS_TYPE && Waiter::find(&mounted).is_none() => {
            return Err(MountError::Dead(path));
        }
        Some(mounted) if mounted.kind.starts_with("fuse") => return Err(MountError::Busy(path)),
        _ => {}
    }
    if !std::fs::metadata(&path).map_err(refuse)?.is_dir() {
        return Err(MountError::NotDirectory(path));
    }
    path.canonicalize().map_err(refuse)
}

/// Opens the device.
fn open_device() -> Result<OwnedFd, MountError> {
    rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => MountError::NoDevice,
        Errno::ACCESS | Errno::PERM => MountError::Permission("/dev/fuse".into()),
        errno => MountError::System { doing: "opening", path: "/dev/fuse".into(), errno },
    })
}

fn direct(dir: &Path, opts: &MountOptions, mark: Mark) -> Result<OwnedFd, MountError> {
    let fd = open_device()?;
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions,{mark}",
        fd.as_raw_fd(),
        geteuid().as_raw(),
        getegid().as_raw()
    );
    if opts.allow_other {
        data.push_str(",allow_other");
    }
    let flags = [
        (opts.read_only, MountFlags::RDONLY),
        (!opts.suid, MountFlags::NOSUID),
        (!opts.dev, MountFlags::NODEV),
        (opts.noexec, MountFlags::NOEXEC),
        (opts.noatime, MountFlags::NOATIME),
        (opts.sync, MountFlags::SYNCHRONOUS),
        (opts.dirsync, MountFlags::DIRSYNC),
    ];
    let flags = flags.iter().filter(|(on, _)| *on).fold(MountFlags::empty(), |all, (_, flag)| all | *flag);
    let failed = |errno| match errno {
        Errno::PERM | Errno::ACCESS => MountError::Permission(dir.into()),
        Errno::NODEV => MountError::NoDevice,
        Errno::BUSY => MountError::Busy(dir.into()),
        errno => MountError::System { doing: "mounting on", path: dir.into(), errno },
    };
    // The text has no NUL: it is made of numbers and the words above.
    let data = CString::new(data).map_err(|_| failed(Errno::INVAL))?;
    rustix::mount::mount(&opts.source, dir, FS_TYPE, flags, Some(data.as_c_str())).map_err(failed)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_a_mount_point_is_refused_with_the_reason() {
        assert!(matches!(check(Path::new("/no/such/dir")), Err(MountError::Missing(_))));
        assert!(matches!(check(Path::new("/etc/hostname")), Err(MountError::NotDirectory(_))));
        let text = check(Path::new("/no/such/dir")).unwrap_err().to_string();
        assert_eq!(text, "/no/such/dir: no such directory; make it first");
    }
}
