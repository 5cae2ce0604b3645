//! How a file or device is opened.

use crate::nbd::NbdListener;

/// How to open a file or device.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// Read only, with a lock that other readers share.
    pub read_only: bool,
    /// Bypass the page cache (O_DIRECT). Sectors are then as large as the device requires.
    pub direct: bool,
    /// Overrides what the system reports about the cache.
    pub volatile_cache: Option<bool>,
    /// The first byte of the part that is used: of a sector, except in a file that is only read.
    pub offset: u64,
    /// The length of the part that is used; all the rest if `None`.
    pub len: Option<u64>,
    /// Opens a device even if the system itself uses it (mounted, swap, a part of another device). The lock still
    /// excludes other programs like this one.
    pub even_if_used: bool,
    /// What makes the system calls.
    pub engine: EngineChoice,
    /// Who is told what happens to the connection of a network block device.
    pub listener: NbdListener,
}

/// What makes the system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// io_uring, or threads where it is refused. The environment variable `ORDO_IO` (`uring` or `threads`) overrides
    /// this.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// Threads that make blocking calls.
    Threads,
}
