//! The cleaner: segments that are mostly dead are made whole again (Rosenblum and Ousterhout 1992, section 3).
//!
//! V1. What is alive in a segment is brought into the cache and made dirty: it leaves with everything else, to the head
//!     of the log. Nothing is written in place, and a crash in the middle finds the old copy.
//! V2. A block is alive if the inode map has the generation of its record, and the file's pointer leads to it. This is
//!     looked at when the block is made dirty, without a wait in between: files change meanwhile.
//! V3. The segment is clean after two checkpoints (checkpoint-4), and not before.
//! V4. What cleaning writes always fits: victims are chosen so that their live bytes do.
//! V5. A segment that is being read does not become clean. It may lose its last live block meanwhile; were it written
//!     again, a block that is alive in it now would be compared by its address alone, and its old bytes written.
//! V6. A segment that cannot be read stays out of use, also when nothing in it is alive: what cannot be read cannot be
//!     written with any confidence either.
//! V7. Data that the cleaner moved stay as old as they were: the stamp of a segment is that of the youngest data in it,
//!     and what is moved does not count as young (Rosenblum and Ousterhout 1992, section 3.6). It is a hint only.
//! V8. When no call has come for a while, more is cleaned, as long as a segment gives back a quarter at least.
//! V9. Two checkpoints after each round would cost more than they gain on a small volume, where each writes all of the
//!     ifile: the ones that are due anyway serve as well.
//! V10. What is brought in before it is written takes half of the cache at most, and one segment more. All of it
//!     stays in memory until it is written; with more, a small cache would lose the indirect blocks above it, and read
//!     them again for every block.

mod choose;
mod coalesce;
mod segment;

pub use coalesce::Coalesced;

use crate::log::Log;
use crate::options::Policy;
use ordo_buf::{BufRef, CallKind, Key, Trouble};
use ordo_ondisk::lfs::SegNo;
use ordo_vfs::{Error, Refusal, Result};
use std::rc::Rc;
use std::time::Duration;

/// Rounds without a gain after which a call is told that there is no space.
const IN_VAIN: u32 = 4;
/// The most segments that are read before what is alive in them is written.
const AT_ONCE: usize = 8;
/// Fewer where nothing is urgent: a call that comes waits for what is written of them.
const AT_REST: usize = 2;
/// So long without a call is rest.
const REST: Duration = Duration::from_secs(2);

/// A segment that is being read (V5), until it is dropped.
struct Reading<'a> {
    log: &'a Log,
    victim: SegNo,
}

impl Reading<'_> {
    fn of(log: &Log, victim: SegNo) -> Reading<'_> {
        log.reading.borrow_mut().insert(victim);
        Reading { log, victim }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.log.reading.borrow_mut().remove(&self.victim);
    }
}

impl Log {
    /// Makes room for a call (space-1): what is empty becomes clean, then what is worth it is cleaned.
    ///
    /// # Errors
    /// `NoSpace`: nothing is worth it; `Io`.
    pub(crate) async fn make_room(&self, kind: CallKind) -> Result<()> {
        let cache = self.cache()?;
        if !self.is_short(&cache, kind) {
            return Ok(());
        }
        let _one = self.cleaning.lock().await;
        match self.clean_until(|| !self.is_short(&cache, kind)).await? {
            true => Ok(()),
            false => Err(Refusal::NoSpace.into()),
        }
    }

    /// A call was refused: waits until there is room for it, if cleaning can make it. Whether another attempt of the
    /// call makes sense; the first one does, since everything is written now.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    pub(crate) async fn find_room(&self, again: bool) -> Result<bool> {
        let Some(wanted) = self.refused.borrow_mut().pop() else { return Ok(false) };
        let _one = self.cleaning.lock().await;
        self.turn_over().await?;
        self.clean_until(|| self.has(wanted.generous())).await?;
        Ok(!again || self.has(wanted))
    }

    /// Rounds of cleaning until there is enough, or until they gain nothing. Whether there is enough.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`.
    async fn clean_until(&self, enough: impl Fn() -> bool) -> Result<bool> {
        let (cache, mut in_vain) = (self.cache()?, 0);
        while !enough() {
            cache.health().writable()?;
            let before = self.ifile.borrow().sums().clean;
            self.turn_over().await?;
            let nothing_new = self.in_vain.get().is_some_and(|dead| self.dead() < dead + u64::from(self.g.ssize));
            if enough() || nothing_new {
                break;
            }
            // Where the policy's choice gains too little, that of what has most is asked.
            let policy = if in_vain == 0 { self.options.cleaner } else { Policy::Greedy };
            let read = self.clean(policy, AT_ONCE, 0).await?;
            self.turn_over().await?;
            in_vain = if read > 0 && self.ifile.borrow().sums().clean > before { 0 } else { in_vain + 1 };
            if in_vain == IN_VAIN {
                self.in_vain.set(Some(self.dead()));
                break;
            }
        }
        Ok(enough())
    }

    /// Two checkpoints: what is empty now is clean then (V3).
    async fn turn_over(&self) -> Result<()> {
        for _ in 0..2 {
            self.changed.set(true);
            self.checkpoint().await?;
        }
        Ok(())
    }

    /// Cleans as long as that makes segments clean.
    ///
    /// # Errors
    /// As [`Log::clean`].
    pub(crate) async fn clean_all(&self) -> Result<()> {
        let _one = self.cleaning.lock().await;
        self.turn_over().await?;
        loop {
            let before = self.ifile.borrow().sums().clean;
            if self.clean(self.options.cleaner, AT_ONCE, 0).await? == 0 {
                return Ok(());
            }
            self.turn_over().await?;
            if self.ifile.borrow().sums().clean <= before {
                return Ok(());
            }
        }
    }

    /// In the background: cleans while segments run low, before a call has to wait for it, and at rest (V8). What is
    /// empty becomes clean with the checkpoints that come anyway, unless segments run very low (V9).
    pub(crate) async fn clean_ahead(self: Rc<Self>) {
        let Some(_one) = self.cleaning.try_lock() else { return };
        let (low, rests) = (self.wants_cleaning(), self.rests());
        if low || rests {
            let (most, least) = if low { (AT_ONCE, 0) } else { (AT_REST, self.g.ssize / 4) };
            // A failure has made the volume read-only, or is told to the call that needs the room.
            let _ = self.clean(self.options.cleaner, most, least).await;
        }
        let sums = self.ifile.borrow().sums();
        if sums.empty > 0 && (rests || 4 * sums.clean < 3 * self.kept_clean()) {
            let _ = self.turn_over().await;
        }
    }

    /// Segments that the cleaner keeps clean.
    fn kept_clean(&self) -> u64 {
        u64::from(self.g.minfreeseg.max(8))
    }

    /// Fewer segments are clean, or about to be, than the format keeps aside for cleaning, and more than that is dead.
    fn wants_cleaning(&self) -> bool {
        let sums = self.ifile.borrow().sums();
        sums.clean + sums.empty < self.kept_clean() && self.dead() > 4 * u64::from(self.g.ssize)
    }

    /// No call has come for a while, and a tenth of what could be clean is not (as NetBSD's cleaner when idle).
    fn rests(&self) -> bool {
        let Ok(cache) = self.cache() else { return false };
        let (begun, now) = (self.gate.begun(), cache.rt().now());
        let (before, since) = self.busy.get();
        if begun != before {
            self.busy.set((begun, now));
            return false;
        }
        let sums = self.ifile.borrow().sums();
        let possible = u64::from(self.g.nseg).saturating_sub(sums.live.div_ceil(u64::from(self.g.ssize)));
        since + REST <= now && sums.clean + sums.empty < possible * 9 / 10 && self.dead() > 4 * u64::from(self.g.ssize)
    }

    /// Cleans up to `most` segments, each of which gives back `least` bytes; returns how many were read. They are empty
    /// then, and clean after two checkpoints.
    ///
    /// # Errors
    /// `Io`, `Corrupt`: the segment stays as it is, and is not tried again.
    pub(crate) async fn clean(&self, policy: Policy, most: usize, least: u32) -> Result<usize> {
        let (cache, victims) = (self.cache()?, self.victims(policy, most, least));
        let (mut moving, mut read) = (Vec::<BufRef>::new(), 0);
        for victim in &victims {
            // What is held takes the place of indirect blocks, which all of it needs (V10).
            if moving.iter().map(|buf| buf.len()).sum::<usize>() > cache.bytes() / 2 {
                break;
            }
            read += 1;
            // It may have been emptied, or written again, while others were read.
            if !self.is_victim(*victim) {
                continue;
            }
            let _reading = Reading::of(self, *victim);
            let bufs = match self.read_alive(*victim).await {
                Ok(bufs) => bufs,
                // What was brought in so far leaves; the rest stays where it is.
                Err(Error::Refused(Refusal::NoSpace)) => break,
                Err(error) => {
                    self.give_up(*victim, &error);
                    continue;
                }
            };
            self.keep_age(&bufs, self.ifile.borrow().usage(*victim).lastmod);
            moving.extend(bufs);
        }
        let _held = self.gate.hold().await;
        cache.gather(moving).await?;
        // What was removed before it could leave has none.
        self.ages.borrow_mut().clear();
        Ok(read)
    }

    /// The files leave as old as their segment was (V7).
    fn keep_age(&self, bufs: &[BufRef], lastmod: u64) {
        let mut ages = self.ages.borrow_mut();
        for buf in bufs {
            if let Key::File(ino, _) | Key::Inode(ino) = buf.key() {
                let age = ages.entry(ino).or_insert(lastmod);
                *age = lastmod.max(*age);
            }
        }
    }

    /// A segment that cannot be cleaned is left alone from now on, and the mount says so.
    fn give_up(&self, victim: SegNo, error: &ordo_vfs::Error) {
        use ordo_ondisk::lfs::ifile::SegFlags;
        self.ifile.borrow_mut().change_usage(victim, |entry| entry.flags = entry.flags.with(SegFlags::ERROR));
        if let Ok(cache) = self.cache() {
            cache.health().tell(Trouble::Uncleaned(&format!("segment {}: {error}", victim.0)));
        }
    }
}
