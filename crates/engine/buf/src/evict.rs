//! Eviction (buf-5): the clock algorithm.
//!
//! A hand goes round all bufs. A buf that was used since the hand last passed is kept for another round.

use crate::Cache;
use crate::buf::State;
use crate::cache::Inner;
use crate::{Op, Role};
use ordo_vfs::Result;
use std::rc::Rc;
use std::time::Duration;

/// Rounds of failed writes after which a caller that waits for room gets the error. Before that the disk is tried
/// again.
const TRIES: u32 = 3;

/// How often, and for how long each time, background writing waits for bufs that cannot leave yet, where bufs are
/// counted: a tenth of a second together.
const NAPS: u32 = 10;
const NAP: Duration = Duration::from_millis(10);

impl Cache {
    /// Whether a buf of `len` bytes more fits. Evicts clean bufs if needed.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        let counts = self.policy.counts;
        let (limit, most) = (self.bytes, counts.map_or(usize::MAX, |counts| counts.most));
        let fits = |inner: &Inner| inner.bytes + len <= limit && inner.counted() < most;
        let many_dinodes = |inner: &Inner| counts.is_some_and(|counts| inner.dinodes > counts.dinodes);
        if fits(&self.inner.borrow()) && !many_dinodes(&self.inner.borrow()) {
            return true;
        }
        let mut inner = self.inner.borrow_mut();
        let count = inner.bufs.len();
        let contents_first = counts.is_some_and(|counts| counts.contents_first);
        let rounds = if contents_first { 4 } else { 2 };
        let mut looked_at = 0;
        while looked_at < rounds * count {
            let enough = fits(&inner);
            if enough && (!many_dinodes(&inner) || looked_at >= 2 * count) {
                break;
            }
            looked_at += 1;
            let at = inner.hand % count;
            inner.hand = at + 1;
            let Some(buf) = &inner.bufs[at] else { continue };
            let idle = buf.state.get() == State::Clean && buf.flight.is_over() && Rc::strong_count(buf) == 1;
            // If there are only too many dinodes, the others need not go.
            let stays = match enough {
                true => !buf.key().is_dinode(),
                false => contents_first && looked_at <= 2 * count && buf.kind.get() != Role::Data,
            };
            if !idle || stays || buf.referenced.replace(false) {
                continue;
            }
            let buf = buf.clone();
            inner.vacate(&buf);
        }
        fits(&inner)
    }

    /// Makes room for `len` more bytes. If all bufs are held or dirty, dirty bufs are written. If all are held, the
    /// cache grows: there are few holders, and each holds few bufs.
    ///
    /// It starts batches, and does not wait until they are shaped: the batch may wait for this very caller, which reads
    /// what the batch needs, or holds a lock of the layout. Then the cache grows by what the caller wants.
    pub(crate) async fn make_room(self: &Rc<Self>, len: usize) -> Result<()> {
        let mut tries = 0;
        while tries < 8 {
            if self.has_room(len) {
                return Ok(());
            }
            let oldest = self.inner.borrow_mut().dirty.take_older(self.rt.now(), Duration::ZERO, self.policy.batch);
            if oldest.is_empty() && self.flights.bytes() == 0 {
                return Ok(());
            }
            let sent = self.write_choosing(oldest, self.policy.batch);
            if sent.iter().any(|buf| self.is_unplaced(buf)) {
                // A batch that needs nothing from the disk is sent now.
                self.rt.yield_now().await;
            }
            self.complete(&sent).await;
            if self.flights.are_incomplete() {
                // Others sent these images, and they are not complete: a flush would not cover them.
                self.progress.notified().await;
                continue;
            }
            if self.flights.bytes() == 0 && sent.iter().any(|buf| self.is_unplaced(buf)) {
                return Ok(());
            }
            tries += 1;
            self.flush().await?;
            // Tasks release the bufs of the images that have just become durable.
            self.rt.yield_now().await;
        }
        Ok(())
    }

    /// The bytes that are dirty or not yet durable exceed the limit, or the dirty bufs do.
    #[inline]
    pub(crate) fn is_over_dirty(&self) -> bool {
        let inner = self.inner.borrow();
        inner.dirty.bytes() + self.flights.bytes() > self.dirty_bytes
            || self.policy.counts.is_some_and(|bufs| inner.dirty.bufs() > bufs.most_dirty)
    }

    /// Enough is dirty to start writing in the background. Without that, callers would later block all at once.
    #[inline]
    pub(crate) fn should_write_back(&self) -> bool {
        if self.writing_back.get() {
            return false;
        }
        match self.policy.counts {
            Some(bufs) => self.inner.borrow().dirty.bufs() > bufs.high,
            None => self.is_over_a_quarter(),
        }
    }

    /// Bufs to write in the background before it may end.
    fn to_write_back(&self) -> usize {
        match self.policy.counts {
            Some(bufs) => match &self.inner.borrow().dirty {
                dirty if dirty.bufs() > bufs.low => (dirty.all_bufs() - bufs.low).min(self.policy.batch),
                _ => 0,
            },
            None if self.is_over_a_quarter() => self.policy.batch,
            None => 0,
        }
    }

    fn is_over_a_quarter(&self) -> bool {
        self.inner.borrow().dirty.bytes() > self.dirty_bytes / 4
    }

    /// Starts to write the oldest dirty bufs in the background, until the dirty bytes are below a quarter of the limit,
    /// or the dirty bufs at the lower watermark.
    pub(crate) fn write_back(self: &Rc<Self>) {
        if self.writing_back.replace(true) {
            return;
        }
        let cache = self.clone();
        self.rt.spawn(async move {
            loop {
                let most = cache.to_write_back();
                if most == 0 {
                    break;
                }
                let before = cache.inner.borrow().dirty.bytes();
                let oldest = cache.inner.borrow_mut().dirty.take_older(cache.rt.now(), Duration::ZERO, most);
                if oldest.is_empty() || cache.health().sound().is_err() {
                    break;
                }
                let dinodes = oldest.iter().filter(|buf| buf.key().is_dinode()).count();
                cache.writes_names.set(3 * dinodes >= oldest.len());
                let sent = cache.send_and_forget_errors(oldest).await;
                let some = sent.iter().any(|buf| buf.flight.is_leaving());
                if cache.policy.counts.is_some_and(|bufs| !bufs.segments) {
                    // What is dirty counts, and not what is in flight: writes are started, and that is the end. If some
                    // cannot start, it sleeps, and the next call does not try the same bufs again at once.
                    let mut naps = 0;
                    while naps < NAPS && sent.iter().any(|buf| buf.is_dirty() && !buf.flight.is_leaving()) {
                        cache.rt.sleep(NAP).await;
                        naps += 1;
                    }
                    break;
                }
                cache.complete(&sent).await;
                if !some {
                    // The scheme holds back all of these bufs. Trying again at once would loop without end.
                    break;
                }
                // A failed buf is dirty again: on a disk that fails every write this loop would not end.
                if cache.last_failure.borrow().is_some() && cache.inner.borrow().dirty.bytes() >= before {
                    break;
                }
            }
            cache.writing_back.set(false);
            cache.progress.notify_all();
        });
    }

    /// Waits while more bytes are dirty than the limit allows (buf-5).
    ///
    /// # Errors
    /// `Io` when the volume failed, so that nothing will become clean any more, or when the disk fails all writes.
    pub async fn throttle(self: &Rc<Self>) -> Result<()> {
        let mut tries = 0;
        while self.is_over_dirty() {
            self.health().writable()?;
            self.write_back();
            self.progress.notified().await;
            if self.is_over_dirty() && !self.writing_back.get() {
                let failure = self.last_failure.take();
                if failure.is_some() && tries < TRIES {
                    tries += 1;
                    continue;
                }
                if let Some(failure) = failure {
                    return Err(failure);
                }
                if self.flights.are_incomplete() {
                    // A flush does not cover these, and where no flush is needed this loop would spin.
                    self.progress.notified().await;
                    continue;
                }
                if self.flights.bytes() == 0 {
                    // The scheme holds back what is left.
                    return Ok(());
                }
                self.flush().await?;
                self.rt.yield_now().await;
            }
        }
        Ok(())
    }

    /// Where a log counts bufs, a call on names waits while segments of as many files as blocks are written.
    pub(crate) async fn segments_written(&self, op: Op) {
        if self.policy.counts.is_some_and(|bufs| bufs.segments) && op.kind.is_on_names() {
            while self.writing_back.get() && self.writes_names.get() {
                self.progress.notified().await;
            }
        }
    }

    /// Sends these bufs, or what they depend on. A failure is recorded with its file and in the volume's health; the
    /// caller that makes room does not get it.
    async fn send_and_forget_errors(self: &Rc<Self>, bufs: Vec<crate::BufRef>) -> Vec<crate::BufRef> {
        let sent = self.write_choosing(bufs, self.policy.batch);
        let unplaced: Vec<_> = sent.iter().filter(|buf| self.is_unplaced(buf)).cloned().collect();
        if !unplaced.is_empty() {
            // A failure stays with the bufs, which are dirty still.
            let _ = self.gather(unplaced).await;
        }
        sent
    }

    /// Waits until the device has completed the writes of these bufs.
    pub(crate) async fn complete(&self, sent: &[crate::BufRef]) {
        for buf in sent {
            while buf.flight.is_leaving() {
                buf.changed.notified().await;
            }
        }
    }
}
