//! Requests on their way from the connections' threads to the executor's, and the room that they may take.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use ordo_disk::Block;
use ordo_rt::sync::Inbox;

use crate::reply::Reply;
use crate::request::Request;

/// The most requests of one connection that are under way.
const REQUESTS_MOST: u32 = 64;
/// The most bytes of them; one request may have as many.
const BYTES_MOST: u64 = crate::REQUEST_MOST as u64;

/// A request, its data, and where its reply goes.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) data: Vec<Block>,
    /// What was negotiated.
    pub(crate) session: Session,
    pub(crate) answer: mpsc::Sender<Reply>,
    pub(crate) room: Room,
}

/// What client and server agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Session {
    /// Replies are structured.
    pub(crate) structured: bool,
    /// The client may ask for holes.
    pub(crate) contexts: bool,
}

/// A mutex protects no more than one change here, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The jobs that the executor has not begun.
pub(crate) type Jobs = Inbox<Job>;

/// What is under way for one connection (serving-3).
#[derive(Default)]
pub(crate) struct Bounds {
    used: Mutex<(u32, u64)>,
    freed: Condvar,
}

/// A part of the bounds, given back when this is dropped.
pub(crate) struct Room {
    of: Arc<Bounds>,
    bytes: u64,
}

impl Bounds {
    /// Waits until a request of so many bytes has room. It has room at the latest when it is alone.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Room {
        let mut used = lock(&self.used);
        while used.0 >= REQUESTS_MOST || used.0 > 0 && used.1 + bytes > BYTES_MOST {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used = (used.0 + 1, used.1 + bytes);
        Room { of: self.clone(), bytes }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut used = lock(&self.of.used);
        *used = (used.0 - 1, used.1 - self.bytes);
        self.of.freed.notify_one();
    }
}
