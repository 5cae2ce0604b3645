//! The place of a mount, and who may end it.

use super::table::FileSystemId;
use rustix::process::geteuid;
use std::path::PathBuf;

/// The place of a mount, and who may end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountPoint {
    pub(super) dir: PathBuf,
    pub(super) by: By,
    /// The file system of the mount. A mount of another one is not unmounted.
    pub(super) id: Option<FileSystemId>,
}

/// Who mounts and unmounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Root,
    Helper,
}

impl By {
    pub(super) fn now() -> By {
        if geteuid().is_root() { By::Root } else { By::Helper }
    }
}
