//! One thread, one clock: the executor under everything.
//!
//! The engine awaits only three things: the disk, a lock of its own, the clock. This crate provides the waiting for all
//! three. The same code runs in *virtual time*, where the clock moves only when nothing is ready, and in *real time*,
//! where the executor sleeps in `poll(2)` until a descriptor, a timer or another thread wakes it.
//!
//! R1. Tasks run in the order in which they became ready, and timers of one instant fire in the order in which they
//!     were set. In virtual time nothing else decides an order, so the same seed gives the same run.
//! R2. In virtual time the clock moves only when no task is ready and no task awaits a descriptor. The outside world (a
//!     real file) therefore takes no virtual time, and cannot lose a race against a timer.
//! R3. A future that is ready at its first poll costs [`Rt::block_on`] no allocation and no system call.
//! R4. A waker may be called from any thread; everything else stays on the thread that made the [`Rt`].
//! R5. A task that waits for the very next event need not give way: nobody else would run before it. Then the clock may
//!     move while the task is being polled ([`Rt::charge_alone`]), and the run is the same.
//! R6. Nothing blocks this thread, since all callers wait for it. The exception is a short system call while there is
//!     one caller ([`Rt::has_one_caller`]): handing the call to another thread costs two wake-ups of a CPU.
//! R7. Tasks hold handles of their executor, and what they wait with, descriptors too: one that is only forgotten is
//!     never freed. Who makes one for a piece of work makes an [`OwnRt`], or calls [`Rt::drop_tasks`] at the end.
#![forbid(unsafe_code)]

mod exec;
mod join;
mod own;
mod ready;
mod rng;
pub mod sync;
mod time;
mod timer;
mod timers;
mod watch;
mod watches;

pub use exec::{Rt, YieldNow};
pub use join::together;
pub use own::OwnRt;
pub use rng::{Rng, splitmix64};
pub use time::Time;
pub use timer::Sleep;
pub use watch::{Readable, Watch};
