//! A mounted log: its state, and appending.
//!
//! Records are laid one behind the other into a chunk of memory. A full chunk is shipped to the disk's queue by itself; a
//! partly filled one is *sealed*, padded to the unit and shipped, when somebody wants its records to be durable.

use crate::area::{Area, Place};
use crate::commit::Flight;
use crate::marks::Marks;
#[cfg(feature = "planted")]
use crate::planted::{Broken, has};
use crate::record::{ALIGN, Header};
use crate::recover::{Found, Recovery, recover};
use crate::superblock::Superblock;
use crate::{Error, Lsn};
use disk::{Block, DiskError};
use rt::sync::{Mutex, Notify};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// The most bytes of a chunk.
const CHUNK: usize = 1024 << 10;

/// When a record is durable, for [`Log::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it returns; each record is written by itself.
    Sync,
    /// Some time later, in order. [`Log::force`] and [`Log::unmount`] see to it.
    Async,
    /// When it returns; one write serves all who wait. The next write begins when the one before it is durable, and
    /// `linger` later, for more to come.
    Group {
        /// Zero where the disk's own time is wait enough.
        linger: Duration,
    },
}

impl Mode {
    /// Group commit without an extra wait.
    pub const GROUP: Mode = Mode::Group { linger: Duration::ZERO };
}

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
    /// What each write begins at a multiple of, in bytes: a power of two from the disk's sector to 64 KiB. By default 4096,
    /// which is what today's drives store at a time, whatever they call a sector. Small units waste less.
    pub unit: Option<u32>,
    /// Write zeros over the whole log, so that a file has all its blocks.
    pub zero: bool,
}

/// Room of a log, in bytes with headers and padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All.
    pub size: u64,
    /// What an append could take now.
    pub free: u64,
    /// What [`Log::checkpoint`] would add.
    pub reclaimable: u64,
}

/// A mounted log. Clones are handles of the same one.
#[derive(Clone)]
pub struct Log(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) area: Area,
    pub(crate) mode: Mode,
    pub(crate) read_only: bool,
    pub(crate) id: u64,
    pub(crate) epoch: u32,
    pub(crate) chunk: usize,
    pub(crate) recovery: Recovery,
    pub(crate) state: RefCell<State>,
    /// The superblock on the disk, and who writes the next one (W6).
    pub(crate) superblock: Mutex<Superblock>,
    /// Rung when there is something to make durable.
    pub(crate) bell: Rc<Notify>,
    /// Told when more is durable, more is free, or all is lost.
    pub(crate) progress: Notify,
    /// Who is at it, in mode sync.
    pub(crate) turn: Mutex<()>,
    /// A superblock is on its way that will free room.
    pub(crate) checkpointing: Cell<bool>,
}

pub(crate) struct State {
    /// Where the next record begins.
    pub(crate) end: u64,
    /// The last record.
    pub(crate) last: Lsn,
    /// The chunk that is being filled, from this byte of the line on.
    pub(crate) open_at: u64,
    open: Block,
    pub(crate) used: usize,
    /// Records before this one are at the queue.
    pub(crate) shipped: u64,
    /// Writes that are not known to be durable, oldest first.
    pub(crate) flights: VecDeque<Flight>,
    /// Records before this one are durable (W1).
    pub(crate) durable: u64,
    /// The last of them.
    pub(crate) sure: Lsn,
    /// Somebody wants records before this one to be durable.
    pub(crate) wanted: u64,
    pub(crate) marks: Marks,
    pub(crate) gaps: Vec<(u64, u64)>,
    /// What the caller has reclaimed, and where reading would start then.
    pub(crate) low: Lsn,
    pub(crate) start: u64,
    /// The earliest mount of which a record can be there.
    pub(crate) start_epoch: u32,
    /// Where reading starts as the durable superblock says: what is before may be written over (W5).
    pub(crate) free_to: u64,
    pub(crate) failed: Option<DiskError>,
}

impl Log {
    /// Makes a log at `place`. What was there is gone; a power cut meanwhile leaves no log.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::TooSmall`], [`Error::Disk`].
    pub async fn make(place: &Place, options: MakeOptions) -> Result<(), Error> {
        Log::lay_out(place, options, 0).await.map(|_| ())
    }

    /// Makes a log at `place` and mounts it: what [`Log::make`] and [`Log::mount`] would do, but nothing is looked for in a
    /// log that is known to be empty.
    ///
    /// # Errors
    /// As [`Log::make`].
    pub async fn begin(place: Place, make: MakeOptions, options: MountOptions) -> Result<Log, Error> {
        let superblock = Log::lay_out(&place, make, 1).await?;
        let told = Recovery { records: 0, bytes: 0, last: Lsn::NONE, damage: None };
        let found = Found { told, end: superblock.start, marks: Marks::new(superblock.size), gaps: Vec::new() };
        Ok(Log::start(Area::new(place, &superblock), superblock, found, options.mode, false))
    }

    /// An empty log that was mounted so often.
    async fn lay_out(place: &Place, options: MakeOptions, epoch: u32) -> Result<Superblock, Error> {
        let (unit, size) = place.geometry(options.unit)?;
        let before = place.superblock().await.map(|superblock| superblock.id).unwrap_or_default();
        let made = now(place);
        // Records of an older log in the same place must not be taken for ours: its id is part of theirs.
        let id = before.rotate_left(17).wrapping_add(made) ^ place.rt().rng().next_u64();
        let superblock = Superblock {
            id,
            sequence: 0,
            size,
            unit,
            epoch,
            // 0 names no record.
            start: u64::from(unit),
            low: Lsn(unit.into()),
            sure: Lsn::NONE,
            made,
            start_epoch: epoch,
        };
        place.wipe_superblock(superblock.next().slot()).durable().await?;
        if options.zero {
            Area::new(place.clone(), &superblock).wipe().await?;
        }
        place.write_superblock(&superblock).durable().await?;
        Ok(superblock)
    }

    /// Opens a log for appending: finds its end, and begins a mount of its own behind that.
    ///
    /// # Errors
    /// [`Error::Damaged`], if records are missing that were durable: [`Log::open`] reads the others. [`Error::NotALog`],
    /// [`Error::Superblock`], [`Error::Version`], [`Error::CutOff`], [`Error::Unit`], [`Error::Disk`].
    pub async fn mount(place: Place, options: MountOptions) -> Result<Log, Error> {
        let (area, superblock, found) = find(place).await?;
        if let Some(damage) = found.told.damage {
            return Err(damage.into());
        }
        // W9: what a killed program had written may be no farther than the system's memory.
        area.place.queue().flush().await?;
        let next =
            Superblock { epoch: superblock.epoch + 1, sure: found.told.last.max(superblock.sure), ..superblock.next() };
        area.place.write_superblock(&next).durable().await?;
        Ok(Log::start(area, next, found, options.mode, false))
    }

    /// Opens a log for reading. Nothing is written; if it has a hole, it can be read up to there.
    ///
    /// # Errors
    /// As [`Log::mount`], but for the damage.
    pub async fn open(place: Place) -> Result<Log, Error> {
        let (area, superblock, found) = find(place).await?;
        Ok(Log::start(area, superblock, found, Mode::Async, true))
    }

    fn start(area: Area, superblock: Superblock, found: Found, mode: Mode, read_only: bool) -> Log {
        let end = if read_only { found.end } else { area.up(found.end) };
        let open_at = area.up(found.end);
        let Found { told: recovery, end: found_end, marks, mut gaps } = found;
        if end > found_end {
            gaps.push((found_end, end));
        }
        // Of a log that is empty since all was reclaimed, the superblock knows the last record.
        let last = recovery.last.max(superblock.sure);
        // A chunk and the longest record are less than the window: what is behind is then on its way.
        let chunk = area.down((CHUNK as u64).min(area.window() / 4)).max(area.unit) as usize;
        let chunk = chunk.min(area.transfer_most());
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
            area,
        });
        if !read_only {
            inner.area.place.rt().spawn(crate::commit::syncer(Rc::downgrade(&inner), inner.bell.clone()));
        }
        Log(inner)
    }

    /// Adds a record to the log in memory, and tells its number. When it is durable is told by [`Log::force`],
    /// [`Log::wait_durable`] and [`Log::durable`].
    ///
    /// # Errors
    /// [`Error::TooLong`]. [`Error::Full`]: reclaim, or await [`Log::checkpoint`] if [`Space::reclaimable`] says that this
    /// helps. [`Error::Behind`]: await [`Log::force`]. [`Error::Failed`] after a write failed, [`Error::ReadOnly`].
    pub fn append(&self, data: &[u8]) -> Result<Lsn, Error> {
        let log = &*self.0;
        let mut state = log.state.borrow_mut();
        log.writable(&state)?;
        let most = log.area.record_most();
        if data.len() > most {
            return Err(Error::TooLong { len: data.len(), most });
        }
        let header = Header {
            lsn: Lsn(state.end),
            prev: state.last,
            time: now(&log.area.place),
            sure: state.sure,
            epoch: log.epoch,
            length: data.len() as u32,
        };
        let next = header.next();
        log.room(&state, next)?;
        if next - state.durable > log.area.window() {
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

    /// The first record that may be read; what is below was reclaimed.
    pub fn low(&self) -> Lsn {
        self.0.state.borrow().low
    }

    /// How much room there is. A caller that reclaims when half of the log is used never finds it full.
    pub fn space(&self) -> Space {
        let state = self.0.state.borrow();
        let (size, area) = (self.0.area.size, &self.0.area);
        let free_from = |start: u64| (area.down(start) + size).saturating_sub(area.up(state.end));
        let free = free_from(state.free_to);
        Space { size, free, reclaimable: free_from(state.start) - free }
    }

    /// The longest record, in bytes.
    pub fn record_most(&self) -> usize {
        self.0.area.record_most()
    }

    /// What tells this log from all others.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The unit in bytes.
    pub fn unit(&self) -> u32 {
        self.0.area.unit as u32
    }

    /// Mounts for writing so far, this one included.
    pub fn epoch(&self) -> u32 {
        self.0.epoch
    }

    /// What was found when it was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// The mode of [`Log::commit`].
    pub fn mode(&self) -> Mode {
        self.0.mode
    }

    /// The executor and the queue beneath.
    pub fn place(&self) -> &Place {
        &self.0.area.place
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

    /// Refuses what would end at `next`, if its last unit is not free.
    fn room(&self, state: &State, next: u64) -> Result<(), Error> {
        let start = state.free_to;
        #[cfg(feature = "planted")]
        let start = if has(Broken::Reuse) { state.start } else { start };
        let (from, to) = (self.area.up(state.end), self.area.down(start) + self.area.size);
        match self.area.up(next) > to {
            true => Err(Error::Full { wanted: next - state.end, free: to.saturating_sub(from) }),
            false => Ok(()),
        }
    }

    /// Adds bytes to the open chunk. A full one goes only when more comes: then it is known which records are whole.
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

    /// Ships what is in the open chunk, padded, and goes on in the next unit (W7).
    pub(crate) fn seal(&self, state: &mut State) {
        if state.used == 0 {
            return;
        }
        let (used, unit) = (state.used, self.area.unit as usize);
        let len = used.next_multiple_of(unit);
        state.open[used..len].fill(0);
        let image = Block::copy_of(&state.open[..len]);
        #[cfg(feature = "planted")]
        if has(Broken::Unit) {
            return self.seal_half(state, image);
        }
        state.end = state.open_at + len as u64;
        // Nothing else is under way: forced by itself, it needs no flush after it.
        let forced = state.flights.is_empty();
        #[cfg(feature = "planted")]
        let forced = forced && !has(Broken::Flush);
        self.ship(state, image, forced);
    }

    /// Ships it all, and goes on in the same unit.
    #[cfg(feature = "planted")]
    fn seal_half(&self, state: &mut State, image: Block) {
        let left = state.used % self.area.unit as usize;
        let unit = state.used - left;
        let rest = image[unit..unit + left].to_vec();
        self.ship(state, image, false);
        if left > 0 {
            state.open_at -= self.area.unit;
            state.open[..left].copy_from_slice(&rest);
            state.used = left;
        }
    }

    fn ship(&self, state: &mut State, image: Block, forced: bool) {
        let (at, len) = (state.open_at, image.len() as u64);
        let written = self.area.write(at, image.image(), forced);
        state.shipped = state.end;
        state.flights.push_back(Flight { covers: state.end, last: state.last, written });
        (state.open_at, state.used) = (at + len, 0);
        self.settle(state);
        // Nobody may ask for it for a long time. Before the window is full it must be durable.
        if state.shipped - state.durable > self.area.window() / 2 {
            self.want(state, state.shipped);
        }
    }

    /// What is in memory of a range of the line, and where that begins.
    pub(crate) fn open_bytes(&self, range: std::ops::Range<u64>) -> (u64, Vec<u8>) {
        let state = self.state.borrow();
        let index = |place: u64| (place.max(state.open_at) - state.open_at).min(state.used as u64) as usize;
        (state.open_at, state.open[index(range.start)..index(range.end)].to_vec())
    }
}

async fn find(place: Place) -> Result<(Area, Superblock, Found), Error> {
    let superblock = place.superblock().await?;
    place.admit(&superblock)?;
    let area = Area::new(place, &superblock);
    let found = recover(&area, &superblock).await?;
    Ok((area, superblock, found))
}

/// The machine's clock, in nanoseconds since 1970.
fn now(place: &Place) -> u64 {
    let (secs, nanos) = place.rt().wall();
    (secs.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(nanos.into())
}
