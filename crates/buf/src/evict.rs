//! Room: which buf goes when another one comes (B5).
//!
//! The clock: a hand goes round all bufs; one that was used since the hand last passed gets another round.

use crate::Cache;
use crate::buf::State;
use std::rc::Rc;
use std::time::Duration;
use vfs::Result;

/// Rounds of failed writes after which a caller that waits for room is told. The disk may need only another try.
const TRIES: u32 = 3;

impl Cache {
    /// There is room for `len` bytes more, perhaps after clean bufs went.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        let limit = self.options.bytes;
        if self.inner.borrow().bytes + len <= limit {
            return true;
        }
        let mut inner = self.inner.borrow_mut();
        let count = inner.bufs.len();
        let mut looked_at = 0;
        while inner.bytes + len > limit && looked_at < 2 * count {
            looked_at += 1;
            let at = inner.hand % count;
            inner.hand = at + 1;
            let Some(buf) = &inner.bufs[at] else { continue };
            let idle = buf.state.get() == State::Clean && buf.undurable.get() == 0 && Rc::strong_count(buf) == 1;
            if !idle || buf.referenced.replace(false) {
                continue;
            }
            let (key, len_gone) = (buf.key(), buf.len());
            buf.place_in_cache.set(u32::MAX);
            inner.bytes -= len_gone;
            inner.map.remove(&key);
            inner.bufs[at] = None;
            inner.free.push(at as u32);
        }
        inner.bytes + len <= limit
    }

    /// Makes room for `len` bytes more. Where everything is held or dirty, dirty bufs are written; where everything is
    /// held, the cache grows: the holders are few, and each holds few.
    pub(crate) async fn make_room(self: &Rc<Self>, len: usize) -> Result<()> {
        let mut tries = 0;
        while tries < 8 {
            if self.has_room(len) {
                return Ok(());
            }
            let oldest = self.inner.borrow_mut().dirty.take_older(self.rt.now(), Duration::ZERO, self.options.batch);
            if oldest.is_empty() && self.undurable_bytes.get() == 0 {
                return Ok(());
            }
            self.write_and_forget_errors(oldest).await;
            if self.on_their_way.get() > 0 {
                // Sent by others, and not there: a flush would not cover them.
                self.progress.notified().await;
                continue;
            }
            tries += 1;
            self.flush().await?;
            // The images that just became durable let go of their bufs in tasks of their own.
            self.rt.yield_now().await;
        }
        Ok(())
    }

    /// More is dirty, or not durable yet, than may be.
    #[inline]
    pub(crate) fn is_over_dirty(&self) -> bool {
        self.inner.borrow().dirty.bytes() + self.undurable_bytes.get() > self.options.dirty_bytes
    }

    /// So much is dirty that writing it should start: callers would otherwise come to wait all at once.
    #[inline]
    pub(crate) fn should_write_back(&self) -> bool {
        !self.writing_back.get() && self.inner.borrow().dirty.bytes() > self.options.dirty_bytes / 4
    }

    /// Starts to write the oldest dirty bufs, in the background, until little enough is dirty.
    pub(crate) fn write_back(self: &Rc<Self>) {
        if self.writing_back.replace(true) {
            return;
        }
        let cache = self.clone();
        self.rt.spawn(async move {
            while cache.inner.borrow().dirty.bytes() > cache.options.dirty_bytes / 4 {
                let before = cache.inner.borrow().dirty.bytes();
                let oldest =
                    cache.inner.borrow_mut().dirty.take_older(cache.rt.now(), Duration::ZERO, cache.options.batch);
                if oldest.is_empty() || cache.health().sound().is_err() {
                    break;
                }
                if !cache.write_and_forget_errors(oldest).await {
                    // The scheme holds back all of it. Asked again at once it would say the same, without end.
                    break;
                }
                // What failed is dirty again: on a disk that takes nothing this would never end.
                if cache.last_failure.borrow().is_some() && cache.inner.borrow().dirty.bytes() >= before {
                    break;
                }
            }
            cache.writing_back.set(false);
            cache.progress.notify_all();
        });
    }

    /// Waits while more is dirty than may be (B5).
    ///
    /// # Errors
    /// `Io` when the volume failed, so that nothing will ever become clean, or when the disk takes no data.
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
                if self.on_their_way.get() > 0 {
                    // A flush would not cover them, and where none is needed it would wait for nothing, without end.
                    self.progress.notified().await;
                    continue;
                }
                if self.undurable_bytes.get() == 0 {
                    // What is left cannot leave now: the scheme holds it back.
                    return Ok(());
                }
                self.flush().await?;
                self.rt.yield_now().await;
            }
        }
        Ok(())
    }

    /// Each failure is kept with its file and in the volume's health; whoever makes room is not the one to be told. `false`
    /// where nothing could leave.
    async fn write_and_forget_errors(self: &Rc<Self>, bufs: Vec<crate::BufRef>) -> bool {
        let sent = self.write_choosing(bufs, self.options.batch);
        let some = sent.iter().any(|buf| buf.leaving.get());
        self.complete(&sent).await;
        some
    }

    /// Waits until the device has what was sent of these.
    pub(crate) async fn complete(&self, sent: &[crate::BufRef]) {
        for buf in sent {
            while buf.leaving.get() {
                buf.changed.notified().await;
            }
        }
    }
}
