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
mod seam;
mod uring;

pub use devfuse::DevFuse;
pub use message::Message;
pub use seam::{Gone, MAX_TRANSFER, Notifier, Transport};
pub use uring::{NoUring, Uring};

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
