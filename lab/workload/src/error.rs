//! Errors of programs.

/// The result of a program.
pub type Result<T> = std::result::Result<T, WorkloadError>;

/// A failed call.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{call} {path}: {source}")]
pub struct Failed {
    /// Name of the call, as in the trait.
    pub call: &'static str,
    /// The path it was called on.
    pub path: String,
    /// The error.
    pub source: ordo_vfs::Error,
}

/// Why a program could not finish.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The file system refused or failed.
    #[error(transparent)]
    Call(#[from] Failed),
    /// There is no workload of this name.
    #[error("no workload is called {0:?}")]
    Unknown(String),
    /// The workload has no such parameter.
    #[error("workload {workload} has no parameter {key:?}")]
    UnknownParameter {
        /// The workload.
        workload: &'static str,
        /// The parameter it was given.
        key: String,
    },
    /// The text is not `key=value` with a number that may have one of the suffixes k, M, G.
    #[error("not a parameter: {0:?}; write key=number, with k, M or G behind the number if needed")]
    Malformed(String),
    /// The parameters contradict each other.
    #[error("workload {workload}: {why}")]
    Unusable {
        /// The workload.
        workload: &'static str,
        /// Which parameters, and the reason.
        why: &'static str,
    },
}

/// Turns a failure of `call` on `path` into an error that names both.
pub(crate) fn at(call: &'static str, path: &str) -> impl FnOnce(ordo_vfs::Error) -> WorkloadError {
    move |source| Failed { call, path: path.to_owned(), source }.into()
}
