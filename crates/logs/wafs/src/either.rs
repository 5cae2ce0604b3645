//! A log of either kind: on a disk, or in a stream. Who logs transactions need not know which.
//!
//! Two implementations, and not a disk in front of the stream: a circle writes its superblock and its units over, and a
//! stream has nothing to write over. What both have in common is what a writer of transactions calls: append, force,
//! reclaim, checkpoint, scan, and the numbers of records.

use crate::stream::{StreamLog, StreamScan};
use crate::{Error, Log, Lsn, Record, Scan, Space};

/// The unit of a log in a stream: what a record takes beside its bytes is far less.
const STREAM_UNIT: u32 = 64 << 10;

/// A log of either kind.
#[derive(Clone)]
pub enum AnyLog {
    /// A circle on a disk.
    Disk(Log),
    /// In a stream.
    Stream(StreamLog),
}

impl AnyLog {
    /// As [`Log::append_patiently`].
    ///
    /// # Errors
    /// As there, or as [`StreamLog::append`].
    pub async fn append(&self, data: &[u8]) -> Result<Lsn, Error> {
        match self {
            AnyLog::Disk(log) => log.append_patiently(data).await,
            AnyLog::Stream(log) => log.append(data).await,
        }
    }

    /// As [`Log::force`].
    ///
    /// # Errors
    /// As there, or as [`StreamLog::force`].
    pub async fn force(&self, lsn: Lsn) -> Result<(), Error> {
        match self {
            AnyLog::Disk(log) => log.force(lsn).await,
            AnyLog::Stream(log) => log.force(lsn).await,
        }
    }

    /// As [`Log::reclaim`].
    ///
    /// # Errors
    /// As there, or as [`StreamLog::reclaim`].
    pub fn reclaim(&self, low: Lsn) -> Result<(), Error> {
        match self {
            AnyLog::Disk(log) => log.reclaim(low),
            AnyLog::Stream(log) => log.reclaim(low),
        }
    }

    /// As [`Log::checkpoint`].
    ///
    /// # Errors
    /// As there, or as [`StreamLog::checkpoint`].
    pub async fn checkpoint(&self) -> Result<(), Error> {
        match self {
            AnyLog::Disk(log) => log.checkpoint().await,
            AnyLog::Stream(log) => log.checkpoint().await,
        }
    }

    /// As [`StreamLog::named`].
    pub fn named(&self) {
        if let AnyLog::Stream(log) = self {
            log.named();
        }
    }

    /// Everything that it has is in place: a log in a stream says so.
    ///
    /// # Errors
    /// As [`StreamLog::end_here`].
    pub async fn end_here(&self) -> Result<(), Error> {
        match self {
            AnyLog::Disk(_) => Ok(()),
            AnyLog::Stream(log) => log.end_here().await,
        }
    }

    /// The records that are kept, oldest first.
    pub fn scan(&self) -> AnyScan {
        match self {
            AnyLog::Disk(log) => AnyScan::Disk(log.scan(log.low())),
            AnyLog::Stream(log) => AnyScan::Stream(log.scan()),
        }
    }

    /// The unique id of this log.
    pub fn id(&self) -> u64 {
        match self {
            AnyLog::Disk(log) => log.id(),
            AnyLog::Stream(log) => log.id(),
        }
    }

    /// The last record.
    pub fn last(&self) -> Lsn {
        match self {
            AnyLog::Disk(log) => log.last(),
            AnyLog::Stream(log) => log.last(),
        }
    }

    /// The number that the next record will have, or a lower one.
    pub fn end(&self) -> Lsn {
        match self {
            AnyLog::Disk(log) => log.end(),
            AnyLog::Stream(log) => log.end(),
        }
    }

    /// The space of the log.
    pub fn space(&self) -> Space {
        match self {
            AnyLog::Disk(log) => log.space(),
            AnyLog::Stream(log) => log.space(),
        }
    }

    /// The longest record, in bytes.
    pub fn record_most(&self) -> usize {
        match self {
            AnyLog::Disk(log) => log.record_most(),
            AnyLog::Stream(log) => log.record_most(),
        }
    }

    /// What padding may take.
    pub fn unit(&self) -> u32 {
        match self {
            AnyLog::Disk(log) => log.unit(),
            AnyLog::Stream(_) => STREAM_UNIT,
        }
    }
}

/// See [`AnyLog::scan`].
pub enum AnyScan {
    /// Of a circle.
    Disk(Scan),
    /// Of a stream.
    Stream(StreamScan),
}

impl AnyScan {
    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// As [`Scan::next`] or [`StreamScan::next`].
    pub async fn next(&mut self) -> Result<Option<Record>, Error> {
        match self {
            AnyScan::Disk(scan) => scan.next().await,
            AnyScan::Stream(scan) => scan.next().await,
        }
    }
}
