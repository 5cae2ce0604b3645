//! Who calls: one program that waits for each reply, or several.
//!
//! C1. A caller is alone if all requests of the last [`ALONE`] were its own. Requests without a caller (FORGET, what
//!     the kernel writes back by itself) count as nothing.

use ordo_rt::Time;
use std::time::Duration;

/// Longer than the scheduler lets one of two callers run that share a CPU: they must not look like one alone.
pub(super) const ALONE: Duration = Duration::from_millis(10);

/// The requests that were read in one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// Requests with a caller.
    asked: u32,
    /// The caller of the last one.
    pid: u32,
    /// Not all were of this caller.
    mixed: bool,
}

impl Turn {
    /// A request of `pid` was read; the kernel's own have 0.
    pub(super) fn add(&mut self, pid: u32) {
        if pid != 0 {
            let mixed = self.mixed || (self.asked > 0 && pid != self.pid);
            *self = Turn { asked: self.asked + 1, pid, mixed };
        }
    }
}

/// What a turn says about the callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// Only requests without a caller.
    Nobody,
    /// Several callers, or another one than before.
    Changing,
    /// The caller of before.
    One {
        pid: u32,
        /// Its requests in this turn: more than one if it does not wait for each reply.
        asked: u32,
        /// So long (C1).
        alone: bool,
    },
}

impl Company {
    /// One caller, who waits for each reply.
    pub(super) fn is_one_alone(self) -> bool {
        matches!(self, Company::One { alone: true, asked: 1, .. })
    }
}

/// The caller, and since when there is no other.
#[derive(Debug)]
pub(super) struct Callers {
    pid: u32,
    pub(super) since: Time,
}

impl Callers {
    pub(super) const fn new(now: Time) -> Callers {
        Callers { pid: 0, since: now }
    }

    /// Notes a turn.
    pub(super) fn note(&mut self, turn: Turn, now: Time) -> Company {
        let Turn { asked, pid, mixed } = turn;
        if asked == 0 {
            return Company::Nobody;
        }
        if mixed || pid != self.pid {
            *self = Callers { pid, since: now };
            return Company::Changing;
        }
        Company::One { pid, asked, alone: now - self.since >= ALONE }
    }
}
