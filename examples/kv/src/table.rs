//! The table, and what goes wrong with it and its log.

use ordo_wafs::{Error, FileError, Lsn};
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// What a store cannot do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// The log cannot be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The log refuses.
    #[error(transparent)]
    Log(#[from] Error),
    /// The directory or the snapshot.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The snapshot is not what was written.
    #[error("{0}: the snapshot is damaged; restore it from a copy")]
    Snapshot(PathBuf),
    /// The log holds what is no change.
    #[error("the record {0} is no change of a key-value store: whose log is this?")]
    Record(Lsn),
}

/// A value, and the record that set it; `None` after a removal, until the next snapshot.
pub(crate) struct Entry {
    pub(crate) lsn: Lsn,
    pub(crate) value: Option<Vec<u8>>,
}

pub(crate) type Table = FxHashMap<Vec<u8>, Entry>;
