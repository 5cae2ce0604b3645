//! Counters of a queue.

use std::time::Duration;

/// Counters of a queue since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads requested.
    pub reads: u64,
    /// Writes requested.
    pub writes: u64,
    /// Reads and writes that were sent to the disk as part of another one.
    pub merged: u64,
    /// Reads, writes and discards that the disk has answered, a merged request counted once.
    pub transfers: u64,
    /// From issue to answer, the sum over all requests. Zero on a disk that answers at once.
    pub response: Duration,
    /// From sending a transfer to the disk to its answer, the sum over all transfers. Zero on a disk that answers at
    /// once.
    pub service: Duration,
    /// Flushes of the disk.
    pub flushes: u64,
    /// Discards requested.
    pub discards: u64,
    /// Bytes read from the disk.
    pub bytes_read: u64,
    /// Bytes written to the disk.
    pub bytes_written: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that are not finished now.
    pub depth: usize,
    /// The most requests that were ever unfinished at a time.
    pub depth_max: usize,
}

impl Stats {
    /// The counts since `before`; `depth` and `depth_max` as they are now.
    #[must_use]
    pub fn since(&self, before: &Stats) -> Stats {
        Stats {
            reads: self.reads - before.reads,
            writes: self.writes - before.writes,
            merged: self.merged - before.merged,
            transfers: self.transfers - before.transfers,
            response: self.response - before.response,
            service: self.service - before.service,
            flushes: self.flushes - before.flushes,
            discards: self.discards - before.discards,
            bytes_read: self.bytes_read - before.bytes_read,
            bytes_written: self.bytes_written - before.bytes_written,
            errors: self.errors - before.errors,
            depth: self.depth,
            depth_max: self.depth_max,
        }
    }
}
