//! Why a program could not run.

/// What programs return.
pub type Result<T> = std::result::Result<T, WorkloadError>;

/// A call that a program needs and that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{call} {path}: {source}")]
pub struct Failed {
    /// Name of the call, as in the trait.
    pub call: &'static str,
    /// What it was called on.
    pub path: String,
    /// Why.
    pub source: vfs::Error,
}

/// Why a program did not come to its end.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The file system refused or failed.
    #[error(transparent)]
    Call(#[from] Failed),
    /// Nothing has this name.
    #[error("no workload is called {0:?}")]
    Unknown(String),
    /// The workload has no such parameter.
    #[error("workload {workload} has no parameter {key:?}")]
    UnknownParameter {
        /// The workload asked for.
        workload: &'static str,
        /// The parameter it was given.
        key: String,
    },
    /// The text is not `key=value` with a number and perhaps one of the suffixes k, M, G.
    #[error("not a parameter: {0:?}; write key=number, with k, M or G behind the number if needed")]
    Malformed(String),
    /// The parameters contradict each other.
    #[error("workload {workload}: {why}")]
    Unusable {
        /// The workload asked for.
        workload: &'static str,
        /// Which parameters, and why not.
        why: &'static str,
    },
}

/// Turns a failure of `call` on `path` into an error that says so.
pub(crate) fn at(call: &'static str, path: &str) -> impl FnOnce(vfs::Error) -> WorkloadError {
    move |source| Failed { call, path: path.to_owned(), source }.into()
}
