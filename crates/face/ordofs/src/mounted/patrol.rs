//! The scrub of a schedule (`scrub=WEEKS`): while a volume is mounted with an active journal, all that its map knows is
//! read once in so many weeks, and healed.
//!
//! P1. A part is read only after a second in which nobody asked the disk for anything, and only one in a second. It
//!     ends when somebody does: a program waits for a piece at most.
//! P2. How far the pass has come is kept with the map: with the next root that the journal writes anyway, and at times
//!     with one of its own. After a crash some parts are read again. Without that a volume that is never mounted for
//!     the whole of its weeks would never be read to its end.
//! P3. What the root says of a pass is not trusted: it may come from a damaged disk, or from a clock that was wrong.
//!     At worst a pass begins anew, or is read as fast as P1 allows.

use super::parts::{ActiveDisk, Parts};
use crate::active::{all_was_read, made_durable};
use crate::{Notice, Notices};
use ordo_active::{Active, Pass, Watch};
use ordo_buf::Cache;
use ordo_disk::DiskError;
use ordo_rt::Rt;
use std::rc::{Rc, Weak};
use std::time::Duration;

const TICK: Duration = Duration::from_secs(1);
/// Who is ahead of its time looks again after so many seconds.
const LONGEST: u64 = 600;
/// Fragments or spans of a part: a second of the slowest disk.
const PART: usize = 128;
/// Of a piece of it.
const PIECE: usize = 16;
/// Parts after which the pass is kept by a root of its own.
const UNKEPT: u32 = 256;
/// Seconds.
const WEEK: u64 = 7 * 24 * 3600;

/// Begins to read, as long as the volume is mounted and may be written.
pub(super) fn begin(cache: &Rc<Cache>, disk: &ActiveDisk, weeks: u32, notices: Notices) {
    let rt = cache.rt().clone();
    let (whole, seen) = (u64::from(weeks) * WEEK, Pass::default());
    let (cache, parts) = (Rc::downgrade(cache), disk.parts.clone());
    let patrol =
        Patrol { rt: rt.clone(), notices, cache, parts, whole, seen, passed: 0, of: 0, told: false, unkept: 0 };
    rt.spawn(patrol.run(disk.active.downgrade()));
}

/// The pass of a mount.
struct Patrol {
    rt: Rt,
    notices: Notices,
    cache: Weak<Cache>,
    parts: Rc<Parts>,
    /// Seconds in which everything is read once.
    whole: u64,
    /// The pass as it was seen last: a scrub that somebody asked for begins another.
    seen: Pass,
    /// Fragments that it has read, of so many.
    passed: u64,
    of: u64,
    /// Somebody was told that this pass has found what is nowhere right.
    told: bool,
    unkept: u32,
}

/// Reads, writes and flushes of the volume's queue so far.
type Asked = (u64, u64, u64);

impl Patrol {
    async fn run(mut self, active: Watch) {
        let mut before = None;
        loop {
            let Some(ahead) = active.upgrade().map(|active| self.ahead(&active)) else { return };
            self.rt.sleep(TICK.max(Duration::from_secs(ahead.min(LONGEST)))).await;
            let Some(now) = self.asked() else { return };
            if ahead > 0 || before.replace(now) != Some(now) {
                continue;
            }
            let Some(active) = active.upgrade() else { return };
            if let Err(why) = self.read_part(&active, now).await {
                self.notices.tell(&Notice::NotScrubbed(why.to_string()));
                return;
            }
        }
    }

    /// What was asked of the disk so far. `None`: nothing is to be read any more.
    fn asked(&self) -> Option<Asked> {
        let cache = self.cache.upgrade().filter(|cache| !cache.health().is_read_only() && !self.parts.have_ended())?;
        let stats = cache.queue().stats();
        Some((stats.reads, stats.writes, stats.flushes))
    }

    fn now(&self) -> u64 {
        self.rt.wall().0.max(0) as u64
    }

    fn begin(&mut self, active: &Active) {
        let pass = active.pass();
        // None has begun, or the clock was set back.
        if pass.began == 0 || pass.began > self.now() {
            active.set_pass(Pass { next: 0, began: self.now(), ..pass });
        }
        self.seen = active.pass();
        (self.passed, self.of) = (active.read_in_pass(), active.state().mapped);
    }

    /// Seconds until the next part is due.
    fn ahead(&mut self, active: &Active) -> u64 {
        if self.of == 0 || active.pass() != self.seen || self.seen.began > self.now() {
            self.begin(active);
        }
        if self.of == 0 {
            return LONGEST;
        }
        let due = u128::from(self.passed) * u128::from(self.whole) / u128::from(self.of);
        let elapsed = self.now().saturating_sub(self.seen.began);
        u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(elapsed)
    }

    async fn read_part(&mut self, active: &Active, before: Asked) -> Result<(), DiskError> {
        for _ in 0..PART / PIECE {
            let ends = self.read_piece(active).await?;
            if ends || self.asked() != Some(before) {
                break;
            }
        }
        self.unkept += 1;
        if self.unkept >= UNKEPT {
            self.keep(active).await?;
        }
        Ok(())
    }

    /// Returns whether the pass ends with it, or the mount does.
    async fn read_piece(&mut self, active: &Active) -> Result<bool, DiskError> {
        let parts = self.parts.clone();
        let Some(_one) = parts.begin().await else { return Ok(true) };
        let (found, next) = active.scrub_some(active.pass().next, PIECE).await?;
        if let Some(at) = found.first_rotten.filter(|_| !self.told) {
            self.told = true;
            self.notices.tell(&Notice::NowhereRight(at.0));
        }
        self.passed += found.blocks;
        match next {
            Some(next) => active.set_pass(Pass { next, ..active.pass() }),
            None => {
                all_was_read(active, self.rt.wall().0);
                (self.passed, self.told, self.unkept) = (0, false, UNKEPT);
            }
        }
        self.seen = active.pass();
        Ok(next.is_none())
    }

    /// Keeps the pass with a root of its own.
    async fn keep(&mut self, active: &Active) -> Result<(), DiskError> {
        let parts = self.parts.clone();
        let Some(_one) = parts.begin().await else { return Ok(()) };
        (self.unkept, self.of) = (0, active.state().mapped);
        made_durable(active).await
    }
}
