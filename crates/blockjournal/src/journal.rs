//! An open journal: its state, and how it comes to be.

use crate::area::{Area, admit, geometry};
use crate::hole::{hole, lost_superblock};
#[cfg(feature = "planted")]
use crate::planted::{Broken, has};
use crate::recover::Walk;
use crate::superblock::{SLOT, Superblock};
use crate::{Damage, Error, Place, Recovered, Seq};
use disk::DiskError;
use rt::sync::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// When the commit block leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commit {
    /// With the body; a crash that leaves it without a part of the body is told by the checksums. One wait for the disk.
    #[default]
    Together,
    /// When the body is durable, and with it all else that was complete on the queue of the journal when the body was: a
    /// flush lies between. Two waits.
    AfterFlush,
}

/// How to use a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// When the commit block leaves.
    pub commit: Commit,
}

/// What a journal has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that are durable.
    pub transactions: u64,
    /// Their blocks of the journal: the caller's and its own.
    pub blocks: u64,
    /// Those of the caller among them.
    pub images: u64,
    /// Bytes that were written to the journal, without superblocks.
    pub bytes: u64,
    /// Flushes that commits have asked for, also where there was nothing to do. Forced writes are none.
    pub flushes: u64,
    /// Superblocks that were written.
    pub superblocks: u64,
}

/// What [`Journal::inspect`] sees.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The name that its maker gave it.
    pub id: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// Its blocks.
    pub size: u64,
    /// Blocks of `size` that the transactions take.
    pub used: u64,
    /// It was closed, and is empty.
    pub clean: bool,
    /// The first transaction that is not checkpointed, or the next one.
    pub tail: Seq,
    /// Superblocks that were written so far.
    pub superblocks: u64,
    /// When it was made, in nanoseconds since 1970.
    pub made: u64,
    /// The transactions up to the end, or up to the hole.
    pub recovered: Recovered,
    /// A hole at the end: there were more transactions.
    pub damage: Option<Damage>,
}

/// An open journal. Clones are handles of the same one.
#[derive(Clone)]
pub struct Journal(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) area: Area,
    pub(crate) options: Options,
    id: u64,
    pub(crate) state: RefCell<State>,
    /// The superblock on the disk, and who writes the next one (K7).
    pub(crate) superblock: Mutex<Superblock>,
    /// Who commits.
    pub(crate) turn: Mutex<()>,
}

pub(crate) struct State {
    /// Where the next transaction begins.
    pub(crate) end: u64,
    /// Its number.
    pub(crate) next: Seq,
    /// Where the transactions begin that are not checkpointed, oldest first.
    pub(crate) live: VecDeque<u64>,
    /// Where reading starts as the durable superblock says: what is before may be written over (K6).
    pub(crate) tail: u64,
    /// The sequence of that superblock (K4).
    pub(crate) epoch: u64,
    /// A commit has begun and not ended (K11).
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
    /// Makes an empty journal at `place`, with blocks of `block_size` bytes: a power of two from 512, and the disk's sector,
    /// to 64 KiB. `id` is a name for whoever wants to know it again; it need not be unique. What was there is gone; a power
    /// cut meanwhile leaves no journal.
    ///
    /// # Errors
    /// [`Error::BlockSize`], [`Error::TooSmall`], [`Error::Disk`].
    pub async fn make(place: &Place, block_size: u32, id: u64) -> Result<(), Error> {
        let size = geometry(place, block_size)?;
        let before = place.superblock().await.map(|superblock| superblock.salt).unwrap_or_default();
        let (secs, nanos) = place.rt().wall();
        let made = (secs.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(nanos.into());
        let superblock = Superblock {
            id,
            // What an older journal has left in the same place must not be taken for ours, not even with the same luck.
            salt: before.rotate_left(17).wrapping_add(made) ^ place.rt().rng().next_u64(),
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

    /// Opens a journal for writing, and tells the transactions that are not checkpointed. They are kept until they are:
    /// the caller writes their blocks home ([`Recovered::replay`]), flushes, and calls [`Journal::checkpoint`]. All of them
    /// are in memory, at most the journal's own bytes. A journal that was not closed is read once, all of it.
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
        // K9: what a killed program had written may be no farther than the system's memory.
        #[cfg(feature = "planted")]
        let flushed = has(Broken::Found);
        #[cfg(not(feature = "planted"))]
        let flushed = false;
        if !flushed {
            area.place.queue().flush().await?;
        }
        let sequence = superblock.sequence + 1;
        let sure = next.before();
        let opened = Superblock { clean: false, sure, opened: sequence, opened_seq: next, ..superblock.next() };
        area.place.write_superblock(&opened).durable().await?;
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
        };
        Ok((Journal(Rc::new(inner)), recovered))
    }

    /// Reads a journal, and writes nothing. If it has a hole, it is read up to there.
    ///
    /// # Errors
    /// As [`Journal::open`], but for the damage.
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

    /// The name that its maker gave it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.0.area.shape.block as u32
    }

    /// All its blocks.
    pub fn size(&self) -> u64 {
        self.0.area.size
    }

    /// The blocks that are free now.
    pub fn room(&self) -> u64 {
        self.0.free(&self.0.state.borrow())
    }

    /// True if a transaction that takes so many blocks of the journal, see [`Journal::cost`], fits in now.
    pub fn fits(&self, blocks: u64) -> bool {
        blocks <= self.room()
    }

    /// The blocks of the journal that a transaction takes which has so many blocks of the caller, revoked ranges, and bytes
    /// of a note.
    pub fn cost(&self, blocks: u64, revoked: u64, note: u64) -> u64 {
        crate::transaction::cost(self.0.area.shape, blocks, revoked, note)
    }

    /// The oldest and the newest transaction that are durable and not checkpointed.
    pub fn live(&self) -> Option<(Seq, Seq)> {
        let state = self.0.state.borrow();
        (!state.live.is_empty()).then(|| (Seq(state.next.0 - state.live.len() as u64), state.next.before()))
    }

    /// The newest transaction that is durable, [`Seq::NONE`] if there was none ever.
    pub fn last(&self) -> Seq {
        self.0.state.borrow().next.before()
    }

    /// What it has done since it was opened.
    pub fn counters(&self) -> Counters {
        self.0.state.borrow().counters
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        &self.0.area.place
    }
}

impl Inner {
    /// Refuses after what cannot be mended (K11).
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

    /// Nothing is committed after this.
    pub(crate) fn fail(&self, error: DiskError) -> Error {
        let mut state = self.state.borrow_mut();
        state.under_way = false;
        Error::Failed(state.failed.get_or_insert(error).clone())
    }

    pub(crate) fn free(&self, state: &State) -> u64 {
        state.tail + self.area.size - state.end
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
