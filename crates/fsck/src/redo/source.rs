//! Where a log lies, and what it holds.

use crate::suj::{NotReplayed, Replay};
use disk::{Disk, DiskOff, Queue, QueueOptions};
use ondisk::redo::{Changed, Joined, Transaction, Waiting};
use ondisk::superblock::Keeper;
use ondisk::{Ino, Superblock, dinode};
use rt::Rt;
use std::rc::Rc;

/// The file of a volume's log.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// Its inode.
    pub ino: Ino,
    /// Where it lies, in its order: address and bytes.
    pub extents: Vec<(DiskOff, u64)>,
}

/// The file for a log on the clean volume on `disk`; `None` where there is none.
///
/// # Errors
/// The file is there, and is not what it must be; or the disk fails.
pub async fn place_of_log(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock) -> Result<Option<LogPlace>, NotReplayed> {
    let mut volume = Replay::new(disk, sb.clone(), rt.wall().0);
    let Some(ino) = volume.file_in_root(ondisk::redo::FILE).await? else { return Ok(None) };
    let extents = volume.log_extents(Ino(ino)).await?;
    Ok(Some(LogPlace { ino: Ino(ino), extents }))
}

impl Replay {
    /// Where the file of the log lies. It never changes, so what the crash has left of it is whole.
    pub(super) async fn log_extents(&mut self, ino: Ino) -> Result<Vec<(DiskOff, u64)>, NotReplayed> {
        let wrong = |what| NotReplayed::Inode { ino: ino.0, what };
        if !self.geo.is_valid_ino(ino) {
            return Err(wrong("it is said to be the log, and there is no such inode"));
        }
        let dinode = self.dinode(ino.0).await?;
        let is_log = dinode.kind() == dinode::mode::REG && dinode.flags & ondisk::redo::FLAGS == ondisk::redo::FLAGS;
        if !is_log || dinode.size == 0 || self.geo.blkoff(dinode.size) != 0 {
            return Err(wrong("it is said to be the log, and is no such file"));
        }
        let bsize = u64::from(self.geo.bsize);
        let found = self.extents(ino.0, &dinode).await?;
        Ok(found.into_iter().map(|(at, blocks)| (DiskOff(self.geo.byte(at).0), blocks as u64 * bsize)).collect())
    }
}

/// On which disk.
pub(super) enum Where {
    Within(Rc<dyn Disk>, Vec<(DiskOff, u64)>),
    Elsewhere(Rc<dyn Disk>),
}

/// An open log.
pub(super) enum Source {
    /// Of the bytes that changed.
    Records { place: wafs::Place, log: wafs::Log },
    /// Of whole blocks.
    Blocks { place: blockjournal::Place, found: blockjournal::Inspected },
}

/// What a log holds.
pub(super) struct Held {
    /// The transactions that are whole, in the order in which they happened. Those of a log of blocks have no blocks here.
    pub(super) transactions: Vec<Transaction>,
    /// The newest state of each block that a log of blocks has.
    pub(super) blocks: Vec<(DiskOff, disk::Block)>,
}

/// The scheme whose log is one of whole blocks.
const OF_BLOCKS: &str = "block-journal";

impl Source {
    /// Opens the log that the superblock names, and no other one (P1).
    pub(super) async fn open(rt: &Rt, place: Where, keeper: &Keeper) -> Result<Source, NotReplayed> {
        let (queue, extents) = match place {
            Where::Within(disk, extents) => (Queue::new(rt, disk, QueueOptions::default()), extents),
            Where::Elsewhere(disk) => {
                let (size, sector) = (disk.info().size, u64::from(disk.info().sector));
                let all = (DiskOff(0), size / sector * sector);
                (Queue::new(rt, disk, QueueOptions::default()), vec![all])
            }
        };
        let is_the_one = |id: u64| match id == keeper.id {
            true => Ok(()),
            false => Err(NotReplayed::OtherLog { found: id, wanted: keeper.id }),
        };
        if keeper.scheme == OF_BLOCKS {
            let place = blockjournal::Place::new(&queue, &extents)?;
            let found = blockjournal::Journal::inspect(place.clone()).await?;
            is_the_one(found.id)?;
            if let Some(damage) = &found.damage {
                return Err(blockjournal::Error::from(*damage).into());
            }
            return Ok(Source::Blocks { place, found });
        }
        let place = wafs::Place::parts(&queue, &extents)?;
        let log = wafs::Log::open(place.clone()).await?;
        is_the_one(log.id())?;
        if let Some(damage) = &log.recovery().damage {
            return Err(wafs::Error::from(*damage).into());
        }
        Ok(Source::Records { place, log })
    }

    /// All that is whole in it (P2).
    pub(super) async fn held(&mut self) -> Result<Held, NotReplayed> {
        let mut held = Held { transactions: Vec::new(), blocks: Vec::new() };
        match self {
            Source::Records { log, .. } => {
                let (mut scan, mut joined) = (log.scan(log.low()), Joined::default());
                while let Some(record) = scan.next().await? {
                    if let Some(bytes) = joined.add(&record.data)? {
                        held.transactions.push(Transaction::decode(&bytes)?);
                    }
                }
            }
            Source::Blocks { found, .. } => {
                for transaction in &found.recovered.transactions {
                    held.transactions.push(Transaction::decode(&transaction.note)?);
                }
                let newest = found.recovered.replay();
                held.blocks = newest.into_iter().map(|(at, block)| (at, block.clone())).collect();
                found.recovered.transactions.clear();
            }
        }
        Ok(held)
    }

    /// Adds a transaction (P3): blocks before and after, and what goes on to wait.
    pub(super) async fn add(
        self,
        blocks: Vec<(DiskOff, Vec<u8>, Vec<u8>)>,
        waiting: Vec<Waiting>,
    ) -> Result<(), NotReplayed> {
        match self {
            Source::Records { place, log } => {
                drop(log);
                let changed = blocks.into_iter().map(|(at, before, now)| {
                    let pieces = ondisk::redo::differences(&before, &now);
                    Changed { at: at.0, len: now.len() as u32, fresh: false, pieces }
                });
                let transaction = Transaction { blocks: changed.collect(), waiting, ..Transaction::default() };
                let log = wafs::Log::mount(place, wafs::MountOptions { mode: wafs::Mode::Async }).await?;
                for part in ondisk::redo::parts(&transaction.encode(), log.record_most()) {
                    log.append_patiently(&part).await?;
                }
                Ok(log.force(log.last()).await?)
            }
            Source::Blocks { place, .. } => {
                let note = Transaction { waiting, ..Transaction::default() }.encode();
                let blocks = blocks.into_iter().map(|(at, _, now)| (at, disk::Block::copy_of(&now).image())).collect();
                let (journal, _) = blockjournal::Journal::open(place, blockjournal::Options::default()).await?;
                journal.commit(blockjournal::Transaction { blocks, revoked: Vec::new(), note }).await?;
                Ok(())
            }
        }
    }
}
