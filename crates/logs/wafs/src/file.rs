//! A log in a file or on a device, opened by path.

use crate::geometry::geometry;
use crate::{Error, Log, MakeOptions, MountOptions, Place};
use ordo_disk::FileOptions;
use ordo_ring::UNIT_LEAST;
use ordo_rt::Rt;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

/// Why a log could not be made or opened by path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be created or resized.
    #[error("cannot make {path}: {source}")]
    Create {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// It cannot be opened, or is in use by another process.
    #[error(transparent)]
    Open(#[from] ordo_disk::OpenError),
    /// The file is open, but the log in it cannot be used.
    #[error(transparent)]
    Log(#[from] Error),
}

impl Log {
    /// Makes a log in a file, which is created or resized to `size` bytes. What was there is lost. The whole file is
    /// written once: a later write to a hole would wait for the journal of the file system below each time.
    ///
    /// # Errors
    /// When the size does not suffice for a log (then nothing is changed); when the file cannot be made or is in use.
    pub fn create(path: impl AsRef<Path>, size: u64, options: MakeOptions) -> Result<(), FileError> {
        // Checked before anything is overwritten. Files have the smallest possible sector; `make` checks again.
        geometry(options.unit, UNIT_LEAST, size)?;
        let path = path.as_ref();
        let failed = |source| FileError::Create { path: path.into(), source };
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let rt = Rt::real_time();
        if file.metadata().map_err(failed)?.len() > 0 {
            // Refuses a file that is in use, before it is truncated.
            drop(ordo_disk::open(&rt, path, &FileOptions::default())?);
        }
        file.set_len(0).and_then(|()| file.set_len(size)).map_err(failed)?;
        let disk = ordo_disk::open(&rt, path, &FileOptions::default())?;
        Ok(rt.block_on(Log::make(&Place::whole(&rt, disk), MakeOptions { zero: true, ..options }))?)
    }

    /// Mounts the log in a file or on a device.
    ///
    /// # Errors
    /// When it cannot be opened or is in use, and as [`Log::mount`].
    pub async fn mount_file(
        rt: &Rt,
        path: impl AsRef<Path>,
        file: &FileOptions,
        options: MountOptions,
    ) -> Result<Log, FileError> {
        let disk = ordo_disk::open(rt, path, file)?;
        Ok(Log::mount(Place::whole(rt, disk), options).await?)
    }
}
