//! Why a service ends.

use crate::transport::Gone;

/// Why the service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The file system was unmounted, or its connection aborted.
    Unmounted,
    /// A second signal came while the mount was still in use. Its users get errors from now on.
    Signalled,
    /// A signal came, and this process, which has given up its rights, may not unmount: the mount stays, and all of its
    /// users get errors from now on.
    MayNotUnmount,
    /// The device failed.
    Failed(Gone),
    /// Calls waited for a disk that does not answer, and a signal came: the volume cannot be closed.
    GivenUp,
}
