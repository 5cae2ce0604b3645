//! A short wait for the next request before the server sleeps.
//!
//! A request that finds the server asleep must wake its CPU, and in a virtual machine that costs more than most calls.
//! A caller that waits for each reply sends its next request some microseconds after it, if it runs on a CPU of its
//! own; on the CPU of the server it cannot, and waiting would only keep it from running.
//!
//! P1. The server waits awake only where there are several CPUs, and at most [`WINDOW`] after a request. Tasks and
//!     signals have their turn meanwhile. An idle mount sleeps.
//! P2. After [`MISSES`] waits in a row in vain it sleeps at once for the next requests, [`REST`] at first and twice as
//!     many each time, up to [`REST_MOST`]; then it tries again. So a caller that computes, or that shares the CPU,
//!     costs a few windows.

use ordo_rt::Time;
use std::time::Duration;

/// Longer than a caller needs between two calls that it makes one after the other.
const WINDOW: Duration = Duration::from_micros(50);
const MISSES: u32 = 4;
const REST: u32 = 64;
const REST_MOST: u32 = 4096;

/// See the module. No system calls.
#[derive(Debug)]
pub(super) struct Spin {
    on: bool,
    /// The wait that goes on began then.
    since: Option<Time>,
    /// Waits in vain since the last that was not.
    misses: u32,
    /// Requests until the next wait, and how many they were the last time.
    left: u32,
    rest: u32,
}

impl Spin {
    /// With `on` false it never waits.
    pub(super) fn new(on: bool) -> Spin {
        Spin { on, since: None, misses: 0, left: 0, rest: REST }
    }

    /// After each look for requests; `came`: there were some, and all are answered. True: look again at once.
    pub(super) fn goes_on(&mut self, came: bool, now: Time) -> bool {
        if !came {
            return match self.since {
                Some(since) if now - since < WINDOW => true,
                Some(_) => self.missed(),
                None => false,
            };
        }
        if self.since.take().is_some() {
            (self.misses, self.rest) = (0, REST);
        }
        if !self.on {
            return false;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.since = Some(now);
        }
        self.since.is_some()
    }

    fn missed(&mut self) -> bool {
        self.since = None;
        self.misses += 1;
        if self.misses >= MISSES {
            self.left = self.rest;
            self.rest = (self.rest * 2).min(REST_MOST);
            // One wait decides whether the next rest is longer.
            self.misses = MISSES - 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of a caller that is alone, each so long after the reply before. Returns how many waits were made, and
    /// the longest.
    fn waits(spin: &mut Spin, requests: u32, pause: Duration) -> (u32, Duration) {
        let (mut now, mut waits, mut longest) = (Time::ZERO, 0, Duration::ZERO);
        for _ in 0..requests {
            let began = now;
            let mut again = spin.goes_on(true, now);
            waits += u32::from(again);
            while again && now - began < pause {
                now += Duration::from_micros(1);
                again = spin.goes_on(false, now);
            }
            longest = longest.max(now - began);
            now = began + pause.max(now - began);
        }
        (waits, longest)
    }

    const SOON: Duration = Duration::from_micros(10);
    const LATE: Duration = Duration::from_micros(500);

    #[test]
    fn a_caller_that_comes_soon_is_waited_for_each_time() {
        assert_eq!(waits(&mut Spin::new(true), 1000, SOON), (1000, SOON));
        assert_eq!(waits(&mut Spin::new(false), 1000, SOON).0, 0);
    }

    #[test]
    fn a_caller_that_comes_late_is_waited_for_ever_less_and_no_longer_than_the_window() {
        let mut spin = Spin::new(true);
        let (first, longest) = waits(&mut spin, MISSES, LATE);
        assert_eq!((first, longest), (MISSES, WINDOW));
        // 64, 128, ... 4096 requests without a wait.
        assert_eq!(waits(&mut spin, 64 + 128 + 256 + 512 + 1024 + 2048 + 4096, LATE).0, 7);
        assert_eq!(waits(&mut spin, 3 * REST_MOST, LATE).0, 3);
        // It comes soon again: the first wait shows it.
        let (again, _) = waits(&mut spin, REST_MOST + 100, SOON);
        assert_eq!(again, 101);
        assert_eq!(waits(&mut spin, MISSES + REST, LATE).0, MISSES + 1);
    }

    #[test]
    fn nothing_is_waited_for_after_the_window() {
        let mut spin = Spin::new(true);
        assert!(!spin.goes_on(false, Time::ZERO));
        assert!(spin.goes_on(true, Time::ZERO));
        assert!(spin.goes_on(false, Time::ZERO + WINDOW / 2));
        assert!(!spin.goes_on(false, Time::ZERO + WINDOW));
        assert!(!spin.goes_on(false, Time::ZERO + WINDOW));
        assert!(spin.goes_on(true, Time::ZERO + LATE));
    }
}
