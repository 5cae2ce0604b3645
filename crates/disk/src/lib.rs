//! Disks, and the queue that turns *completed* writes into *durable* ones.
//!
//! A [`Disk`] reads, writes and flushes: a file or block device, RAM, a part of another disk, a recorder or a fault
//! injector around another disk. A [`Queue`] stands on one disk and is what everybody else uses: it orders and merges
//! requests, keeps overlapping ones in the order in which they were issued, and tells when a write is durable.
//!
//! The invariants of durability are stated, numbered, in the queue's own page: [`queue`].
// Not `forbid`: `engine/uring.rs` shares memory with the kernel. Nothing else may be unsafe.
#![deny(unsafe_code)]

mod block;
mod device;
mod engine;
mod error;
mod faulty;
mod file;
pub mod queue;
mod ram;
mod recorder;
mod slice;
#[cfg(test)]
mod slow;

pub use block::{Block, Image, SECTOR};
pub use device::{Disk, DiskFuture, DiskInfo, DiskOff, Kind, ReadPart, Tag, WritePart, read_len, write_len};
pub use error::{Cause, DiskError, DiskOp, OpenError};
pub use faulty::{Effect, Fault, FaultPlan, Faulty, Injected};
pub use file::{EngineChoice, FileDisk, FileOptions};
pub use queue::{Queue, QueueOptions, Scheduler, Stats, Written};
pub use ram::RamDisk;
pub use recorder::{Event, RecordedPart, Recorder};
pub use slice::Slice;
