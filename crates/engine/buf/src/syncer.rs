//! The syncer: once a second it writes what has been dirty for too long.
//!
//! Each second it takes only the bufs that have expired, so that a burst of changes is written as it came, spread over
//! time, instead of all at once (Ganger and Patt 1994, section 2). A policy may sweep the cache by place instead of by
//! age ([`Syncer::Sweep`]).
//!
//! Y1. Under [`Syncer::Within`] a change is written before it is older than that, and its dependents follow soon: a
//!     sweep continues, stage by stage, while expired bufs wait for what this sweep has written. Otherwise a name,
//!     which is durable after three writes one after the other, would take three ages.
//! Y2. Under it each sweep ends with a flush if anything was sent since the last one, under every scheme: a power cut
//!     loses the disk's cache just as it loses memory.

use crate::{BufRef, Cache, Syncer};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// At most so many bufs are started per sweep; the next sweep goes on. Under [`Syncer::Within`] per stage of a sweep.
const SWEEP: usize = 4096;
/// From one sweep to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// Stages of one sweep (Y1): twice as many as times a buf may be skipped. The next sweep goes on.
const STAGES: usize = 10;

impl Cache {
    /// Runs until the cache is gone.
    pub async fn run_syncer(cache: Weak<Cache>) {
        loop {
            let Some(rt) = cache.upgrade().map(|cache| cache.rt.clone()) else { return };
            rt.sleep(PERIOD).await;
            let Some(cache) = cache.upgrade() else { return };
            cache.sweep().await;
        }
    }

    /// One sweep.
    async fn sweep(self: &Rc<Self>) {
        let now = self.rt.now();
        self.scheme().clone().tick(self, now);
        let old = match self.policy.syncer {
            Syncer::Within(age) => return self.write_due(age).await,
            Syncer::Age(age) => self.inner.borrow_mut().dirty.take_older(now, age, SWEEP),
            Syncer::Sweep(period) => self.swept(period),
        };
        // These bufs can depend on everything that is dirty; without a limit, readers would wait behind it.
        let most = old.len() + self.policy.batch;
        let sent = self.write_choosing(old, most);
        if (!sent.is_empty() || self.flights.bytes() > 0) && self.capabilities().wants_flush() {
            self.complete(&sent).await;
            let _ = self.flush().await;
        }
        // Images that the device has completed, but that are not durable, pin their bufs: a flush releases them.
        if self.flights.bytes() > self.bytes / 4 && self.health().sound().is_ok() {
            // A failed flush has marked every buf dirty again, and the volume read-only: there is nothing more to
            // report.
            let _ = self.flush().await;
        }
    }

    /// Writes what would be too old at the next sweep (Y1, Y2).
    async fn write_due(self: &Rc<Self>, age: Duration) {
        for _ in 0..STAGES {
            let due = self.inner.borrow_mut().dirty.take_older(self.rt.now(), age.saturating_sub(PERIOD), SWEEP);
            let is_last = due.is_empty();
            let most = due.len() + self.policy.batch;
            let chosen = self.choose(due, most);
            let (blocked, unplaced) = self.begin_to_write(&chosen);
            for first in blocked {
                if first.await.is_err() {
                    return;
                }
            }
            if !unplaced.is_empty() && self.gather(unplaced).await.is_err() {
                return;
            }
            if self.flights.bytes() > 0 {
                self.complete(&chosen).await;
                // A failed flush has marked every buf dirty again, and the volume read-only: there is nothing more to
                // report.
                if self.health().sound().is_err() || self.flush().await.is_err() {
                    return;
                }
            }
            // Other tasks notify the scheme of what has landed.
            self.rt.yield_now().await;
            if is_last {
                return;
            }
        }
    }

    /// This second's part of the sweep: returns the dirty bufs that the last sweep has marked, and marks the others.
    fn swept(&self, period: Duration) -> Vec<BufRef> {
        let now = self.rt.now();
        let mut inner = self.inner.borrow_mut();
        // Bufs that were skipped a second ago come first.
        let mut taken = inner.dirty.take_older(now, Duration::MAX, SWEEP);
        let seconds = period.as_secs().max(1);
        let part = (now.as_nanos() / 1_000_000_000 % seconds) as usize;
        // Every n-th buf, not a contiguous piece: bufs read or made together are neighbours, and a piece would be one
        // burst.
        let comb = inner.bufs.iter().skip(part).step_by(seconds as usize);
        for buf in comb.flatten().filter(|buf| buf.is_dirty()) {
            let since = buf.dirty_since.get();
            if buf.marked.replace(since) == since {
                buf.in_line.set(false);
                taken.push(buf.clone());
            }
        }
        inner.dirty.forget_clean();
        taken
    }
}
