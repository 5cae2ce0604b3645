//! Why a volume could not be opened.

/// Why a volume could not be opened. Each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or device cannot be opened, or somebody else has it.
    #[error(transparent)]
    Disk(#[from] disk::OpenError),
    /// A request that was needed to open the volume failed.
    #[error(transparent)]
    Request(#[from] disk::DiskError),
    /// There is no volume.
    #[error(transparent)]
    NotFound(#[from] ondisk::superblock::search::NotFound),
    /// The volume cannot be mounted as asked.
    #[error(transparent)]
    Mount(#[from] ffs::MountError),
    /// A new volume cannot have this shape.
    #[error(transparent)]
    Shape(#[from] ffs::NewfsError),
    /// The image's file cannot be made.
    #[error("{0}: {1}")]
    Create(std::path::PathBuf, std::io::Error),
    /// The suffix behind the image's name names no partition, or none that is there.
    #[error("{0}")]
    BadSpec(String),
    /// More than one partition holds a volume.
    #[error("several partitions hold a volume: {0}; name one of them behind the image")]
    SeveralVolumes(String),
    /// There is no scheme with this name.
    #[error("no scheme is called {0:?}; `ordo schemes` lists them")]
    NoScheme(String),
    /// The volume failed.
    #[error(transparent)]
    Volume(#[from] vfs::Error),
}
