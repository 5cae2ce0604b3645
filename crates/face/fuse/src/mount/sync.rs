//! Making a mounted volume durable from outside.
//!
//! For a FUSE mount, sync(2) and syncfs(2) end in the kernel: it writes back its own dirty pages (of memory maps), and
//! does not notify the server. fsync(2) is passed on, and for an fsync of the root the server makes everything durable.

use super::error::MountError;
use super::table::our_mount;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// Returns when all changes of the volume mounted at `dir` are durable.
///
/// # Errors
/// [`MountError`] if no OrdoFS mount is at `dir`, or if something could not be written.
pub fn sync(dir: &Path) -> Result<(), MountError> {
    let mounted = our_mount(dir)?;
    let failed = |errno| match errno {
        Errno::NOTCONN => MountError::Dead(dir.into()),
        Errno::ACCESS | Errno::PERM => MountError::Permission(dir.into()),
        errno => MountError::System { doing: "writing back", path: dir.into(), errno },
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(&mounted.dir, flags, Mode::empty()).map_err(failed)?;
    rustix::fs::syncfs(&root).map_err(failed)?;
    rustix::fs::fsync(&root).map_err(failed)
}
