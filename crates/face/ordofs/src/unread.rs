//! A log that waits to be replayed, and that a reader does not see: a read-only mount replays it in memory, and that
//! was not possible.

use ordo_ondisk::Superblock;
use ordo_recover::{Waiting, due};

/// A log whose changes are missing in what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadLog {
    /// OrdoFS's transaction log: before the replay the metadata in place may be old or inconsistent.
    #[error("its log was not replayed: what is shown may be old or inconsistent; ordo fsck -p replays it")]
    Transactions,
    /// FreeBSD's journal of soft updates: even without it every name leads to a file.
    #[error(
        "its journal was not replayed: link counts and free space may be old, and files without a name are still \
         there; ordo fsck -p replays it"
    )]
    Intents,
    /// NetBSD's log: before the replay the metadata in place may be old or inconsistent.
    #[error(
        "NetBSD's log (WAPBL) was not replayed: what is shown is the state before the log, which may be old or \
         inconsistent; ordo fsck -p replays it"
    )]
    Wapbl,
    /// Solaris's log, which this program does not read.
    #[error(
        "Solaris's log was not replayed: what is shown is the state before the log, which may be old or inconsistent; \
         mount and unmount the volume on Solaris, or run fsck there, to replay it"
    )]
    Solaris,
}

impl UnreadLog {
    /// The log that waits on a volume with this superblock.
    pub fn of(sb: &Superblock) -> Option<UnreadLog> {
        match due(sb).map(|log| log.which()) {
            Some(Waiting::Transactions) => Some(UnreadLog::Transactions),
            Some(Waiting::Wapbl) => Some(UnreadLog::Wapbl),
            Some(Waiting::Intents) => Some(UnreadLog::Intents),
            None if sb.solaris_log_waits() => Some(UnreadLog::Solaris),
            // Damage was found before, so the journal is not replayed; it is there nevertheless.
            None => (sb.features().suj && !sb.is_clean()).then_some(UnreadLog::Intents),
        }
    }
}
