//! Why there is no answer.

/// What keeps the explorer from its work. None of these is a violation.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no scheme of that name.
    #[error("no scheme is called {0:?} (ordo schemes lists them)")]
    NoScheme(String),
    /// The scheme keeps no log of transactions.
    #[error("log=separate: {0} has no log that could lie on a disk of its own")]
    NoLog(String),
    /// The scheme cannot be made so.
    #[error(transparent)]
    Settings(#[from] schemes::NoRule),
    /// The volume cannot be made.
    #[error("a volume of this shape cannot be made: {0}")]
    Shape(String),
    /// The volume cannot be mounted.
    #[error("mount: {0}")]
    Mount(String),
    /// The script did not run as it must, on a disk without faults.
    #[error("the script stopped: {0}")]
    Run(String),
    /// The engine does something else than the model, without any power cut.
    #[error("engine and model differ at {call}: {what}")]
    Model {
        /// The call.
        call: String,
        /// The difference.
        what: String,
    },
    /// One script of many.
    #[error("{0}: {1}")]
    Script(String, Box<Error>),
    /// fsck could not run.
    #[error("fsck: {0}")]
    Check(String),
    /// The text names no state of an exploration.
    #[error("{0:?} is no id of a violation: {1}")]
    BadId(String, &'static str),
}
