//! Errors of profiles, requests and traces: what is wrong, where, and the remedy.

use crate::units::{Lbn, Ms};

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No drive of that name is built in.
    #[error("no drive named {name:?}; `ordo_drive::names()` lists those built in")]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The text is not TOML, or a key is missing or has the wrong type.
    #[error("the profile cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A value contradicts the format or another value.
    #[error("{key}: {what}; {remedy}")]
    Value {
        /// The key, with its section.
        key: String,
        /// What is wrong with it.
        what: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// The layout that the profile names cannot be used.
    #[error("layout {file}: {what}")]
    Layout {
        /// The file, as the profile names it.
        file: String,
        /// What is wrong with it.
        what: String,
    },
}

impl ProfileError {
    pub(crate) fn value(key: impl Into<String>, what: impl Into<String>, remedy: &'static str) -> ProfileError {
        ProfileError::Value { key: key.into(), what: what.into(), remedy }
    }
}

/// A request that the drive rejects. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The request asks for no block.
    #[error("a request at block {lbn} for no blocks; request at least one")]
    Empty {
        /// Where it began.
        lbn: Lbn,
    },
    /// The request ends beyond the disk.
    #[error("blocks {lbn} to {} are requested, but the drive has {capacity}", lbn.0.saturating_add(*blocks))]
    Beyond {
        /// Where it began.
        lbn: Lbn,
        /// Its length.
        blocks: u64,
        /// The size of the drive in blocks.
        capacity: u64,
    },
    /// The request comes before the previous one has completed.
    #[error("a request at {now}, but the drive is busy until {free}; one request may be outstanding")]
    Early {
        /// When it came.
        now: Ms,
        /// When the previous request completes.
        free: Ms,
    },
}

/// A trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the trace: {what}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// A validation that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace holds no request.
    #[error("the trace is empty; it needs at least one request")]
    Nothing,
    /// The drive rejects a request of the trace.
    #[error("request {index} of the trace: {cause}")]
    Request {
        /// Its number, from 0.
        index: usize,
        /// Why.
        cause: RequestError,
    },
    /// The model's time is not a number: the profile's times are out of range.
    #[error("request {index} of the trace has no finite service time; check the times of the profile")]
    Time {
        /// Its number, from 0.
        index: usize,
    },
}
