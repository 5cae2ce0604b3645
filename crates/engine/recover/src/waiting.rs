//! The log that a crash has left on a volume: which one it is, and its replay on the disk or in memory.

use crate::log::{Crashed, Recover, Seen};
use crate::outcome::{NotReplayed, Replayed};
use crate::redo::Transactions;
use crate::suj::Intents;
use crate::wapbl::Wapbl;
use ordo_disk::{Disk, LogHome};
use ordo_ondisk::Superblock;
use ordo_rt::Rt;
use std::rc::Rc;

/// Every kind of log; where two would be due, the first counts. A log of ours on a volume with soft updates' journal is
/// of the last mount, and the journal of one before.
const KINDS: [&dyn Recover; 3] = [&Transactions, &Wapbl, &Intents];

/// The log that waits on a volume with this superblock.
pub fn due(sb: &Superblock) -> Option<&'static dyn Recover> {
    KINDS.into_iter().find(|log| log.is_due(sb))
}

/// The same, or why there is nothing to replay.
fn waiting(of: &Crashed) -> Result<&'static dyn Recover, NotReplayed> {
    let sb = &of.opened.sb;
    due(sb).ok_or(if sb.is_clean() { NotReplayed::Clean } else { NotReplayed::NoLog })
}

/// Replays the log that waits on the volume on `disk`. `elsewhere` is where the log is, if it is not a file of the
/// volume.
///
/// # Errors
/// Why it was not replayed; then nothing was written, unless a disk failed.
pub async fn replay_waiting(rt: &Rt, disk: Rc<dyn Disk>, elsewhere: Option<LogHome>) -> Result<Replayed, NotReplayed> {
    let crashed = Crashed::open(rt, disk, elsewhere).await?;
    waiting(&crashed)?.replay(crashed).await
}

/// The disks as they will be after the log that waits on the volume on `disk` was replayed. Nothing is written to them.
///
/// # Errors
/// Why it cannot be replayed; or a disk fails.
pub async fn see_replayed(rt: &Rt, disk: Rc<dyn Disk>, elsewhere: Option<LogHome>) -> Result<Seen, NotReplayed> {
    let crashed = Crashed::open(rt, disk, elsewhere).await?;
    waiting(&crashed)?.see(crashed).await
}
