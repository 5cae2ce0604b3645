//! The waits of the protection, in parts of the interval from beat to beat. Each is a number of quarters that the
//! argument in the module's head allows, with a margin for clocks that do not run alike and for a slow disk.

use std::time::Duration;

use ordo_ondisk::mmp::INTERVALS;

/// The waits for one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    quarter: Duration,
}

impl Times {
    /// For an interval in milliseconds. One that is none is made one.
    pub fn of(millis: u32) -> Times {
        let millis = millis.clamp(*INTERVALS.start(), *INTERVALS.end());
        Times { quarter: Duration::from_millis(millis.into()) / 4 }
    }

    /// From beat to beat.
    pub fn interval(self) -> Duration {
        self.quarter * 4
    }

    /// VALID: how long a look at the record allows writes. Longer than an interval, so that a beat that comes in time
    /// keeps writes from waiting.
    pub fn valid(self) -> Duration {
        self.quarter * 6
    }

    /// LEASE: how long a disk that sends requests again may do so after such a look.
    pub fn lease(self) -> Duration {
        self.quarter * 7
    }

    /// QUICK: how long a claim may take from its look until it is durable.
    pub fn quick(self) -> Duration {
        self.quarter * 2
    }

    /// WATCH: how long a claimed record must not change before it counts as left behind. A beat may be late by a whole
    /// interval.
    pub fn watch(self) -> Duration {
        self.quarter * 8
    }

    /// From look to look of a watcher.
    pub fn glance(self) -> Duration {
        self.quarter
    }

    /// SETTLE after another one's claim: VALID and a margin.
    pub fn settle(self) -> Duration {
        self.quarter * 8
    }

    /// SETTLE where nobody had it: QUICK and a margin.
    pub fn settle_free(self) -> Duration {
        self.quarter * 3
    }

    /// SETTLE after a claim that was not quick.
    pub fn settle_slow(self) -> Duration {
        Times::of(*INTERVALS.end()).settle()
    }

    /// What a claimant waits at most that finds a record left behind, on a disk that answers in time.
    pub fn take_over(self) -> Duration {
        self.watch() + self.settle()
    }
}
