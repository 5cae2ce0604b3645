//! Runs futures that never wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The result of a future that is ready at once, like every call of [`crate::MemFs`] and every program over it
/// (model-3).
///
/// # Panics
/// If the future waits: this function cannot drive what it awaits.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a future that was promised to be ready waits"),
    }
}
