//! Keeps replies that were sent, for calls that come again (nfs-4).
//!
//! A client that has lost its connection repeats what was not answered. Had a REMOVE been done, its repetition would
//! fail with NOENT, and the program that made it would see an error for a success.
//!
//! R1. A call is the same if it comes from the same address, is made for the same user (as the server believes him, not
//!     as he claims to be), and has the same bytes, the number that the client gave it among them. Not the port: the
//!     repetition may come on a new connection.
//! R2. A repetition of a call in progress waits for that one's reply, and is not made.
//! R3. A reply is kept for [`KEPT`] at most. A program that always begins with the same number would otherwise be
//!     answered with what happened to an earlier run of it.
//! R4. Each user has a share. Where there are too many replies, the user with the most loses his oldest. Replies
//!     to ports that only root may have are kept as long as other replies can go.

use crate::creds::Creds;
use ordo_rt::Time;
use ordo_rt::sync::Notify;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// Most replies that are kept. Those of calls that change something are a few hundred bytes.
const MOST: usize = 4096;
/// How long one is kept: clients repeat after seconds, and give up after minutes.
const KEPT: Duration = Duration::from_secs(120);

/// Who has a share (R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct User {
    address: IpAddr,
    low_port: bool,
    uid: u32,
}

/// A call (R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    user: User,
    creds: u128,
    record: u128,
}

impl Key {
    pub(super) fn of((address, low_port): (IpAddr, bool), creds: &Creds, record: &[u8]) -> Key {
        let user = User { address, low_port, uid: creds.uid };
        Key { user, creds: xxh3_128(&creds.bytes()), record: xxh3_128(record) }
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
    done: BTreeMap<u64, (Key, Time)>,
    /// The places in `done` of each user who has any.
    shares: FxHashMap<User, VecDeque<u64>>,
    next: u64,
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
        self.done.insert(self.next, (key, now));
        self.shares.entry(key.user).or_default().push_back(self.next);
        self.next += 1;
        self.drop_old(now);
    }

    fn drop_old(&mut self, now: Time) {
        while let Some((_, &(key, at))) = self.done.first_key_value()
            && now >= at + KEPT
        {
            self.drop_oldest_of(key.user);
        }
        while self.done.len() > MOST {
            let rank =
                |(user, share): &(&User, &VecDeque<u64>)| (!user.low_port, share.len(), share.front().map(|at| !at));
            let Some(user) = self.shares.iter().max_by_key(rank).map(|(user, _)| *user) else { return };
            self.drop_oldest_of(user);
        }
    }

    fn drop_oldest_of(&mut self, user: User) {
        let Some(share) = self.shares.get_mut(&user) else { return };
        let oldest = share.pop_front();
        if share.is_empty() {
            self.shares.remove(&user);
        }
        if let Some((key, _)) = oldest.and_then(|at| self.done.remove(&at)) {
            self.calls.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::creds::user;

    fn of(port: bool, uid: u32, n: u32) -> Key {
        Key::of((IpAddr::from([127, 0, 0, 1]), port), &user(uid, uid, &[]), &n.to_be_bytes())
    }

    fn key(n: u32) -> Key {
        of(false, 7, n)
    }

    fn is_kept(replay: &mut Replay, key: Key) -> bool {
        matches!(replay.calls.get(&key), Some(State::Done(_)))
    }

    #[test]
    fn a_reply_is_found_again_for_a_while_and_a_running_call_is_not_begun_twice() {
        let (mut replay, start) = (Replay::default(), Time::ZERO);
        assert!(matches!(replay.meet(key(1), start), Met::New));
        assert!(matches!(replay.meet(key(1), start), Met::Running(_)));
        assert!(matches!(replay.meet(key(2), start), Met::New));
        replay.done(key(1), b"one", start);
        assert!(matches!(replay.meet(key(1), start), Met::Done(reply) if *reply == *b"one"));
        let elsewhere = Key::of((IpAddr::from([127, 0, 0, 2]), false), &user(7, 7, &[]), &1_u32.to_be_bytes());
        assert!(matches!(replay.meet(elsewhere, start), Met::New));
        assert!(matches!(replay.meet(key(1), start + KEPT), Met::New));
        assert!(matches!(replay.meet(key(2), start + KEPT), Met::Running(_)), "still not done");
    }

    #[test]
    fn a_call_that_is_made_for_another_user_is_another_call() {
        let (mut replay, record) = (Replay::default(), b"the same bytes");
        let from = |port| (IpAddr::from([127, 0, 0, 1]), port);
        let all = [
            Key::of(from(false), &user(65534, 65534, &[]), record),
            Key::of(from(true), &user(0, 0, &[]), record),
            Key::of(from(true), &user(0, 5, &[]), record),
            Key::of(from(true), &user(0, 5, &[1]), record),
            Key::of(from(false), &user(0, 5, &[1]), record),
        ];
        for key in all {
            assert!(matches!(replay.meet(key, Time::ZERO), Met::New));
            replay.done(key, b"reply", Time::ZERO);
        }
    }

    #[test]
    fn the_cache_does_not_grow_and_who_calls_much_loses_his_own_replies() {
        let mut replay = Replay::default();
        let kept = [of(true, 0, 0), of(false, 8, 0), of(false, 0, 0)];
        for key in kept {
            replay.done(key, b"reply", Time::ZERO);
        }
        for n in 0..3 * MOST as u32 {
            assert!(matches!(replay.meet(key(n), Time::ZERO), Met::New));
            replay.done(key(n), b"reply", Time::ZERO);
        }
        assert_eq!((replay.calls.len(), replay.done.len()), (MOST, MOST));
        assert!(!is_kept(&mut replay, key(0)) && is_kept(&mut replay, key(3 * MOST as u32 - 1)));
        assert!(kept.into_iter().all(|key| is_kept(&mut replay, key)), "other users' calls push nothing out");
        // One who claims to be everybody.
        for uid in 1000..1000 + 3 * MOST as u32 {
            replay.done(of(false, uid, 0), b"reply", Time::ZERO);
        }
        assert!(is_kept(&mut replay, kept[0]), "root's are kept as long as there are others");
        assert_eq!(replay.done.len(), MOST);
        replay.drop_old(Time::ZERO + KEPT);
        assert!(replay.calls.is_empty() && replay.done.is_empty() && replay.shares.is_empty());
    }
}
