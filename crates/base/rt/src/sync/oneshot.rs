//! One value from one task to another.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A sender and the receiver of its one value.
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Rc::new(RefCell::new(State { value: None, waker: None }));
    (Sender(shared.clone()), Receiver(shared))
}

struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// Sends one value.
pub struct Sender<T>(Rc<RefCell<State<T>>>);

/// Receives one value, or [`Closed`] if the sender was dropped without sending.
#[must_use = "futures do nothing until they are awaited"]
pub struct Receiver<T>(Rc<RefCell<State<T>>>);

/// The sender was dropped without sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl<T> Sender<T> {
    /// Sends `value`. If the receiver is gone, the value is dropped.
    pub fn send(self, value: T) {
        self.0.borrow_mut().value = Some(value);
    }

    /// True if the receiver is gone.
    pub fn is_closed(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = self.0.borrow_mut().waker.take();
        waker.inspect(Waker::wake_by_ref);
    }
}

impl<T> Receiver<T> {
    /// The value, if it has come.
    pub fn try_take(&mut self) -> Option<T> {
        self.0.borrow_mut().value.take()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Closed>> {
        let mut state = self.0.borrow_mut();
        if let Some(value) = state.value.take() {
            return Poll::Ready(Ok(value));
        }
        if Rc::strong_count(&self.0) == 1 {
            return Poll::Ready(Err(Closed));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rt;

    #[test]
    fn the_value_arrives_or_the_loss_is_told() {
        let rt = Rt::virtual_time(0);
        let (sender, receiver) = oneshot();
        rt.spawn(async move { sender.send(5) });
        assert_eq!(rt.block_on(receiver), Ok(5));
        let (sender, receiver) = oneshot::<u8>();
        rt.spawn(async move { drop(sender) });
        assert_eq!(rt.block_on(receiver), Err(Closed));
    }
}
