//! Reclaiming room: the start of the log moves forward.
//!
//! Reclaimed room may be overwritten only when a durable superblock says that reading starts after it (ring-2). One
//! superblock is in flight at a time, in the slot of the older one (ring-1).

use crate::superblock::Superblock;
use crate::{Error, Log, Lsn};
use ordo_ring::Superblock as _;

/// A superblock is written automatically when it frees one part in this many of the log.
const WORTHWHILE: u64 = 8;

impl Log {
    /// Declares that records below `low` are no longer needed. Their room is used again some time later: automatically
    /// when enough of it has accumulated, at once with [`Log::checkpoint`]. A `low` that was passed already changes
    /// nothing. Until then, and after a power cut, a scan may still return records below `low`.
    ///
    /// # Errors
    /// [`Error::NoRecord`] beyond the end, [`Error::ReadOnly`], [`Error::Failed`].
    pub fn reclaim(&self, low: Lsn) -> Result<(), Error> {
        let log = &self.0;
        let worthwhile = {
            let mut state = log.state.borrow_mut();
            log.writable(&state)?;
            if low.0 > state.end {
                return Err(Error::NoRecord { lsn: low, low: state.low, end: Lsn(state.end) });
            }
            state.low = state.low.max(low);
            log.settle(&mut state);
            // Reading starts at a durable record, or where the next one will be.
            let kept = state.low.min(Lsn(state.durable - 1));
            if state.low.0 == state.end && state.durable == state.end {
                // Remains of an earlier mount there do not count.
                (state.start, state.start_epoch) = (state.end, log.epoch);
            } else if let Some(mark) = state.marks.reach(kept) {
                state.start = state.start.max(mark.0);
            }
            state.start - state.free_to >= log.circle.size / WORTHWHILE
        };
        if worthwhile && !log.checkpointing.replace(true) {
            let log = self.clone();
            self.place().rt().spawn(async move {
                // The log keeps the error, and the next caller receives it.
                let _ = log.checkpoint().await;
                log.0.checkpointing.set(false);
            });
        }
        Ok(())
    }

    /// Writes a superblock if there is something to free: the room of what was reclaimed is free when this returns.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Failed`].
    pub async fn checkpoint(&self) -> Result<(), Error> {
        let log = &self.0;
        let mut known = log.superblock.lock().await;
        let next = {
            let state = log.state.borrow();
            log.writable(&state)?;
            // wafs-6: records that are not durable may be lost.
            let low = state.low.min(Lsn(state.durable));
            Superblock { start: state.start, start_epoch: state.start_epoch, low, sure: state.sure, ..known.next() }
        };
        if (next.start, next.low) == (known.start, known.low) {
            return Ok(());
        }
        if let Err(error) = log.circle.place.supersede(&mut *known, next).await {
            log.fail(error.clone());
            return Err(Error::Failed(error));
        }
        log.state.borrow_mut().free_to = known.start;
        log.progress.notify_all();
        Ok(())
    }
}
