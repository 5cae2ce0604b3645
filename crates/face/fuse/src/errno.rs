//! The errno that the kernel receives.

use ordo_vfs::Error;
use rustix::io::Errno;

/// The errno that the kernel receives for `error`.
pub(crate) fn errno(error: &Error) -> Errno {
    Errno::from_raw_os_error(error.errno())
}
