//! Who calls: one program that waits for each reply, or several.
//!
//! C1. A caller is alone if all requests of the last [`ALONE`] were its own. Requests without a caller (FORGET, what
//!     the kernel writes back by itself) do not count.
//! C2. A caller waits for each reply if none of its requests was read while another one had no answer. Reading
//!     several requests without a sleep between them does not show that: a quick caller sends the next one before the
//!     server looks again.

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
    /// One was read while another one had no answer (C2).
    at_once: bool,
}

impl Turn {
    /// A request of `pid` was read, perhaps `beside` one that has no answer; the kernel's own have 0.
    pub(super) fn add(&mut self, pid: u32, beside: bool) {
        if pid != 0 {
            let mixed = self.mixed || (self.asked > 0 && pid != self.pid);
            *self = Turn { asked: self.asked + 1, pid, mixed, at_once: self.at_once || beside };
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
        /// Its requests in this turn.
        asked: u32,
        /// It does not wait for each reply (C2).
        at_once: bool,
        /// So long (C1).
        alone: bool,
    },
}

impl Company {
    /// One caller, who waits for each reply.
    pub(super) fn is_one_alone(self) -> bool {
        matches!(self, Company::One { alone: true, at_once: false, .. })
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
        let Turn { asked, pid, mixed, at_once } = turn;
        if asked == 0 {
            return Company::Nobody;
        }
        if mixed || pid != self.pid {
            *self = Callers { pid, since: now };
            return Company::Changing;
        }
        Company::One { pid, asked, at_once, alone: now - self.since >= ALONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_alone(requests: &[(u32, bool)]) -> bool {
        let mut callers = Callers::new(Time::ZERO);
        callers.note(turn(&[(7, false)]), Time::ZERO);
        callers.note(turn(requests), Time::ZERO + ALONE).is_one_alone()
    }

    fn turn(requests: &[(u32, bool)]) -> Turn {
        let mut turn = Turn::default();
        requests.iter().for_each(|(pid, beside)| turn.add(*pid, *beside));
        turn
    }

    #[test]
    fn a_caller_whose_requests_are_read_in_one_turn_waits_for_each_reply_unless_one_had_none() {
        assert!(one_alone(&[(7, false)]));
        assert!(one_alone(&[(7, false), (7, false), (7, false)]));
        assert!(one_alone(&[(0, true), (7, false)]), "a request without a caller says nothing");
        assert!(!one_alone(&[(7, false), (7, true)]));
        assert!(!one_alone(&[(7, true), (7, false)]));
        assert!(!one_alone(&[(7, false), (8, false)]));
        assert!(!one_alone(&[(0, false)]));
    }
}
