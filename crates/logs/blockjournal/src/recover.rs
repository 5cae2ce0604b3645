//! Recovery: finding the transactions, from the tail on.
//!
//! The journal ends before the first transaction that does not count. Whether that is its real end or a hole is decided
//! by ring-4, in `hole`.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::area::Area;
use crate::blocks::{Body, Ending, Header, Kind, Tag, carried, revoked};
use crate::reader::Reader;
use crate::superblock::Superblock;
use crate::{Error, Found, Seq};
use ordo_disk::Block;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};

/// Iterates over the transactions of a journal.
pub(crate) struct Walk {
    pub(crate) reader: Reader,
    area: Area,
    superblock: Superblock,
    /// Where the next transaction would begin.
    pub(crate) line: u64,
    /// Its number.
    pub(crate) seq: Seq,
    /// The superblock that the last one names.
    epoch: u64,
    /// The block at which the last transaction was found invalid, and why.
    pub(crate) stopped: (u64, &'static str),
}

/// The transaction that is being read.
struct Reading {
    found: Found,
    epoch: Option<u64>,
    body: Body,
    line: u64,
}

/// Why a transaction does not count, or an error of the disk.
enum Stop {
    Not(&'static str),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl Walk {
    pub(crate) fn new(area: &Area, superblock: &Superblock) -> Walk {
        Walk {
            reader: Reader::new(area.clone()),
            area: area.clone(),
            line: superblock.tail,
            seq: superblock.tail_seq,
            epoch: 0,
            stopped: (superblock.tail, "nothing is looked for"),
            superblock: superblock.clone(),
        }
    }

    /// The end of the journal: blocks of the line from here on do not belong to it.
    pub(crate) fn limit(&self) -> u64 {
        self.superblock.tail.saturating_add(self.area.size)
    }

    /// The next transaction that counts.
    pub(crate) async fn next(&mut self) -> Result<Option<Found>, Error> {
        let found = Found { seq: self.seq, ..Found::default() };
        let mut reading = Reading { found, epoch: None, body: Body::default(), line: self.line };
        match self.read(&mut reading).await {
            Ok(()) => {
                (self.line, self.seq) = (reading.line, self.seq.next());
                self.epoch = reading.epoch.unwrap_or(self.epoch);
                Ok(Some(reading.found))
            }
            Err(Stop::Not(why)) => {
                self.stopped = (reading.line, why);
                Ok(None)
            }
            Err(Stop::Error(error)) => Err(error),
        }
    }

    async fn read(&mut self, reading: &mut Reading) -> Result<(), Stop> {
        loop {
            let header = self.header(reading).await?;
            let limit = self.limit();
            let block = self.reader.block(reading.line, limit).await?;
            if header.kind != Kind::Commit {
                reading.body.add(carried(block));
            }
            match header.kind {
                Kind::Descriptor => {
                    let tags = Tag::all(block, header.count);
                    reading.line = reading.line.saturating_add(1);
                    self.images(reading, &tags).await?;
                    continue;
                }
                Kind::Revoke => {
                    let ranges: Option<Vec<_>> = revoked(block, header.count).collect();
                    reading.found.revoked.extend(ranges.ok_or(Stop::Not("a revoked range has no end"))?);
                }
                Kind::Note => {
                    let len = (header.count as usize).min(self.area.shape.payload());
                    let from = crate::blocks::HEADER;
                    reading.found.note.extend(block[from..].iter().take(len));
                }
                Kind::Commit => {
                    let ending = Ending::read(block);
                    return self.ends(reading, &header, ending);
                }
            }
            reading.line = reading.line.saturating_add(1);
        }
    }

    /// The header at `reading.line`, if it belongs to the transaction that is being read.
    async fn header(&mut self, reading: &mut Reading) -> Result<Header, Stop> {
        let (line, limit) = (reading.line, self.limit());
        if line >= limit {
            return Err(Stop::Not("the end is missing"));
        }
        let (shape, size) = (self.area.shape, self.area.size);
        let block = self.reader.block(line, limit).await?;
        let Some(header) = Header::read(shape, block, line, size) else {
            return Err(Stop::Not("a block of the journal is not there or not whole"));
        };
        let right = header.seq == reading.found.seq && header.line == line;
        let in_time = self.in_time(&header) && reading.epoch.is_none_or(|epoch| epoch == header.epoch);
        #[cfg(feature = "planted")]
        let (right, in_time) = (right || has(Broken::Number), in_time || has(Broken::Epoch));
        if !right {
            return Err(Stop::Not("a block is missing: one of another transaction lies there"));
        }
        if !in_time {
            return Err(Stop::Not("a block is missing: one of another time lies there"));
        }
        reading.epoch = Some(header.epoch);
        Ok(header)
    }

    /// Rule blockjournal-4.
    fn in_time(&self, header: &Header) -> bool {
        let since_opening = header.seq >= self.superblock.opened_seq;
        let of_opening = header.epoch >= self.superblock.opened;
        since_opening == of_opening && (self.epoch..=self.superblock.sequence).contains(&header.epoch)
    }

    async fn images(&mut self, reading: &mut Reading, tags: &[Tag]) -> Result<(), Stop> {
        let limit = self.limit();
        for tag in tags {
            if reading.line >= limit {
                return Err(Stop::Not("the end is missing"));
            }
            let mut image = Block::copy_of(self.reader.block(reading.line, limit).await?);
            if !tag.restore(&mut image) {
                return Err(Stop::Not("an image is not whole"));
            }
            reading.found.stored.push(tag.stored(tag.home, &image, self.area.run(reading.line).0));
            reading.found.blocks.push((tag.home, image));
            reading.line = reading.line.saturating_add(1);
        }
        Ok(())
    }

    fn ends(&self, reading: &mut Reading, header: &Header, ending: Option<Ending>) -> Result<(), Stop> {
        reading.line = reading.line.saturating_add(1);
        let Some(ending) = ending else { return Err(Stop::Not("the commit block is too short")) };
        let length = reading.line.saturating_sub(self.line);
        let whole = u64::from(header.count) == length && ending.body == reading.body.sum();
        #[cfg(feature = "planted")]
        let whole = whole || has(Broken::Checksum);
        if !whole {
            reading.line = reading.line.saturating_sub(1);
            return Err(Stop::Not("the commit block is that of another body"));
        }
        (reading.found.time, reading.found.length) = (ending.time, length);
        Ok(())
    }
}
