//! What is exported: the calls that a request becomes.

use bytes::Bytes;
use ordo_disk::{Block, Cause, DiskError, nbd_proto as proto};
use rustix::io::Errno;

/// The properties of an export, fixed as long as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Bytes.
    pub size: u64,
    /// Changes are refused.
    pub read_only: bool,
    /// The smallest unit that is written without reading its surroundings first.
    pub least: u32,
    /// The unit that is best used.
    pub preferred: u32,
    /// The most bytes of a block that [`Export::write`] gets.
    pub piece: u32,
    /// Zeroes can be made without writing them.
    pub fast_zeroes: bool,
    /// It lies on a disk whose head moves.
    pub rotates: bool,
    /// Words for people.
    pub text: String,
}

/// A range that is uniformly data, or a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte after it; beyond the byte that was asked about.
    pub end: u64,
    /// Takes no space, and reads as zeroes.
    pub hole: bool,
}

/// Why a request failed: the protocol's number, and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub(crate) code: u32,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(code: u32, text: impl Into<String>) -> Failure {
        Failure { code, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Failure {
        Failure::new(proto::EINVAL, text)
    }

    /// The protocol knows few of the system's numbers; what it does not know is an error of input and output.
    fn of_errno(errno: i32, text: String) -> Failure {
        let code = match Errno::from_raw_os_error(errno) {
            Errno::PERM | Errno::ROFS | Errno::ACCESS => proto::EPERM,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => proto::ENOSPC,
            Errno::NOMEM => proto::ENOMEM,
            Errno::INVAL => proto::EINVAL,
            Errno::OPNOTSUPP => proto::ENOTSUP,
            _ => proto::EIO,
        };
        Failure::new(code, text)
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        // A snapshot that finds no room: the volume's space, not the client's mistake.
        let errno = match &error.cause {
            Cause::NoReserve => Errno::NOSPC.raw_os_error(),
            _ => error.errno(),
        };
        Failure::of_errno(errno, error.to_string())
    }
}

impl From<ordo_vfs::Error> for Failure {
    fn from(error: ordo_vfs::Error) -> Failure {
        Failure::of_errno(error.errno(), error.to_string())
    }
}

/// Bytes that can be served. Ranges were checked: they are not empty, and end at or before the size.
#[allow(async_fn_in_trait)]
pub trait Export {
    /// Its properties.
    fn describe(&self) -> Description;

    /// All bytes of the range.
    async fn read(&self, at: u64, len: u32) -> Result<Vec<Bytes>, Failure>;

    /// Writes the blocks one behind the other; durable on return if `force`.
    async fn write(&self, at: u64, data: Vec<Block>, force: bool) -> Result<(), Failure>;

    /// Makes every write that has returned durable.
    async fn flush(&self) -> Result<(), Failure>;

    /// The range is not needed any more; what it then holds is undefined.
    async fn trim(&self, at: u64, len: u64) -> Result<(), Failure>;

    /// The range reads as zeroes from now on. With `holes` it need not take space; with `fast` it is done without
    /// writing the zeroes, or refused unchanged with [`proto::ENOTSUP`].
    async fn zero(&self, at: u64, len: u64, holes: bool, fast: bool) -> Result<(), Failure>;

    /// What the byte at `at` belongs to.
    async fn extent(&self, at: u64) -> Result<Extent, Failure>;
}
