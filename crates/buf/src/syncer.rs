//! The syncer: once a second it writes what has been dirty for too long.
//!
//! It takes each second only what has come of age, so that a burst of changes leaves as it came, spread over time,
//! instead of all at once every thirty seconds (Ganger and Patt 1994, section 2, on the syncer of SVR4). That one swept the
//! cache by place, not by age; for the laboratory it is here too ([`Syncer::Sweep`]).
//!
//! Y1. Under [`Syncer::Within`] a change leaves before it is older than that, and what follows from it follows soon: a sweep
//!     goes on, stage by stage, while what has come of age waits for what this sweep has written. Otherwise a name, which
//!     is durable after three writes one after the other, would take three ages.
//! Y2. Under it each sweep ends with a flush if anything was sent since the last one, under every scheme: what a disk has
//!     in its cache is lost with the power as memory is.

use crate::{BufRef, Cache, Syncer};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// Bufs that one sweep starts at the most; the next sweep goes on. Under [`Syncer::Within`] it is one stage of a sweep.
const SWEEP: usize = 4096;
/// From one sweep to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// Stages of one sweep (Y1): twice as many as a buf is let wait for others. The next sweep goes on.
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
        let old = match self.options.syncer {
            Syncer::Within(age) => return self.write_due(age).await,
            Syncer::Age(age) => self.inner.borrow_mut().dirty.take_older(now, age, SWEEP),
            Syncer::Sweep(period) => self.swept(period),
        };
        // What these wait for can be all that is dirty, and whoever reads would wait behind it.
        let most = old.len() + self.options.batch;
        let sent = self.write_choosing(old, most);
        if self.scheme().wants_flush() && (!sent.is_empty() || self.undurable_bytes.get() > 0) {
            self.complete(&sent).await;
            let _ = self.flush().await;
        }
        // Images that the device holds, but not durably, keep their bufs: a flush lets go of them.
        if self.undurable_bytes.get() > self.options.bytes / 4 && self.health().sound().is_ok() {
            // A failed flush has marked every buf dirty again, and the volume read-only: nothing is left to be told.
            let _ = self.flush().await;
        }
    }

    /// Y1, Y2. What would be too old at the next sweep leaves now.
    async fn write_due(self: &Rc<Self>, age: Duration) {
        for _ in 0..STAGES {
            let due = self.inner.borrow_mut().dirty.take_older(self.rt.now(), age.saturating_sub(PERIOD), SWEEP);
            let is_last = due.is_empty();
            let most = due.len() + self.options.batch;
            let chosen = self.choose(due, most);
            for first in self.begin_to_write(&chosen) {
                if first.await.is_err() {
                    return;
                }
            }
            if self.undurable_bytes.get() > 0 {
                self.complete(&chosen).await;
                // A failed flush has marked every buf dirty again, and the volume read-only: nothing is left to be told.
                if self.health().sound().is_err() || self.flush().await.is_err() {
                    return;
                }
            }
            // What has landed is told to the scheme by tasks of their own.
            self.rt.yield_now().await;
            if is_last {
                return;
            }
        }
    }

    /// What this second's part of the sweep writes: the dirty bufs in it that the last sweep has marked. The others are
    /// marked.
    fn swept(&self, period: Duration) -> Vec<BufRef> {
        let now = self.rt.now();
        let mut inner = self.inner.borrow_mut();
        // Those that the scheme let wait for others a second ago come before their part.
        let mut taken = inner.dirty.take_older(now, Duration::MAX, SWEEP);
        let seconds = period.as_secs().max(1);
        let part = (now.as_nanos() / 1_000_000_000 % seconds) as usize;
        // A comb, not a piece: what was read or made in one go stands in a row, and a piece would be written in one burst.
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
