//! From appended to durable: forcing, and group commit.
//!
//! One task at a time makes records durable. While it waits for the disk, callers append and ask; when it is done, it
//! takes all that has come meanwhile with one write. Nobody decides how large a group is: the disk's time does.

use crate::log::{Inner, Mode, State};
#[cfg(feature = "planted")]
use crate::planted::{Broken, has};
use crate::{Error, Log, Lsn};
use disk::{DiskError, Written};
use rt::sync::Notify;
use std::rc::{Rc, Weak};

/// Bytes that [`Log::append_patiently`] lets be under way to the disk.
const UNDER_WAY: usize = 8 << 20;

/// A chunk on its way to the disk.
pub(crate) struct Flight {
    /// When it and all before it are durable, records before this one are.
    pub(crate) covers: u64,
    /// The last of them.
    pub(crate) last: Lsn,
    /// Its writes: two where the log goes round.
    pub(crate) written: Vec<Written>,
}

impl Flight {
    fn is_durable(&self) -> bool {
        #[cfg(feature = "planted")]
        if has(Broken::Flush) {
            return self.written.iter().all(Written::is_completed);
        }
        self.written.iter().all(Written::is_durable)
    }
}

impl Log {
    /// Appends a record as the mount's [`Mode`] says: in modes sync and group it is durable on return. Waits where
    /// [`Log::append`] would ask to wait, and uses what was reclaimed.
    ///
    /// # Errors
    /// As [`Log::append`], but never [`Error::Behind`]; [`Error::Full`] only if nothing was reclaimed that could help.
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

    /// As [`Log::append`], but waits where that helps.
    ///
    /// # Errors
    /// As [`Log::commit`].
    pub async fn append_patiently(&self, data: &[u8]) -> Result<Lsn, Error> {
        let shipped = self.0.state.borrow().shipped;
        let outcome = loop {
            let told = self.0.progress.notified();
            match self.append(data) {
                Err(Error::Behind { .. }) => {
                    // Not until all is durable: the disk would run empty.
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

    /// After a chunk was shipped. The queue begins with it at the end of a turn, and a caller that never waits would have no
    /// turns; and what the disk has not taken yet is memory, which is faster used again than anew.
    async fn breathe(&self) {
        if self.place().queue().info().immediate {
            return;
        }
        self.place().rt().yield_now().await;
        let behind = UNDER_WAY / self.0.chunk;
        let earlier = self.0.state.borrow().flights.iter().rev().nth(behind).map(|flight| flight.written.clone());
        for written in earlier.into_iter().flatten() {
            // Whoever wants it to be durable is told what went wrong.
            let _ = written.completed().await;
        }
    }

    /// Makes the record `lsn`, and all before it, durable.
    ///
    /// # Errors
    /// [`Error::NoRecord`] for a record to come; [`Error::Failed`] if the disk refuses: nothing is known then of the records
    /// that were not durable, and the log takes no more.
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

    /// Waits until the record `lsn` is durable, without asking for it: somebody else does, or will.
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

    /// Makes everything durable, also what was reclaimed. The log may go on after it.
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

    /// Makes everything durable and takes no more.
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
    /// Asks the syncer for all records before `before`.
    pub(crate) fn want(&self, state: &mut State, before: u64) {
        if state.wanted < before {
            state.wanted = before;
            self.bell.notify_one();
        }
    }

    /// Takes note of what has become durable. In order: what lies behind a hole is of no use (W1).
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

    /// One write, or none if nobody wants one. `false`: there is nothing more to do.
    async fn sync_once(&self) -> bool {
        if !self.is_asked() {
            return false;
        }
        if let Mode::Group { linger } = self.mode
            && !linger.is_zero()
        {
            self.area.place.rt().sleep(linger).await;
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

    /// What follows would lie behind a hole: nothing follows.
    pub(crate) fn fail(&self, error: DiskError) {
        self.state.borrow_mut().failed.get_or_insert(error);
        self.progress.notify_all();
    }
}

/// Waits until all of these are durable. All are complete before a flush is asked for: it covers them together.
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

/// Makes durable what is asked for, for as long as the log is there.
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
