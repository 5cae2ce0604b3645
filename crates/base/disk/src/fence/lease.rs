//! How long a disk that sends requests again may do so (fence-9).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ordo_rt::Time;
use rustix::time::{ClockId, clock_gettime};

/// Until when what changes a disk may be sent to it, by a clock that goes on while the machine sleeps. The claim
/// extends it; the disk's own threads ask. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Lease(Arc<AtomicU64>);

impl Lease {
    /// One that ends at this time of [`ordo_rt::Rt::now_with_sleep`], on an executor in real time.
    pub(crate) fn until(end: Time) -> Lease {
        Lease(Arc::new(AtomicU64::new(end.as_nanos())))
    }

    pub(super) fn extend(&self, end: Time) {
        // Relaxed: it guards no other memory, and an old value is only stricter.
        self.0.fetch_max(end.as_nanos(), Ordering::Relaxed);
    }

    /// Nothing that changes the disk may be sent any more.
    pub(crate) fn is_over(&self) -> bool {
        let now = clock_gettime(ClockId::Boottime);
        let now = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        now >= self.0.load(Ordering::Relaxed)
    }
}
