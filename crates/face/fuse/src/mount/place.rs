//! The place of a mount, and who may end it.

use rustix::process::geteuid;
use std::path::PathBuf;

/// The place of a mount, and who may end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountPoint {
    pub(super) dir: PathBuf,
    pub(super) by: By,
    /// The device number of the mount. A mount with another number is not unmounted.
    pub(super) device: Option<String>,
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
