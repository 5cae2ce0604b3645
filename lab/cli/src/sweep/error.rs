//! What can be wrong with the files of a sweep.

/// What is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error("{path}: {source}")]
    Io { path: String, source: std::io::Error },
    #[error("{path}: no file of a sweep: its first line is no head; ordo crash --jsonl OUT makes one")]
    NoSweep { path: String },
    #[error("{path}: no regular file, so it cannot be continued or joined; --jsonl - writes to standard output")]
    NoFile { path: String },
    #[error("{path}, line {line}: {why}; remove the line, and the unit counts as lost")]
    Damaged { path: String, line: u64, why: String },
    #[error("{path} holds another sweep than {other}: {what} is {found} there, and {wanted} here; join them apart")]
    Other { path: String, other: String, what: &'static str, found: String, wanted: String },
    #[error("no file of a sweep was found in {0}; a shard that has begun has a file *.jsonl")]
    Nothing(String),
    #[error("unit {unit}: its result is not that of this kind of sweep: {why}")]
    Result { unit: u64, why: String },
}

impl SweepError {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> SweepError {
        let path = path.display().to_string();
        move |source| SweepError::Io { path, source }
    }
}
