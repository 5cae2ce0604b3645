//! One piece of work for a file, and the plain way to do it: blocking system calls.

use std::io::{IoSlice, IoSliceMut};

use rustix::fd::BorrowedFd;
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv, pwritev2};

use crate::{Cause, Extent, Lost, ReadPart, WritePart};

/// The system's limit on buffers in one call (IOV_MAX).
pub(crate) const IOV_MAX: usize = 1024;

/// How to free a range: it reads as zeros afterwards, and the file keeps its size.
pub(crate) const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// A request to a file or a server; offsets are those of the file or the export.
pub(crate) enum Work {
    Read {
        at: u64,
        parts: Vec<ReadPart>,
    },
    Write {
        at: u64,
        parts: Vec<WritePart>,
        fua: bool,
    },
    Flush,
    Punch {
        at: u64,
        len: u64,
    },
    /// Where are holes? Only servers are asked.
    Extents {
        at: u64,
        len: u64,
        found: Vec<Extent>,
    },
}

/// The completed work, with its buffers.
pub(crate) type Done = Result<Work, Fault>;

/// Why work on a file failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    System(Errno),
    /// The file ended within the range, although it was long enough when it was opened.
    Ended,
    /// No byte was written, and no error given.
    Nothing,
    /// What does the work was given up.
    Lost(Lost),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::System(errno)
    }
}

impl Work {
    /// The buffers of a read.
    pub(crate) fn into_read(self) -> Result<Vec<ReadPart>, Cause> {
        match self {
            Work::Read { parts, .. } => Ok(parts),
            _ => Err(Cause::Unsupported),
        }
    }

    /// The answer to the question for holes.
    pub(crate) fn into_extents(self) -> Result<Vec<Extent>, Cause> {
        match self {
            Work::Extents { found, .. } => Ok(found),
            _ => Err(Cause::Unsupported),
        }
    }

    /// It is answered when the disk has made something durable.
    pub(crate) fn is_barrier(&self) -> bool {
        matches!(self, Work::Flush | Work::Write { fua: true, .. })
    }

    /// Does the work, and blocks until it is done.
    pub(crate) fn run(mut self, fd: BorrowedFd<'_>) -> Done {
        match &mut self {
            Work::Read { at, parts } => read(fd, *at, parts)?,
            Work::Write { at, parts, fua } => write(fd, *at, parts, *fua)?,
            Work::Flush => retry(|| fdatasync(fd))?,
            Work::Punch { at, len } => retry(|| fallocate(fd, PUNCH, *at, *len))?,
            Work::Extents { .. } => return Err(Errno::OPNOTSUPP.into()),
        }
        Ok(self)
    }
}

fn read(fd: BorrowedFd<'_>, mut at: u64, parts: &mut [ReadPart]) -> Result<(), Fault> {
    let mut buffers: Vec<IoSliceMut<'_>> = parts.iter_mut().map(|part| IoSliceMut::new(&mut part.block)).collect();
    let mut rest = &mut buffers[..];
    IoSliceMut::advance_slices(&mut rest, 0); // skips buffers of no bytes
    while !rest.is_empty() {
        let count = rest.len().min(IOV_MAX);
        let done = retry(|| preadv(fd, &mut rest[..count], at))?;
        if done == 0 {
            return Err(Fault::Ended);
        }
        at += done as u64;
        IoSliceMut::advance_slices(&mut rest, done);
    }
    Ok(())
}

fn write(fd: BorrowedFd<'_>, mut at: u64, parts: &[WritePart], fua: bool) -> Result<(), Fault> {
    let mut flags = if fua { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
    let mut buffers: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(&part.image)).collect();
    let mut rest = &mut buffers[..];
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match retry(|| pwritev2(fd, &rest[..rest.len().min(IOV_MAX)], at, flags)) {
            Ok(0) => return Err(Fault::Nothing),
            Ok(done) => {
                at += done as u64;
                IoSlice::advance_slices(&mut rest, done);
            }
            Err(Errno::OPNOTSUPP) if !flags.is_empty() => flags = ReadWriteFlags::empty(),
            Err(errno) => return Err(errno.into()),
        }
    }
    if fua && flags.is_empty() {
        retry(|| fdatasync(fd))?;
    }
    Ok(())
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
