//! An open journal: its state, and how it is made, opened and inspected.

use crate::area::{Area, admit, geometry};
use crate::hole::{hole, lost_superblock};
use crate::recover::Walk;
use crate::superblock::Superblock;
use crate::{Damage, Error, Place, Recovered, Seq};
use ordo_disk::{DiskError, KeepsCopies};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use ordo_ring::{SLOT, Superblock as _};
use ordo_rt::sync::Mutex;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// When the commit block is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commit {
    /// With the body. If a crash keeps it without part of the body, the checksums detect that. One wait for the disk.
    #[default]
    Together,
    /// After a flush has made durable the body, and everything else that was complete on the journal's queue when the
    /// body was. Two waits.
    AfterFlush,
}

/// Options of an open journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// When the commit block is written.
    pub commit: Commit,
}

/// Counters since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that are durable.
    pub transactions: u64,
    /// Blocks of the journal that they take: the caller's and the journal's own.
    pub blocks: u64,
    /// The caller's blocks among them.
    pub images: u64,
    /// Bytes that were written to the journal, without superblocks.
    pub bytes: u64,
    /// Flushes that commits have requested, including those that had nothing to flush. Forced writes do not count.
    pub flushes: u64,
    /// Superblocks that were written.
    pub superblocks: u64,
}

/// What [`Journal::inspect`] reports.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The name that its maker gave it.
    pub id: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// Blocks in the journal.
    pub size: u64,
    /// Blocks of `size` that the live transactions take.
    pub used: u64,
    /// It was closed, and is empty.
    pub clean: bool,
    /// The first transaction that is not checkpointed, or the next one.
    pub tail: Seq,
    /// Superblocks that were written so far.
    pub superblocks: u64,
    /// When the journal was made, in nanoseconds since 1970.
    pub made: u64,
    /// The transactions up to the end, or up to the hole.
    pub recovered: Recovered,
    /// A hole at the end: more transactions were durable.
    pub damage: Option<Damage>,
}

/// An open journal. Clones are handles of the same journal.
#[derive(Clone)]
pub struct Journal(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) area: Area,
    pub(crate) options: Options,
    id: u64,
    pub(crate) state: RefCell<State>,
    /// The superblock on the disk; the lock serializes its writers (ring-1).
    pub(crate) superblock: Mutex<Superblock>,
    /// Serializes commits.
    pub(crate) turn: Mutex<()>,
    /// The disk below, if it keeps the journal's blocks as copies.
    pub(crate) copies: OnceCell<Rc<dyn KeepsCopies>>,
}

pub(crate) struct State {
    /// Where the next transaction begins.
    pub(crate) end: u64,
    /// Its number.
    pub(crate) next: Seq,
    /// The first blocks of the transactions that are not checkpointed, oldest first.
    pub(crate) live: VecDeque<u64>,
    /// Where reading starts according to the durable superblock: everything before may be overwritten (ring-2).
    pub(crate) tail: u64,
    /// The sequence of that superblock (blockjournal-4).
    pub(crate) epoch: u64,
    /// A commit has begun and not ended (ring-6).
    pub(crate) under_way: bool,
    pub(crate) closed: bool,
    pub(crate) failed: Option<DiskError>,
    pub(crate) counters: Counters,
}

/// What is on the disk.
struct Read {
    area: Area,
    superblock: Superblock,
    recovered: Recovered,
    live: VecDeque<u64>,
    /// Where the next transaction begins, and its number.
    end: (u64, Seq),
    damage: Option<Damage>,
}

impl Journal {
    /// Makes an empty journal at `place`, with blocks of `block_size` bytes: a power of two from 512, and the disk's
    /// sector, to 64 KiB. `id` is a name by which to recognize the journal; it need not be unique. What was there is
    /// lost; a power cut meanwhile leaves no journal.
    ///
    /// # Errors
    /// [`Error::BlockSize`], [`Error::TooSmall`], [`Error::Disk`].
    pub async fn make(place: &Place, block_size: u32, id: u64) -> Result<(), Error> {
        let size = geometry(place, block_size)?;
        let before = place.superblock().await.map(|superblock: Superblock| superblock.salt).unwrap_or_default();
        let made = place.now();
        let superblock = Superblock {
            id,
            salt: place.salt(before, made),
            sequence: 0,
            size,
            block: block_size,
            clean: true,
            tail: 0,
            tail_seq: Seq(1),
            sure: Seq::NONE,
            opened: 0,
            opened_seq: Seq(1),
            made,
        };
        for slot in [0, SLOT] {
            place.wipe_superblock(slot).durable().await?;
        }
        place.write_superblock(&superblock).durable().await?;
        Ok(())
    }

    /// Opens a journal for writing, and returns the transactions that are not checkpointed. They stay in the journal
    /// until the caller writes their blocks in place ([`Recovered::replay`]), flushes, and calls
    /// [`Journal::checkpoint`]. All of them are held in memory, at most as many bytes as the journal has. A journal
    /// that was not closed is read once, as a whole.
    ///
    /// # Errors
    /// [`Error::Damaged`], if transactions are missing that were durable: [`Journal::inspect`] reads those before.
    /// [`Error::NotAJournal`], [`Error::Superblock`], [`Error::Version`], [`Error::CutOff`], [`Error::BlockSize`],
    /// [`Error::Disk`].
    pub async fn open(place: Place, options: Options) -> Result<(Journal, Recovered), Error> {
        let Read { area, superblock, recovered, live, end: (end, next), damage } = read(place).await?;
        if let Some(damage) = damage {
            return Err(damage.into());
        }
        let sequence = superblock.sequence + 1;
        let sure = next.before();
        let opened = Superblock { clean: false, sure, opened: sequence, opened_seq: next, ..superblock.next() };
        area.place().begin(&opened).await?;
        let state = State {
            end,
            next,
            live,
            tail: opened.tail,
            epoch: opened.sequence,
            under_way: false,
            closed: false,
            failed: None,
            counters: Counters { superblocks: 1, ..Counters::default() },
        };
        let inner = Inner {
            area,
            options,
            id: opened.id,
            state: RefCell::new(state),
            superblock: Mutex::new(opened),
            turn: Mutex::new(()),
            copies: OnceCell::new(),
        };
        Ok((Journal(Rc::new(inner)), recovered))
    }

    /// Reads a journal, and writes nothing. If it has a hole, it is read up to there.
    ///
    /// # Errors
    /// As [`Journal::open`], except for the damage.
    pub async fn inspect(place: Place) -> Result<Inspected, Error> {
        let Read { superblock, recovered, end, damage, .. } = read(place).await?;
        Ok(Inspected {
            id: superblock.id,
            block_size: superblock.block,
            size: superblock.size,
            used: end.0 - superblock.tail,
            clean: superblock.clean,
            tail: superblock.tail_seq,
            superblocks: superblock.sequence + 1,
            made: superblock.made,
            recovered,
            damage,
        })
    }

    /// Tells `copies` of each commit from now on, and asks it before transactions are dropped. Once; a second one is
    /// not accepted, and `false` is returned.
    pub fn tell(&self, copies: Rc<dyn KeepsCopies>) -> bool {
        self.0.copies.set(copies).is_ok()
    }

    /// The name that its maker gave it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.0.area.shape.block as u32
    }

    /// The number of its blocks.
    pub fn size(&self) -> u64 {
        self.0.area.size
    }

    /// The number of blocks that are free now.
    pub fn room(&self) -> u64 {
        self.0.free(&self.0.state.borrow())
    }

    /// True if a transaction that takes this many blocks of the journal, see [`Journal::cost`], fits in now.
    pub fn fits(&self, blocks: u64) -> bool {
        blocks <= self.room()
    }

    /// The blocks of the journal that a transaction takes with these numbers of the caller's blocks, of revoked ranges,
    /// and of bytes of a note.
    pub fn cost(&self, blocks: u64, revoked: u64, note: u64) -> u64 {
        crate::transaction::cost(self.0.area.shape, blocks, revoked, note)
    }

    /// The oldest and the newest transaction that are durable and not checkpointed.
    pub fn live(&self) -> Option<(Seq, Seq)> {
        let state = self.0.state.borrow();
        (!state.live.is_empty()).then(|| (Seq(state.next.0 - state.live.len() as u64), state.next.before()))
    }

    /// The newest durable transaction, [`Seq::NONE`] if there never was one.
    pub fn last(&self) -> Seq {
        self.0.state.borrow().next.before()
    }

    /// Counters since it was opened.
    pub fn counters(&self) -> Counters {
        self.0.state.borrow().counters
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        self.0.area.place()
    }
}

impl Inner {
    /// Refuses to continue after a failed or abandoned commit, or a close (ring-6).
    pub(crate) fn usable(&self, state: &State) -> Result<(), Error> {
        #[cfg(feature = "planted")]
        if has(Broken::Failed) {
            return Ok(());
        }
        match &state.failed {
            Some(error) => Err(Error::Failed(error.clone())),
            None if state.closed => Err(Error::Closed),
            None => Ok(()),
        }
    }

    /// Records the failure. Nothing is committed after this.
    pub(crate) fn fail(&self, error: DiskError) -> Error {
        let mut state = self.state.borrow_mut();
        state.under_way = false;
        Error::Failed(state.failed.get_or_insert(error).clone())
    }

    pub(crate) fn free(&self, state: &State) -> u64 {
        (state.tail + self.area.size - state.end).saturating_sub(self.apart())
    }

    /// Blocks that stay free.
    pub(crate) fn apart(&self) -> u64 {
        self.copies.get().map_or(0, |copies| copies.apart().div_ceil(self.area.shape.block as u64))
    }
}

async fn read(place: Place) -> Result<Read, Error> {
    let superblock = place.superblock().await?;
    admit(&place, &superblock)?;
    let area = Area::new(place, &superblock);
    let mut walk = Walk::new(&area, &superblock);
    let (mut recovered, mut live) = (Recovered::default(), VecDeque::new());
    let damage = if superblock.clean {
        lost_superblock(&area, &superblock).await?
    } else {
        loop {
            let line = walk.line;
            let Some(found) = walk.next().await? else { break };
            live.push_back(line);
            recovered.transactions.push(found);
        }
        hole(&area, &superblock, &mut walk).await?
    };
    Ok(Read { end: (walk.line, walk.seq), area, superblock, recovered, live, damage })
}
