//! Errors of a run.

/// The result of a run.
pub type Result<T> = std::result::Result<T, LabError>;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// There is no paper with this key.
    #[error("no paper called {0:?}; ordo paper list names them")]
    NoPaper(String),
    /// The drive's profile.
    #[error(transparent)]
    Drive(#[from] ordo_drive::ProfileError),
    /// The simulator.
    #[error(transparent)]
    Sim(#[from] ordo_sim::SimError),
    /// The volume could not be made or mounted.
    #[error(transparent)]
    Volume(#[from] ordofs::OpenError),
    /// The volume has no room for what the scheme needs.
    #[error(transparent)]
    Tune(#[from] ordofs::TuneError),
    /// The workload.
    #[error(transparent)]
    Workload(#[from] ordo_workload::WorkloadError),
    /// The file system.
    #[error(transparent)]
    Call(#[from] ordo_vfs::Error),
    /// fsck could not run.
    #[error(transparent)]
    Check(#[from] ordo_fsck::Error),
    /// A call of one of the laboratory's own programs failed.
    #[error("{0}")]
    Program(String),
    /// The volume turned read-only during the run.
    #[error("the volume turned read-only: {0}")]
    Degraded(String),
}
