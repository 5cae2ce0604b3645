//! Reading an open log: by number, forward from a number, backward from a number.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::error::{Damage, Witness};
use crate::geometry::record_most;
use crate::read::Reader;
use crate::record::{HEADER, Header, header_at};
use crate::state::Inner;
use crate::walk::Walk;
use crate::{Error, Log, Lsn};
use std::rc::Rc;

/// A record that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub lsn: Lsn,
    /// When it was appended, in nanoseconds since 1970, by the machine's clock.
    pub time: u64,
    /// The bytes that were appended.
    pub data: Vec<u8>,
}

impl Log {
    /// Reads the record `lsn`.
    ///
    /// # Errors
    /// [`Error::NoRecord`] if no record has this number or it was reclaimed, [`Error::Disk`].
    pub async fn read(&self, lsn: Lsn) -> Result<Record, Error> {
        let log = &self.0;
        log.holds(lsn)?;
        let mut walk = log.walk(lsn.0);
        match walk.record(lsn.0).await? {
            Some(header) => Ok(record(&walk, &header)),
            None => Err(log.no_record(lsn)),
        }
    }

    /// The records from `from` on, oldest first; starts at the first record with that number or a later one. Records
    /// that are appended meanwhile are included.
    pub fn scan(&self, from: Lsn) -> Scan {
        let state = self.0.state.borrow();
        let from = from.max(state.low);
        let start = state.marks.before(from).map_or(state.start, |mark| mark.0);
        drop(state);
        Scan { walk: self.0.walk(start), log: self.0.clone(), from }
    }

    /// The records from `from` back to the first that is kept, newest first. `from` must be the number of a record, for
    /// example [`Log::last`].
    pub fn scan_back(&self, from: Lsn) -> ScanBack {
        ScanBack { reader: Reader::live(self.0.clone()), log: self.0.clone(), next: from }
    }
}

impl Inner {
    /// True if the number lies between the first kept record and the end, and not in the gap where a mount began.
    fn holds(&self, lsn: Lsn) -> Result<(), Error> {
        let state = self.state.borrow();
        let gap = |gap: &(u64, u64)| (gap.0..gap.1).contains(&lsn.0);
        match lsn < state.low || lsn.0 >= state.end || state.gaps.iter().any(gap) {
            true => Err(Error::NoRecord { lsn, low: state.low, end: Lsn(state.end) }),
            false => Ok(()),
        }
    }

    fn no_record(&self, lsn: Lsn) -> Error {
        let state = self.state.borrow();
        Error::NoRecord { lsn, low: state.low, end: Lsn(state.end) }
    }

    fn walk(self: &Rc<Inner>, start: u64) -> Walk {
        let mut walk = Walk::new(Reader::live(self.clone()), self.circle.clone(), self.id, 0..=self.epoch, start);
        walk.limit = self.state.borrow().end;
        walk
    }
}

fn record(walk: &Walk, header: &Header) -> Record {
    Record { lsn: header.lsn, time: header.time, data: walk.payload(header).to_vec() }
}

/// See [`Log::scan`].
pub struct Scan {
    log: Rc<Inner>,
    walk: Walk,
    from: Lsn,
}

impl Scan {
    /// The next record; `None` at the end of the log, where a later call may find more.
    ///
    /// # Errors
    /// [`Error::NoRecord`] if it was reclaimed during the scan, [`Error::Damaged`] if the disk has lost it,
    /// [`Error::Disk`].
    pub async fn next(&mut self) -> Result<Option<Record>, Error> {
        while let Some(header) = self.step().await? {
            if header.lsn >= self.from {
                return Ok(Some(record(&self.walk, &header)));
            }
        }
        Ok(None)
    }

    async fn step(&mut self) -> Result<Option<Header>, Error> {
        let (end, last, start) = {
            let state = self.log.state.borrow();
            (state.end, state.last, state.start)
        };
        // The record that was read last, or the start if none was read: the start is a record, or the log is empty.
        if self.walk.last_lsn() >= last || start >= end {
            return Ok(None);
        }
        self.walk.limit = end;
        let at = Lsn(self.walk.at());
        if at.0 < self.log.circle.down(start) {
            return Err(self.log.no_record(at));
        }
        match self.walk.next().await? {
            Some(header) => Ok(Some(header)),
            None => Err(Damage { first: at, why: None, sure: last, witness: Witness::Mount }.into()),
        }
    }
}

/// See [`Log::scan_back`].
pub struct ScanBack {
    log: Rc<Inner>,
    reader: Reader,
    next: Lsn,
}

impl ScanBack {
    /// The preceding record; `None` before the first that is kept.
    ///
    /// # Errors
    /// [`Error::NoRecord`] if the scan did not begin at a record, [`Error::Damaged`] if the disk has lost one,
    /// [`Error::Disk`].
    pub async fn next(&mut self) -> Result<Option<Record>, Error> {
        let (at, low) = (self.next.0, self.log.state.borrow().low);
        if self.next < low || self.next == Lsn::NONE {
            return Ok(None);
        }
        self.log.holds(self.next)?;
        let floor = self.log.circle.down(low.0);
        let Some(place) = header_at(at) else { return Err(self.log.no_record(self.next)) };
        self.reader.load_back(place.clone(), floor).await?;
        let header = Header::decode(self.reader.get(place), at);
        let header = header.filter(|header| header.length as usize <= record_most(&self.log.circle));
        let Some(header) = header else { return Err(self.log.no_record(self.next)) };
        let range = at..at.saturating_add(header.size() as u64);
        self.reader.load_back(range.clone(), floor).await?;
        let bytes = self.reader.get(range);
        if !Header::is_whole(self.log.id, bytes) {
            let sure = self.log.state.borrow().sure;
            return Err(Damage { first: self.next, why: None, sure, witness: Witness::Mount }.into());
        }
        self.next = header.prev;
        Ok(Some(Record { lsn: header.lsn, time: header.time, data: bytes[HEADER..].to_vec() }))
    }
}
