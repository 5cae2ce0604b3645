//! The timers of an executor.

use std::collections::BTreeMap;
use std::task::Waker;

use crate::Time;

/// Timers in the order in which they fire: by time, then by the order in which they were set (rt-1).
#[derive(Default)]
pub(crate) struct Timers {
    set: BTreeMap<(Time, u64), Waker>,
    next: u64,
}

impl Timers {
    pub(crate) fn arm(&mut self, at: Time, waker: &Waker) -> u64 {
        self.next += 1;
        self.set.insert((at, self.next), waker.clone());
        self.next
    }

    pub(crate) fn refresh(&mut self, at: Time, number: u64, waker: &Waker) {
        if let Some(kept) = self.set.get_mut(&(at, number)) {
            kept.clone_from(waker);
        }
    }

    pub(crate) fn disarm(&mut self, at: Time, number: u64) {
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
