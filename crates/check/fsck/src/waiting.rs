//! The log that a crash has left on a volume: which one it is, and its replay on the disk or in memory.

use crate::setup::{self, Opened};
use crate::suj::{self, NotReplayed, Replayed};
use crate::{redo, wapbl};
use ordo_disk::{Disk, LogHome, Overlay};
use ordo_ondisk::Superblock;
use ordo_ondisk::superblock::{Keeper, LogAt};
use ordo_rt::Rt;
use std::rc::Rc;

/// A log that must be replayed before a volume is as its last mount had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// A log of OrdoFS.
    Transactions(Keeper),
    /// NetBSD's log.
    Wapbl,
    /// FreeBSD's journal of soft updates.
    Intents,
}

impl Waiting {
    /// The log that waits on a volume with this superblock.
    pub fn of(sb: &Superblock) -> Option<Waiting> {
        if let Some(keeper) = redo::is_due(sb) {
            Some(Waiting::Transactions(keeper))
        } else if wapbl::is_due(sb) {
            Some(Waiting::Wapbl)
        } else {
            suj::is_due(sb).then_some(Waiting::Intents)
        }
    }

    /// What is only in the log is lost without a replay. A journal of intents has nothing that the volume lacks.
    pub(crate) fn has_contents(&self) -> bool {
        *self != Waiting::Intents
    }

    /// It is on a disk of its own, or in a stream.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self, Waiting::Transactions(keeper) if matches!(keeper.log, LogAt::Elsewhere | LogAt::Stream | LogAt::Followed(_)))
    }

    /// Replays the log on the disk.
    pub(crate) async fn replay(
        &self,
        rt: &Rt,
        disk: Rc<dyn Disk>,
        elsewhere: Option<LogHome>,
        opened: Opened,
    ) -> Result<Replayed, NotReplayed> {
        match self {
            Waiting::Transactions(_) => redo::replay_opened(rt, disk, elsewhere, opened).await,
            Waiting::Wapbl => wapbl::replay_opened(disk, opened, rt.wall().0).await,
            Waiting::Intents => suj::replay_opened(disk, opened, rt.wall().0).await,
        }
    }

    /// Replays the log over the disks, which are only read: returns what is then seen in their place. What forbids this
    /// program to write to the volume plays no part.
    pub(crate) async fn see(
        &self,
        rt: &Rt,
        disk: Rc<dyn Disk>,
        elsewhere: Option<LogHome>,
        opened: Opened,
    ) -> Result<Seen, NotReplayed> {
        // The replay may write to the log's own disk, too.
        let disk: Rc<dyn Disk> = Rc::new(Overlay::new(disk));
        let log = elsewhere.map(|log| log.overlaid());
        match self {
            Waiting::Transactions(_) => redo::replay_opened(rt, disk.clone(), log.clone(), opened).await,
            Waiting::Wapbl => wapbl::see(disk.clone(), opened, rt.wall().0).await,
            Waiting::Intents => suj::see(disk.clone(), opened, rt.wall().0).await,
        }?;
        Ok(Seen { disk, log })
    }
}

/// Disks as they will be after a replay, which was done in memory.
pub struct Seen {
    /// The volume's.
    pub disk: Rc<dyn Disk>,
    /// The log's, if it has one of its own; or its stream.
    pub log: Option<LogHome>,
}

/// Replays the log that waits on the volume on `disk`. `elsewhere` is where the log is, if it is not a file of the
/// volume.
///
/// # Errors
/// Why it was not replayed; then nothing was written, unless a disk failed.
pub async fn replay_waiting(rt: &Rt, disk: Rc<dyn Disk>, elsewhere: Option<LogHome>) -> Result<Replayed, NotReplayed> {
    let opened = setup::open(&disk).await?;
    match Waiting::of(&opened.sb) {
        Some(waiting) => waiting.replay(rt, disk, elsewhere, opened).await,
        None => Err(if opened.sb.is_clean() { NotReplayed::Clean } else { NotReplayed::NoLog }),
    }
}

/// The disks as they will be after the log that waits on the volume on `disk` was replayed. Nothing is written to them.
///
/// # Errors
/// Why it cannot be replayed; or a disk fails.
pub async fn see_replayed(rt: &Rt, disk: Rc<dyn Disk>, elsewhere: Option<LogHome>) -> Result<Seen, NotReplayed> {
    let opened = setup::open(&disk).await?;
    match Waiting::of(&opened.sb) {
        Some(waiting) => waiting.see(rt, disk, elsewhere, opened).await,
        None => Err(if opened.sb.is_clean() { NotReplayed::Clean } else { NotReplayed::NoLog }),
    }
}
