//! Waiting for two things at once.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// Which of two.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Whichever is ready first; the other is dropped.
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
