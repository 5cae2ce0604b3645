//! Checkpoints: freeing room by moving the tail forward.
//!
//! Room may be overwritten only when a durable superblock says that reading starts after it (ring-2). One superblock
//! is in flight at a time, in the slot of the older one (ring-1).

use crate::journal::Inner;
use crate::superblock::Superblock;
use crate::{Error, Journal, Seq};
use ordo_ring::Superblock as _;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};

impl Journal {
    /// Declares that all blocks of the transactions up to `upto` are durable at their home locations: recovery will
    /// start after them. Their room is free when this returns. An `upto` that was passed already changes nothing.
    ///
    /// # Errors
    /// [`Error::NoTransaction`] if that transaction is not durable; [`Error::Closed`], [`Error::Failed`].
    pub async fn checkpoint(&self, upto: Seq) -> Result<(), Error> {
        let journal = &self.0;
        let mut known = journal.superblock.lock().await;
        if let Some(copies) = journal.copies.get().filter(|_| upto >= known.tail_seq) {
            copies.settle().await.map_err(|error| journal.fail(error))?;
        }
        let next = {
            let state = journal.state.borrow();
            journal.usable(&state)?;
            let last = state.next.before();
            if upto > last {
                return Err(Error::NoTransaction { seq: upto, last });
            }
            let tail_seq = upto.next();
            if tail_seq <= known.tail_seq {
                return Ok(());
            }
            let behind = (tail_seq.0 - known.tail_seq.0) as usize;
            let tail = state.live.get(behind).copied().unwrap_or(state.end);
            Superblock { tail, tail_seq, sure: last, ..known.next() }
        };
        #[cfg(feature = "planted")]
        if has(Broken::Reuse) {
            journal.state.borrow_mut().tail = next.tail;
            journal.area.place().rt().yield_now().await;
        }
        journal.put(&mut known, next).await
    }

    /// Marks the journal clean, so that the next opening has nothing to recover. Every transaction must be checkpointed
    /// first.
    ///
    /// # Errors
    /// [`Error::Unfinished`]; [`Error::Closed`], [`Error::Failed`].
    pub async fn close(&self) -> Result<(), Error> {
        let journal = &self.0;
        let _turn = journal.turn.lock().await;
        let mut known = journal.superblock.lock().await;
        let next = {
            let mut state = journal.state.borrow_mut();
            journal.usable(&state)?;
            let last = state.next.before();
            if known.tail_seq <= last {
                return Err(Error::Unfinished { first: known.tail_seq, last });
            }
            state.closed = true;
            Superblock { clean: true, sure: last, ..known.next() }
        };
        journal.put(&mut known, next).await
    }
}

impl Inner {
    /// Writes `next`, and updates `known` when it is durable.
    async fn put(&self, known: &mut Superblock, next: Superblock) -> Result<(), Error> {
        let gone = (next.tail_seq.0 - known.tail_seq.0) as usize;
        if let Err(error) = self.area.place().supersede(known, next).await {
            return Err(self.fail(error));
        }
        let mut state = self.state.borrow_mut();
        state.live.drain(..gone);
        (state.tail, state.epoch) = (known.tail, known.sequence);
        state.counters.superblocks += 1;
        Ok(())
    }
}
