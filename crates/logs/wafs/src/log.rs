//! A mounted log: making, mounting, and appending.
//!
//! Records are packed into a chunk in memory. A full chunk is shipped to the disk's queue automatically. A partly
//! filled one is *sealed*, padded to the unit and shipped, when a caller needs its records to be durable.

use crate::commit::syncer;
use crate::geometry::{admit, circle, geometry, record_most, window, wipe};
use crate::marks::Marks;
use crate::record::{ALIGN, Header};
use crate::recover::{Found, recover};
use crate::state::{Flight, Inner, Log, Mode, Recovery, Space, State};
use crate::superblock::Superblock;
use crate::{Error, Lsn};
use ordo_disk::Block;
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use ordo_ring::{Circle, Place, Superblock as _};
use ordo_rt::sync::{Mutex, Notify};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The most bytes of a chunk.
const CHUNK: usize = 1024 << 10;

/// How to mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// When a record is durable.
    pub mode: Mode,
}

impl Default for MountOptions {
    /// Group commit: durable on return.
    fn default() -> MountOptions {
        MountOptions { mode: Mode::GROUP }
    }
}

/// How to make a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MakeOptions {
    /// The alignment of each write, in bytes: a power of two from the disk's sector to 64 KiB. The default, 4096, is
    /// what today's drives store at a time, whatever sector size they report. Small units waste less.
    pub unit: Option<u32>,
    /// Write zeros over the whole log, so that all blocks of a file are allocated.
    pub zero: bool,
}

impl Log {
    /// Makes a log at `place`. What was there is lost; a power cut meanwhile leaves no log.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::TooSmall`], [`Error::Disk`].
    pub async fn make(place: &Place, options: MakeOptions) -> Result<(), Error> {
        Log::lay_out(place, options, 0).await.map(|_| ())
    }

    /// Makes a log at `place` and mounts it, as [`Log::make`] and [`Log::mount`] would do, but without a search in a
    /// log that is known to be empty.
    ///
    /// # Errors
    /// As [`Log::make`].
    pub async fn begin(place: Place, make: MakeOptions, options: MountOptions) -> Result<Log, Error> {
        let superblock = Log::lay_out(&place, make, 1).await?;
        let told = Recovery { records: 0, bytes: 0, last: Lsn::NONE, damage: None };
        let found = Found { told, end: superblock.start, marks: Marks::new(superblock.size), gaps: Vec::new() };
        Ok(Log::start(circle(place, &superblock), superblock, found, options.mode, false))
    }

    /// Writes an empty log, of which `epoch` mounts are counted.
    async fn lay_out(place: &Place, options: MakeOptions, epoch: u32) -> Result<Superblock, Error> {
        let (unit, size) = geometry(options.unit, place.queue().info().sector, place.len())?;
        let before = place.superblock().await.map(|superblock: Superblock| superblock.id).unwrap_or_default();
        let made = place.now();
        let superblock = Superblock {
            id: place.salt(before, made),
            sequence: 0,
            size,
            unit,
            epoch,
            // Because 0 means "no record".
            start: u64::from(unit),
            low: Lsn(unit.into()),
            sure: Lsn::NONE,
            made,
            start_epoch: epoch,
        };
        place.wipe_superblock(superblock.next().slot()).durable().await?;
        if options.zero {
            wipe(&circle(place.clone(), &superblock)).await?;
        }
        place.write_superblock(&superblock).durable().await?;
        Ok(superblock)
    }

    /// Opens a log for appending: finds its end, and begins a mount of its own after it.
    ///
    /// # Errors
    /// [`Error::Damaged`], if records are missing that were durable: [`Log::open`] reads the others.
    /// [`Error::NotALog`], [`Error::Superblock`], [`Error::Version`], [`Error::CutOff`], [`Error::Unit`],
    /// [`Error::Disk`].
    pub async fn mount(place: Place, options: MountOptions) -> Result<Log, Error> {
        let (circle, superblock, found) = find(place).await?;
        if let Some(damage) = found.told.damage {
            return Err(damage.into());
        }
        // A number given twice would let the records of two mounts pass for those of one (wafs-4).
        let epoch = superblock.epoch.checked_add(1).ok_or(Error::Superblock { why: "its mounts are used up" })?;
        let next = Superblock { epoch, sure: found.told.last.max(superblock.sure), ..superblock.next() };
        circle.place.begin(&next).await?;
        Ok(Log::start(circle, next, found, options.mode, false))
    }

    /// Opens a log for reading. Nothing is written; if it has a hole, it can be read up to there.
    ///
    /// # Errors
    /// As [`Log::mount`], except for the damage.
    pub async fn open(place: Place) -> Result<Log, Error> {
        let (circle, superblock, found) = find(place).await?;
        Ok(Log::start(circle, superblock, found, Mode::Async, true))
    }

    fn start(circle: Circle, superblock: Superblock, found: Found, mode: Mode, read_only: bool) -> Log {
        let end = if read_only { found.end } else { circle.up(found.end) };
        let open_at = circle.up(found.end);
        let Found { told: recovery, end: found_end, marks, mut gaps } = found;
        if end > found_end {
            gaps.push((found_end, end));
        }
        // If the log is empty because everything was reclaimed, only the superblock names the last record.
        let last = recovery.last.max(superblock.sure);
        // A chunk and the longest record together are smaller than the window, so that all else that is not durable is
        // in flight.
        let chunk = circle.down((CHUNK as u64).min(window(&circle) / 4)).max(circle.unit) as usize;
        let chunk = chunk.min(circle.transfer_most() as usize);
        let state = State {
            end,
            last,
            open_at,
            open: Block::zeroed(if read_only { 0 } else { chunk }),
            used: 0,
            shipped: end,
            flights: VecDeque::new(),
            durable: end,
            sure: last,
            wanted: 0,
            marks,
            gaps,
            low: superblock.low,
            start: superblock.start,
            start_epoch: superblock.start_epoch,
            free_to: superblock.start,
            failed: None,
        };
        let inner = Rc::new(Inner {
            mode,
            read_only,
            id: superblock.id,
            epoch: superblock.epoch,
            chunk,
            recovery,
            state: RefCell::new(state),
            superblock: Mutex::new(superblock),
            bell: Rc::new(Notify::new()),
            progress: Notify::new(),
            turn: Mutex::new(()),
            checkpointing: Cell::new(false),
            circle,
        });
        if !read_only {
            inner.circle.place.rt().spawn(syncer(Rc::downgrade(&inner), inner.bell.clone()));
        }
        Log(inner)
    }

    /// Appends a record to the log in memory, and returns its number. [`Log::force`], [`Log::wait_durable`] and
    /// [`Log::durable`] report when it is durable.
    ///
    /// # Errors
    /// [`Error::TooLong`]. [`Error::Full`]: reclaim, or await [`Log::checkpoint`] if [`Space::reclaimable`] says that
    /// this helps. [`Error::Behind`]: await [`Log::force`]. [`Error::Failed`] after a write failed,
    /// [`Error::ReadOnly`].
    pub fn append(&self, data: &[u8]) -> Result<Lsn, Error> {
        let log = &*self.0;
        let mut state = log.state.borrow_mut();
        log.writable(&state)?;
        let most = record_most(&log.circle);
        if data.len() > most {
            return Err(Error::TooLong { len: data.len(), most });
        }
        let header = Header {
            lsn: Lsn(state.end),
            prev: state.last,
            time: log.circle.place.now(),
            sure: state.sure,
            epoch: log.epoch,
            length: data.len() as u32,
        };
        let next = header.next();
        log.room(&state, next)?;
        if next - state.durable > window(&log.circle) {
            return Err(Error::Behind { behind: state.end - state.durable });
        }
        log.put(&mut state, &header.encode(log.id, data));
        log.put(&mut state, data);
        log.put(&mut state, &[0; ALIGN as usize][..(next - header.lsn.0) as usize - header.size()]);
        (state.end, state.last) = (next, header.lsn);
        state.marks.note(header.lsn);
        Ok(header.lsn)
    }

    /// The number that the next record will have, unless a chunk is sealed before it.
    pub fn end(&self) -> Lsn {
        Lsn(self.0.state.borrow().end)
    }

    /// The last record that was appended or found, [`Lsn::NONE`] if there is none.
    pub fn last(&self) -> Lsn {
        self.0.state.borrow().last
    }

    /// The first record that may be read; those before it were reclaimed.
    pub fn low(&self) -> Lsn {
        self.0.state.borrow().low
    }

    /// The space of the log. A caller that reclaims when half of it is used never gets [`Error::Full`].
    pub fn space(&self) -> Space {
        let state = self.0.state.borrow();
        let (size, circle) = (self.0.circle.size, &self.0.circle);
        let free_from = |start: u64| (circle.down(start) + size).saturating_sub(circle.up(state.end));
        let free = free_from(state.free_to);
        Space { size, free, reclaimable: free_from(state.start) - free }
    }

    /// The longest record, in bytes.
    pub fn record_most(&self) -> usize {
        record_most(&self.0.circle)
    }

    /// The unique id of this log.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The unit in bytes.
    pub fn unit(&self) -> u32 {
        self.0.circle.unit as u32
    }

    /// The number of mounts for writing so far, including this one.
    pub fn epoch(&self) -> u32 {
        self.0.epoch
    }

    /// What recovery found when it was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// The mode of [`Log::commit`].
    pub fn mode(&self) -> Mode {
        self.0.mode
    }

    /// The place, with its executor and queue.
    pub fn place(&self) -> &Place {
        &self.0.circle.place
    }
}

impl Inner {
    pub(crate) fn writable(&self, state: &State) -> Result<(), Error> {
        match &state.failed {
            _ if self.read_only => Err(Error::ReadOnly),
            Some(error) => Err(Error::Failed(error.clone())),
            None => Ok(()),
        }
    }

    /// Refuses a record that would end at `next`, if its last unit is not free.
    fn room(&self, state: &State, next: u64) -> Result<(), Error> {
        let start = state.free_to;
        #[cfg(feature = "planted")]
        let start = if has(Broken::Reuse) { state.start } else { start };
        let (from, to) = (self.circle.up(state.end), self.circle.down(start) + self.circle.size);
        match self.circle.up(next) > to {
            true => Err(Error::Full { wanted: next - state.end, free: to.saturating_sub(from) }),
            false => Ok(()),
        }
    }

    /// Adds bytes to the open chunk. A full chunk is shipped only when more bytes follow: then it is known which of its
    /// records are complete.
    fn put(&self, state: &mut State, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if state.used == self.chunk {
                let full = std::mem::replace(&mut state.open, Block::unspecified(self.chunk));
                self.ship(state, full, false);
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.chunk - state.used));
            let used = state.used;
            state.open[used..used + now.len()].copy_from_slice(now);
            state.used += now.len();
            bytes = later;
        }
    }

    /// Ships the contents of the open chunk, padded, and continues in the next unit (wafs-5).
    pub(crate) fn seal(&self, state: &mut State) {
        if state.used == 0 {
            return;
        }
        let (used, unit) = (state.used, self.circle.unit as usize);
        let len = used.next_multiple_of(unit);
        state.open[used..len].fill(0);
        let image = Block::copy_of(&state.open[..len]);
        #[cfg(feature = "planted")]
        if has(Broken::Unit) {
            return self.seal_half(state, image);
        }
        state.end = state.open_at + len as u64;
        // Nothing else is in flight: a forced write needs no flush after it.
        let forced = state.flights.is_empty();
        #[cfg(feature = "planted")]
        let forced = forced && !has(Broken::Flush);
        self.ship(state, image, forced);
    }

    /// Ships the contents, and continues in the same unit.
    #[cfg(feature = "planted")]
    fn seal_half(&self, state: &mut State, image: Block) {
        let left = state.used % self.circle.unit as usize;
        let unit = state.used - left;
        let rest = image[unit..unit + left].to_vec();
        self.ship(state, image, false);
        if left > 0 {
            state.open_at -= self.circle.unit;
            state.open[..left].copy_from_slice(&rest);
            state.used = left;
        }
    }

    fn ship(&self, state: &mut State, image: Block, forced: bool) {
        let (at, len) = (state.open_at, image.len() as u64);
        let written = self.circle.write(at, image.image(), forced);
        state.shipped = state.end;
        state.flights.push_back(Flight { covers: state.end, last: state.last, written });
        (state.open_at, state.used) = (at + len, 0);
        self.settle(state);
        // A caller may not request durability for a long time, but this must be durable before the window is full.
        if state.shipped - state.durable > window(&self.circle) / 2 {
            self.want(state, state.shipped);
        }
    }

    /// The part of a range of the line that is in memory, and where the open chunk begins.
    pub(crate) fn open_bytes(&self, range: std::ops::Range<u64>) -> (u64, Vec<u8>) {
        let state = self.state.borrow();
        let index = |place: u64| (place.max(state.open_at) - state.open_at).min(state.used as u64) as usize;
        (state.open_at, state.open[index(range.start)..index(range.end)].to_vec())
    }
}

async fn find(place: Place) -> Result<(Circle, Superblock, Found), Error> {
    let superblock = place.superblock().await?;
    let circle = admit(place, &superblock)?;
    let found = recover(&circle, &superblock).await?;
    Ok((circle, superblock, found))
}
