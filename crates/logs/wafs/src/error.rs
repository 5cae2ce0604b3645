//! Errors of a log.

use crate::Lsn;
use ordo_disk::DiskError;
use ordo_ring::ErrorKind;
use std::fmt;

/// Errors of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A log cannot lie in these extents.
    #[error("no log can lie in these extents: {why}")]
    Extents {
        /// What is wrong with them.
        why: &'static str,
    },
    /// The place is too small for a log.
    #[error("a log needs at least {least} bytes, and there are {len}; give it more room")]
    TooSmall {
        /// Bytes that were given.
        len: u64,
        /// Bytes that are needed.
        least: u64,
    },
    /// The unit cannot be used here.
    #[error("units of {unit} bytes cannot be: take a power of two from {sector} (the disk's sector) to {most}")]
    Unit {
        /// The requested unit.
        unit: u32,
        /// The disk's sector in bytes.
        sector: u32,
        /// The largest unit in bytes.
        most: u32,
    },
    /// The record is longer than this log can hold.
    #[error("a record of {len} bytes is too long for this log: at most {most}; split it, or make a larger log")]
    TooLong {
        /// Its bytes.
        len: usize,
        /// The most bytes.
        most: usize,
    },
    /// There is no room until records are reclaimed.
    #[error("the log is full: {wanted} bytes wanted, {free} free; reclaim below a later sequence number")]
    Full {
        /// Bytes of the log that the record needs.
        wanted: u64,
        /// Bytes that are free now.
        free: u64,
    },
    /// Too many bytes are appended and not yet durable.
    #[error("{behind} bytes of the log are not durable yet; wait until they are")]
    Behind {
        /// Bytes.
        behind: u64,
    },
    /// No record has this number, or it was reclaimed.
    #[error("no record has the sequence number {lsn}; the log holds {low} to {end}")]
    NoRecord {
        /// The number.
        lsn: Lsn,
        /// The first that may be read.
        low: Lsn,
        /// The one that comes next.
        end: Lsn,
    },
    /// The log was opened for reading.
    #[error("the log is open for reading only")]
    ReadOnly,
    /// The disk has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A write or a flush failed before. Nothing more is appended, as it would lie after a hole.
    #[error("the log is closed since a write failed; mount it again. The failure: {0}")]
    Failed(DiskError),
    /// There is no log here.
    #[error("no log is there: neither superblock has the magic number; make one with mkfs")]
    NotALog,
    /// Neither superblock is valid.
    #[error("both superblocks of the log are damaged ({why}); the records cannot be found without them")]
    Superblock {
        /// What is wrong with the better one.
        why: &'static str,
    },
    /// A later version of the format.
    #[error("the log has version {version} of the format, and this program knows version {known}")]
    Version {
        /// What the superblock says.
        version: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The log is longer than its place.
    #[error("the log has {size} bytes of records, and its place ends at {len} bytes; was it cut off?")]
    CutOff {
        /// Bytes for records.
        size: u64,
        /// Bytes of the place.
        len: u64,
    },
    /// A record that was durable is missing or damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A message of the stream is none of a log.
    #[error(
        "message {number} of the stream is not one of a log: {why}; is the stream used by something else, or damaged? \
         Name another one"
    )]
    Message {
        /// Its number.
        number: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Messages that are needed are not in the stream.
    #[error(
        "message {number} of the stream is needed, and the stream begins at {first}: somebody has purged it, or it has \
         lost what it had"
    )]
    Missing {
        /// The first one that is needed.
        number: u64,
        /// The first one that is there.
        first: u64,
    },
    /// The stream has the log of another volume.
    #[error(
        "the stream has the log of another volume ({found:016x}; this one is {wanted:016x}): each volume needs a stream \
         of its own; make one with ordo wafs mkfs"
    )]
    OtherOwner {
        /// Whose log it is.
        found: u64,
        /// Who asks.
        wanted: u64,
    },
    /// The stream has a log that a crash has left, and that this volume does not name.
    #[error(
        "the stream has a log, {id:016x}, that was not ended and that this volume does not name: is it mounted \
         elsewhere, or is this an older copy of it? To give that log up: ordo wafs mkfs --force"
    )]
    NotEnded {
        /// The log.
        id: u64,
    },
    /// Another writer has appended to the stream.
    #[error(
        "another program has written message {number} of the stream: the volume is in use on another machine, and this \
         one must not go on; unmount it here"
    )]
    Fenced {
        /// The message.
        number: u64,
    },
    /// The stream has lost what it had acknowledged.
    #[error(
        "the stream ends at message {last}, and had acknowledged {acknowledged}: its servers have lost messages. What \
         that means for the volume is in docs/replicated-log.md"
    )]
    LostTail {
        /// Its last message.
        last: u64,
        /// The last one that it had acknowledged.
        acknowledged: u64,
    },
    /// No answer came for too long.
    #[error("the stream of the log has not answered for {seconds} seconds: {why}")]
    NoAnswer {
        /// The last reason.
        why: String,
        /// How long.
        seconds: u64,
    },
    /// The servers refuse.
    #[error("the stream of the log: {why}")]
    Refused {
        /// Why.
        why: String,
    },
}

/// A log with a hole.
pub type Damage = ordo_ring::Damage<Lsn>;

/// What proves that the log continued.
pub type Witness = ordo_ring::Witness<Lsn>;

impl ordo_ring::Entry for Lsn {
    fn say(damage: &Damage, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "the log is damaged at {}: ", damage.first)?;
        match damage.witness {
            Witness::Superblock => write!(to, "the superblock"),
            Witness::Mount => write!(to, "who has mounted it"),
            Witness::Entry(lsn) => write!(to, "the record {lsn} behind it"),
            Witness::Lost(lsn) => write!(to, "the record {lsn}, of a mount whose superblock is lost,"),
        }?;
        write!(
            to,
            " says that records up to {} were durable; what lies before is whole and can be read, then make the log anew",
            damage.sure
        )
    }
}

impl From<ordo_ring::Error> for Error {
    fn from(error: ordo_ring::Error) -> Error {
        match error {
            ordo_ring::Error::Extents { why } => Error::Extents { why },
            ordo_ring::Error::Disk(error) => Error::Disk(error),
            ordo_ring::Error::NoMagic => Error::NotALog,
            ordo_ring::Error::Superblock { why } => Error::Superblock { why },
            ordo_ring::Error::Version { version, known } => Error::Version { version, known },
        }
    }
}

impl Error {
    /// Who must act on it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Extents { .. }
            | Error::TooSmall { .. }
            | Error::Unit { .. }
            | Error::TooLong { .. }
            | Error::Full { .. }
            | Error::Behind { .. }
            | Error::NoRecord { .. }
            | Error::OtherOwner { .. }
            | Error::NotEnded { .. }
            | Error::Fenced { .. }
            | Error::ReadOnly => ErrorKind::Caller,
            Error::Disk(_) | Error::Failed(_) | Error::NoAnswer { .. } | Error::Refused { .. } => ErrorKind::Disk,
            Error::NotALog
            | Error::Superblock { .. }
            | Error::Version { .. }
            | Error::CutOff { .. }
            | Error::Message { .. }
            | Error::Missing { .. }
            | Error::LostTail { .. }
            | Error::Damaged(_) => ErrorKind::Image,
        }
    }
}
