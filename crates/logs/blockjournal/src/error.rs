//! Errors of a journal.

use crate::Seq;
use ordo_disk::{DiskError, DiskOff};
use ordo_ring::ErrorKind;
use std::fmt;

/// Errors of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A journal cannot lie in these extents.
    #[error("no journal can lie in these extents: {why}")]
    Extents {
        /// What is wrong with them.
        why: &'static str,
    },
    /// The place is too small for a journal.
    #[error("a journal with such blocks needs at least {least} bytes, and there are {len}; give it more room")]
    TooSmall {
        /// Bytes that were given.
        len: u64,
        /// Bytes that are needed.
        least: u64,
    },
    /// The block size cannot be used here.
    #[error("blocks of {size} bytes cannot be: take a power of two from {least} to {most} that divides each extent")]
    BlockSize {
        /// The requested size.
        size: u32,
        /// The fewest bytes: the disk's sector.
        least: u32,
        /// The most bytes.
        most: u32,
    },
    /// An image or a revoked range is not made of whole blocks.
    #[error("{len} bytes at {at} are not whole blocks of {block} bytes: a journal takes nothing else")]
    Ragged {
        /// Its home location.
        at: DiskOff,
        /// Its length in bytes.
        len: u64,
        /// Bytes of a block.
        block: u32,
    },
    /// The transaction is longer than the journal.
    #[error(
        "a transaction of {blocks} blocks is too long for this journal of {most}; split it, or make a larger journal"
    )]
    TooLong {
        /// Blocks of the journal that it needs.
        blocks: u64,
        /// All blocks of the journal.
        most: u64,
    },
    /// There is no room until a checkpoint frees some.
    #[error("the journal is full: {wanted} blocks wanted, {free} free; write blocks home, then checkpoint")]
    Full {
        /// Blocks of the journal that the transaction needs.
        wanted: u64,
        /// Blocks that are free now.
        free: u64,
    },
    /// No durable transaction has this number.
    #[error("the transaction {seq} is not durable, and cannot be checkpointed; the last one that is is {last}")]
    NoTransaction {
        /// The number.
        seq: Seq,
        /// The last one that is durable.
        last: Seq,
    },
    /// The journal cannot be closed yet.
    #[error("the journal cannot be closed: the transactions {first} to {last} are not checkpointed")]
    Unfinished {
        /// The oldest.
        first: Seq,
        /// The newest.
        last: Seq,
    },
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
    /// The future of a commit was dropped before it finished. How much of it is on the disk is unknown.
    #[error("the commit of the transaction {0} was dropped half-way: open the journal again")]
    Abandoned(Seq),
    /// The disk has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A write or a flush failed before. Nothing more is committed, as it is unknown how much of that is on the disk.
    #[error("the journal is closed since a write failed: open it again. The failure: {0}")]
    Failed(DiskError),
    /// There is no journal here.
    #[error("no journal is there: neither superblock has the magic number")]
    NotAJournal,
    /// Neither superblock is valid.
    #[error(
        "both superblocks of the journal are damaged ({why}), and transactions cannot be found without them; check the whole \
         file system, and make the journal anew"
    )]
    Superblock {
        /// What is wrong with the better one.
        why: &'static str,
    },
    /// A later version of the format.
    #[error("the journal has version {version} of the format, and this program knows version {known}")]
    Version {
        /// What the superblock says.
        version: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The journal is longer than its place.
    #[error("the journal needs {needs} bytes, and its place ends at {len} bytes; was it cut off?")]
    CutOff {
        /// Bytes that the superblock says the journal has.
        needs: u64,
        /// Bytes of the place.
        len: u64,
    },
    /// A transaction that was durable is missing or damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

/// A journal with a hole.
pub type Damage = ordo_ring::Damage<Seq>;

/// What proves that the journal continued.
pub type Witness = ordo_ring::Witness<Seq>;

impl ordo_ring::Entry for Seq {
    fn say(damage: &Damage, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "the journal is damaged: of the transaction {} ", damage.first)?;
        if let Some((what, at)) = damage.why {
            write!(to, "{what}, at {at}, and ")?;
        }
        match damage.witness {
            Witness::Superblock => write!(to, "the superblock"),
            Witness::Mount => write!(to, "who has opened it"),
            Witness::Entry(seq) => write!(to, "a block of the transaction {seq} behind it"),
            Witness::Lost(seq) => write!(to, "a block of the transaction {seq}, whose superblock is lost,"),
        }?;
        write!(
            to,
            " says that transactions up to {} were durable; replay those before it, check the whole file system, and make \
             the journal anew",
            damage.sure
        )
    }
}

impl From<ordo_ring::Error> for Error {
    fn from(error: ordo_ring::Error) -> Error {
        match error {
            ordo_ring::Error::Extents { why } => Error::Extents { why },
            ordo_ring::Error::Disk(error) => Error::Disk(error),
            ordo_ring::Error::NoMagic => Error::NotAJournal,
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
            | Error::BlockSize { .. }
            | Error::Ragged { .. }
            | Error::TooLong { .. }
            | Error::Full { .. }
            | Error::NoTransaction { .. }
            | Error::Unfinished { .. }
            | Error::Closed
            | Error::Abandoned(_) => ErrorKind::Caller,
            Error::Disk(_) | Error::Failed(_) => ErrorKind::Disk,
            Error::NotAJournal
            | Error::Superblock { .. }
            | Error::Version { .. }
            | Error::CutOff { .. }
            | Error::Damaged(_) => ErrorKind::Image,
        }
    }
}
