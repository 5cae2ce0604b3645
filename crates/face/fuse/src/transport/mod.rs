//! The transport of requests and replies: the seam between the protocol and the device.
//!
//! T1. Nothing here blocks. [`Transport::receive`] returns at once; [`Transport::ready`] is the only wait, and belongs
//!     to the executor. A blocking read would keep the engine from processing its disk's completions.
//! T2. A message is owned by the code that handles it, as long as that takes: a request that waits for the disk keeps
//!     its bytes while others are read. It is dropped before its reply is sent: from then on the kernel may
//!     reuse the memory.
//! T3. A reply is one system call.

mod devfuse;
mod message;
mod uring;

pub use devfuse::DevFuse;
pub use message::Message;
pub use uring::Uring;

use crate::proto::reply::{Answer, Notice};
use rustix::io::Errno;

/// Largest write, read and directory listing in bytes; 256 pages are also the kernel's default limit
/// (`fs.fuse.max_pages_limit`).
pub const MAX_TRANSFER: u32 = 1 << 20;

/// The transport of a mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransportChoice {
    /// Reads and writes of `/dev/fuse`.
    #[default]
    Classic,
    /// Memory shared with the kernel: FUSE over io_uring, of Linux 6.14.
    Uring,
}

impl TransportChoice {
    /// The transport of this name: `classic` or `uring`.
    pub fn by_name(name: &str) -> Option<TransportChoice> {
        match name {
            "classic" => Some(TransportChoice::Classic),
            "uring" => Some(TransportChoice::Uring),
            _ => None,
        }
    }

    /// Whether this machine has it. Call it before a mount that would be refused later.
    ///
    /// # Errors
    /// [`NoUring`].
    pub fn available(self) -> Result<(), NoUring> {
        match self {
            TransportChoice::Classic => Ok(()),
            TransportChoice::Uring => uring::available(),
        }
    }
}

/// Why there is no FUSE over io_uring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoUring {
    /// Before Linux 6.14, or built without it.
    #[error("this kernel has no FUSE over io_uring (Linux 6.14 brought it); use transport=classic")]
    Missing,
    /// The module's parameter is N.
    #[error(
        "FUSE over io_uring is switched off; as root: echo Y > /sys/module/fuse/parameters/enable_uring, \
         or use transport=classic"
    )]
    Off,
    /// io_uring as a whole is disabled.
    #[error("io_uring is refused: {0}; see sysctl kernel.io_uring_disabled, or use transport=classic")]
    Refused(Errno),
}

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

/// Sends notifications; see [`Transport::notifier`].
pub type Notifier = Box<dyn Fn(Notice) + Send>;

/// A transport to and from the kernel: [`DevFuse`] or [`Uring`].
#[allow(async_fn_in_trait)]
pub trait Transport {
    /// The next request, if there is one.
    fn receive(&self) -> Result<Option<Message>, Gone>;

    /// Called after the first request, INIT, was answered: now the rest of the transport can be set up.
    ///
    /// # Errors
    /// When it cannot deliver requests.
    fn begin(&self) -> Result<(), Gone> {
        Ok(())
    }

    /// Waits until [`Transport::receive`] has a result.
    async fn ready(&self);

    /// Sends the reply to request `unique`. `false`: the kernel no longer waits for it and has not accepted it.
    fn reply(&self, unique: u64, answer: &Answer) -> bool;

    /// Sends a notification to the kernel. It is not an error if the kernel no longer accepts it.
    fn notify(&self, notice: Notice);

    /// [`Transport::notify`] for another thread: that may wait there for answers to requests that the notice causes.
    ///
    /// # Errors
    /// The system's, when it has no descriptor left.
    fn notifier(&self) -> rustix::io::Result<Notifier>;
}
