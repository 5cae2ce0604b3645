//! The buffer cache, and the seam between the engine and the schemes.
//!
//! The engine changes metadata in memory, in *bufs*, and notifies the scheme of each *step*. Before the cache writes a
//! buf (the buf *leaves*), it asks the scheme which bytes may be written. When an image is durable (it has *landed*),
//! it notifies the scheme. Nothing above this crate calls the disk.
//!
//! B1. The key of a buf says what the buf *is* ([`Key`]), not where it lives. A file's block keeps its buf when the
//!     block moves, and a layout that places blocks late (a log-structured one) needs no address until the buf is
//!     written.
//! B2. A write ends when it is *durable*, not when the device has completed it. [`Scheme::landed`] is called after
//!     that, once for each image. A scheme notified earlier would free what a crash still needs.
//! B3. A buf is written from an image that does not change any more. Changing a buf whose image is in flight makes a
//!     private copy first (copy on write), so a torn mixture of two states never reaches the disk.
//! B4. A failed write leaves the buf dirty and its contents in memory. If the buf holds metadata, the volume turns
//!     read-only ([`Health`]): an order that depended on that write can no longer be kept.
//! B5. Memory is bounded. To make room the cache evicts clean bufs and writes dirty ones first. A caller that dirties
//!     bufs faster than the disk writes them waits.
//! B6. Holding a [`BufRef`] pins the buf: it is not evicted.
//! B7. Every write names its cause, the last call that changed the buf ([`Buf::cause`]): the step's call if a step
//!     reports the change, else the running call. The cache clears the running call while a call waits here and
//!     restores it afterwards. After waiting for an inode lock, which the cache cannot see, a call's writes may be
//!     attributed to another call until its next step. A wrong attribution misleads the crash explorer.
//! B8. With [`WhileLeaving::Lock`] a buf must not change while its image is in flight. The engine awaits
//!     [`Cache::before_change`], then modifies the buf before its next await. This cannot deadlock: completing a write
//!     takes no lock of the engine, and no task keeps a write from the disk while it waits for a buf.
//! B9. On a disk of which only the times are wanted (disk-sim-4) the contents of regular files are not kept: their bufs
//!     read as zeros and take no memory, whatever is written to them. Everything else keeps its bytes: directories,
//!     targets of symbolic links, attributes, logs, metadata. Such a disk is a modelled drive in the laboratory; on any
//!     other one every byte is kept, and no option of a mount changes that.

#![forbid(unsafe_code)]

mod answer;
mod batch;
mod buf;
mod cache;
mod call;
mod capability;
mod copies;
mod dirty;
mod evict;
mod flight;
mod health;
mod held;
mod home;
mod landing;
mod leave;
mod policy;
mod promises;
mod scheme;
mod stats;
mod step;
mod syncer;
mod ticket;
mod undo;
mod wrapper;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Leave, Must};
pub use buf::{Buf, BufRef, ImageNo, Key};
pub use cache::{Cache, Want};
pub use capability::{
    Ahead, Capabilities, Defers, Explains, InStream, KeepsLog, LogFile, LogKind, OrdersQueue, Ready, SeesChanges,
    Sequence, TracksBufs, TracksInodes, WhileLeaving,
};
pub use health::{Health, Trouble};
pub use held::{Held, How};
pub use home::{Batch, Home};
pub use landing::Landing;
pub use ordo_disk::Kind as Role;
pub use policy::{BufCounts, COMMIT, Policy, Spread, Syncer};
pub use promises::{CrashLeaves, Durable, Promises};
pub use scheme::Scheme;
pub use stats::CacheStats;
pub use step::{CallKind, Fields, Gone, Op, Run, Slot, Step, With};
pub use ticket::{Freed, Ledger, Ticket, TicketEvent, Watch};
pub use undo::{OldAttributes, Pointers, Undo};
pub use wrapper::Wrapper;

/// A boxed future of this thread.
pub type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + 'a>>;
