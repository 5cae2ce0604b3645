//! Waiting for a point in time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::{Rt, Time};

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

impl Rt {
    /// Ready after `wait`.
    pub fn sleep(&self, wait: Duration) -> Sleep {
        self.sleep_until(self.now() + wait)
    }

    /// Ready at `until`, at once if that is past.
    pub fn sleep_until(&self, until: Time) -> Sleep {
        Sleep::new(self.clone(), until)
    }

    /// In virtual time, uses the one modelled CPU for `work`: ready when every charge made before this one, and this
    /// one, are done. In real time the CPU charges for itself, and this is ready at once.
    pub fn charge(&self, work: Duration) -> Sleep {
        self.sleep_until(self.occupy_cpu(work))
    }

    /// As [`Rt::charge`], inside [`Rt::block_on`], for a caller whose task polls nothing else. If the end of this
    /// charge is the next event at all, the clock moves there at once (rt-5).
    pub fn charge_alone(&self, work: Duration) -> Sleep {
        let done = self.charge(work);
        self.skip_to(done.until());
        done
    }
}
