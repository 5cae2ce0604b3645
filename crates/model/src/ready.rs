//! Runs what never waits.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The result of a future that is ready at once, as every call of [`crate::MemFs`] and every program over it is (M3).
///
/// # Panics
/// When the future waits: then it awaits something that this function cannot drive.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a future that was promised to be ready waits"),
    }
}
