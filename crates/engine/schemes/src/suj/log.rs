//! The log: waiting records, segments in flight, and what is durable.

use super::segments::Ring;
use ordo_buf::{Boxed, Cache, LogFile, Role};
use ordo_disk::{Block, DiskOff, Tag, all_durable};
use ordo_ondisk::suj::{Record, Segment, lay_out, records_per_sector};
use ordo_rt::sync::Notify;
use ordo_vfs::{Error, Result};
use std::cell::RefCell;
use std::rc::Rc;

/// The log of a mount.
pub(super) struct Log {
    file: LogFile,
    ring: Ring,
    /// Number of the next segment, and of the oldest valid one.
    next: u64,
    oldest: u64,
    /// Records that are not in flight yet.
    waiting: Vec<Record>,
    /// Records so far, and how many of these are durable.
    told: u64,
    durable: u64,
    /// The count of records after which what was valid before the turn is not needed (segments-2).
    turned: Option<u64>,
    committing: bool,
    /// schemes-suj-4: no records are kept until the log begins anew.
    void: Void,
    failed: Option<Error>,
    changed: Rc<Notify>,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Void {
    No,
    /// The voiding segment is not written yet.
    Soon,
    Yes,
}

#[derive(Default)]
struct Counts {
    segments: u64,
    commits: u64,
    anew: u64,
    voided: u64,
}

impl Log {
    pub(super) fn new(file: LogFile) -> Log {
        let ring = Ring::new(file.extents.clone());
        Log {
            file,
            ring,
            next: 0,
            oldest: 0,
            waiting: Vec::new(),
            told: 0,
            durable: 0,
            turned: None,
            committing: false,
            void: Void::No,
            failed: None,
            changed: Rc::default(),
            counts: Counts::default(),
        }
    }

    /// Bytes of a block of the volume.
    pub(super) fn block(&self) -> u32 {
        self.file.block
    }

    pub(super) fn tell(&mut self, record: Record) {
        if self.void == Void::No {
            self.waiting.push(record);
            self.told += 1;
        }
    }

    /// Makes the log void (schemes-suj-4).
    pub(super) fn give_out(&mut self) {
        if self.void == Void::No {
            self.void = Void::Soon;
            self.waiting.clear();
            self.told += 1;
        }
    }

    /// All records so far are durable.
    pub(super) fn is_durable(&self) -> bool {
        self.durable == self.told
    }

    /// Calls must wait.
    pub(super) fn is_full(&self) -> bool {
        self.failed.is_none() && (self.ring.is_full() || self.void != Void::No)
    }

    /// schemes-suj-3: whether a new session begins. Not if the old one is empty or in flight.
    pub(super) fn begin_anew(&mut self) -> bool {
        let at_rest = self.is_durable() && !self.committing && self.turned.is_none() && self.failed.is_none();
        if !at_rest || (self.next <= self.oldest + 1 && self.void == Void::No) {
            return false;
        }
        self.void = Void::No;
        self.oldest = self.next;
        self.ring.turn();
        self.turned = Some(self.told + 1);
        self.counts.anew += 1;
        true
    }

    /// Starts to write the waiting records, unless a write runs. The future ends when all records so far are durable.
    pub(super) fn commit(log: &Rc<RefCell<Log>>, cache: &Rc<Cache>) -> Boxed<'static, Result<()>> {
        if !log.borrow().is_durable() && !std::mem::replace(&mut log.borrow_mut().committing, true) {
            cache.rt().spawn(Log::write(log.clone(), cache.clone()));
        }
        let (log, upto, changed) = (log.clone(), log.borrow().told, log.borrow().changed.clone());
        Box::pin(async move {
            loop {
                if let Some(failure) = &log.borrow().failed {
                    return Err(failure.clone());
                }
                if log.borrow().durable >= upto {
                    return Ok(());
                }
                changed.notified().await;
            }
        })
    }

    async fn write(log: Rc<RefCell<Log>>, cache: Rc<Cache>) {
        let sector = cache.queue().info().sector.max(512) as usize;
        loop {
            let (segments, alone, upto) = {
                let mut log = log.borrow_mut();
                if log.is_durable() || log.failed.is_some() {
                    log.committing = false;
                    return;
                }
                // The segment that the others name as the oldest (schemes-suj-8).
                let alone = usize::from(log.next == log.oldest);
                (log.take(sector), alone, log.told)
            };
            let send = |(at, bytes): (DiskOff, Vec<u8>)| {
                cache.queue().write(at, Block::copy_of(&bytes).image(), Tag::of(Role::Log))
            };
            let mut segments = segments.into_iter().map(send);
            let mut outcome = all_durable(&segments.by_ref().take(alone).collect::<Vec<_>>()).await;
            if outcome.is_ok() {
                outcome = all_durable(&segments.collect::<Vec<_>>()).await;
            }
            log.borrow_mut().landed(upto, outcome, &cache);
        }
    }

    fn landed(&mut self, upto: u64, outcome: std::result::Result<(), ordo_disk::DiskError>, cache: &Cache) {
        match outcome {
            Ok(()) => {
                self.durable = upto;
                if self.turned.is_some_and(|turned| turned <= upto) {
                    self.turned = None;
                    self.ring.forget();
                }
            }
            Err(error) => {
                let why = format!("{error}, writing the journal; the volume is read-only now");
                let failure = Error::io(error);
                cache.health().degrade(failure.clone().told_as(why));
                self.failed = Some(failure);
            }
        }
        self.changed.notify_all();
    }

    /// The waiting records, as segments with their places.
    fn take(&mut self, sector: usize) -> Vec<(DiskOff, Vec<u8>)> {
        self.counts.commits += 1;
        let records = std::mem::take(&mut self.waiting);
        let most = (self.file.block as usize / sector).max(1) * records_per_sector(sector);
        let mut segments = Vec::with_capacity(records.len().div_ceil(most));
        for piece in records.chunks(most) {
            let laid = lay_out(self.head(self.oldest), piece, sector, self.file.endian).ok();
            let placed = laid.and_then(|bytes| Some((self.ring.place(bytes.len() as u64, sector as u64)?, bytes)));
            let Some(segment) = placed else {
                self.void = Void::Soon;
                break;
            };
            self.next += 1;
            self.counts.segments += 1;
            segments.push(segment);
        }
        if self.void == Void::Soon {
            match self.voiding(sector) {
                Some(segment) => segments.push(segment),
                None => self.failed = Some(Error::bug("the journal has no place for the segment that voids it")),
            }
        }
        segments
    }

    fn head(&self, oldest: u64) -> Segment {
        Segment { seq: self.next, oldest, time: self.file.stamp }
    }

    /// schemes-suj-4: the voiding segment. It is all that is needed of the log until it begins anew.
    fn voiding(&mut self, sector: usize) -> Option<(DiskOff, Vec<u8>)> {
        (self.void, self.turned) = (Void::Yes, None);
        self.waiting.clear();
        self.counts.voided += 1;
        let nothing = Record::Sync(ordo_ondisk::suj::TruncRecord { ino: ordo_ondisk::Ino::ROOT, size: 0, extsize: 0 });
        let bytes = lay_out(self.head(self.next + 1), &[nothing], sector, self.file.endian).ok()?;
        self.next += 1;
        self.oldest = self.next;
        let len = bytes.len() as u64;
        let at = self.ring.place(len, 0)?;
        self.ring.keep_last(len);
        Some((at, bytes))
    }

    /// Records of changes so far.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    pub(super) fn counters(&self) -> [(&'static str, u64); 6] {
        [
            ("log_records", self.told),
            ("log_segments", self.counts.segments),
            ("log_commits", self.counts.commits),
            ("log_bytes_in_use", self.ring.used()),
            ("log_begun_anew", self.counts.anew),
            ("log_voided", self.counts.voided),
        ]
    }
}
