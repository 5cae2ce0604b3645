//! Where the server runs: on the CPU of its caller.
//!
//! A request wakes the server, and the reply wakes the caller. On one CPU each of these is a switch of threads. On two,
//! each wakes a CPU that may be asleep, and in a virtual machine that costs more than the call. The kernel leaves both
//! threads where they are, so a server that began on another CPU stays there.
//!
//! W1. A move is a hint. The thread is put on the caller's CPU, and in the next call is allowed again on every CPU that
//!     it was allowed on before: the scheduler has the last word, and no caller's CPU is entered that the system's
//!     administrator has forbidden.
//! W2. Only a caller that is alone (server-callers-1) is followed; read-ahead, several requests in a turn, holds the
//!     server back. Two callers can keep a server on a CPU of its own busy, so that it does not sleep; moving it would
//!     cost a third of their calls.
//! W3. A look at the caller's CPU costs two or three system calls, once in [`GAP`] requests. If the scheduler moves
//!     the caller away again after each move, looks become rarer, down to one in [`GAP_MOST`] requests.
//! W4. Nothing is done between requests: no timer, no thread. An idle mount sleeps.
//!
//! Where another CPU is idle the scheduler prefers it for the caller, and parts the two after each reply: there the
//! server waits awake for the next request ([`super::spin`]).

use super::callers::Company;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::cell::RefCell;

/// Requests of one caller in a row between two looks: at least, and at most.
const GAP: u32 = 32;
const GAP_MOST: u32 = 1024;
/// What a turn of several requests undoes: there are no looks unless four turns of five are of one.
const SEVERAL: u32 = 4;
/// When to look, and when to move: no system calls.
#[derive(Debug)]
struct Decision {
    /// Requests from one look to the next, and to the next look.
    gap: u32,
    left: u32,
    /// The look before ended with a move.
    moved: bool,
}

impl Decision {
    /// Whether a move lasts depends on the caller: each begins with the shortest gap.
    const NEW: Decision = Decision { gap: GAP, left: GAP, moved: false };

    /// Notes a turn. The caller to look for now.
    fn note(&mut self, company: Company) -> Option<u32> {
        match company {
            Company::Nobody => None,
            Company::Changing => {
                *self = Decision::NEW;
                None
            }
            Company::One { asked: 2.., .. } => {
                self.left = (self.left + SEVERAL).min(self.gap);
                None
            }
            Company::One { pid, alone, .. } => {
                self.left = self.left.saturating_sub(1);
                (self.left == 0 && alone).then_some(pid)
            }
        }
    }

    /// The result of a look. True: move to the caller.
    fn seen(&mut self, together: bool) -> bool {
        if together {
            self.gap = (self.gap / 2).max(GAP);
        } else if self.moved {
            self.gap = (self.gap * 2).min(GAP_MOST);
        }
        self.left = self.gap;
        self.moved = !together;
        self.moved
    }
}

/// With one CPU there is nothing to choose. More than a set can name: the kernel refuses the question.
pub(super) fn has_choice() -> bool {
    sched_getaffinity(None).is_ok_and(|allowed| allowed.count() > 1)
}

/// Follows the callers of a mount; see the head.
pub(super) struct Follow(RefCell<Option<State>>);

struct State {
    decision: Decision,
    /// `/proc/PID/stat` of the caller that was looked at last.
    stat: Option<(u32, OwnedFd)>,
}

impl Follow {
    /// With `on` false it does nothing.
    pub(super) fn new(on: bool) -> Follow {
        Follow(RefCell::new((on && has_choice()).then_some(State { decision: Decision::NEW, stat: None })))
    }

    /// After each turn: the requests were answered, and no more wait.
    pub(super) fn after(&self, company: Company) {
        let mut state = self.0.borrow_mut();
        let Some(state) = &mut *state else { return };
        let Some(there) = state.decision.note(company).and_then(|pid| state.cpu_of(pid)) else { return };
        if state.decision.seen(there == sched_getcpu()) {
            move_to(there);
        }
    }
}

impl State {
    /// The CPU on which `pid` runs, or ran last. `None`: it has ended, or this server may not know it.
    fn cpu_of(&mut self, pid: u32) -> Option<usize> {
        if self.stat.as_ref().is_none_or(|(known, _)| *known != pid) {
            let file = open(format!("/proc/{pid}/stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
            self.stat = Some((pid, file));
        }
        let mut text = [0; 1024];
        // A caller that has ended is ESRCH, even if its number is another one's by now.
        let read = self.stat.as_ref().and_then(|(_, file)| pread(file, &mut text, 0).ok());
        if read.is_none() {
            self.stat = None;
        }
        processor(&text[..read?])
    }
}

/// Puts this thread on `cpu` if it may run there, and lets it go (W1). False: it was not moved.
fn move_to(cpu: usize) -> bool {
    let Ok(allowed) = sched_getaffinity(None) else { return false };
    if cpu >= CpuSet::MAX_CPU || !allowed.is_set(cpu) {
        return false;
    }
    let mut there = CpuSet::new();
    there.set(cpu);
    let moved = sched_setaffinity(None, &there).is_ok();
    // Refused only when all those CPUs have been taken away since; the kernel has then chosen others.
    moved && sched_setaffinity(None, &allowed).is_ok()
}

/// Field 39 of `/proc/PID/stat`. The name, field 2, may have spaces and brackets in it; nothing after it has.
fn processor(stat: &[u8]) -> Option<usize> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let field = stat[name_end + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty()).nth(39 - 3)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::callers::{ALONE, Callers, Turn};
    use super::*;
    use ordo_rt::Time;
    use std::time::Duration;

    fn turn(pids: &[u32]) -> Turn {
        let mut turn = Turn::default();
        pids.iter().for_each(|pid| turn.add(*pid, false));
        turn
    }

    /// What a server keeps.
    struct Watched(Callers, Decision);

    impl Watched {
        fn note(&mut self, turn: Turn, now: Time) -> bool {
            self.1.note(self.0.note(turn, now)).is_some()
        }

        fn seen(&mut self, together: bool) -> bool {
            self.1.seen(together)
        }
    }

    fn decision() -> Watched {
        Watched(Callers::new(Time::ZERO), Decision::NEW)
    }

    /// Turns of these callers, one a millisecond, again and again, until there is a look. `None`: there is none in
    /// 10,000.
    fn look_after(decision: &mut Watched, turns: &[&[u32]]) -> Option<usize> {
        look_of(decision, Duration::from_millis(1), turns)
    }

    fn look_of(decision: &mut Watched, each: Duration, turns: &[&[u32]]) -> Option<usize> {
        let mut now = decision.0.since;
        (1..=10_000).find(|i| {
            now += each;
            decision.note(turn(turns[(i - 1) % turns.len()]), now)
        })
    }

    #[test]
    fn one_caller_is_looked_at_after_so_many_requests_and_is_followed_when_it_is_elsewhere() {
        let mut decision = decision();
        // The first turn only says who calls.
        assert_eq!(look_after(&mut decision, &[&[7]]), Some(GAP as usize + 1));
        assert!(decision.seen(false));
        assert_eq!(look_after(&mut decision, &[&[7]]), Some(GAP as usize));
        assert!(!decision.seen(true));
        assert_eq!(look_after(&mut decision, &[&[7]]), Some(GAP as usize));
    }

    #[test]
    fn several_callers_are_not_followed_whether_they_come_together_or_by_turns() {
        for turns in
            [&[&[7, 8][..]][..], &[&[7], &[8]], &[&[7], &[7], &[8]], &[&[7, 7]], &[&[7], &[7, 7], &[7]], &[&[8, 7]]]
        {
            assert_eq!(look_after(&mut decision(), turns), None, "{turns:?}");
        }
    }

    #[test]
    fn two_callers_of_which_each_runs_for_a_while_are_not_taken_for_one() {
        let (each, mut turns) = (Duration::from_micros(20), vec![&[7][..]; 400]);
        turns.resize(800, &[8]);
        assert_eq!(look_of(&mut decision(), each, &turns), None);
        // Nor when the other one shows only beside the first.
        turns.splice(399.., [&[8, 7][..]]);
        assert_eq!(look_of(&mut decision(), each, &turns), None);
        // As soon as one is alone for so long.
        let alone = ALONE.as_micros() / each.as_micros();
        assert_eq!(look_of(&mut decision(), each, &[&[7]]), Some(alone as usize + 1));
    }

    #[test]
    fn a_guest_now_and_then_and_requests_without_a_caller_do_not_keep_it_from_looking() {
        let mut turns = vec![&[7][..]; 50];
        (turns[0], turns[20]) = (&[9], &[7, 7]);
        assert_eq!(look_after(&mut decision(), &turns), Some(GAP as usize + 7));
        let ones: [&[u32]; 3] = [&[7, 0], &[0], &[0, 7]];
        assert_eq!(look_after(&mut decision(), &ones), Some(GAP as usize * 3 / 2 + 1));
    }

    #[test]
    fn a_caller_that_the_scheduler_takes_away_each_time_is_looked_at_ever_less_until_it_stays() {
        let mut decision = decision();
        assert!(decision.seen(false));
        for _ in 0..20 {
            assert!(decision.seen(false));
        }
        assert_eq!(decision.1.gap, GAP_MOST);
        for _ in 0..20 {
            assert!(!decision.seen(true));
        }
        assert_eq!(decision.1.gap, GAP);
        // Being parted after some time together is no failure of a move.
        assert!(decision.seen(false));
        assert_eq!(decision.1.gap, GAP);
    }

    #[test]
    fn moves_that_failed_for_one_caller_say_nothing_about_another() {
        let mut decision = decision();
        assert!(!decision.note(turn(&[7]), Time::ZERO));
        (0..20).for_each(|_| {
            decision.seen(false);
        });
        assert_eq!(look_after(&mut decision, &[&[7]]), Some(GAP_MOST as usize));
        (0..20).for_each(|_| {
            decision.seen(false);
        });
        assert!(look_after(&mut decision, &[&[8]]) <= Some(GAP as usize + 1));
        assert!(decision.seen(false));
        assert_eq!(decision.1.gap, GAP);
    }

    #[test]
    fn the_processor_is_found_behind_any_name() {
        let rest = (3..=52).map(|field| if field == 39 { "5".into() } else { format!("{}", 1000 + field) });
        let rest = rest.collect::<Vec<String>>().join(" ");
        for name in ["cp", "a b", "x) S 1 (y", ")"] {
            assert_eq!(processor(format!("12 ({name}) {rest}\n").as_bytes()), Some(5), "{name}");
        }
        assert_eq!(processor(b"12 (cp) S 1 2"), None);
        assert_eq!(processor(b""), None);
    }

    #[test]
    fn a_move_leaves_the_thread_allowed_where_it_was_and_enters_no_other_cpu() {
        let before = sched_getaffinity(None).unwrap();
        let some = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap();
        move_to(some);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        let mut only = CpuSet::new();
        only.set(some);
        sched_setaffinity(None, &only).unwrap();
        assert!((0..=CpuSet::MAX_CPU).filter(|cpu| move_to(*cpu)).eq([some]));
        assert_eq!((sched_getaffinity(None).unwrap(), sched_getcpu()), (only, some));
        sched_setaffinity(None, &before).unwrap();
    }

    #[test]
    fn this_thread_is_found_where_it_runs() {
        let before = sched_getaffinity(None).unwrap();
        let mut state = State { decision: Decision::NEW, stat: None };
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu)) {
            let mut only = CpuSet::new();
            only.set(cpu);
            sched_setaffinity(None, &only).unwrap();
            assert_eq!(state.cpu_of(me), Some(cpu));
        }
        sched_setaffinity(None, &before).unwrap();
        assert_eq!(state.cpu_of(u32::MAX), None);
    }
}
