//! Locks for tasks of one thread: fair, cancellable, and free of charge when nobody else wants them.
//!
//! S1. Whoever asked first is served first; nobody overtakes the queue, so nobody starves.
//! S2. What is given up by a dropped future goes to the next in the queue: a cancelled call cannot lose a lock.
//! S3. An acquisition that need not wait is ready at its first poll and allocates nothing.

mod lock;
mod notify;
mod oneshot;
mod semaphore;

pub use lock::{Mutex, MutexGuard, ReadGuard, RwLock, WriteGuard};
pub use notify::{Notified, Notify};
pub use oneshot::{Closed, Receiver, Sender, oneshot};
pub use semaphore::{Acquire, OwnedPermit, Permit, Semaphore};
