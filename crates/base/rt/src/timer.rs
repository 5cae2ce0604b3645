//! Timers: which tasks to wake, and when.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::{Rt, Time};

/// Timers in the order in which they fire: by time, then by the order in which they were set (rt-1).
#[derive(Default)]
pub(crate) struct Timers {
    set: BTreeMap<(Time, u64), Waker>,
    next: u64,
}

impl Timers {
    fn arm(&mut self, at: Time, waker: &Waker) -> u64 {
        self.next += 1;
        self.set.insert((at, self.next), waker.clone());
        self.next
    }

    fn refresh(&mut self, at: Time, number: u64, waker: &Waker) {
        if let Some(kept) = self.set.get_mut(&(at, number)) {
            kept.clone_from(waker);
        }
    }

    fn disarm(&mut self, at: Time, number: u64) {
        self.set.remove(&(at, number));
    }

    pub(crate) fn first(&self) -> Option<Time> {
        self.set.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Waker> {
        let first = self.set.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

/// Ready at a point in time; made by [`Rt::sleep`] and [`Rt::sleep_until`]. Dropping it disarms its timer.
#[must_use = "a sleep does nothing until it is awaited"]
pub struct Sleep {
    rt: Rt,
    until: Time,
    armed: Option<u64>,
}

impl Sleep {
    pub(crate) fn new(rt: Rt, until: Time) -> Sleep {
        Sleep { rt, until, armed: None }
    }

    pub(crate) fn until(&self) -> Time {
        self.until
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.rt.now() >= self.until {
            return Poll::Ready(());
        }
        let armed = self.armed;
        let mut timers = self.rt.timers().borrow_mut();
        match armed {
            Some(number) => timers.refresh(self.until, number, cx.waker()),
            None => {
                let number = timers.arm(self.until, cx.waker());
                drop(timers);
                self.armed = Some(number);
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.armed {
            self.rt.timers().borrow_mut().disarm(self.until, number);
        }
    }
}
