//! Errors of a disk.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;

use crate::range::DiskOff;

/// A failed request: which, where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{op} of {len} bytes at {at}: {cause}")]
pub struct DiskError {
    /// The kind of request.
    pub op: DiskOp,
    /// Where it began; zero for a flush.
    pub at: DiskOff,
    /// Its length in bytes; zero for a flush.
    pub len: u64,
    /// Why it failed.
    pub cause: Cause,
}

/// The requests of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskOp {
    /// Bytes from the disk.
    Read,
    /// Bytes to the disk.
    Write,
    /// Everything completed becomes durable.
    Flush,
    /// A range is no longer needed.
    Discard,
}

impl fmt::Display for DiskOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiskOp::Read => "read",
            DiskOp::Write => "write",
            DiskOp::Flush => "flush",
            DiskOp::Discard => "discard",
        })
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The system's error number; 5 is a bad sector.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Io(i32),
    /// The range ends beyond the disk.
    #[error("the disk ends at byte {size}")]
    OutOfRange {
        /// The size of the disk in bytes.
        size: u64,
    },
    /// The range does not consist of whole sectors.
    #[error("the range is not made of whole sectors of {sector} bytes")]
    Unaligned {
        /// The size of a sector in bytes.
        sector: u32,
    },
    /// The disk is open for reading only.
    #[error("the disk is read-only")]
    ReadOnly,
    /// The file or device has become shorter than it was, or is gone.
    #[error("the disk is gone: it had {size} bytes when it was opened")]
    Gone {
        /// The size in bytes when it was opened.
        size: u64,
    },
    /// A write was answered with no byte written, and no error: the system does not say why.
    #[error("the system wrote no byte, and gave no reason")]
    Nothing,
    /// The disk is lost to this program, for a reason that only its own kind of disk knows.
    #[error("{0}")]
    Lost(Lost),
    /// A write that had to be durable before this one is not.
    #[error("it had to follow another request, which failed: {0}")]
    After(Box<DiskError>),
    /// The bytes are not those that were written, and no copy has these.
    #[error("the bytes there are not those that were written, and no good copy is known")]
    Rot,
    /// A snapshot needs what is there, and there is no block for a copy.
    #[error("a snapshot needs the old contents, and there is no space for another copy; remove a snapshot")]
    NoReserve,
    /// The power is off (fault injection).
    #[error("the power is off")]
    PowerCut,
    /// The disk cannot do this.
    #[error("not supported")]
    Unsupported,
}

/// Why a disk is lost: the reason as those know it who lost it, and the nearest error number of the system.
#[derive(Clone, Debug)]
pub struct Lost {
    errno: Errno,
    why: Arc<dyn std::error::Error + Send + Sync>,
}

impl Lost {
    /// It is lost because of `why`, for which the system has `errno`.
    pub fn new(errno: Errno, why: impl std::error::Error + Send + Sync + 'static) -> Lost {
        Lost { errno, why: Arc::new(why) }
    }

    /// The reason, if it is of this type.
    pub fn why<T: std::error::Error + 'static>(&self) -> Option<&T> {
        self.why.downcast_ref()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

/// Two reasons are the same if they read the same.
impl PartialEq for Lost {
    fn eq(&self, other: &Lost) -> bool {
        self.errno == other.errno && self.why.to_string() == other.why.to_string()
    }
}

impl Eq for Lost {}

impl DiskError {
    /// The error of a request for `len` bytes at `at`.
    pub fn new(op: DiskOp, at: DiskOff, len: u64, cause: Cause) -> DiskError {
        DiskError { op, at, len, cause }
    }

    /// The error of a flush.
    pub fn flush(cause: Cause) -> DiskError {
        DiskError::new(DiskOp::Flush, DiskOff(0), 0, cause)
    }

    /// The nearest error number of the system.
    pub fn errno(&self) -> i32 {
        match &self.cause {
            Cause::After(error) => error.errno(),
            Cause::Io(errno) => *errno,
            Cause::NoReserve => Errno::NOSPC.raw_os_error(),
            Cause::Lost(lost) => lost.errno.raw_os_error(),
            Cause::ReadOnly => Errno::ROFS.raw_os_error(),
            Cause::Gone { .. } | Cause::PowerCut => Errno::NODEV.raw_os_error(),
            Cause::Unsupported => Errno::OPNOTSUPP.raw_os_error(),
            Cause::OutOfRange { .. } | Cause::Unaligned { .. } | Cause::Nothing | Cause::Rot => {
                Errno::IO.raw_os_error()
            }
        }
    }
}

/// A disk that could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refused.
    #[error("cannot open {path}: {source}")]
    Io {
        /// What was to be opened.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another program, or another part of this one, has it.
    #[error("{path} is in use: {who}. Unmount it there, or wait until that command ends")]
    Locked {
        /// What was to be opened.
        path: PathBuf,
        /// What is known about the holder.
        who: String,
    },
    /// A write-protected device, opened for writing. The system allows the open, and then each write fails.
    #[error("{path} is write-protected; open it read-only")]
    WriteProtected {
        /// What was to be opened.
        path: PathBuf,
    },
    /// Something new was to be made where something is.
    #[error("{path}: exists and is not empty, and is not overwritten unasked")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A directory, a pipe, a terminal.
    #[error("{path} is neither a regular file nor a block device")]
    NotADisk {
        /// What was to be opened.
        path: PathBuf,
    },
    /// The requested part does not fit, or does not consist of whole sectors.
    #[error("bytes {offset} to {end} are not a part of {path}, which has {size} bytes in sectors of {sector}")]
    Window {
        /// What was to be opened.
        path: PathBuf,
        /// The first byte of the part.
        offset: u64,
        /// The first byte after the part.
        end: u64,
        /// The size of the whole in bytes.
        size: u64,
        /// The size of a sector in bytes.
        sector: u32,
    },
    /// What does the work of the disk, at this address, cannot be used.
    #[error("cannot use {address}: {source}")]
    Unusable {
        /// Its address.
        address: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
