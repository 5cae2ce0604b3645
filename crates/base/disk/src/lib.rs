//! Disks, and the queue that turns *completed* writes into *durable* ones.
//!
//! A [`Disk`] reads, writes and flushes: a file or block device, an export of a server, RAM, a part of another disk, or
//! one over another. A [`Queue`] stands on one disk, and all other crates use the queue: it orders and merges requests,
//! keeps overlapping ones in the order in which they were issued, and reports when a write is durable.
//!
//! The numbered invariants of durability are in the queue's own page: [`queue`].
// Not `forbid`: `engine/uring.rs` shares memory with the kernel. No other file may be unsafe.
#![deny(unsafe_code)]

mod block;
mod copies;
mod counted;
mod device;
mod engine;
mod error;
pub mod fence;
mod file;
mod messages;
mod nbd;
mod overlay;
pub mod queue;
mod ram;
mod range;
mod slice;
#[cfg(test)]
mod tests;
mod withheld;

pub use block::{Block, Image, SECTOR};
pub use copies::{Homeward, KeepsCopies, Stored};
pub use counted::{Counted, Requests};
pub use device::{Disk, DiskFuture, DiskInfo, Extent, Kind, Reach, ReadPart, Tag, WritePart, read_len, write_len};
pub use error::{Cause, DiskError, DiskOp, Lost, OpenError};
pub use file::{EngineChoice, Existing, FileDisk, FileOptions, is_blank, new_file};
pub use messages::{
    Answered, LogHome, LogStream, Messages, OverlayStream, StreamError, StreamEvent, StreamLimits, StreamState,
};
pub use nbd::{NbdDisk, NbdError, NbdGone, NbdLanes, NbdListener, NbdNotice, NbdOptions, NbdWay, proto as nbd_proto};
pub use overlay::Overlay;
pub use queue::{Flag, Meaning, Order, Queue, QueueOptions, Scheduler, Stats, Written, all_durable};
pub use ram::{Frozen, RamDisk};
pub use range::{ByteRange, DiskOff};
pub use slice::Slice;
pub use withheld::Withheld;

use std::path::Path;
use std::rc::Rc;

/// Opens a disk by name: an address of a network block device, or the path of a file or block device.
pub fn open(rt: &ordo_rt::Rt, location: impl AsRef<Path>, options: &FileOptions) -> Result<Rc<dyn Disk>, OpenError> {
    let location = location.as_ref();
    let FileOptions { read_only, volatile_cache, offset, len, ref listener, .. } = *options;
    let Some(url) = location.to_str().filter(|_| NbdDisk::is_url(location)) else {
        return Ok(Rc::new(FileDisk::open(rt, location, options)?));
    };
    let export = NbdDisk::connect(
        rt,
        url,
        &NbdOptions { read_only, volatile_cache, listener: listener.clone(), ..NbdOptions::default() },
    )?;
    if offset == 0 && len.is_none() {
        return Ok(Rc::new(export));
    }
    let DiskInfo { size, sector, .. } = export.info();
    let len = len.unwrap_or(size.saturating_sub(offset));
    let part = Slice::new(Rc::new(export), offset, len);
    let end = offset.saturating_add(len);
    Ok(Rc::new(part.map_err(|_| OpenError::Window { path: location.into(), offset, end, size, sector })?))
}
