//! The buffer cache, and the seam that every scheme stands behind.
//!
//! The engine changes metadata in memory, in *bufs*, and tells the scheme each *step*. The cache asks the scheme what
//! may leave, and tells it what has landed. Nothing above this crate calls the disk.
//!
//! B1. A buf is found by what it *is* ([`Key`]), never by where it lives: a file's block keeps its buf when the block
//!     moves, and a layout that places blocks late (a log-structured one) needs no address until the buf leaves.
//! B2. A write has ended when it is *durable*, not when the device says that it has it. [`Scheme::landed`] fires once
//!     for each image, after that, and never before. A scheme told too early would free what a crash still needs.
//! B3. What leaves is an image that nobody changes any more: a buf changed while its image is on the way gets a copy of
//!     its own (copy on write). A torn mixture of two states can so never reach the disk.
//! B4. A write that failed leaves the buf dirty, and its contents in memory. For metadata the volume turns read-only
//!     ([`Health`]), since an order that depended on that write cannot be kept any more.
//! B5. Memory is bounded: clean bufs go when room is needed, dirty ones are written first, and a caller who makes bufs
//!     dirty faster than the disk takes them waits.
//! B6. A buf that somebody holds is never evicted: holding a [`BufRef`] is the pin.
//! B7. Every write names its cause: the last call that changed the buf ([`Buf::cause`]). A step's bufs get the step's own
//!     call. A change that no step tells gets the call that runs: the cache forgets it while a call waits here, and
//!     remembers it when the call goes on. Only a call that waited for a lock, which the cache does not see, may go by
//!     another's name until its next step. A crash explorer that blames the wrong call would accuse an innocent rule.
//! B8. A scheme that locks what is on its way ([`WhileLeaving::Lock`]) lets nobody change a buf before its write has
//!     completed: whoever is about to asks [`Cache::before_change`], and changes the buf before he waits for anything
//!     else. It cannot stop: a write completes without any lock of the engine, and nobody waits for a buf and keeps a
//!     write from the disk meanwhile.

#![forbid(unsafe_code)]

mod buf;
mod cache;
mod call;
mod copies;
mod dirty;
mod evict;
mod health;
mod held;
mod landing;
mod leave;
mod promises;
mod scheme;
mod syncer;
mod ticket;
mod wrapper;

#[cfg(test)]
mod tests;

pub use buf::{Buf, BufRef, ImageNo, Key};
pub use cache::{Cache, CacheOptions, CacheStats, Syncer, Want};
pub use disk::Kind as Role;
pub use health::{Health, Trouble};
pub use held::{Held, How};
pub use landing::Landing;
pub use promises::{CrashLeaves, Durable, Promises};
pub use scheme::{
    Ahead, Answer, CallKind, Fields, Home, Leave, LogFile, LogKind, Must, Op, Pointers, Ready, Run, Scheme, Sequence,
    Slot, Step, Undo, WhileLeaving,
};
pub use ticket::{Freed, Ledger, Ticket, Told, Watch};
pub use wrapper::Wrapper;

/// A boxed future of this thread.
pub type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + 'a>>;
