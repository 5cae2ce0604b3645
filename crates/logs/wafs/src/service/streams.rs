//! Many streams in one log: names, reclaim points, and where the log may start (service-1 to service-5).
//!
//! A record begins with the number of its stream in 4 bytes. Stream 0 is the table: the number of streams, and for each
//! its number, low and name.

use super::proto::Fields;
use crate::{Error, Log, Lsn, Record, SharedLog};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of a stream's name.
pub const NAME_MOST: usize = 255;

/// The stream of the table.
const TABLE: u32 = 0;
/// Bytes before the client's bytes.
const PREFIX: usize = 4;
/// One part in this many of the log is kept free for the table (service-5). The table is rewritten when the log's start
/// could move forward by as much.
const RESERVE: u64 = 8;

/// Errors of a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The log failed or refused.
    #[error(transparent)]
    Log(#[from] Error),
    /// Another client has it.
    #[error("another client has the stream {0:?}; it must end first")]
    InUse(String),
    /// The name is not valid.
    #[error("a stream's name has 1 to {NAME_MOST} bytes")]
    Name,
    /// The table has no room for one more.
    #[error("the log is too small for more than {0} streams; drop one that is not used, or make a larger log")]
    TooMany(usize),
    /// The log is not a log of streams.
    #[error("the record {0} belongs to no stream: this log is used without the daemon")]
    Foreign(Lsn),
}

/// All streams of a log.
pub struct Streams {
    log: SharedLog,
    table: Mutex<Table>,
    size: u64,
    record_most: usize,
}

#[derive(Default)]
struct Table {
    streams: BTreeMap<u32, Entry>,
    /// The record that holds the newest table.
    at: Lsn,
    /// The highest record number so far.
    seen: Lsn,
}

struct Entry {
    name: String,
    /// The stream needs no record below this one.
    low: Lsn,
    /// Its last record.
    last: Lsn,
    /// It has a client.
    used: bool,
    /// A record of this stream is being appended, after this one.
    coming: Option<Lsn>,
}

impl Entry {
    /// The first number that must be kept for the stream (service-1); `None` if it is empty (service-2).
    fn needs(&self) -> Option<Lsn> {
        match self.last >= self.low {
            true => Some(self.low),
            false => self.coming,
        }
    }
}

impl Table {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = TABLE.to_le_bytes().to_vec();
        bytes.extend_from_slice(&(self.streams.len() as u32).to_le_bytes());
        for (id, stream) in &self.streams {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.extend_from_slice(&stream.low.0.to_le_bytes());
            bytes.extend_from_slice(&(stream.name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(stream.name.as_bytes());
        }
        bytes
    }

    /// Takes the contents of a table record over.
    fn read(&mut self, at: Lsn, bytes: &[u8]) -> Option<()> {
        let mut fields = Fields(bytes);
        let (count, mut streams) = (fields.u32()?, BTreeMap::new());
        for _ in 0..count {
            let (id, low, len) = (fields.u32()?, fields.lsn()?, fields.u16()?);
            let name = String::from_utf8(fields.bytes(len.into())?.to_vec()).ok()?;
            let last = self.streams.get(&id).map_or(Lsn::NONE, |known| known.last);
            streams.insert(id, Entry { name, low, last, used: false, coming: None });
        }
        (self.streams, self.at) = (streams, at);
        Some(())
    }

    fn note(&mut self, record: &Record) -> Result<(), StreamError> {
        let mut fields = Fields(&record.data);
        let foreign = || StreamError::Foreign(record.lsn);
        let id = fields.u32().ok_or_else(foreign)?;
        if id == TABLE {
            self.read(record.lsn, fields.0).ok_or_else(foreign)?;
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.last = record.lsn;
        }
        self.seen = record.lsn;
        Ok(())
    }

    /// Where the log could start, not considering the table itself.
    fn tail(&self) -> Lsn {
        let needed = self.streams.values().filter_map(Entry::needs).min();
        needed.unwrap_or(Lsn(self.seen.0 + 1))
    }
}

impl Streams {
    /// Reads the whole log for its streams.
    ///
    /// # Errors
    /// [`StreamError::Foreign`], and those of [`Log::scan`].
    pub fn open(log: SharedLog) -> Result<Arc<Streams>, StreamError> {
        let (table, size, record_most) = log.call(|log| async move {
            let (mut table, mut scan) = (Table::default(), log.scan(Lsn::NONE));
            while let Some(record) = scan.next().await? {
                table.note(&record)?;
            }
            Ok::<_, StreamError>((table, log.space().size, log.record_most()))
        })?;
        Ok(Arc::new(Streams { log, table: Mutex::new(table), size, record_most }))
    }

    /// The log beneath.
    pub fn log(&self) -> &SharedLog {
        &self.log
    }

    /// The stream of this name; it is created if it does not exist.
    ///
    /// # Errors
    /// [`StreamError::Name`], [`StreamError::InUse`], [`StreamError::TooMany`], and those of the log.
    pub fn stream(self: &Arc<Streams>, name: &str) -> Result<Stream, StreamError> {
        if name.is_empty() || name.len() > NAME_MOST {
            return Err(StreamError::Name);
        }
        let mut table = self.lock();
        if let Some((id, stream)) = table.streams.iter_mut().find(|(_, stream)| stream.name == name) {
            if stream.used {
                return Err(StreamError::InUse(name.into()));
            }
            stream.used = true;
            return Ok(Stream { streams: self.clone(), id: *id });
        }
        let id = table.streams.keys().max().map_or(TABLE + 1, |last| last + 1);
        let low = Lsn(table.seen.0 + 1);
        let entry = Entry { name: name.into(), low, last: Lsn::NONE, used: true, coming: None };
        table.streams.insert(id, entry);
        let room = (self.size / RESERVE / 2).min(self.record_most as u64) as usize;
        let written = match table.encode().len() > room {
            true => Err(StreamError::TooMany(table.streams.len() - 1)),
            false => self.write(&mut table),
        };
        if let Err(error) = written {
            table.streams.remove(&id);
            return Err(error);
        }
        Ok(Stream { streams: self.clone(), id })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the table, durably.
    fn write(&self, table: &mut Table) -> Result<(), StreamError> {
        let bytes = table.encode();
        let lsn = self.log.call(|log| async move {
            let lsn = log.append_patiently(&bytes).await?;
            log.force(lsn).await.map(|()| lsn)
        })?;
        (table.at, table.seen) = (lsn, table.seen.max(lsn));
        Ok(())
    }

    /// Moves the start of the log as far forward as possible.
    fn reclaim(&self, table: &mut Table) -> Result<(), StreamError> {
        if table.tail().0.saturating_sub(table.at.0) >= self.size / RESERVE {
            self.write(table)?;
        }
        let tail = table.tail().min(table.at);
        Ok(self.log.reclaim(tail)?)
    }
}

/// A client's own records in the log. Dropping it releases the stream. Methods that change it need `&mut self`:
/// service-1 tracks only one append at a time.
pub struct Stream {
    streams: Arc<Streams>,
    id: u32,
}

impl Stream {
    /// Appends a record; durable later, as [`Log::append`].
    ///
    /// # Errors
    /// As [`Log::append_patiently`].
    pub fn append(&mut self, data: &[u8]) -> Result<Lsn, StreamError> {
        self.add(data, false)
    }

    /// Appends a record; durable as the mount's mode says.
    ///
    /// # Errors
    /// As [`Log::commit`].
    pub fn commit(&mut self, data: &[u8]) -> Result<Lsn, StreamError> {
        self.add(data, true)
    }

    fn add(&mut self, data: &[u8], commit: bool) -> Result<Lsn, StreamError> {
        let record = [&self.id.to_le_bytes()[..], data].concat();
        self.with(|seen, entry| entry.coming = Some(seen));
        let reserve = self.streams.size / RESERVE;
        let added = self.streams.log.call(move |log| async move {
            leave(&log, record.len() as u64 + reserve).await?;
            if commit { log.commit(&record).await } else { log.append_patiently(&record).await }
        });
        let mut table = self.streams.lock();
        if let Ok(lsn) = added {
            table.seen = table.seen.max(lsn);
        }
        if let Some(entry) = table.streams.get_mut(&self.id) {
            entry.coming = None;
            entry.last = added.as_ref().map_or(entry.last, |lsn| *lsn);
        }
        Ok(added?)
    }

    /// Makes the record `lsn`, and all before it, durable.
    ///
    /// # Errors
    /// As [`Log::force`].
    pub fn force(&self, lsn: Lsn) -> Result<(), StreamError> {
        Ok(self.streams.log.force(lsn)?)
    }

    /// Reads one record of this stream.
    ///
    /// # Errors
    /// As [`Log::read`]; [`Error::NoRecord`] for another stream's record.
    pub fn read(&self, lsn: Lsn) -> Result<Record, StreamError> {
        let (low, end) = self.bounds();
        let record = self.streams.log.call(move |log| async move { log.read(lsn).await })?;
        match self.own(record).filter(|_| lsn >= low) {
            Some(record) => Ok(record),
            None => Err(Error::NoRecord { lsn, low, end }.into()),
        }
    }

    /// Records of this stream from `from` on, about `most` bytes of them, and where to continue; `None` at the end.
    ///
    /// # Errors
    /// As [`crate::Scan::next`].
    pub fn scan(&self, from: Lsn, most: usize) -> Result<(Vec<Record>, Option<Lsn>), StreamError> {
        let (from, id) = (from.max(self.bounds().0), self.id.to_le_bytes());
        let (records, next) = self.streams.log.call(move |log| async move {
            let (mut scan, mut records, mut bytes) = (log.scan(from), Vec::new(), 0);
            while let Some(record) = scan.next().await? {
                if record.data.get(..PREFIX) != Some(&id) {
                    continue;
                }
                let lsn = record.lsn;
                // A constant per record, so that a batch of many short records also ends.
                bytes += record.data.len() + 32;
                records.push(record);
                if bytes >= most {
                    return Ok((records, Some(Lsn(lsn.0 + 1))));
                }
            }
            Ok::<_, Error>((records, None))
        })?;
        Ok((records.into_iter().filter_map(|record| self.own(record)).collect(), next))
    }

    /// Declares that no record of this stream below `low` is needed any more.
    ///
    /// # Errors
    /// As [`Log::reclaim`].
    pub fn reclaim(&mut self, low: Lsn) -> Result<(), StreamError> {
        let mut table = self.streams.lock();
        let seen = table.seen;
        if low.0 > seen.0 + 1 {
            return Err(Error::NoRecord { lsn: low, low: self.low_of(&table), end: Lsn(seen.0 + 1) }.into());
        }
        if let Some(entry) = table.streams.get_mut(&self.id) {
            entry.low = entry.low.max(low);
        }
        self.streams.reclaim(&mut table)
    }

    /// Ends the stream, with all its records.
    ///
    /// # Errors
    /// Those of the log.
    pub fn end(self) -> Result<(), StreamError> {
        let mut table = self.streams.lock();
        table.streams.remove(&self.id);
        self.streams.write(&mut table)?;
        self.streams.reclaim(&mut table)
    }

    /// The first number that it needs, and its last record.
    pub fn info(&self) -> (Lsn, Lsn) {
        let table = self.streams.lock();
        table.streams.get(&self.id).map_or((Lsn::NONE, Lsn::NONE), |entry| (entry.low, entry.last))
    }

    fn bounds(&self) -> (Lsn, Lsn) {
        let table = self.streams.lock();
        (self.low_of(&table), Lsn(table.seen.0 + 1))
    }

    fn low_of(&self, table: &Table) -> Lsn {
        table.streams.get(&self.id).map_or(Lsn::NONE, |entry| entry.low)
    }

    fn with(&self, change: impl FnOnce(Lsn, &mut Entry)) {
        let mut table = self.streams.lock();
        let seen = table.seen;
        if let Some(entry) = table.streams.get_mut(&self.id) {
            change(seen, entry);
        }
    }

    /// The record without the stream's number, if it belongs to this stream.
    fn own(&self, mut record: Record) -> Option<Record> {
        let ours = record.data.get(..PREFIX) == Some(&self.id.to_le_bytes());
        ours.then(|| {
            record.data.drain(..PREFIX);
            record
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.with(|_, entry| entry.used = false);
    }
}

/// Makes sure that `bytes` are free, by a checkpoint if necessary.
async fn leave(log: &Log, bytes: u64) -> Result<(), Error> {
    loop {
        let space = log.space();
        match space.free >= bytes {
            true => return Ok(()),
            false if space.reclaimable > 0 => log.checkpoint().await?,
            false => return Err(Error::Full { wanted: bytes, free: space.free }),
        }
    }
}
