//! Where a log lies, and what it holds.

use crate::suj::{NotReplayed, Replay};
use disk::{Disk, DiskOff, Queue, QueueOptions};
use ondisk::redo::{Joined, Transaction};
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
pub(super) struct Source {
    place: wafs::Place,
    log: wafs::Log,
}

impl Source {
    /// Opens the log that the superblock names, and no other one (P1).
    pub(super) async fn open(rt: &Rt, place: Where, keeper: &Keeper) -> Result<Source, NotReplayed> {
        let (queue, extents) = match place {
            Where::Within(disk, extents) => (Queue::new(rt, disk, QueueOptions::default()), extents),
            Where::Elsewhere(disk) => {
                let all = (DiskOff(0), disk.info().size);
                (Queue::new(rt, disk, QueueOptions::default()), vec![all])
            }
        };
        let place = wafs::Place::parts(&queue, &extents)?;
        let log = wafs::Log::open(place.clone()).await?;
        if log.id() != keeper.id {
            return Err(NotReplayed::OtherLog { found: log.id(), wanted: keeper.id });
        }
        if let Some(damage) = &log.recovery().damage {
            return Err(wafs::Error::from(damage.clone()).into());
        }
        Ok(Source { place, log })
    }

    /// All that is whole in it, in the order in which it happened (P2).
    pub(super) async fn transactions(&self) -> Result<Vec<Transaction>, NotReplayed> {
        let (mut scan, mut joined, mut all) = (self.log.scan(self.log.low()), Joined::default(), Vec::new());
        while let Some(record) = scan.next().await? {
            let whole = joined.add(&record.data).map_err(|()| NotReplayed::NoTransaction { lsn: record.lsn.0 })?;
            if let Some(bytes) = whole {
                all.push(Transaction::decode(&bytes)?);
            }
        }
        Ok(all)
    }

    /// Adds one (P3).
    pub(super) async fn add(self, transaction: &Transaction) -> Result<(), NotReplayed> {
        let Source { place, log } = self;
        drop(log);
        let log = wafs::Log::mount(place, wafs::MountOptions { mode: wafs::Mode::Async }).await?;
        for part in ondisk::redo::parts(&transaction.encode(), log.record_most()) {
            log.append_patiently(&part).await?;
        }
        Ok(log.force(log.last()).await?)
    }
}
