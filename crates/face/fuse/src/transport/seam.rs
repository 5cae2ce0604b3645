//! What a transport is to the server, and how much it carries at once.

use super::message::Message;
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

/// Sends notifications; see [`Transport::notifier`].
pub type Notifier = Box<dyn Fn(Notice) + Send>;

/// A transport to and from the kernel: [`super::DevFuse`] or [`super::Uring`].
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
