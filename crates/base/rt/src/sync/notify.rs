//! "Something has changed, look again."

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Notifies waiting tasks that something has changed.
#[derive(Default)]
pub struct Notify(RefCell<State>);

#[derive(Default)]
struct State {
    /// How often all waiters were notified.
    rounds: u64,
    /// [`Notify::notify_one`] was called while no task waited.
    stored: bool,
    /// In the order of their numbers. A waiter that is no longer here was notified.
    queue: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Notify {
    /// Without waiters.
    pub fn new() -> Notify {
        Notify::default()
    }

    /// Ready after the next call that notifies this waiter. A [`Notify::notify_all`] between this call and the first
    /// poll counts, so "test, make the future, test again, await" loses nothing.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, round: self.0.borrow().rounds, number: None }
    }

    /// Notifies all tasks that wait now.
    pub fn notify_all(&self) {
        let told = {
            let mut state = self.0.borrow_mut();
            state.rounds += 1;
            std::mem::take(&mut state.queue)
        };
        for (_, waker) in told {
            waker.wake();
        }
    }

    /// Notifies the task that has waited longest; if none waits, the next one to come. Such calls do not add up.
    pub fn notify_one(&self) {
        let mut state = self.0.borrow_mut();
        let first = state.queue.pop_front();
        state.stored |= first.is_none();
        drop(state);
        if let Some((_, waker)) = first {
            waker.wake();
        }
    }
}

/// See [`Notify::notified`].
#[must_use = "futures do nothing until they are awaited"]
pub struct Notified<'a> {
    notify: &'a Notify,
    round: u64,
    number: Option<u64>,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.notify.0.borrow_mut();
        if state.rounds != self.round {
            drop(state);
            self.number = None;
            return Poll::Ready(());
        }
        match self.number {
            None if std::mem::take(&mut state.stored) => return Poll::Ready(()),
            None => {
                state.next += 1;
                let number = state.next;
                state.queue.push_back((number, cx.waker().clone()));
                drop(state);
                self.number = Some(number);
            }
            Some(number) => match state.queue.binary_search_by_key(&number, |(n, _)| *n) {
                Ok(place) => state.queue[place].1.clone_from(cx.waker()),
                Err(_) => {
                    drop(state);
                    self.number = None;
                    return Poll::Ready(());
                }
            },
        }
        Poll::Pending
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.notify.0.borrow_mut();
        match state.queue.binary_search_by_key(&number, |(n, _)| *n) {
            Ok(place) => drop(state.queue.remove(place)),
            Err(_) if state.rounds == self.round => {
                // Notified by `notify_one` and dropped before it was polled: the next one is notified instead (sync-2).
                drop(state);
                self.notify.notify_one();
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rt;

    fn poll(future: &mut Pin<Box<Notified<'_>>>) -> bool {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn all_are_told_and_a_later_comer_waits() {
        let notify = Notify::new();
        let (mut polled, mut fresh) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        assert!(!poll(&mut polled));
        notify.notify_all();
        assert!(poll(&mut polled) && poll(&mut fresh));
        assert!(!poll(&mut Box::pin(notify.notified())));
    }

    #[test]
    fn one_is_told_and_passes_it_on_if_it_is_dropped() {
        let notify = Notify::new();
        let (mut first, mut second) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        assert!(!poll(&mut first) && !poll(&mut second));
        notify.notify_one();
        drop(first);
        assert!(poll(&mut second));
    }

    #[test]
    fn one_is_stored_for_the_next_comer() {
        let notify = Notify::new();
        notify.notify_one();
        notify.notify_one();
        Rt::virtual_time(0).block_on(notify.notified());
        assert!(!poll(&mut Box::pin(notify.notified())));
    }
}
