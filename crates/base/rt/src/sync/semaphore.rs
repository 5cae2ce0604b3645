//! A counting semaphore: the one queue under every lock here.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Permits that tasks take and return; the queue is served strictly in order (sync-1).
///
/// As a lock without contents: [`Semaphore::lock`], of which a reader takes one permit and a writer
/// [`Semaphore::ALL`].
pub struct Semaphore(RefCell<State>);

struct State {
    free: u32,
    /// In the order of their numbers. A waiter that is no longer here has got its permits.
    queue: VecDeque<Waiter>,
    next: u64,
}

struct Waiter {
    number: u64,
    wants: u32,
    waker: Waker,
}

impl Semaphore {
    /// All permits of a [`Semaphore::lock`]: what a writer takes.
    pub const ALL: u32 = u32::MAX;

    /// A semaphore with `permits` free permits.
    pub const fn new(permits: u32) -> Semaphore {
        Semaphore(RefCell::new(State { free: permits, queue: VecDeque::new(), next: 0 }))
    }

    /// A shared and exclusive lock: 1 permit to read, [`Semaphore::ALL`] to write.
    pub const fn lock() -> Semaphore {
        Semaphore::new(Semaphore::ALL)
    }

    /// The free permits.
    pub fn free(&self) -> u32 {
        self.0.borrow().free
    }

    /// How many tasks wait.
    pub fn waiting(&self) -> usize {
        self.0.borrow().queue.len()
    }

    /// Takes `wants` permits, waiting behind earlier tasks. More permits than exist means waiting forever.
    pub fn acquire(&self, wants: u32) -> Acquire<'_> {
        Acquire { semaphore: self, wants, state: Stage::New }
    }

    /// Takes `wants` permits if that needs no wait.
    pub fn try_acquire(&self, wants: u32) -> Option<Permit<'_>> {
        let took = self.0.borrow_mut().take(wants);
        took.then(|| Permit { semaphore: self, count: wants })
    }

    /// As [`Semaphore::acquire`], but the permit owns a share of the semaphore.
    pub async fn acquire_owned(self: Rc<Self>, wants: u32) -> OwnedPermit {
        self.acquire(wants).await.keep();
        OwnedPermit { semaphore: self, count: wants }
    }

    /// Adds `count` new permits, or returns what [`Permit::keep`] kept.
    pub fn add(&self, count: u32) {
        self.0.borrow_mut().free += count;
        self.serve();
    }

    fn serve(&self) {
        loop {
            let served = self.0.borrow_mut().serve_first();
            let Some(waker) = served else { return };
            waker.wake();
        }
    }
}

impl State {
    fn take(&mut self, wants: u32) -> bool {
        let can = self.queue.is_empty() && self.free >= wants;
        self.free -= if can { wants } else { 0 };
        can
    }

    fn serve_first(&mut self) -> Option<Waker> {
        self.queue.front().filter(|first| first.wants <= self.free)?;
        let first = self.queue.pop_front()?;
        self.free -= first.wants;
        Some(first.waker)
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&number, |waiter| waiter.number).ok()
    }
}

/// See [`Semaphore::acquire`].
#[must_use = "futures do nothing until they are awaited"]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    wants: u32,
    state: Stage,
}

enum Stage {
    New,
    Queued(u64),
    Done,
}

impl<'a> Future for Acquire<'a> {
    type Output = Permit<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Permit<'a>> {
        let semaphore = self.semaphore;
        let mut state = semaphore.0.borrow_mut();
        match self.state {
            Stage::New if state.take(self.wants) => {}
            Stage::New => {
                state.next += 1;
                let number = state.next;
                state.queue.push_back(Waiter { number, wants: self.wants, waker: cx.waker().clone() });
                self.state = Stage::Queued(number);
                return Poll::Pending;
            }
            Stage::Queued(number) => {
                if let Some(place) = state.place(number) {
                    state.queue[place].waker.clone_from(cx.waker());
                    return Poll::Pending;
                }
            }
            Stage::Done => panic!("a lock was polled after it was given"),
        }
        self.state = Stage::Done;
        Poll::Ready(Permit { semaphore, count: self.wants })
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Stage::Queued(number) = self.state else { return };
        let mut state = self.semaphore.0.borrow_mut();
        match state.place(number) {
            Some(place) => drop(state.queue.remove(place)),
            // The permits were granted, but the task was dropped before it was polled (sync-2).
            None => state.free += self.wants,
        }
        drop(state);
        self.semaphore.serve();
    }
}

/// Permits that are returned when this is dropped.
#[must_use = "the permits go back as soon as this is dropped"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    count: u32,
}

impl Permit<'_> {
    /// Keeps the permits taken; [`Semaphore::add`] returns them.
    pub fn keep(mut self) {
        self.count = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.semaphore.add(self.count);
        }
    }
}

/// A [`Permit`] that owns a share of its semaphore.
#[must_use = "the permits go back as soon as this is dropped"]
pub struct OwnedPermit {
    semaphore: Rc<Semaphore>,
    count: u32,
}

impl OwnedPermit {
    /// The semaphore that the permits belong to.
    pub fn semaphore(&self) -> &Rc<Semaphore> {
        &self.semaphore
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        self.semaphore.add(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rt;

    fn poll<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_large_request_is_not_overtaken_by_small_ones() {
        let semaphore = Semaphore::new(2);
        let held = semaphore.try_acquire(1).unwrap();
        let mut all = Box::pin(semaphore.acquire(2));
        assert!(poll(&mut all).is_pending());
        assert!(semaphore.try_acquire(1).is_none(), "one permit is free, but someone waits");
        drop(held);
        assert!(poll(&mut all).is_ready());
        drop(all);
        assert_eq!(semaphore.free(), 2);
    }

    #[test]
    fn a_waiter_that_gives_up_lets_the_next_one_in() {
        let semaphore = Semaphore::new(1);
        let held = semaphore.try_acquire(1).unwrap();
        let mut first = Box::pin(semaphore.acquire(1));
        let mut second = Box::pin(semaphore.acquire(1));
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        drop(held); // given to the first, which is dropped before it is polled
        drop(first);
        assert!(poll(&mut second).is_ready());
        drop(second);
        assert_eq!((semaphore.free(), semaphore.waiting()), (1, 0));
    }

    #[test]
    fn tasks_are_served_in_the_order_in_which_they_came() {
        let rt = Rt::virtual_time(0);
        let semaphore = Rc::new(Semaphore::lock());
        let order = Rc::new(RefCell::new(Vec::new()));
        for who in 0..6 {
            let (rt2, semaphore, order) = (rt.clone(), semaphore.clone(), order.clone());
            rt.spawn(async move {
                let wants = if who % 3 == 2 { Semaphore::ALL } else { 1 };
                let _permit = semaphore.acquire_owned(wants).await;
                order.borrow_mut().push((who, rt2.now().as_nanos()));
                rt2.sleep(std::time::Duration::from_nanos(10)).await;
            });
        }
        rt.block_on(rt.sleep(std::time::Duration::from_nanos(100)));
        assert_eq!(*order.borrow(), [(0, 0), (1, 0), (2, 10), (3, 20), (4, 20), (5, 30)]);
    }
}
