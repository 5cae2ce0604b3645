//! Making a new volume.

use crate::OpenError;
use ordo_disk::{Disk, FileDisk, FileOptions};
use ordo_ondisk::Format;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_rt::Rt;
use std::path::Path;
use std::rc::Rc;

/// A volume that is about to be made.
///
/// ```
/// use ordofs::NewVolume;
/// use ordofs::ondisk::Format;
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewVolume::new(64 << 20)
///     .with(|shape| {
///         shape.format = Format::Ufs1;
///         (shape.bsize, shape.fsize) = (8192, 1024);
///         shape.label = "home".into();
///     })
///     .create(&image)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewVolume {
    /// All parameters of its shape.
    pub params: NewfsParams,
}

impl NewVolume {
    /// A UFS2 volume of `size` bytes with FreeBSD's defaults.
    pub fn new(size: u64) -> NewVolume {
        NewVolume { params: NewfsParams::new(Format::Ufs2, size) }
    }

    /// Changes parameters of its shape.
    pub fn with(mut self, change: impl FnOnce(&mut NewfsParams)) -> NewVolume {
        change(&mut self.params);
        self
    }

    /// Makes the volume in a file, which is created or resized to the volume's size. What was there is lost.
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        let path = image.as_ref();
        self.params.superblock().map_err(ordo_ffs::NewfsError::from)?;
        let failed = |error| OpenError::Create(path.to_owned(), error);
        let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let rt = Rt::real_time();
        let found = file.metadata().map_err(failed)?;
        if found.is_file() {
            if found.len() > 0 {
                // Refuses a file that is in use, before it is truncated.
                drop(FileDisk::open(&rt, path, &FileOptions::default())?);
            }
            file.set_len(0).and_then(|()| file.set_len(self.params.volume_bytes)).map_err(failed)?;
        }
        // Only a file that was just truncated is known to hold zeroes; a device keeps its old contents.
        self.create_on(&rt, Rc::new(FileDisk::open(&rt, path, &FileOptions::default())?), found.is_file())
    }

    /// Makes the volume on a disk. `zeroed`: every byte of the disk is zero, so zeroes need not be written.
    ///
    /// # Errors
    /// When the shape is impossible, or the disk fails.
    pub fn create_on(&self, rt: &Rt, disk: Rc<dyn Disk>, zeroed: bool) -> Result<(), OpenError> {
        rt.block_on(ordo_ffs::newfs(rt, disk, &self.params, zeroed))?;
        Ok(())
    }
}
