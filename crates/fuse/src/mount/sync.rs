//! Making a mounted volume durable from outside.
//!
//! sync(2) and syncfs(2) end in the kernel for a FUSE mount: it writes back what it has itself, which is what was changed
//! through memory maps, and does not ask the server. fsync(2) it passes on, and of the root the server makes everything
//! durable.

use super::{MountError, our_mount};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// Returns when everything that was changed on the volume mounted at `dir` is durable.
///
/// # Errors
/// [`MountError`] where no mount of ours is at `dir`, or where something could not be written.
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
