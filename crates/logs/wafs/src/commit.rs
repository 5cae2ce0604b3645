//! Making records durable: force, and group commit.
//!
//! One task, the syncer, makes records durable. While it waits for the disk, callers append records and request
//! durability; then it writes everything that was requested meanwhile at once. The size of a group follows from the
//! disk's latency.

use crate::state::{Inner, Mode, State};
use crate::{Error, Log, Lsn};
use ordo_disk::{DiskError, Written};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use ordo_rt::sync::Notify;
use std::rc::{Rc, Weak};

/// Bytes that [`Log::append_patiently`] allows in flight.
const UNDER_WAY: usize = 8 << 20;

impl Log {
    /// Appends a record as the mount's [`Mode`] says: in modes sync and group it is durable on return. Waits where
    /// [`Log::append`] would return [`Error::Behind`], and checkpoints to free what was reclaimed.
    ///
    /// # Errors
    /// As [`Log::append`], but never [`Error::Behind`]; [`Error::Full`] only if too little was reclaimed.
    pub async fn commit(&self, data: &[u8]) -> Result<Lsn, Error> {
        let _turn = match self.0.mode {
            Mode::Sync => Some(self.0.turn.lock().await),
            Mode::Async | Mode::Group { .. } => None,
        };
        let lsn = self.append_patiently(data).await?;
        if self.0.mode != Mode::Async {
            self.force(lsn).await?;
        }
        Ok(lsn)
    }

    /// As [`Log::append`], but waits where waiting helps.
    ///
    /// # Errors
    /// As [`Log::commit`].
    pub async fn append_patiently(&self, data: &[u8]) -> Result<Lsn, Error> {
        let shipped = self.0.state.borrow().shipped;
        let outcome = loop {
            let told = self.0.progress.notified();
            match self.append(data) {
                Err(Error::Behind { .. }) => {
                    // Not until everything is durable, or the disk would become idle.
                    let shipped = self.0.state.borrow().shipped;
                    self.0.want(&mut self.0.state.borrow_mut(), shipped);
                    told.await;
                }
                Err(Error::Full { .. }) if self.space().reclaimable > 0 => self.checkpoint().await?,
                outcome => break outcome,
            }
        };
        if self.0.state.borrow().shipped != shipped {
            self.breathe().await;
        }
        outcome
    }

    /// Called after a chunk was shipped. The queue starts it at the end of a turn, and a caller that never waits would
    /// have no turns. Chunks in flight occupy memory, and reusing that memory is faster than allocating more.
    async fn breathe(&self) {
        if self.place().queue().info().immediate {
            return;
        }
        self.place().rt().yield_now().await;
        let behind = UNDER_WAY / self.0.chunk;
        let earlier = self.0.state.borrow().flights.iter().rev().nth(behind).map(|flight| flight.written.clone());
        for written in earlier.into_iter().flatten() {
            // A caller that needs durability receives the error.
            let _ = written.completed().await;
        }
    }

    /// Makes the record `lsn`, and all before it, durable.
    ///
    /// # Errors
    /// [`Error::NoRecord`] for a record that does not exist yet; [`Error::Failed`] if the disk fails: it is then
    /// unknown which of the records that were not durable are on the disk, and the log accepts no more.
    pub async fn force(&self, lsn: Lsn) -> Result<(), Error> {
        {
            let mut state = self.0.state.borrow_mut();
            if lsn.0 >= state.end {
                return Err(Error::NoRecord { lsn, low: state.low, end: Lsn(state.end) });
            }
            self.0.want(&mut state, lsn.0 + 1);
        }
        self.wait_durable(lsn).await
    }

    /// Waits until the record `lsn` is durable, without requesting it: another caller must do that.
    ///
    /// # Errors
    /// [`Error::Failed`], as [`Log::force`].
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), Error> {
        loop {
            let told = self.0.progress.notified();
            {
                let mut state = self.0.state.borrow_mut();
                self.0.settle(&mut state);
                if state.durable > lsn.0 {
                    return Ok(());
                }
                self.0.writable(&state)?;
            }
            told.await;
        }
    }

    /// Records before this one are durable.
    pub fn durable(&self) -> Lsn {
        let mut state = self.0.state.borrow_mut();
        self.0.settle(&mut state);
        Lsn(state.durable)
    }

    /// Makes all records durable, and also what was reclaimed. The log can be used afterwards.
    ///
    /// # Errors
    /// As [`Log::force`].
    pub async fn sync(&self) -> Result<(), Error> {
        let (last, durable) = (self.last(), self.durable());
        if last >= durable {
            self.force(last).await?;
        }
        self.checkpoint().await
    }

    /// Makes everything durable and closes the log.
    ///
    /// # Errors
    /// As [`Log::force`].
    pub async fn unmount(self) -> Result<(), Error> {
        if self.0.read_only {
            return Ok(());
        }
        self.sync().await
    }
}

impl Inner {
    /// Requests durability of all records before `before` from the syncer.
    pub(crate) fn want(&self, state: &mut State, before: u64) {
        if state.wanted < before {
            state.wanted = before;
            self.bell.notify_one();
        }
    }

    /// Records which chunks have become durable, in order: a record after a hole does not count (wafs-1).
    pub(crate) fn settle(&self, state: &mut State) {
        let before = state.durable;
        while let Some(flight) = state.flights.front().filter(|flight| flight.is_durable()) {
            (state.durable, state.sure) = (flight.covers, flight.last);
            state.flights.pop_front();
        }
        if state.durable > before {
            self.progress.notify_all();
        }
    }

    /// One write, or none if none is requested. `false`: there is nothing more to do.
    async fn sync_once(&self) -> bool {
        if !self.is_asked() {
            return false;
        }
        if let Mode::Group { linger } = self.mode
            && !linger.is_zero()
        {
            self.circle.place.rt().sleep(linger).await;
        }
        let flights = self.take_off();
        match land(&flights).await {
            Ok(()) => {
                self.settle(&mut self.state.borrow_mut());
                true
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    fn is_asked(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.settle(&mut state);
        state.failed.is_none() && state.wanted > state.durable
    }

    fn take_off(&self) -> Vec<Written> {
        let mut state = self.state.borrow_mut();
        if state.wanted > state.shipped {
            self.seal(&mut state);
        }
        state.flights.iter().flat_map(|flight| flight.written.iter().cloned()).collect()
    }

    /// Records the failure. Nothing is appended after it, as it would lie after a hole.
    pub(crate) fn fail(&self, error: DiskError) {
        self.state.borrow_mut().failed.get_or_insert(error);
        self.progress.notify_all();
    }
}

/// Waits until all of these are durable. All are complete before a flush is requested, so that one covers them all.
async fn land(flights: &[Written]) -> Result<(), DiskError> {
    for written in flights {
        written.completed().await?;
    }
    #[cfg(feature = "planted")]
    if has(Broken::Flush) {
        return Ok(());
    }
    for written in flights {
        written.durable().await?;
    }
    Ok(())
}

/// The syncer: makes durable what is requested, as long as the log exists.
pub(crate) async fn syncer(log: Weak<Inner>, bell: Rc<Notify>) {
    loop {
        bell.notified().await;
        let Some(log) = log.upgrade() else { return };
        while log.sync_once().await {}
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}
