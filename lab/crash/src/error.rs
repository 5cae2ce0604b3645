//! Errors of an exploration.

/// Prevents an exploration. None of these is a violation.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no scheme of that name.
    #[error("no scheme is called {0:?} (ordo schemes lists them)")]
    NoScheme(String),
    /// The scheme keeps no log of transactions.
    #[error("log=separate: {0} has no log that could lie on a disk of its own")]
    NoLog(String),
    /// The scheme does not have these settings.
    #[error(transparent)]
    Settings(#[from] ordo_schemes::NoRule),
    /// The volume cannot be made.
    #[error("a volume of this shape cannot be made: {0}")]
    Shape(String),
    /// The volume cannot be mounted.
    #[error("mount: {0}")]
    Mount(String),
    /// The script did not run as it must on a disk without faults.
    #[error("the script stopped: {0}")]
    Run(String),
    /// The engine differs from the model, without any power cut.
    #[error("engine and model differ at {call}: {what}")]
    Model {
        /// The call.
        call: String,
        /// The difference.
        what: String,
    },
    /// An error in one script of many.
    #[error("{0}: {1}")]
    Script(String, Box<Error>),
    /// It exists for UFS volumes only.
    #[error("{0} is for UFS volumes only")]
    OnlyUfs(&'static str),
    /// fsck could not run.
    #[error("fsck: {0}")]
    Check(String),
    /// The text does not name a state.
    #[error("{0:?} is no id of a violation: {1}")]
    BadId(String, &'static str),
}
