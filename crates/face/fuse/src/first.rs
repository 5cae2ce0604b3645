//! Waiting for the first of two futures.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// The output of one of two futures.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Returns the output that is ready first; the other future is dropped.
pub(crate) async fn first<A, B>(left: impl Future<Output = A>, right: impl Future<Output = B>) -> First<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    std::future::poll_fn(|cx| {
        if let Poll::Ready(value) = left.as_mut().poll(cx) {
            return Poll::Ready(First::Left(value));
        }
        right.as_mut().poll(cx).map(First::Right)
    })
    .await
}
