//! Notices: events of a volume that no call can report to its caller.
//!
//! The engine sends them to the listener ([`crate::MountOptions::notices`]), which decides where they go, to a terminal
//! or to the system's log. Errors of calls are returned to their callers, and are not notices.

use crate::{LeaksProgress, UnreadLog};
use ordo_disk::{NbdListener, NbdNotice};
use std::fmt;
use std::sync::Arc;

/// An event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// The first superblock cannot be used: the volume is read as the copy in this group describes it, and not written
    /// to.
    FromCopy {
        /// The cylinder group.
        group: u32,
    },
    /// The check hash of the first superblock is wrong, and its fields are as a copy has them: the volume is read, and
    /// not written to.
    HashWrong,
    /// A crash has left a log, which was not replayed because the mount is read-only, and could not be in memory.
    LogUnread(UnreadLog),
    /// The same, and a replay would fail for this reason.
    LogUnreadable(String),
    /// The volume was mounted read-only although that was not requested. Contains the reason and the remedy.
    ReadOnly(String),
    /// The volume is only read here, and somebody has claimed it for writing.
    WriterElsewhere(ordo_ondisk::mmp::Holder),
    /// The volume may have a writer: this one waits before it claims it.
    WaitsForWriter(ordo_disk::fence::Waiting),
    /// The log that a crash had left was replayed.
    Replayed(ordo_recover::Replayed),
    /// The same, in memory: the mount is read-only, and shows the volume as it will be.
    ReplayedInMemory,
    /// The log of a log-structured volume went on behind its last checkpoint, because of a crash, and was read on.
    RolledForward {
        /// Partial segments that were found there.
        psegs: u64,
    },
    /// A crash has left a log-structured volume of version 1 whose log cannot be followed, because another system wrote
    /// it. It is as its last checkpoint has it.
    NotRolledForward,
    /// The map of an active journal does not count, because another scheme or system has written to the volume: it
    /// begins anew.
    MapVoid,
    /// The volume is mounted for writing with this scheme, which was named, although the map of its active journal
    /// counts: the map, its copies and older versions are void from now on.
    MapGivenUp(String),
    /// The active journal of a volume whose scheme it is cannot be used for this reason; it is opened with another one.
    ActiveUnusable {
        /// Why.
        why: String,
        /// With which.
        scheme: String,
    },
    /// So many pages of the map of an active journal cannot be read: what they had is not verified any more.
    MapDamaged(u32),
    /// The scrub of the schedule has found that nothing has the right bytes of what lies at this byte of the volume.
    NowhereRight(u64),
    /// There is no scrub of the schedule, or it ended early, for this reason.
    NotScrubbed(String),
    /// The volume turned read-only while it was mounted, for this reason.
    TurnedReadOnly(Arc<str>),
    /// Contents of a file could not be written. They stay in memory, and the write is tried again.
    WriteFailed(String),
    /// The stream of the log does not answer for this reason; after so many seconds the volume turns read-only.
    LogWaits {
        /// Why.
        why: String,
        /// How long the log is patient.
        seconds: u64,
    },
    /// The wait for the stream of the log is over.
    LogAnswers,
    /// A segment of a log-structured volume could not be cleaned, and is left as it is.
    NotCleaned(String),
    /// What a crash under soft updates had leaked was searched for, found and freed.
    Reclaimed(LeaksProgress),
    /// That search ended early, for this reason.
    NotReclaimed(String),
    /// The connection to the server of the disk is lost, back, or silent.
    Disk(NbdNotice),
    /// The volume was dropped without an unmount, and was unmounted then. `Err` contains the failure.
    Dropped(Result<(), String>),
}

/// The severity of a notice, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Everything is in order.
    Note,
    /// Not everything that was requested can be done.
    Warning,
    /// Something was lost, or may be.
    Error,
}

impl Notice {
    /// Its severity.
    pub fn weight(&self) -> Weight {
        match self {
            Notice::Replayed(_)
            | Notice::ReplayedInMemory
            | Notice::RolledForward { .. }
            | Notice::Reclaimed(_)
            | Notice::MapVoid
            | Notice::WaitsForWriter(_)
            | Notice::Disk(NbdNotice::Back { .. })
            | Notice::LogAnswers
            | Notice::Dropped(Ok(())) => Weight::Note,
            Notice::FromCopy { .. }
            | Notice::HashWrong
            | Notice::LogUnread(_)
            | Notice::WriterElsewhere(_)
            | Notice::LogUnreadable(_)
            | Notice::ReadOnly(_)
            | Notice::NotRolledForward
            | Notice::Disk(NbdNotice::Lost { .. } | NbdNotice::Quiet { .. })
            | Notice::LogWaits { .. }
            | Notice::MapGivenUp(_)
            | Notice::ActiveUnusable { .. }
            | Notice::NotScrubbed(_)
            | Notice::MapDamaged(_) => Weight::Warning,
            _ => Weight::Error,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::MapVoid => f.write_str(
                "its map of copies begins anew, as another scheme or system has written to it: what is on it is not \
                 verified until it is written again",
            ),
            Notice::MapGivenUp(scheme) => write!(
                f,
                "it had an active journal, and scheme={scheme} was asked for: its map of copies and its older versions \
                 are void now, and what is on it is not verified any more"
            ),
            Notice::ActiveUnusable { why, scheme } => {
                write!(f, "{why}; until then it is opened with {scheme}, and what is on it is not verified")
            }
            Notice::MapDamaged(pages) => write!(
                f,
                "{pages} pages of its map of copies cannot be read: what they had is not verified until it is written \
                 again"
            ),
            Notice::NowhereRight(at) => {
                write!(f, "a scrub has found no right copy of what lies at byte {at}; ordo scrub counts all such places")
            }
            Notice::NotScrubbed(why) => write!(f, "until it is mounted again no schedule scrubs it: {why}"),
            Notice::FromCopy { group } => write!(
                f,
                "its superblock is damaged: it is read as the copy in group {group} describes it, read-only and without \
                 a log that may wait; ordo fsck -p replays that if it can, and ordo fsck -y repairs the volume"
            ),
            Notice::HashWrong => f.write_str(
                "its superblock has a wrong check hash, and the fields of its copies: it is read, read-only and without a \
                 log that may wait; ordo fsck -p repairs it",
            ),
            Notice::WriterElsewhere(holder) => write!(
                f,
                "another writer has claimed it: {holder}; what is shown may be old or inconsistent while that one works"
            ),
            Notice::WaitsForWriter(waiting) => waiting.fmt(f),
            Notice::LogUnread(log) => log.fmt(f),
            Notice::LogUnreadable(why) => {
                write!(
                    f,
                    "its log cannot be replayed, and what is shown may be old or inconsistent: {why}; ordo fsck -y \
                     gives the log up"
                )
            }
            Notice::ReadOnly(why) => write!(f, "mounted read-only: {why}"),
            Notice::Replayed(done) => write!(f, "the log left by a crash was replayed: {} records", done.records),
            Notice::ReplayedInMemory => f.write_str(
                "a crash left a log: what is shown is the volume after its replay, which was done in memory only",
            ),
            Notice::RolledForward { psegs } => {
                write!(f, "the log was rolled forward after a crash: {psegs} partial segments")
            }
            Notice::NotRolledForward => f.write_str(
                "a crash left it, and the log of version 1 that another system writes cannot be rolled forward: \
                 it is as its last checkpoint has it",
            ),
            Notice::TurnedReadOnly(why) => write!(f, "turned read-only: {why}"),
            Notice::WriteFailed(why) => write!(f, "a write failed, and will be tried again: {why}"),
            Notice::LogWaits { why, seconds } => write!(
                f,
                "waits for the stream of its log: {why}; nothing is lost, and after {seconds} seconds without an answer \
                 it turns read-only"
            ),
            Notice::LogAnswers => f.write_str("the wait for the stream of its log is over"),
            Notice::NotCleaned(why) => write!(f, "a segment cannot be cleaned, and is left as it is: {why}"),
            Notice::Reclaimed(done) => write!(
                f,
                "what a crash had left in use was reclaimed: {} inodes and {} fragments were freed, \
                 {} link counts lowered",
                done.inodes_freed, done.frags_freed, done.links_lowered
            ),
            Notice::NotReclaimed(why) => write!(f, "not all leaks of a crash were reclaimed: {why}"),
            Notice::Disk(notice) => notice.fmt(f),
            Notice::Dropped(Ok(())) => f.write_str("dropped without an unmount; everything was written"),
            Notice::Dropped(Err(why)) => write!(f, "dropped without an unmount, and not all was written: {why}"),
        }
    }
}

type Listener = dyn Fn(&Notice) + Send + Sync;

/// The listener for notices. The default is none.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<Listener>>);

impl Notices {
    /// Calls `listener` for each notice. It is called in the middle of operations, and must not call the volume.
    pub fn to(listener: impl Fn(&Notice) + Send + Sync + 'static) -> Notices {
        Notices(Some(Arc::new(listener)))
    }

    /// Whether there is a listener.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// The same for what happens to the connections of disks.
    pub(crate) fn of_disks(&self) -> NbdListener {
        let own = self.clone();
        NbdListener::to(move |notice| own.tell(&Notice::Disk(notice.clone())))
    }

    pub(crate) fn tell(&self, notice: &Notice) {
        if let Some(listener) = &self.0 {
            listener(notice);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_heard() { "Notices(heard)" } else { "Notices(unheard)" })
    }
}
