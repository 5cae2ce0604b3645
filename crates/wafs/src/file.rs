//! A log in a file or on a device, by its path.

use crate::area::geometry;
use crate::superblock::UNIT_LEAST;
use crate::{Error, Log, MakeOptions, MountOptions, Place};
use disk::FileOptions;
use rt::Rt;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

/// A log that could not be made or opened by its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be made, or cannot get its size.
    #[error("cannot make {path}: {source}")]
    Create {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It cannot be opened, or somebody else has it.
    #[error(transparent)]
    Open(#[from] disk::OpenError),
    /// It is open, and the log in it cannot be used.
    #[error(transparent)]
    Log(#[from] Error),
}

impl Log {
    /// Makes a log in a file, which is made or gets `size` bytes. What was there is lost. All of it is written once: a
    /// write to a hole would have to wait for the file system's own log each time.
    ///
    /// # Errors
    /// When no log fits, and nothing is changed then; when the file cannot be made or is in use.
    pub fn create(path: impl AsRef<Path>, size: u64, options: MakeOptions) -> Result<(), FileError> {
        // Before anything of what is there is lost. Files have the least sectors that there are; make looks again.
        geometry(options.unit, UNIT_LEAST, size)?;
        let path = path.as_ref();
        let failed = |source| FileError::Create { path: path.into(), source };
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let rt = Rt::real_time();
        if file.metadata().map_err(failed)?.len() > 0 {
            // Refuses a file that somebody uses, before it is cut.
            drop(disk::open(&rt, path, &FileOptions::default())?);
        }
        file.set_len(0).and_then(|()| file.set_len(size)).map_err(failed)?;
        let disk = disk::open(&rt, path, &FileOptions::default())?;
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
        let disk = disk::open(rt, path, file)?;
        Ok(Log::mount(Place::whole(rt, disk), options).await?)
    }
}
