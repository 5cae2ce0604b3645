//! A disk for the log of a program that keeps one of its own: a data base that must not lose what it has answered.

use std::future::Future;
use std::pin::Pin;

/// A disk that has nothing but a program's log.
pub trait OwnLog {
    /// Appends so many bytes. Returns when they are durable.
    fn append(&self, bytes: u64) -> Pin<Box<dyn Future<Output = ordo_vfs::Result<()>> + '_>>;
}
