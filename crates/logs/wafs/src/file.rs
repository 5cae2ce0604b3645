//! A log in a file or on a device, opened by path.

use crate::geometry::geometry;
use crate::{Error, Log, MakeOptions, MountOptions, Place};
use ordo_disk::{Existing, FileOptions};
use ordo_ring::UNIT_LEAST;
use ordo_rt::{OwnRt, Rt};
use std::path::Path;
use std::rc::Rc;

/// Why a log could not be made or opened by path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be made or opened, holds something, or is in use by another process.
    #[error(transparent)]
    Open(#[from] ordo_disk::OpenError),
    /// The file is open, but the log in it cannot be used.
    #[error(transparent)]
    Log(#[from] Error),
}

impl Log {
    /// Makes a log in a file, which gets `size` bytes. The whole file is written once: a later write to a hole would
    /// wait for the journal of the file system below each time.
    ///
    /// # Errors
    /// When the size does not suffice for a log (then nothing is changed); when the file cannot be made or is in use;
    /// [`ordo_disk::OpenError::Exists`] if it holds anything but zeroes, or the device holds a log.
    pub fn create(path: impl AsRef<Path>, size: u64, options: MakeOptions) -> Result<(), FileError> {
        Log::create_in(path.as_ref(), size, options, Existing::Refuse)
    }

    /// As [`Log::create`], and what was there is lost.
    ///
    /// # Errors
    /// When the size does not suffice, or the file cannot be made or is in use.
    pub fn overwrite(path: impl AsRef<Path>, size: u64, options: MakeOptions) -> Result<(), FileError> {
        Log::create_in(path.as_ref(), size, options, Existing::Overwrite)
    }

    fn create_in(path: &Path, size: u64, options: MakeOptions, existing: Existing) -> Result<(), FileError> {
        // Checked before anything is overwritten. Files have the smallest possible sector; `make` checks again.
        geometry(options.unit, UNIT_LEAST, size)?;
        let rt = OwnRt::real_time();
        let (disk, zeroed) = ordo_disk::new_file(&rt, path, size, existing)?;
        let place = Place::whole(&rt, Rc::new(disk));
        if !zeroed && existing == Existing::Refuse && rt.block_on(Log::open(place.clone())).is_ok() {
            return Err(ordo_disk::OpenError::Exists { path: path.into() }.into());
        }
        Ok(rt.block_on(Log::make(&place, MakeOptions { zero: true, ..options }))?)
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
