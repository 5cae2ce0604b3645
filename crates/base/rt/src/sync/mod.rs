//! Locks for tasks of one thread: fair, cancellable, and free of cost when uncontended. Only an [`Inbox`] crosses
//! threads.
//!
//! S1. Waiting tasks are served in the order in which they came; no task overtakes the queue, so none starves.
//! S2. What a dropped future would have got goes to the next task in the queue: a cancelled call cannot lose a lock.
//! S3. An acquisition that need not wait is ready at its first poll and allocates nothing.

mod inbox;
mod lock;
mod notify;
mod oneshot;
mod semaphore;

pub use inbox::Inbox;
pub use lock::{Mutex, MutexGuard, ReadGuard, RwLock, WriteGuard};
pub use notify::{Notified, Notify};
pub use oneshot::{Closed, Receiver, Sender, oneshot};
pub use semaphore::{Acquire, OwnedPermit, Permit, Semaphore};
