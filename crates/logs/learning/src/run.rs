//! What is read, and what is wished for it.

use std::time::Duration;

/// A read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// When, by a clock that does not go back.
    pub now: Duration,
    /// Its home.
    pub at: u64,
    /// Its length; at least one.
    pub len: u64,
    /// Where it was served, if not at home.
    pub served: Option<u64>,
}

impl Read {
    /// The first address behind it.
    pub(crate) fn end(&self) -> u64 {
        self.at + self.len
    }
}

/// A run of which a replica should lie near the dock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Where the head was.
    pub dock: u64,
    /// The run's home.
    pub at: u64,
    /// Its length.
    pub len: u64,
}
