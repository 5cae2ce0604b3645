//! The room that the requests of a connection may take.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most requests of one connection that are under way.
const REQUESTS_MOST: u32 = 64;

/// The most bytes of them; one request may have as many.
const BYTES_MOST: u64 = crate::REQUEST_MOST as u64;

/// A mutex protects no more than one change here, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is under way for one connection (serving-3), and whether its client is gone.
#[derive(Default)]
pub(crate) struct Bounds {
    used: Mutex<Used>,
    freed: Condvar,
}

#[derive(Default)]
struct Used {
    requests: u32,
    bytes: u64,
    /// Nobody takes replies any more.
    gone: bool,
}

/// A part of the bounds, given back when this is dropped.
pub(crate) struct Room {
    of: Arc<Bounds>,
    bytes: u64,
}

impl Bounds {
    /// Waits until a request of so many bytes has room. It has room at the latest when it is alone. `None`: the client
    /// is gone, and what it has asked for is of no use.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Room> {
        let full = |used: &mut Used| {
            !used.gone && (used.requests >= REQUESTS_MOST || used.requests > 0 && used.bytes + bytes > BYTES_MOST)
        };
        let waited = self.freed.wait_while(lock(&self.used), full);
        let mut used = waited.unwrap_or_else(PoisonError::into_inner);
        if used.gone {
            return None;
        }
        (used.requests, used.bytes) = (used.requests + 1, used.bytes + bytes);
        Some(Room { of: self.clone(), bytes })
    }

    /// The client is gone. Who waits for room learns it at once.
    pub(crate) fn close(&self) {
        lock(&self.used).gone = true;
        self.freed.notify_all();
    }
}

impl Room {
    /// The client that asked is gone.
    pub(crate) fn is_for_nobody(&self) -> bool {
        lock(&self.of.used).gone
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut used = lock(&self.of.used);
        (used.requests, used.bytes) = (used.requests - 1, used.bytes - self.bytes);
        self.of.freed.notify_all();
    }
}
