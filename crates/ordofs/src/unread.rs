//! What a reader is not shown: a log that waits to be replayed. Nothing is written for a reader, so no log is replayed.

use ondisk::Superblock;

/// A log whose contents what is read does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadLog {
    /// Of transactions, ours: nothing at its place counts before the replay.
    #[error("its log was not replayed: what is shown may be old or broken; ordo fsck -p replays it")]
    Transactions,
    /// Of soft updates, FreeBSD's: every name leads to a file as it is without it.
    #[error(
        "its journal was not replayed: link counts and free space may be old, and files without a name are still \
         there; ordo fsck -p replays it"
    )]
    Intents,
    /// NetBSD's, which this program does not read.
    #[error(
        "its log of NetBSD (WAPBL) was not replayed: what is shown is what was there before the log, and may be old or \
         broken; mount and unmount it on NetBSD, which replays it"
    )]
    Wapbl,
}

impl UnreadLog {
    /// The log that waits on a volume with this superblock.
    pub fn of(sb: &Superblock) -> Option<UnreadLog> {
        let on = sb.features();
        if fsck::log_is_due(sb).is_some() {
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
