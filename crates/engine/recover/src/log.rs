//! What every kind of log that a crash may leave is asked.

use crate::error::Error;
use crate::outcome::{NotReplayed, Replayed};
use crate::setup::Opened;
use ordo_disk::{Disk, LogHome, Overlay};
use ordo_ondisk::Superblock;
use ordo_rt::Rt;
use std::pin::Pin;
use std::rc::Rc;

/// A kind of log that must be replayed before a volume is as its last mount had it.
pub trait Recover {
    /// Which one it is.
    fn which(&self) -> Waiting;

    /// Whether such a log waits on a volume with this superblock.
    fn is_due(&self, sb: &Superblock) -> bool;

    /// Replays the log on the disk. On an error nothing was written, unless a disk failed.
    fn replay(&self, of: Crashed) -> Recovering<Replayed>;

    /// Replays the log over the disks, which are only read: returns what is then seen in their place. What forbids this
    /// program to write to the volume plays no part, as far as the kind of log allows it.
    fn see(&self, of: Crashed) -> Recovering<Seen>;
}

/// What a recovery will have done.
pub type Recovering<T> = Pin<Box<dyn Future<Output = Result<T, NotReplayed>>>>;

/// The kinds of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// A log of OrdoFS.
    Transactions,
    /// NetBSD's log.
    Wapbl,
    /// FreeBSD's journal of soft updates.
    Intents,
}

impl Waiting {
    /// What is only in the log is lost without a replay. A journal of intents has nothing that the volume lacks.
    pub fn has_contents(self) -> bool {
        self != Waiting::Intents
    }
}

/// A volume as a crash may have left it, with all that a replay needs.
#[derive(Clone)]
pub struct Crashed {
    /// The clock.
    pub rt: Rt,
    /// The disk of the volume.
    pub disk: Rc<dyn Disk>,
    /// Where the log is, if it is not a file of the volume.
    pub log: Option<LogHome>,
    /// The superblock.
    pub opened: Opened,
}

impl Crashed {
    /// Finds the superblock of the volume on `disk`.
    ///
    /// # Errors
    /// The disk fails, or has no volume.
    pub async fn open(rt: &Rt, disk: Rc<dyn Disk>, log: Option<LogHome>) -> Result<Crashed, Error> {
        let opened = Opened::find(&disk).await?;
        Ok(Crashed { rt: rt.clone(), disk, log, opened })
    }

    /// The same over the disks: what is written stays in memory. A replay may write to the log's own disk, too.
    pub(crate) fn overlaid(self) -> Crashed {
        let log = self.log.map(|log| log.overlaid());
        Crashed { disk: Rc::new(Overlay::new(self.disk)), log, ..self }
    }

    /// What is seen after this replay over the disks.
    pub(crate) async fn seen(
        self,
        replay: impl AsyncFnOnce(Crashed) -> Result<Replayed, NotReplayed>,
    ) -> Result<Seen, NotReplayed> {
        let over = self.overlaid();
        replay(over.clone()).await?;
        Ok(Seen { disk: over.disk, log: over.log })
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.rt.wall().0
    }
}

/// Disks as they will be after a replay, which was done in memory.
pub struct Seen {
    /// The volume's.
    pub disk: Rc<dyn Disk>,
    /// The log's, if it has one of its own; or its stream.
    pub log: Option<LogHome>,
}
