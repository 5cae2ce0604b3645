//! What other threads send to a task.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A queue that any thread sends to, and one task receives from.
pub struct Inbox<T>(Mutex<Sent<T>>);

struct Sent<T> {
    waiting: VecDeque<T>,
    waker: Option<Waker>,
    closed: bool,
}

impl<T> Default for Inbox<T> {
    fn default() -> Inbox<T> {
        Inbox(Mutex::new(Sent { waiting: VecDeque::new(), waker: None, closed: false }))
    }
}

impl<T> Inbox<T> {
    /// One change is made under the lock, so a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Sent<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False if the inbox is closed: `value` was dropped.
    pub fn send(&self, value: T) -> bool {
        let mut sent = self.lock();
        if sent.closed {
            return false;
        }
        sent.waiting.push_back(value);
        sent.waker.take().inspect(Waker::wake_by_ref);
        true
    }

    /// Takes nothing more; what was sent is still received.
    pub fn close(&self) {
        let mut sent = self.lock();
        sent.closed = true;
        sent.waker.take().inspect(Waker::wake_by_ref);
    }

    /// Closes it, and returns what was not received.
    pub fn abandon(&self) -> impl Iterator<Item = T> + use<T> {
        self.close();
        std::mem::take(&mut self.lock().waiting).into_iter()
    }

    /// The next value; `None` when the inbox is closed and empty.
    pub async fn next(&self) -> Option<T> {
        poll_fn(|cx| {
            let mut sent = self.lock();
            if let Some(value) = sent.waiting.pop_front() {
                return Poll::Ready(Some(value));
            }
            if sent.closed {
                return Poll::Ready(None);
            }
            sent.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rt;
    use std::sync::Arc;

    #[test]
    fn what_a_thread_sends_arrives_in_order_and_nothing_after_the_close() {
        let (rt, inbox) = (Rt::real_time(), Arc::new(Inbox::default()));
        let far = inbox.clone();
        let thread = std::thread::spawn(move || {
            assert!((0..100).all(|i| far.send(i)));
            far.close();
            far.send(100)
        });
        let all = rt.block_on(async {
            let mut all = Vec::new();
            while let Some(value) = inbox.next().await {
                all.push(value);
            }
            all
        });
        assert_eq!(all, Vec::from_iter(0..100));
        assert!(!thread.join().unwrap(), "it was closed");
    }

    #[test]
    fn what_is_abandoned_is_given_back() {
        let inbox = Inbox::default();
        assert!(inbox.send(1) && inbox.send(2));
        assert_eq!(Vec::from_iter(inbox.abandon()), [1, 2]);
        assert!(!inbox.send(3));
    }
}
