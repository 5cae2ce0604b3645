//! What a replay did, or why there was none.

use crate::error::Error;
use ordo_ondisk::{Corrupt, Refused};

/// What a replay did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Segments of the journal that counted.
    pub segments: u64,
    /// Records in them.
    pub records: u64,
    /// Fragments that became free.
    pub freed_frags: u64,
    /// Inodes that became free.
    pub freed_inodes: u64,
    /// Inodes that got another link count.
    pub links_adjusted: u64,
}

/// Why a journal was not replayed. Nothing was written then, and a full check must repair the volume.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotReplayed {
    /// The disk failed, or it holds no volume.
    #[error(transparent)]
    Check(#[from] Error),
    /// The volume was unmounted cleanly: there is nothing to replay.
    #[error("the volume is clean")]
    Clean,
    /// The volume was not unmounted cleanly.
    #[error("the volume is not clean")]
    NotClean,
    /// The volume does not use a journal.
    #[error("the volume has no soft updates journal")]
    NoJournal,
    /// Damage was found before that the journal does not cover.
    #[error("an earlier check found damage on the volume")]
    NeedsFsck,
    /// This program does not write to such volumes.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The superblock is damaged.
    #[error("the superblock is damaged: {0}")]
    Superblock(String),
    /// The root directory does not name a journal.
    #[error("there is no {} in the root directory", ordo_ondisk::suj::NAME)]
    Missing,
    /// The file is not a valid journal.
    #[error("the journal has {field} {found}, and should have {right}")]
    NotAJournal {
        /// The field of its inode.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The correct value.
        right: u64,
    },
    /// The journal belongs to another session.
    #[error("the journal is not of the last mount: its time is {journal}, that of the superblock {volume}")]
    Stale {
        /// `di_modrev` of the journal.
        journal: u64,
        /// `fs_mtime`.
        volume: i64,
    },
    /// A block of the journal is missing.
    #[error("the journal has a hole at block {lbn}")]
    Hole {
        /// The block.
        lbn: u64,
    },
    /// The segments do not begin with the oldest one that is needed.
    #[error("the journal lacks segment {oldest}, the oldest that is needed")]
    OldestMissing {
        /// Its number.
        oldest: u64,
    },
    /// Two segments have one number.
    #[error("the journal has two segments {seq}")]
    TwoSegments {
        /// The number.
        seq: u64,
    },
    /// The journal was written on a disk with other sectors.
    #[error("the journal was written in sectors of {found} bytes; the disk has {disk}")]
    Sectors {
        /// Bytes of the sectors in the journal.
        found: usize,
        /// Bytes of the disk's.
        disk: usize,
    },
    /// A structure that the journal names, or a record of it, is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// The list of nameless inodes names an inode that is not one, or contains a cycle.
    #[error("the list of inodes without a name leads to inode {ino}")]
    Unlinked {
        /// The inode.
        ino: u32,
    },
    /// Records and volume do not match.
    #[error("inode {ino}: {what}")]
    Inode {
        /// The inode.
        ino: u32,
        /// The mismatch.
        what: &'static str,
    },
    /// A pointer outside the data areas.
    #[error("inode {ino} points to fragment {frag}, where no data can be")]
    Pointer {
        /// The inode.
        ino: u32,
        /// The fragment.
        frag: u64,
    },
    /// The volume has no log that counts.
    #[error("the volume has no log to replay")]
    NoLog,
    /// The log is on another disk.
    #[error("its log is on another disk; name it with --log")]
    LogElsewhere,
    /// The log is in a stream of messages.
    #[error("its log is in a stream of messages; name it with --log (nats://HOST:PORT/STREAM)")]
    LogInStream,
    /// It is a copy of a volume, and follows the log of that one.
    #[error(
        "it is a copy that follows the log of a volume, and has what the messages before {next} say; to use it in the \
         volume's place: ordo wafs follow --promote"
    )]
    Follows {
        /// The message that it needs next.
        next: u64,
    },
    /// What was named is not of the kind that the superblock says.
    #[error("its log is {wanted}, and what was named is not")]
    OtherKind {
        /// Where the log is.
        wanted: &'static str,
    },
    /// The log belongs to another volume, or to another mount.
    #[error("the log is not the one of the last mount: it is {found:016x}, and that was {wanted:016x}")]
    OtherLog {
        /// The log's.
        found: u64,
        /// The volume's.
        wanted: u64,
    },
    /// The log cannot be read, or is damaged.
    #[error("the log: {0}")]
    Log(#[from] ordo_wafs::Error),
    /// The journal of blocks cannot be read, or is damaged.
    #[error("the log: {0}")]
    Blocks(#[from] ordo_blockjournal::Error),
    /// The active journal cannot be used.
    #[error("the active journal: {0}")]
    Active(Box<ordo_active::OpenError>),
    /// A transaction of the log is invalid.
    #[error(transparent)]
    Undecodable(#[from] ordo_ondisk::redo::Undecodable),
    /// The images in NetBSD's log are more than this program holds in memory.
    #[error("NetBSD's log has {bytes} bytes of blocks, more than the {most} that are read")]
    TooLong {
        /// Bytes of the images.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// The log has bytes for a place that is not on the volume.
    #[error("the log has {len} bytes for byte {at}, where no block can be")]
    Outside {
        /// The place.
        at: u64,
        /// The bytes.
        len: u32,
    },
    /// Two files share a fragment.
    #[error("fragment {frag} belongs to inode {first} and to inode {second}")]
    Shared {
        /// The fragment.
        frag: u64,
        /// One owner.
        first: u32,
        /// The other.
        second: u32,
    },
    /// The files point to more blocks than the volume has.
    #[error("the files of the journal have more blocks than the volume")]
    Endless,
}

impl From<ordo_active::OpenError> for NotReplayed {
    fn from(error: ordo_active::OpenError) -> NotReplayed {
        NotReplayed::Active(Box::new(error))
    }
}

impl NotReplayed {
    /// The disk's own error, if that is the reason: a retry may succeed, and nothing is known of the log. Bytes that
    /// are nowhere right are no such error: they stay so.
    pub fn of_disk(&self) -> Option<&ordo_disk::DiskError> {
        let failure = match self {
            NotReplayed::Check(Error::Disk(error))
            | NotReplayed::Log(ordo_wafs::Error::Disk(error) | ordo_wafs::Error::Failed(error))
            | NotReplayed::Blocks(ordo_blockjournal::Error::Disk(error) | ordo_blockjournal::Error::Failed(error)) => {
                Some(error)
            }
            NotReplayed::Active(why) => match &**why {
                ordo_active::OpenError::Disk(error) => Some(error),
                _ => None,
            },
            _ => None,
        };
        failure.filter(|error| error.cause != ordo_disk::Cause::Rot)
    }
}
