//! A log that waits to be replayed, and that a reader does not see. A read-only mount writes nothing: it replays a log
//! of OrdoFS in memory, if it can be replayed, and no other.

use ordo_ondisk::Superblock;

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
    /// NetBSD's log, which this program does not read.
    #[error(
        "NetBSD's log (WAPBL) was not replayed: what is shown is the state before the log, which may be old or \
         inconsistent; mount and unmount the volume on NetBSD to replay it"
    )]
    Wapbl,
}

impl UnreadLog {
    /// The log that waits on a volume with this superblock.
    pub fn of(sb: &Superblock) -> Option<UnreadLog> {
        let on = sb.features();
        if ordo_fsck::log_is_due(sb).is_some() {
            Some(UnreadLog::Transactions)
        } else if on.wapbl {
            Some(UnreadLog::Wapbl)
        } else if on.suj && !sb.is_clean() {
            Some(UnreadLog::Intents)
        } else {
            None
        }
    }
}
