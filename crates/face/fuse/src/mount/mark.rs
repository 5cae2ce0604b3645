//! The mark of a mount.

use rustix::time::{ClockId, clock_gettime};
use std::fmt;

/// What tells a mount from all others that have, or have had, its device number: the most that the kernel asks for in
/// one read. It is the one number of a FUSE mount that the table of mounts shows and that may be anything: beyond
/// [`MAX_TRANSFER`](crate::transport::MAX_TRANSFER) it limits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u32);

impl Mark {
    /// Milliseconds, which come again after 24 days. A number that is free again within one has had no server.
    pub(super) fn new() -> Mark {
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
