//! Why a run came to nothing.

/// What every run returns.
pub type Result<T> = std::result::Result<T, LabError>;

/// Why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No paper of this key.
    #[error("no paper called {0:?}; ordo paper list names them")]
    NoPaper(String),
    /// The drive.
    #[error(transparent)]
    Drive(#[from] drive::ProfileError),
    /// The volume could not be made or mounted.
    #[error(transparent)]
    Volume(#[from] ordofs::OpenError),
    /// The volume has no place for what the scheme needs.
    #[error(transparent)]
    Tune(#[from] ordofs::TuneError),
    /// The program.
    #[error(transparent)]
    Workload(#[from] workload::WorkloadError),
    /// The file system.
    #[error(transparent)]
    Call(#[from] vfs::Error),
    /// fsck could not run.
    #[error(transparent)]
    Check(#[from] fsck::Error),
    /// A call of a program of the laboratory's own.
    #[error("{0}")]
    Program(String),
    /// The volume turned read-only while it was measured.
    #[error("the volume turned read-only: {0}")]
    Degraded(String),
}
