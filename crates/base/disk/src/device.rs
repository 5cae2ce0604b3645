//! The trait that everything below the queue implements: a file, RAM, a drive model, a recorder, a fault injector.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::{Cause, DiskError, DiskOp};
use crate::fence::Lease;
use crate::range::DiskOff;
use crate::{Block, Image};

/// The properties of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskInfo {
    /// Bytes.
    pub size: u64,
    /// The unit of addresses and of atomic writes, in bytes: 512 or a multiple.
    pub sector: u32,
    /// A completed write may still be lost by a power cut, until a flush.
    pub volatile_cache: bool,
    /// Writes, flushes and discards are refused.
    pub read_only: bool,
    /// The most bytes that one request may carry.
    pub max_transfer: u32,
    /// The number of requests that the disk can use at a time.
    pub depth: u32,
    /// Requests complete at the first poll (RAM): holding them back for merging gains nothing.
    pub immediate: bool,
    /// Only the times of its requests are wanted, not the contents of files (a modelled drive's): what is
    /// written as [`Kind::Data`] may be zeros in place of what the caller had. `false` on every disk that keeps
    /// somebody's files.
    pub times_only: bool,
    /// It has a head that moves: a request near the last one costs less than one far away.
    pub rotates: bool,
}

impl DiskInfo {
    /// Refuses requests that are invalid on every disk.
    pub fn check(&self, op: DiskOp, at: DiskOff, len: u64) -> Result<(), DiskError> {
        let sector = u64::from(self.sector);
        let cause = if at.0.checked_add(len).is_none_or(|end| end > self.size) {
            Cause::OutOfRange { size: self.size }
        } else if !at.0.is_multiple_of(sector) || !len.is_multiple_of(sector) {
            Cause::Unaligned { sector: self.sector }
        } else if self.read_only && op != DiskOp::Read {
            Cause::ReadOnly
        } else {
            return Ok(());
        };
        Err(DiskError::new(op, at, len, cause))
    }
}

/// What the bytes of a request are, for observers: the recorder, the fault injector, statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Tag {
    /// The kind of the structure.
    pub kind: Kind,
    /// A number that the caller chose: which call, which buffer.
    pub cause: u64,
}

impl Tag {
    /// A tag without a cause.
    pub const fn of(kind: Kind) -> Tag {
        Tag { kind, cause: 0 }
    }
}

impl From<Kind> for Tag {
    fn from(kind: Kind) -> Tag {
        Tag::of(kind)
    }
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Kind {
    /// A superblock or a copy of it.
    Superblock,
    /// The maps of what is free in a part of the volume.
    Maps,
    /// A block of inodes.
    Inodes,
    /// A directory's contents.
    Directory,
    /// An indirect block.
    Indirect,
    /// A file's contents.
    Data,
    /// The target of a symbolic link that does not fit into its inode.
    Symlink,
    /// Extended attributes.
    ExtAttr,
    /// Counts of what is free, or what says what a part of a log holds.
    Summary,
    /// A log or journal.
    Log,
    /// Anything else.
    #[default]
    Other,
}

/// A part of a read: a buffer to fill.
#[derive(Debug)]
pub struct ReadPart {
    /// Where the bytes go; its length says how many.
    pub block: Block,
    /// What they are.
    pub tag: Tag,
}

/// A part of a write.
#[derive(Clone, Debug)]
pub struct WritePart {
    /// The bytes.
    pub image: Image,
    /// What they are.
    pub tag: Tag,
}

/// The result of a disk request: available at once, or later. A result available at once costs no allocation.
#[must_use = "futures do nothing until they are awaited"]
pub enum DiskFuture<T> {
    /// The result; `None` after it was taken.
    Now(Option<T>),
    /// The request is in flight.
    Later(Pin<Box<dyn Future<Output = T>>>),
}

impl<T> DiskFuture<T> {
    /// A result that is available at once.
    pub fn now(answer: T) -> DiskFuture<T> {
        DiskFuture::Now(Some(answer))
    }

    /// The result of `future`.
    pub fn later(future: impl Future<Output = T> + 'static) -> DiskFuture<T> {
        DiskFuture::Later(Box::pin(future))
    }

    /// Applies `change` to the result. A result available at once stays so.
    pub fn map<U>(self, change: impl FnOnce(T) -> U + 'static) -> DiskFuture<U>
    where
        T: Unpin + 'static,
    {
        match self {
            DiskFuture::Now(answer) => DiskFuture::Now(answer.map(change)),
            DiskFuture::Later(future) => DiskFuture::later(async move { change(future.await) }),
        }
    }
}

impl<T: Unpin> Future for DiskFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut *self {
            DiskFuture::Now(answer) => Poll::Ready(answer.take().expect("a disk's answer was awaited twice")),
            DiskFuture::Later(future) => future.as_mut().poll(cx),
        }
    }
}

/// Where a disk would read some bytes that may lie in several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The distance of the nearest place from the head, in one unit for all bytes of the disk.
    pub away: u64,
    /// That place is not the one at whose address the bytes are read.
    pub is_copy: bool,
}

/// A disk. One request is one call; the parts of a request lie side by side on the disk, from `at` on.
///
/// A request begins with the call or at the first poll, as the disk likes, and runs to its end even if its future is
/// dropped after that. Concurrent requests may complete in any order: a caller that needs an order waits, as
/// [`crate::Queue`] does.
pub trait Disk {
    /// Size, sector, cache.
    fn info(&self) -> DiskInfo;

    /// Fills the parts from `at` on, and returns them.
    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>>;

    /// Writes the parts from `at` on. With `fua` (force unit access) the write is durable when it completes. After an
    /// error any sector of the range may be old or new.
    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>>;

    /// Makes every write that completed before this call durable. After an error none of them counts as durable, even
    /// if a later flush succeeds: the disk may have dropped what it could not write.
    fn flush(&self) -> DiskFuture<Result<(), DiskError>>;

    /// These ranges are about to be written with bytes that no journal on this disk has committed. A disk that knows
    /// checksums of what it holds forgets those there at once, durably, and need not do so for each write.
    fn announce(&self, _ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Ok(()))
    }

    /// What is written over is copied first where a snapshot of the volume needs it, or nothing reaches the volume: a
    /// program that may write to a volume with snapshots asks.
    fn keeps_snapshots(&self) -> bool {
        false
    }

    /// Only who has claimed the volume writes through this disk ([`crate::fence`]): nobody claims it again above.
    fn is_fenced(&self) -> bool {
        false
    }

    /// From now on what changes the disk may be sent only while this lasts. A disk that has done with a request when it
    /// answers, and sends none again, need not care.
    fn hold(&self, _lease: &Lease) {}

    /// How long until the byte at `at` would pass the head, in nanoseconds, if a request for it came now; used by
    /// [`crate::Scheduler::Sptf`]. `None` if the disk does not know.
    fn positioning(&self, _at: DiskOff, _is_write: bool) -> Option<u64> {
        None
    }

    /// How far from the head the nearest place is at which these bytes can be read now, for a disk that has more than
    /// one place of some. A scheduler asks when it chooses (`Reach`). `None`: there is one place of each byte.
    fn reach(&self, _at: DiskOff, _len: u64) -> Option<Reach> {
        None
    }

    /// Discards a range; its contents are undefined until they are written again. A disk that does not support this
    /// answers [`Cause::Unsupported`].
    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Err(DiskError::new(DiskOp::Discard, at, len, Cause::Unsupported)))
    }

    /// Where the disk knows of holes and zeros in a range, from `at` on; it may tell a shorter part of it, but not
    /// nothing. Who copies or searches a whole disk need not read those. A disk that does not know answers
    /// [`Cause::Unsupported`].
    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, len, Cause::Unsupported)))
    }
}

/// A range of a disk whose parts are alike; the ranges of a list lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub len: u64,
    /// It takes no space there.
    pub hole: bool,
    /// It reads as zeros.
    pub zero: bool,
}

/// The bytes that `parts` of a read carry.
pub fn read_len(parts: &[ReadPart]) -> u64 {
    parts.iter().map(|part| part.block.len() as u64).sum()
}

/// The bytes that `parts` of a write carry.
pub fn write_len(parts: &[WritePart]) -> u64 {
    parts.iter().map(|part| part.image.len() as u64).sum()
}
