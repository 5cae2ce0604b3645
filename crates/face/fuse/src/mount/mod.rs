//! Mounting: root uses mount(2), all other users `fusermount3`.
//!
//! M1. Permissions are always checked by the kernel, and set-user-id files and devices inside an image are not honoured
//!     unless root says so: an image is a user's file, and may contain anything.
//! M2. A refused mount leaves nothing behind, and the error says in one line what to do.

mod error;
mod helper;
mod lease;
mod mark;
mod options;
mod place;
pub mod record;
pub mod remount;
pub mod status;
pub mod sync;
pub mod table;
pub mod unmount;

pub use error::MountError;
pub use lease::Lease;
use lease::Waiter;
use mark::Mark;
pub use options::MountOptions;
use place::By;
pub(crate) use place::MountPoint;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::process::{getegid, geteuid};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use table::FS_TYPE;

/// How far the kernel reads ahead, in KiB, where this can be set: four transfers. With one, the server waits for the
/// next request while the reader copies the last reply (docs/benchmarks.md).
const READ_AHEAD_KIB: u32 = 4 * crate::transport::MAX_TRANSFER / 1024;

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
    let id = mounted.map(|mounted| mounted.id());
    Ok(Session { fd, mounted: Guard(MountPoint { dir, by, id }), lease })
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
