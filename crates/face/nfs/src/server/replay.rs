//! Replies that were given, for calls that come again (nfs-4).
//!
//! A client that has lost its connection repeats what was not answered. Had a REMOVE been done, its repetition would
//! fail with NOENT, and the program that made it would see an error for a success.
//!
//! R1. A call is the same if it comes from the same address and has the same bytes, the number that the client gave it
//!     among them. Not the port: the repetition may come on a new connection.
//! R2. A repetition of a call in progress waits for that one's reply, and is not made.
//! R3. A reply is kept for [`KEPT`] at most. A program that always begins with the same number would otherwise be
//!     answered with what happened to an earlier run of it.

use ordo_rt::Time;
use ordo_rt::sync::Notify;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// Most replies that are kept. Those of calls that change something are a few hundred bytes.
const MOST: usize = 1024;
/// How long one is kept: clients repeat after seconds, and give up after minutes.
const KEPT: Duration = Duration::from_secs(120);

/// A call (R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(IpAddr, u128);

impl Key {
    pub(super) fn of(address: IpAddr, record: &[u8]) -> Key {
        Key(address, xxh3_128(record))
    }
}

#[derive(Clone)]
enum State {
    Running(Rc<Notify>),
    Done(Rc<[u8]>),
}

/// What is to be done with a call.
pub(super) enum Met {
    /// It is new, and noted as in progress.
    New,
    /// It is in progress: to be asked again when this was notified (R2).
    Running(Rc<Notify>),
    /// It was answered.
    Done(Rc<[u8]>),
}

#[derive(Default)]
pub(super) struct Replay {
    calls: FxHashMap<Key, State>,
    /// Those that are done, in this order.
    done: VecDeque<(Key, Time)>,
}

impl Replay {
    pub(super) fn meet(&mut self, key: Key, now: Time) -> Met {
        self.drop_old(now);
        match self.calls.get(&key) {
            Some(State::Running(notify)) => Met::Running(notify.clone()),
            Some(State::Done(reply)) => Met::Done(reply.clone()),
            None => {
                self.calls.insert(key, State::Running(Rc::default()));
                Met::New
            }
        }
    }

    pub(super) fn done(&mut self, key: Key, reply: &[u8], now: Time) {
        if let Some(State::Running(notify)) = self.calls.insert(key, State::Done(reply.into())) {
            notify.notify_all();
        }
        self.done.push_back((key, now));
        self.drop_old(now);
    }

    fn drop_old(&mut self, now: Time) {
        while let Some(&(key, at)) = self.done.front() {
            if self.done.len() <= MOST && now < at + KEPT {
                return;
            }
            self.done.pop_front();
            self.calls.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::of(IpAddr::from([127, 0, 0, 1]), &n.to_be_bytes())
    }

    #[test]
    fn a_reply_is_found_again_for_a_while_and_a_running_call_is_not_begun_twice() {
        let (mut replay, start) = (Replay::default(), Time::ZERO);
        assert!(matches!(replay.meet(key(1), start), Met::New));
        assert!(matches!(replay.meet(key(1), start), Met::Running(_)));
        assert!(matches!(replay.meet(key(2), start), Met::New));
        replay.done(key(1), b"one", start);
        assert!(matches!(replay.meet(key(1), start), Met::Done(reply) if *reply == *b"one"));
        let elsewhere = Key::of(IpAddr::from([127, 0, 0, 2]), &1_u32.to_be_bytes());
        assert!(matches!(replay.meet(elsewhere, start), Met::New));
        assert!(matches!(replay.meet(key(1), start + KEPT), Met::New));
        assert!(matches!(replay.meet(key(2), start + KEPT), Met::Running(_)), "still not done");
    }

    #[test]
    fn the_cache_does_not_grow() {
        let mut replay = Replay::default();
        for n in 0..3 * MOST as u32 {
            assert!(matches!(replay.meet(key(n), Time::ZERO), Met::New));
            replay.done(key(n), b"reply", Time::ZERO);
        }
        assert_eq!((replay.calls.len(), replay.done.len()), (MOST, MOST));
        assert!(matches!(replay.meet(key(0), Time::ZERO), Met::New));
        assert!(matches!(replay.meet(key(3 * MOST as u32 - 1), Time::ZERO), Met::Done(_)));
    }
}
