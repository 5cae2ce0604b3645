//! Iterating forward over records: shared by recovery and scans.
//!
//! A record counts only at the place that follows from the one before it: directly after it, if both were written
//! together, otherwise at the next unit (wafs-5). It names that record as its predecessor (wafs-3), and its mount is
//! not older (wafs-4).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::geometry::record_most;
use crate::read::Reader;
use crate::record::{HEADER, Header, header_at};
use crate::{Error, Lsn};
use ordo_ring::Circle;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use std::ops::RangeInclusive;

/// Iterates over the records of a log.
pub(crate) struct Walk {
    pub(crate) reader: Reader,
    circle: Circle,
    id: u64,
    /// Only records of these mounts count.
    epochs: RangeInclusive<u32>,
    /// The end of the log: bytes of the line from here on do not belong to it.
    pub(crate) limit: u64,
    /// Where the first record is expected.
    start: u64,
    pub(crate) last: Option<Header>,
}

impl Walk {
    pub(crate) fn new(reader: Reader, circle: Circle, id: u64, epochs: RangeInclusive<u32>, start: u64) -> Walk {
        let limit = start.saturating_add(circle.size);
        Walk { reader, circle, id, epochs, limit, start, last: None }
    }

    /// Where the next record would be, if it was written together with the last one.
    pub(crate) fn at(&self) -> u64 {
        self.last.map_or(self.start, |last| last.next())
    }

    /// The next record that counts; its bytes are [`Walk::payload`].
    pub(crate) async fn next(&mut self) -> Result<Option<Header>, Error> {
        let near = self.at();
        if near >= self.limit {
            return Ok(None);
        }
        let far = self.circle.up(near);
        let found =
            if near == far || self.last.is_none() { self.counts(near).await? } else { self.either(near, far).await? };
        self.last = found.or(self.last);
        Ok(found)
    }

    /// The caller's bytes of the record that [`Walk::next`] has found.
    pub(crate) fn payload(&self, header: &Header) -> &[u8] {
        let from = header.lsn.0.saturating_add(HEADER as u64);
        self.reader.get(from..from.saturating_add(header.length.into()))
    }

    /// A mount continues in the next unit. It leaves a record that it found torn directly after the last record, and
    /// that record must not count even if the disk can read it again. Therefore the later mount's record has priority.
    async fn either(&mut self, near: u64, far: u64) -> Result<Option<Header>, Error> {
        let Some(place) = header_at(far) else { return self.counts(near).await };
        self.reader.load(near..place.end.min(self.limit).max(near), self.limit).await?;
        let epoch = self.last.map(|last| last.epoch);
        let later = Header::decode(self.reader.get(place), far);
        if later.is_some_and(|header| Some(header.epoch) > epoch)
            && let Some(found) = self.counts(far).await?
        {
            return Ok(Some(found));
        }
        match self.counts(near).await? {
            Some(found) => Ok(Some(found)),
            None => self.counts(far).await,
        }
    }

    async fn counts(&mut self, at: u64) -> Result<Option<Header>, Error> {
        let found = self.record(at).await?;
        Ok(found.filter(|header| self.follows(header)))
    }

    fn follows(&self, header: &Header) -> bool {
        let chained = self.last.is_none_or(|last| header.prev == last.lsn);
        let since = self.last.map_or(*self.epochs.start(), |last| last.epoch);
        let in_time = (since..=*self.epochs.end()).contains(&header.epoch);
        #[cfg(feature = "planted")]
        let (chained, in_time) = (chained || has(Broken::Chain), in_time || has(Broken::Epoch));
        chained && in_time
    }

    /// The record at `at`, if a valid one is there.
    pub(crate) async fn record(&mut self, at: u64) -> Result<Option<Header>, Error> {
        let Some(place) = header_at(at).filter(|place| place.end <= self.limit) else { return Ok(None) };
        self.reader.load(place.clone(), self.limit).await?;
        let Some(header) = Header::decode(self.reader.get(place), at) else { return Ok(None) };
        let end = at.saturating_add(header.size() as u64);
        if header.length as usize > record_most(&self.circle) || end > self.limit {
            return Ok(None);
        }
        self.reader.load(at..end, self.limit).await?;
        let whole = Header::is_whole(self.id, self.reader.get(at..end));
        Ok(whole.then_some(header))
    }

    /// The last record, or `NONE`.
    pub(crate) fn last_lsn(&self) -> Lsn {
        self.last.map_or(Lsn::NONE, |last| last.lsn)
    }
}
