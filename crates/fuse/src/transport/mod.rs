//! How requests come and replies go: the seam between the protocol and the device.
//!
//! T1. Nothing here blocks. [`Transport::receive`] answers at once; [`Transport::ready`] is the only wait, and is the
//!     executor's. A blocking read would stop the engine from hearing its disk.
//! T2. A message is owned by whoever handles it, for as long as that takes: a request that waits for the disk keeps its
//!     bytes while others are read.
//! T3. A reply is one system call, with the data where the buffer cache has it.

mod devfuse;
mod message;

pub use devfuse::DevFuse;
pub use message::Message;

use crate::proto::reply::{Answer, Notice};
use rustix::io::Errno;

/// Largest write, read and directory listing in bytes; 256 pages are also the kernel's default limit
/// (`fs.fuse.max_pages_limit`).
pub const MAX_TRANSFER: u32 = 1 << 20;

/// Why no more requests will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// The file system was unmounted, or its connection was aborted.
    #[error("unmounted")]
    Unmounted,
    /// The device failed.
    #[error("the FUSE device failed: {0}")]
    Failed(Errno),
}

/// A way to and from the kernel. `/dev/fuse` is one; FUSE over io_uring would be another.
#[allow(async_fn_in_trait)]
pub trait Transport {
    /// The next request, if one is there.
    fn receive(&self) -> Result<Option<Message>, Gone>;

    /// Waits until [`Transport::receive`] has something to say.
    async fn ready(&self);

    /// Sends the reply to request `unique`. `false`: the kernel no longer waits for it and has not taken it.
    fn reply(&self, unique: u64, answer: &Answer) -> bool;

    /// Tells the kernel something unasked. That it no longer wants to know is no error.
    fn notify(&self, notice: Notice);
}
