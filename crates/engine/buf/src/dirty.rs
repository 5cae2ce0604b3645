//! Which bufs are dirty: by age for the syncer, by file for fsync and clusters.
//!
//! A buf that the syncer skipped, because it waits for another one, stands in a second queue. The syncer looks at it
//! again at its time there, not after all bufs that became dirty since.

use crate::{Buf, BufRef, Key};
use ordo_ondisk::{Ino, Lbn};
use ordo_rt::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// The dirty bufs. An entry of the age list may be stale (the buf was written or is gone); it is dropped when it is
/// taken.
#[derive(Default)]
pub(crate) struct DirtyBufs {
    bytes: usize,
    bufs: usize,
    /// Those among them that are not counted: dinodes by themselves, and of a log also indirect blocks.
    uncounted: usize,
    only_contents: bool,
    by_age: VecDeque<(Time, Weak<Buf>)>,
    /// When to look at it again, since when it is dirty, and the buf.
    again: VecDeque<(Time, Time, Weak<Buf>)>,
    by_file: FxHashMap<Ino, BTreeSet<Lbn>>,
}

impl DirtyBufs {
    /// None. `only_contents`: indirect blocks do not count.
    pub(crate) fn new(only_contents: bool) -> DirtyBufs {
        DirtyBufs { only_contents, ..DirtyBufs::default() }
    }

    fn is_uncounted(&self, key: Key) -> bool {
        key.is_dinode() || self.only_contents && matches!(key, Key::File(_, lbn) if lbn.0 < 0)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many of those that count ([`crate::BufCounts`]).
    pub(crate) fn bufs(&self) -> usize {
        self.bufs - self.uncounted
    }

    /// How many.
    pub(crate) fn all_bufs(&self) -> usize {
        self.bufs
    }

    /// `buf` has just become dirty.
    pub(crate) fn add(&mut self, buf: &BufRef) {
        self.bytes += buf.len();
        self.bufs += 1;
        self.uncounted += usize::from(self.is_uncounted(buf.key()));
        buf.in_line.set(true);
        self.by_age.push_back((buf.dirty_since.get(), Rc::downgrade(buf)));
        if let Key::File(ino, lbn) = buf.key() {
            self.by_file.entry(ino).or_default().insert(lbn);
        }
    }

    /// `buf` is written or discarded.
    pub(crate) fn drop_buf(&mut self, buf: &Buf) {
        self.bytes -= buf.len();
        self.bufs -= 1;
        self.uncounted -= usize::from(self.is_uncounted(buf.key()));
        if let Key::File(ino, lbn) = buf.key()
            && let Some(lbns) = self.by_file.get_mut(&ino)
        {
            lbns.remove(&lbn);
            if lbns.is_empty() {
                self.by_file.remove(&ino);
            }
        }
    }

    pub(crate) fn resized(&mut self, old: usize, new: usize) {
        self.bytes = self.bytes + new - old;
    }

    pub(crate) fn of_file(&self, ino: Ino) -> impl Iterator<Item = Lbn> + '_ {
        self.by_file.get(&ino).into_iter().flatten().copied()
    }

    pub(crate) fn of_file_range(&self, ino: Ino, from: Lbn, to: Lbn) -> impl Iterator<Item = Lbn> + '_ {
        self.by_file.get(&ino).into_iter().flat_map(move |lbns| lbns.range(from..to)).copied()
    }

    /// Up to `most` bufs that have been dirty for `age`, oldest first. They leave the age list. Those of the second
    /// queue come before the others when their time has come. With an age of zero the rest of the queue comes after the
    /// others, since what they wait for may be among the others.
    pub(crate) fn take_older(&mut self, now: Time, age: Duration, most: usize) -> Vec<BufRef> {
        // Whoever needs room takes as many as it may.
        let mut taken = Vec::with_capacity(if age.is_zero() { most.min(self.by_age.len()) } else { 0 });
        self.take_again(&mut taken, most, |at| at <= now);
        while taken.len() < most {
            match self.by_age.front() {
                Some((since, _)) if *since + age <= now => {}
                _ => break,
            }
            let Some((since, buf)) = self.by_age.pop_front() else { break };
            if let Some(buf) = buf.upgrade()
                && buf.is_dirty()
                && buf.dirty_since.get() == since
            {
                buf.in_line.set(false);
                taken.push(buf);
            }
        }
        if age.is_zero() {
            self.take_again(&mut taken, most, |_| true);
        }
        taken
    }

    fn take_again(&mut self, taken: &mut Vec<BufRef>, most: usize, is_due: impl Fn(Time) -> bool) {
        while taken.len() < most && self.again.front().is_some_and(|waits| is_due(waits.0)) {
            let Some((_, since, buf)) = self.again.pop_front() else { break };
            if let Some(buf) = buf.upgrade()
                && buf.is_dirty()
                && buf.dirty_since.get() == since
            {
                buf.in_line.set(false);
                taken.push(buf);
            }
        }
    }

    /// Drops the oldest entries of the age list while their bufs are clean: a syncer that does not go by age never
    /// takes them.
    pub(crate) fn forget_clean(&mut self) {
        let is_live = |(since, buf): &(Time, Weak<Buf>)| {
            buf.upgrade().is_some_and(|buf| buf.is_dirty() && buf.dirty_since.get() == *since)
        };
        while self.by_age.front().is_some_and(|entry| !is_live(entry)) {
            self.by_age.pop_front();
        }
    }

    #[cfg(test)]
    pub(crate) fn is_forgotten(&self) -> bool {
        self.by_age.is_empty()
    }

    /// Puts back a buf that was taken and not written, to be looked at again at `at`.
    pub(crate) fn put_back(&mut self, buf: &BufRef, at: Time) {
        if !buf.in_line.replace(true) {
            self.again.push_back((at, buf.dirty_since.get(), Rc::downgrade(buf)));
        }
    }

    /// Counts the buf's age from now: its safe contents were written, and what is dirty now is a newer change.
    pub(crate) fn start_over(&mut self, buf: &BufRef, now: Time) {
        let same = buf.dirty_since.replace(now) == now;
        if !(buf.in_line.replace(true) && same) {
            self.by_age.push_back((now, Rc::downgrade(buf)));
        }
    }

    /// All dirty bufs, oldest first.
    pub(crate) fn all(&self) -> Vec<BufRef> {
        let again = self.again.iter().map(|(_, since, buf)| (since, buf));
        let lines = again.chain(self.by_age.iter().map(|(since, buf)| (since, buf)));
        let live = lines.filter_map(|(since, buf)| buf.upgrade().map(|buf| (since, buf)));
        live.filter(|(since, buf)| buf.is_dirty() && buf.dirty_since.get() == **since).map(|(_, buf)| buf).collect()
    }
}
